"""Hugging Face's `MarianMTModel`: a folder with `config.json`, weights, vocabulary and tokenizers.

Three things are not what they seem. `final_layer_norm` is that of the feed-forward network. The
decoder begins with the padding, whose row is zeros: it is Marian's zero vector. And the logit of
that row, 0, counts in the softmax, unless `renormalize_logits` says otherwise.

Reference:
    transformers, `models/marian/modeling_marian.py` and `tokenization_marian.py`.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.config import DecodingConfig, TransformerConfig
from keras_transformer.importing.checkpoint import (
    Checkpoint,
    optional,
    read_json,
    require_supported,
    required_options,
)
from keras_transformer.importing.tensors import Floats, Tensors, open_weights
from keras_transformer.importing.vocabulary import NEVER, Vocabulary, read_file
from keras_transformer.importing.weights import Reordered, Weights, sines_before_cosines
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import BOS_ID, PAD_ID

# The names of the parts of a layer.
PARTS = {
    **{
        f"{ours}/{part}": f"{theirs}.{name}_proj"
        for ours, theirs in (("self_attention", "self_attn"), ("cross_attention", "encoder_attn"))
        for part, name in (("query", "q"), ("key", "k"), ("value", "v"), ("output", "out"))
    },
    "feed_forward/inner": "fc1",
    "feed_forward/outer": "fc2",
}
NORMS = {
    "self_attention": "self_attn_layer_norm",
    "cross_attention": "encoder_attn_layer_norm",
    "feed_forward": "final_layer_norm",
}
EMBEDDINGS = {
    "source": "model.encoder.embed_tokens.weight",
    "target": "model.decoder.embed_tokens.weight",
}
# Their names of activations, and ours.
ACTIVATIONS = {"relu": "relu", "swish": "swish", "silu": "swish", "gelu": "gelu"}
# `torch.nn.LayerNorm`'s, of which the configuration has no option.
NORM_EPSILON = 1e-5
# The entry of `config.json` in which an export keeps the configuration of the run.
OWN_CONFIG = "keras_transformer"

_SUPPORTED: Mapping[str, Any] = {
    "model_type": ["marian"],
    "activation_function": ACTIVATIONS,
    "normalize_before": [False, None],
    "normalize_embedding": [False, None],
    "add_final_layer_norm": [False, None],
}
_SIZES = dict.fromkeys(
    (
        *("d_model", "vocab_size", "encoder_layers", "decoder_layers", "encoder_ffn_dim"),
        *("encoder_attention_heads", "max_position_embeddings", "pad_token_id"),
        "decoder_start_token_id",
    ),
    int,
) | {"activation_function": str}


def read_huggingface(folder: Path) -> Checkpoint:
    """Reads a folder.

    Args:
        folder: With `config.json`, `model.safetensors` or `pytorch_model.bin`, `source.spm`,
            `target.spm` and `vocab.json`; with separate vocabularies also `target_vocab.json`.

    Raises:
        ImportError: If the package that reads the weights is not installed.
        ValueError: If a file is missing or not whole, or the model has no counterpart here.

    Example:
        >>> checkpoint = read_huggingface(Path("opus-mt-en-de"))  # doctest: +SKIP
    """
    path = folder / "config.json"
    options = read_json(path)
    require_supported(options, _SUPPORTED, path)
    sizes = required_options(options, _SIZES, path)
    for name in ("ffn_dim", "attention_heads"):
        require_supported(options, {f"decoder_{name}": [sizes[f"encoder_{name}"]]}, path)
    vocabularies = _vocabularies(folder, options)
    tensors = open_weights(folder)
    config = _model_config(options, vocabularies, tensors, path)
    own = options.get(OWN_CONFIG)
    if own:
        config = _own_config(own, config, path)
    searching = {**options, **read_json(folder / "generation_config.json", may_lack=True)}
    weights: Weights = HuggingFaceWeights(
        tensors, config, vocabularies, bool(searching.get("renormalize_logits"))
    )
    if own:
        if config.positions == "sinusoidal":
            weights = Reordered(weights, np.argsort(sines_before_cosines(config.d_model)))
    elif not weights.embedding("target", config.d_model)[BOS_ID].any():
        config = dataclasses.replace(config, zero_start=True)
    place = folder / "tokenizer_config.json"
    told = read_json(place, may_lack=True)
    source, target = (optional(told, f"{side}_lang", "", place) for side in ("source", "target"))
    return Checkpoint(
        config,
        _decoding(searching, vocabularies[1], folder / "generation_config.json"),
        _tokenizers(folder, vocabularies),
        weights,
        (source or None, target or None),
    )


def _vocabularies(folder: Path, options: Mapping[str, Any]) -> tuple[Vocabulary, Vocabulary]:
    """Returns those of source and target; one object twice if they are joint."""
    place = folder / "tokenizer_config.json"
    told = read_json(place, may_lack=True)
    unk, eos = (_token(told, name, default, place) for name, default in _SPECIAL.items())
    pad, start = options["pad_token_id"], options["decoder_start_token_id"]
    source, size = folder / "vocab.json", options["vocab_size"]
    separate = folder / "target_vocab.json"
    if not separate.is_file():
        joint = Vocabulary.of(_pieces(source, size), unk, eos, pad, start)
        return joint, joint
    target_size = optional(options, "decoder_vocab_size", size, folder / "config.json")
    pieces, padding = _pieces(source, size), _token(told, "pad_token", "<pad>", place)
    source_pad = pieces.index(padding) if padding in pieces else None
    # A source does not begin with anything, but in our own vocabularies that has its id as well.
    source_start = start if source_pad == pad != start else None
    return (
        Vocabulary.of(pieces, unk, eos, source_pad, source_start),
        Vocabulary.of(_pieces(separate, target_size), unk, eos, pad, start),
    )


_SPECIAL = {"unk_token": "<unk>", "eos_token": "</s>"}


def _token(told: Mapping[str, Any], name: str, default: str, path: Path) -> str:
    token = told.get(name)
    if isinstance(token, dict):
        return optional(token, "content", default, path)
    return optional(told, name, default, path)


def _pieces(path: Path, size: int) -> list[str]:
    ids = read_json(path)
    if not all(type(number) is int for number in ids.values()):
        raise ValueError(
            f"`source` must have whole numbers for ids in {path.name}; copy it anew. Received: "
            f"{next(repr(v) for v in ids.values() if type(v) is not int)[:80]} in {path}"
        )
    pieces = sorted(ids, key=ids.__getitem__)
    # The size is only told: nothing is made as large as it says.
    if len(pieces) != size or any(ids[piece] != i for i, piece in enumerate(pieces)):
        raise ValueError(
            f"`source` must have a vocabulary of the {size} pieces that config.json tells, one for "
            f"each id; these files do not belong together. Received: {len(pieces)} pieces in {path}"
        )
    return pieces


def _tokenizers(
    folder: Path, vocabularies: tuple[Vocabulary, Vocabulary]
) -> tuple[SubwordTokenizer, SubwordTokenizer]:
    models = [read_file(folder / name) for name in ("source.spm", "target.spm")]
    source, target = (v.tokenizer(model) for v, model in zip(vocabularies, models, strict=True))
    if source.segmentation is None and source.model == target.model:
        return source, source
    return source, target


def _model_config(
    options: Mapping[str, Any],
    vocabularies: tuple[Vocabulary, Vocabulary],
    tensors: Tensors,
    path: Path,
) -> TransformerConfig:
    source, target = vocabularies

    def told(name: str, default: Any) -> Any:
        return optional(options, name, default, path)

    joint, tied = source is target, told("tie_word_embeddings", True)
    # Without tying, transformers takes the two for different ones where both are there.
    shared = tied or not {*EMBEDDINGS.values()} <= tensors.names
    shared &= joint and told("share_encoder_decoder_embeddings", True)
    return TransformerConfig(
        vocab_size=len(target.pieces),
        source_vocab_size=None if joint else len(source.pieces),
        num_layers=options["encoder_layers"],
        num_decoder_layers=options["decoder_layers"],
        d_model=options["d_model"],
        d_ff=options["encoder_ffn_dim"],
        num_heads=options["encoder_attention_heads"],
        dropout=told("dropout", 0.1),
        attention_dropout=told("attention_dropout", 0.0),
        positions="sinusoidal_halves",
        tie_embeddings=tied,
        share_embeddings=shared,
        activation=ACTIVATIONS[options["activation_function"]],
        max_length=options["max_position_embeddings"],
        scale_embeddings=told("scale_embedding", False),
        attention_bias=True,
        output_bias=True,
        norm_epsilon=NORM_EPSILON,
    )


def _own_config(own: Any, told: TransformerConfig, path: Path) -> TransformerConfig:
    """Returns the configuration of the run that a folder is the export of."""
    try:
        config = TransformerConfig.of(own)
        changed = [name for name in _SAME if getattr(config, name) != getattr(told, name)]
    except (TypeError, AttributeError, ValueError) as error:
        raise ValueError(_OTHER_CONFIG.format(error, path)) from error
    if changed:
        raise ValueError(_OTHER_CONFIG.format(f"another {', '.join(changed)}", path))
    return config


# What the run's configuration and the other entries of `config.json` both say.
_SAME = (
    *("vocab_size", "source_vocab_size", "num_layers", "decoder_layers", "d_model", "d_ff"),
    *("num_heads", "head_key_dim", "head_value_dim", "max_length"),
)
_OTHER_CONFIG = (
    "`source` must be as it was exported from a run here, or be imported as any other model: "
    f"remove `{OWN_CONFIG}` from its config.json. Received: {{}} in {{}}"
)


def _decoding(told: Mapping[str, Any], vocabulary: Vocabulary, path: Path) -> DecodingConfig:
    """Returns how `generate` searches, or samples."""

    def option(name: str, default: Any) -> Any:
        return optional(told, name, default, path)

    sampling, least = option("do_sample", False), option("min_new_tokens", -1)
    most = option("max_length", told["max_position_embeddings"])
    return DecodingConfig(
        beam_size=option("num_beams", 1),
        length_penalty=option("length_penalty", 1.0),
        length_normalization="length",
        early_stopping=told.get("early_stopping") is True,
        max_extra_tokens=option("max_new_tokens", most),
        # The start counts in the one, and not in the other.
        min_length=least if least >= 0 else max(0, option("min_length", 0) - 1),
        no_repeat_ngram=option("no_repeat_ngram_size", 0),
        banned_pieces=_banned(told, vocabulary, path),
        sampling=sampling,
        temperature=option("temperature", 1.0) if sampling else 1.0,
        top_k=option("top_k", _TOP_K) if sampling else 0,
        top_p=option("top_p", 1.0) if sampling else 1.0,
    )


# Of transformers, where sampling is asked for and no more is said.
_TOP_K = 50


def _banned(told: Mapping[str, Any], vocabulary: Vocabulary, path: Path) -> tuple[str, ...]:
    """Returns the pieces that are banned by themselves."""
    words = optional(told, "bad_words_ids", [], path)
    if not all(isinstance(word, list) for word in words):
        raise ValueError(
            "`source` must have lists of ids for bad_words_ids; mend it. Received: "
            f"{str(words)[:80]} in {path}"
        )
    pieces = dict(zip(vocabulary.rows, enumerate(vocabulary.pieces), strict=True))
    found = [pieces[word[0]] for word in words if len(word) == 1 and _is_row(word[0], pieces)]
    # A search never chooses pad or bos.
    return tuple(piece for number, piece in found if number not in (PAD_ID, BOS_ID))


def _is_row(row: object, pieces: Mapping[int | None, Any]) -> bool:
    return isinstance(row, int) and row in pieces


class HuggingFaceWeights:
    """The weights of a `MarianMTModel`; see `Weights`.

    Args:
        tensors: The file.
        config: The model, in our terms.
        vocabularies: Those of source and target.
        renormalize: Whether the logit of the padding does not count.
    """

    def __init__(
        self,
        tensors: Tensors,
        config: TransformerConfig,
        vocabularies: tuple[Vocabulary, Vocabulary],
        renormalize: bool,
    ) -> None:
        self._tensors = tensors
        self._config = config
        self._renormalize = renormalize
        self._vocabularies = dict(zip(("source", "target"), vocabularies, strict=True))
        self._vocabularies["output"] = vocabularies[1]

    def linear(
        self, stack: str, layer: int, part: str, shape: tuple[int, int]
    ) -> tuple[Floats, Floats]:
        """PyTorch has an output a row."""
        name = f"model.{stack}.layers.{layer}.{PARTS[part]}"
        kernel = self._tensors.read(f"{name}.weight", *shape[::-1])
        return kernel.T, self._tensors.read(f"{name}.bias", shape[1])

    def norm(self, stack: str, part: str, size: int, layer: int | None = None) -> list[Floats]:
        """There is none of a whole stack."""
        name = f"model.{stack}.layers.{layer}.{NORMS[part]}"
        return [self._tensors.read(f"{name}.{kind}", size) for kind in ("weight", "bias")]

    def embedding(self, side: str, width: int) -> Floats:
        """A matrix that is shared is stored under any of its names, and maybe under all."""
        vocabulary = self._vocabularies[side]
        name = self._tensors.first(*self._names(side))
        matrix = self._tensors.read(name, vocabulary.size, width)
        return vocabulary.arranged(matrix)

    def output_bias(self) -> Floats:
        """What the search never chooses has a logit that counts for nothing."""
        vocabulary = self._vocabularies["target"]
        name, bias = "final_logits_bias", np.zeros(vocabulary.size, np.float32)
        if name in self._tensors.names:
            bias = self._tensors.read(name, vocabulary.size)
        arranged = vocabulary.arranged(bias, NEVER)
        start = vocabulary.rows[BOS_ID]
        if self._renormalize or vocabulary.rows.count(start) > 1:
            arranged[BOS_ID] = NEVER
        return arranged

    def positions(self, length: int, width: int) -> Floats:
        """Sinusoids alone occur."""
        raise NotImplementedError

    def require_all_read(self) -> None:
        """Old files have the sinusoids, and copies of what is shared."""
        for stack in ("encoder", "decoder"):
            self._tensors.ignore(f"model.{stack}.embed_positions.weight")
        for side in self._vocabularies:
            self._tensors.ignore(*self._names(side))
        if left := self._tensors.unread():
            raise ValueError(
                "`source` must hold the weights of a MarianMTModel and no others; the model may be "
                f"another. Received: {', '.join(left[:5])} in {self._tensors.path}"
            )

    def _names(self, side: str) -> list[str]:
        output, shared = "lm_head.weight", "model.shared.weight"
        tied = [output] if self._config.tie_embeddings else []
        if side == "output" and not tied:
            return [output]
        if self._config.one_embedding:
            names = [shared, *EMBEDDINGS.values(), *tied]
        elif side == "source":
            return [EMBEDDINGS["source"], shared]
        else:
            names = [EMBEDDINGS["target"], *tied, shared]
        # Of an export, the matrix of the logits is whole; in others, what a decoder begins with is
        # zeros.
        return [*tied, *names] if self._config.zero_start else names
