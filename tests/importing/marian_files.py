"""Writes a folder of Marian's own files with a model at random."""

import json

import numpy as np
import sentencepiece
import yaml

D_MODEL, D_FF, HEADS = 16, 24, 4
OPTIONS = {
    "type": "transformer",
    "dim-emb": D_MODEL,
    "enc-depth": 2,
    "dec-depth": 2,
    "transformer-heads": HEADS,
    "transformer-dim-ffn": D_FF,
    "transformer-ffn-activation": "swish",
    "transformer-ffn-depth": 2,
    "transformer-preprocess": "",
    "transformer-postprocess": "dan",
    "transformer-postprocess-top": "",
    "transformer-postprocess-emb": "d",
    "transformer-decoder-autoreg": "self-attention",
    "transformer-no-projection": False,
    "transformer-tied-layers": [],
    "transformer-depth-scaling": False,
    "transformer-guided-alignment-layer": "last",
}
DECODER = {"beam-size": 6, "normalize": 1, "word-penalty": 0, "max-length": 60}


def weights(options, sizes, shared, seed=0):
    """Arrays by Marian's names; not `shared`, embeddings and logits have a matrix each."""
    rng, found = np.random.default_rng(seed), {}
    pre_norm = options["transformer-preprocess"] == "n"
    suffix = "_pre" if pre_norm else ""

    def add(name, *shape, mean=0.0, scale=0.5):
        found[name] = rng.normal(mean, scale, shape).astype("float32")

    def add_norm(name):
        add(f"{name}_ln_scale{suffix}", 1, D_MODEL, mean=1.0, scale=0.1)
        add(f"{name}_ln_bias{suffix}", 1, D_MODEL, scale=0.1)

    def add_linear(place, part, width_in, width_out):
        add(f"{place}_W{part}", width_in, width_out)
        add(f"{place}_b{part}", 1, width_out, scale=0.3)

    if shared:
        add("Wemb", sizes[0], D_MODEL)
    else:
        add("encoder_Wemb", sizes[0], D_MODEL)
        add("decoder_Wemb", sizes[1], D_MODEL)
        add("decoder_ff_logit_out_W", D_MODEL, sizes[1])
    add("decoder_ff_logit_out_b", 1, sizes[1], scale=0.3)
    for stack, depth in (("encoder", "enc-depth"), ("decoder", "dec-depth")):
        for n in range(1, options[depth] + 1):
            place = f"{stack}_l{n}"
            for attention in ["self", "context"][: 1 + (stack == "decoder")]:
                for part in "qkvo":
                    add_linear(f"{place}_{attention}", part, D_MODEL, D_MODEL)
                add_norm(f"{place}_{attention}_Wo")
            add_linear(f"{place}_ffn", "1", D_MODEL, D_FF)
            add_linear(f"{place}_ffn", "2", D_FF, D_MODEL)
            add_norm(f"{place}_ffn_ffn")
        if pre_norm:
            suffix = ""
            add_norm(f"{stack}_top")
            suffix = "_pre"
        if "n" in options["transformer-postprocess-emb"]:
            add_norm(f"{stack}_emb")
    return found


def yaml_line(piece, number):
    """A line as Marian writes it: with quotes where YAML wants them."""
    plain = piece.replace("\u2581", "").isalnum()
    return f"{piece if plain else json.dumps(piece, ensure_ascii=False)}: {number}"


def write_marian(folder, models, separate=False, seed=0, **changes):
    """Writes the files; `models` are the SentencePiece models of source and target."""
    options = {**OPTIONS, **changes}
    pieces = []
    for model in models:
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        pieces.append({processor.id_to_piece(i) for i in range(processor.get_piece_size())})
    if not separate:
        pieces = [pieces[0] | pieces[1]] * 2
    special = ["</s>", "<unk>"]
    vocabularies = [[*special, *sorted(one - {*special, "<s>"}, reverse=True)] for one in pieces]
    names = ["vocab.src.yml", "vocab.trg.yml"] if separate else ["vocab.yml", "vocab.yml"]
    folder.mkdir(exist_ok=True)
    for name, vocabulary in zip(names, vocabularies, strict=True):
        lines = [yaml_line(piece, number) for number, piece in enumerate(vocabulary)]
        (folder / name).write_text("\n".join(lines) + "\n", "utf-8")
    for side, model in zip(("source", "target"), models, strict=True):
        (folder / f"{side}.spm").write_bytes(model)
    content = yaml.safe_dump(options).encode() + b"\0"
    np.savez(
        folder / "model.npz",
        **{"special:model.yml": np.frombuffer(content, np.uint8)},
        **weights(options, [len(one) for one in vocabularies], not separate, seed),
    )
    decoder = {"models": ["model.npz"], "vocabs": names, **DECODER}
    (folder / "decoder.yml").write_text(yaml.safe_dump(decoder))
    return vocabularies
