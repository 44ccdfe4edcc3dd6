"""Makes `marian_models.tar.xz`: small models at random by transformers, and what it says of them.

    python tests/importing/make_marian_models.py

A fresh model has zeros for biases and ones for norms, which would hide faults; here all is at
random. The tests compare with what is recorded, so that they need neither transformers nor PyTorch.
"""

import io
import json
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np
import sentencepiece

from phrasebook import phrasebook

ARCHIVE = Path(__file__).parent / "marian_models.tar.xz"
SIZE = dict(d_model=16, encoder_layers=2, decoder_layers=2, scale_embedding=True)
MOST_TOKENS = 24

# What OPUS-MT's models differ in.
KINDS = {
    "opus_mt": dict(activation_function="swish", encoder_attention_heads=4, encoder_ffn_dim=24),
    "tc_big": dict(activation_function="relu", encoder_attention_heads=8, encoder_ffn_dim=32),
    "separate": dict(share_encoder_decoder_embeddings=False),
    "unequal": dict(encoder_layers=3, decoder_layers=1, tie_word_embeddings=False),
    "multilingual": dict(activation_function="gelu"),
}
# The bias of the end of a sentence, with which translations are neither all empty nor all cut.
END = 2.0
LINES = [
    "The dog sleeps in the garden.",
    "Two men are standing at a stove.",
    "",
    "A woman reads \u201cthe book\u201d \u2013 twice.",
    "日本語 and кириллица",
    "   spaces\u00a0and\ttabs  ",
    "soft\u00adhyphen, zero\u200bwidth, e\u0301",
]


