"""Marian's own files: a folder with `decoder.yml`, an `.npz` of weights, vocabulary and tokenizers.

Marian computes x W, as Keras does, so no kernel is transposed. Its decoder begins with a vector of
zeros, its wavelengths are Tensor2Tensor's, and its layer normalization adds 1e-6: here they are as
they were while the weights were trained, where other converters take those of Hugging Face.

Reference:
    marian-dev, `src/models/transformer.h` and `src/layers/generic.h`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from keras_transformer.config import DecodingConfig, TransformerConfig
from keras_transformer.importing.checkpoint import (
    Checkpoint,
    optional,
    require_supported,
    required_options,
)
from keras_transformer.importing.marian_vocabulary import read_yaml_vocabulary
from keras_transformer.importing.tensors import Floats, Tensors, open_npz
from keras_transformer.importing.vocabulary import (
    NEVER,
    Vocabulary,
    piece_names,
    read_file,
    require_file,
)

UNK, EOS = "<unk>", "</s>"
# The tokens that Marian reads of a source by default.
_MAX_LENGTH = 500
_OPTIONS = "special:model.yml"
_DECODER = Path("decoder.yml")
# Names of the parts of a layer, with W or b in the gap.
_PARTS = {
    **{
        f"{ours}/{part}": f"{theirs}_{{}}{part[0]}"
        for ours, theirs in (("self_attention", "self"), ("cross_attention", "context"))
        for part in ("query", "key", "value", "output")
    },
    "feed_forward/inner": "ffn_{}1",
    "feed_forward/outer": "ffn_{}2",
}
_NORMS = {
    "self_attention": "self_Wo",
    "cross_attention": "context_Wo",
    "feed_forward": "ffn_ffn",
}
# Marian's GELU is x sigmoid(1.702 x).
_ACTIVATIONS = {"relu": "relu", "swish": "swish", "gelu": "quick_gelu"}
# Pre-norm and post-norm, as they occur: before a sub-layer, after it, and after the stack.
_POST_NORM, _PRE_NORM = ("", "dan", ""), ("n", "da", "n")
_SUPPORTED: Mapping[str, Any] = {
    "type": ["transformer"],
    "transformer-decoder-autoreg": ["self-attention"],
    "transformer-no-projection": [False],
    "transformer-tied-layers": [[], None],
    "transformer-depth-scaling": [False],
    "transformer-ffn-depth": [2],
    "transformer-decoder-ffn-depth": [0, 2],
    "transformer-ffn-activation": _ACTIVATIONS,
    "transformer-postprocess-emb": ["d", "", "nd", "n"],
    "lemma-dim-emb": [0],
    "input-types": [[], None],
}
_SIZES = {
    "dim-emb": int,
    "enc-depth": int,
    "dec-depth": int,
    "transformer-dim-ffn": int,
    "transformer-heads": int,
}


def read_marian(folder: Path) -> Checkpoint:
    """Reads a folder.

    Args:
        folder: With `decoder.yml`, what it names, `source.spm` and `target.spm`. Without
            `decoder.yml` with one `.npz` and one vocabulary, as `vocab.yml`.

    Raises:
        ValueError: If a file is missing or not whole, or the model has no counterpart here.

    Example:
        >>> checkpoint = read_marian(Path("opus-en-de"))  # doctest: +SKIP
    """
    told = _decoder_options(folder)
    path = folder / told["models"][0]
    require_file(path)
    tensors = open_npz(path)
    options = _model_options(tensors)
    names = told["vocabs"]
    pieces = [_pieces(folder / name) for name in (names[0], names[-1])]
    joint = pieces[0] == pieces[1]
    source = Vocabulary.of(pieces[0], UNK, EOS)
    vocabularies = source, source if joint else Vocabulary.of(pieces[1], UNK, EOS)
    source_model, target_model = (
        read_file(folder / (name if name.endswith(".spm") else f"{side}.spm"))
        for name, side in ((names[0], "source"), (names[-1], "target"))
    )
    config = _model_config(options, tensors, vocabularies, told)
    return Checkpoint(
        config,
        _decoding(told, config.max_length),
        (vocabularies[0].tokenizer(source_model), vocabularies[1].tokenizer(target_model)),
        MarianWeights(tensors, config, vocabularies),
    )


def _decoder_options(folder: Path) -> dict[str, Any]:
    path = folder / "decoder.yml"
    if path.is_file():
        told = _yaml(path.read_bytes(), path)
        told |= required_options(told, {"models": list, "vocabs": list}, path)
    else:
        told = {
            "models": sorted(file.name for file in folder.glob("*.npz")),
            "vocabs": sorted(file.name for file in folder.glob("*vocab*.yml")),
        }
        if not told["vocabs"]:
            require_file(folder / "vocab.yml")
        # Names do not tell sides apart: in the order of the alphabet, de comes before en.
        if len(told["vocabs"]) > 1:
            raise ValueError(
                "`source` must have a decoder.yml that lists the vocabularies, the source's first, "
                f"or a single vocabulary; add one. Received: {', '.join(told['vocabs'])} in "
                f"{folder}"
            )
    _require_names(told["models"], "one model", (1,), "import those of an ensemble one by one")
    _require_names(told["vocabs"], "vocabularies of one source and one target", (1, 2), "add them")
    return told


def _require_names(names: list[Any], what: str, numbers: tuple[int, ...], remedy: str) -> None:
    if len(names) not in numbers or not all(isinstance(name, str) for name in names):
        raise ValueError(
            f"`source` must name {what} in decoder.yml; {remedy}. Received: "
            f"{', '.join(map(str, names)) or 'none'}"
        )
    for name in names:
        # What comes from elsewhere names no files of this machine.
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise ValueError(
                "`source` must name files within it in decoder.yml; put them there, and name them "
                f"so. Received: {name}"
            )


def _yaml(content: bytes, path: Path) -> dict[str, Any]:
    try:
        options = yaml.safe_load(content)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ValueError(
            f"`source` must hold options in YAML; copy it anew. Received: {path}, {error}"
        ) from error
    if not isinstance(options, dict):
        raise ValueError(
            f"`source` must hold options in YAML; copy it anew. Received: {path} without any"
        )
    return options


def _model_options(tensors: Tensors) -> dict[str, Any]:
    """Reads the options that Marian keeps among the weights; the text ends with a NUL."""
    content = tensors.raw(_OPTIONS).astype(np.uint8).tobytes().rstrip(b"\0")
    options = _yaml(content, tensors.path)
    require_supported(options, _SUPPORTED, tensors.path)
    return options | required_options(options, _SIZES, tensors.path)


def _pieces(path: Path) -> list[str]:
    if path.suffix not in (".yml", ".yaml", ".spm"):
        raise ValueError(
            "`source` must have vocabularies in .yml or .spm; factored ones and others have no "
            f"counterpart here. Received: {path.name}"
        )
    content = read_file(path)
    if path.suffix == ".spm":
        return list(piece_names(content))
    return read_yaml_vocabulary(content, path)


def _model_config(
    options: Mapping[str, Any],
    tensors: Tensors,
    vocabularies: tuple[Vocabulary, Vocabulary],
    told: Mapping[str, Any],
) -> TransformerConfig:
    source, target = vocabularies
    norm_first = _norm_first(options, tensors.path)
    learned = "Wpos" in tensors.names
    most = optional(told, "max-length", _MAX_LENGTH, _DECODER)
    return TransformerConfig(
        vocab_size=len(target.pieces),
        source_vocab_size=None if source is target else len(source.pieces),
        num_layers=options["enc-depth"],
        num_decoder_layers=options["dec-depth"],
        d_model=options["dim-emb"],
        d_ff=options["transformer-dim-ffn"],
        num_heads=options["transformer-heads"],
        dropout=optional(options, "transformer-dropout", 0.1, tensors.path),
        attention_dropout=optional(options, "transformer-dropout-attention", 0.0, tensors.path),
        norm_first=norm_first,
        positions="learned" if learned else "sinusoidal_t2t",
        tie_embeddings=not {f"{_LOGITS}_W", f"{_LOGITS}_Wt"} & tensors.names,
        share_embeddings="Wemb" in tensors.names,
        activation=_ACTIVATIONS[options.get("transformer-ffn-activation", "relu")],
        max_length=len(np.atleast_1d(tensors.raw("Wpos"))) if learned else most,
        zero_start=True,
        embedding_norm="n" in options.get("transformer-postprocess-emb", "d"),
        attention_bias=True,
        output_bias=True,
    )


_LOGITS = "decoder_ff_logit_out"


def _norm_first(options: Mapping[str, Any], path: Path) -> bool:
    names = ("transformer-preprocess", "transformer-postprocess", "transformer-postprocess-top")
    steps = tuple(
        options.get(name, default) for name, default in zip(names, _POST_NORM, strict=True)
    )
    if steps not in (_POST_NORM, _PRE_NORM):
        raise ValueError(
            f"`source` must have {', '.join(names)} {_POST_NORM}, post-norm, or {_PRE_NORM}, "
            f"pre-norm, to be imported. Received: {steps} in {path}"
        )
    return steps == _PRE_NORM


def _decoding(told: Mapping[str, Any], max_length: int) -> DecodingConfig:
    """Returns how Marian searches: with `normalize` 0.0 for none, and without unk."""
    require_supported(told, {"word-penalty": [0, 0.0]}, _DECODER)
    return DecodingConfig(
        beam_size=optional(told, "beam-size", 12, _DECODER),
        length_penalty=optional(told, "normalize", 0.0, _DECODER),
        length_normalization="length",
        max_extra_tokens=max_length,
        min_length=0,
        banned_pieces=() if told.get("allow-unk") else (UNK,),
    )


class MarianWeights:
    """The weights of a Marian file; see `Weights`.

    Args:
        tensors: The file.
        config: What it says in our terms.
        vocabularies: Those of source and target.
    """

    def __init__(
        self,
        tensors: Tensors,
        config: TransformerConfig,
        vocabularies: tuple[Vocabulary, Vocabulary],
    ) -> None:
        self._tensors = tensors
        self._config = config
        self._source, self._target = vocabularies

    def linear(
        self, stack: str, layer: int, part: str, shape: tuple[int, int]
    ) -> tuple[Floats, Floats]:
        """Layers are counted from 1."""
        name = f"{stack}_l{layer + 1}_{_PARTS[part]}"
        kernel = self._tensors.read(name.format("W"), *shape)
        return kernel, self._tensors.read(name.format("b"), shape[1])

    def norm(self, stack: str, part: str, size: int, layer: int | None = None) -> list[Floats]:
        """Of a layer, pre-norm's names end with `_pre`; of a stack both occur."""
        place = part if layer is None else f"l{layer + 1}_{_NORMS[part]}"
        names = [f"{stack}_{place}_ln_{kind}" for kind in ("scale", "bias")]
        return [
            self._tensors.read(self._tensors.first(f"{name}_pre", name), size) for name in names
        ]

    def embedding(self, side: str, width: int) -> Floats:
        """A matrix of the logits alone may be stored either way round."""
        if side == "output":
            if f"{_LOGITS}_W" in self._tensors.names:
                matrix = self._tensors.read(f"{_LOGITS}_W", width, self._target.size).T
            else:
                matrix = self._tensors.read(f"{_LOGITS}_Wt", self._target.size, width)
            return self._target.arranged(matrix)
        vocabulary, stack = (
            (self._source, "encoder") if side == "source" else (self._target, "decoder")
        )
        name = self._tensors.first("Wemb", f"{stack}_Wemb")
        return vocabulary.arranged(self._tensors.read(name, vocabulary.size, width))

    def output_bias(self) -> Floats:
        """Marian knows neither padding nor a token that begins: their logits count for nothing."""
        name, bias = f"{_LOGITS}_b", np.zeros(self._target.size, np.float32)
        if name in self._tensors.names:
            bias = self._tensors.read(name, self._target.size)
        return self._target.arranged(bias, NEVER)

    def positions(self, length: int, width: int) -> Floats:
        """Both sides have the same."""
        return self._tensors.read("Wpos", length, width)

    def require_all_read(self) -> None:
        """A weight that is left says that the model does something else."""
        self._tensors.ignore(_OPTIONS)
        if left := self._tensors.unread():
            raise ValueError(
                "`source` must hold the weights of a Transformer of Marian's and no others; such a "
                f"model has no counterpart here. Received: {', '.join(left[:5])} in "
                f"{self._tensors.path}"
            )