def train(lines, size, model_type):
    """A SentencePiece model as OPUS-MT trains it: with other special ids than ours."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        vocab_size=size,
        model_type=model_type,
        character_coverage=1.0,
        minloglevel=3,
    )
    return model.getvalue()


def pieces_of(model):
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(i) for i in range(processor.get_piece_size())]


def ids_of(pieces):
    """Pieces by a vocabulary's order: ids that have nothing to do with SentencePiece's."""
    special = ["</s>", "<unk>"]
    others = sorted({*pieces} - {*special, "<s>"}, reverse=True)
    return {piece: i for i, piece in enumerate([*special, *others, "<pad>"])}


def write_tokenizers(folder, kind):
    """Writes vocabularies and SentencePiece models; returns the sizes of the vocabularies."""
    pairs = phrasebook("train", size=2000)
    models = [
        train([pair[side] for pair in pairs], size, "bpe" if kind == "tc_big" else "unigram")
        # transformers pads the source by the target's id.
        for side, size in ((0, 120), (1, 110))
    ]
    for name, model in zip(("source", "target"), models, strict=True):
        (folder / f"{name}.spm").write_bytes(model)
    source, target = map(pieces_of, models)
    tags = [">>deu<<", ">>nds<<", ">>fra<<"] if kind == "multilingual" else []
    told = {"source_lang": "eng", "target_lang": "deu", "separate_vocabs": kind == "separate"}
    if kind == "separate":
        vocabularies = {"vocab.json": ids_of(source), "target_vocab.json": ids_of(target)}
    else:
        vocabularies = {"vocab.json": ids_of([*source, *target, *tags])}
    for name, ids in vocabularies.items():
        (folder / name).write_text(json.dumps(ids, ensure_ascii=False), "utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(told))
    return [len(ids) for ids in vocabularies.values()]


def make_model(kind, sizes, seed):
    """A model whose biases and norms are at random as well; the row of the padding is zeros."""
    import torch
    import transformers

    options = {**SIZE, **dict(activation_function="relu", encoder_attention_heads=4)}
    options |= {"encoder_ffn_dim": 24} | KINDS[kind]
    pad = sizes[-1] - 1
    config = transformers.MarianConfig(
        vocab_size=sizes[0],
        decoder_vocab_size=sizes[-1],
        decoder_ffn_dim=options["encoder_ffn_dim"],
        decoder_attention_heads=options["encoder_attention_heads"],
        max_position_embeddings=64,
        pad_token_id=pad,
        decoder_start_token_id=pad,
        eos_token_id=0,
        # What a limit cuts has no end here.
        forced_eos_token_id=None,
        **options,
    )
    model = transformers.MarianMTModel(config).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weights in [*model.named_parameters(), *model.named_buffers()]:
            if "embed_positions" in name:
                continue
            mean = 1.0 if "norm.weight" in name else 0.0
            # With little that is the same for all tokens, translations repeat less.
            scale = 0.1 if "norm" in name else 0.3 if "bias" in name else 0.6
            weights.copy_(mean + scale * torch.randn(weights.shape, generator=generator))
        for embedding in (model.get_encoder().embed_tokens, model.get_decoder().embed_tokens):
            embedding.weight[-1] = 0.0
        model.lm_head.weight[-1] = 0.0
        model.final_logits_bias[0, -1] = 0.0
        model.final_logits_bias[0, 0] = END
    model.generation_config.update(
        num_beams=4,
        max_length=MOST_TOKENS + 1,
        bad_words_ids=[[pad]],
        early_stopping="never",
        # Models at random like to say the same again. Where logits are normalized anew, that is
        # after such bans, which changes scores; ours are the model's own whatever is banned.
        no_repeat_ngram_size=0 if kind == "tc_big" else 2,
        renormalize_logits=kind == "tc_big",
    )
    if kind == "unequal":
        model.generation_config.bad_words_ids += [[1], [7]]
    return model


def lines_of(kind):
    return [f">>fra<< {line}" if kind == "multilingual" else line for line in LINES]


def record(model, tokenizer, kind):
    """What transformers makes of the lines: ids, logits, translations and scores."""
    import torch

    rng, found = np.random.default_rng(0), {}
    pad = model.config.pad_token_id
    ids = [tokenizer(line).input_ids for line in lines_of(kind)]
    source = np.full((len(ids), max(map(len, ids))), model.config.pad_token_id)
    for row, one in zip(source, ids, strict=True):
        row[: len(one)] = one
    mask = np.arange(source.shape[1]) < np.array([[len(one)] for one in ids])
    target = rng.integers(1, pad, (len(ids), 9))
    start = np.full((len(ids), 1), pad)
    inputs = dict(input_ids=torch.tensor(source), attention_mask=torch.tensor(mask).long())
    with torch.no_grad():
        decoder_ids = torch.tensor(np.concatenate([start, target[:, :-1]], 1))
        logits = model(**inputs, decoder_input_ids=decoder_ids).logits
        found |= dict(source=source, mask=mask, target=target[:3], logits=logits[:3].numpy())
        for name, beams in (("greedy", 1), ("beam", 4)):
            kept = dict(return_dict_in_generate=True, output_scores=True)
            out = model.generate(**inputs, num_beams=beams, **kept)
            found[name] = out.sequences[:, 1:].numpy()
            texts = tokenizer.batch_decode(out.sequences[:, 1:], skip_special_tokens=True)
            found[f"{name}_text"] = np.array([text.encode() for text in texts])
            if beams > 1:
                found["beam_scores"] = out.sequences_scores.numpy()
    return found


def main():
    import transformers

    transformers.logging.set_verbosity_error()
    with tempfile.TemporaryDirectory() as scratch, tarfile.open(ARCHIVE, "w:xz") as archive:
        for seed, kind in enumerate(KINDS):
            folder = Path(scratch) / kind
            folder.mkdir()
            model = make_model(kind, write_tokenizers(folder, kind), seed)
            model.save_pretrained(folder)
            tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
            np.savez_compressed(folder / "expected.npz", **record(model, tokenizer, kind))
            archive.add(folder, kind)


if __name__ == "__main__":
    sys.exit(main())
