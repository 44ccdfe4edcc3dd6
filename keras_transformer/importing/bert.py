"""BERT's checkpoints: Hugging Face's folders, and those of Google's TensorFlow 1.

Both call the same parts alike, by dots here and by slashes there. Checkpoints of the encoder alone
have no heads, and some have no pooler; what is not there begins as in a new model.

Reference:
    transformers, `models/bert/modeling_bert.py`; `modeling.py` in google-research/bert.
"""

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import keras
import numpy as np

from keras_transformer.config import BertConfig
from keras_transformer.console import say
from keras_transformer.importing import bert_heads
from keras_transformer.importing.bert_heads import BertHead, head_of
from keras_transformer.importing.checkpoint import (
    optional,
    read_json,
    require_supported,
    required_options,
)
from keras_transformer.importing.tensors import Floats, Tensors, open_weights
from keras_transformer.importing.weights import norms, projections
from keras_transformer.models.bert_heads import BertWithHead
from keras_transformer.models.masked_language_model import MaskedLanguageModel
from keras_transformer.text.wordpiece import (
    OPTIONS_FILE,
    VOCABULARY_FILE,
    WordPieceTokenizer,
    lowercase_of,
)

# Their names of activations, and ours. Google's checkpoints were made with the error function, from
# which their own code has gone over to its approximation since.
ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
}
_SUPPORTED: Mapping[str, Any] = {
    "model_type": ["bert"],
    "hidden_act": ACTIVATIONS,
    "position_embedding_type": ["absolute", None],
    "tie_word_embeddings": [True, None],
    "is_decoder": [False, None],
    "add_cross_attention": [False, None],
}
_SIZES = dict.fromkeys(
    (
        *("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads"),
        *("intermediate_size", "max_position_embeddings", "type_vocab_size"),
    ),
    int,
)

# The parts of a layer, by what `projections` and `norms` call them.
_PARTS = {
    **{f"self_attention/{part}": f"attention.self.{part}" for part in ("query", "key", "value")},
    "self_attention/output": "attention.output.dense",
    "feed_forward/inner": "intermediate.dense",
    "feed_forward/outer": "output.dense",
}
_NORMS = {"self_attention": "attention.output.LayerNorm", "feed_forward": "output.LayerNorm"}

# What there is beside the parts of the model: copies, positions as numbers, an optimizer's state.
_NO_WEIGHTS = re.compile(
    r"(.*[./])?(position_ids|adam_[mv]|global_step|LAMB.*)|cls\.predictions\.decoder\.(weight|bias)"
)


class BertWeights(Protocol):
    """The weights of a format, by the names of parts with dots."""

    tensors: Tensors

    def has(self, part: str) -> bool:
        """Returns whether there is such a part."""

    def linear(self, part: str, shape: tuple[int, int]) -> tuple[Floats, Floats]:
        """Returns a kernel `[in, out]` and its bias `[out]`."""

    def norm(self, part: str, size: int) -> list[Floats]:
        """Returns gamma and beta."""

    def table(self, part: str, shape: tuple[int, int]) -> Floats:
        """Returns the matrix of embeddings."""

    def word_bias(self, size: int) -> Floats:
        """Returns the bias of the masked words' logits."""


@dataclasses.dataclass(frozen=True)
class BertCheckpoint:
    """A BERT of another toolkit.

    Args:
        config: The model.
        tokenizer: Its tokenizer.
        weights: Its weights.
        head: What it was fine-tuned for; None if it is pre-trained alone.
    """

    config: BertConfig
    tokenizer: WordPieceTokenizer
    weights: BertWeights
    head: BertHead | None = None

    @property
    def next_sentence(self) -> bool:
        """Whether it has the head of next sentences; one without any head gets a new one."""
        has_words = self.weights.has("cls.predictions.transform.dense")
        return self.weights.has("cls.seq_relationship") or not has_words


def read_bert(folder: Path) -> BertCheckpoint:
    """Reads a folder of Hugging Face's.

    Args:
        folder: With `config.json`, `model.safetensors` or `pytorch_model.bin`, and `vocab.txt` or
            `tokenizer.json`.

    Raises:
        ImportError: If the package that reads the weights is not installed.
        ValueError: If a file is missing or not whole, or the model has no counterpart here.
    """
    path = folder / "config.json"
    options = read_json(path)
    config, tokenizer = _config(options, path), _tokenizer(folder)
    weights = HuggingFaceBert(open_weights(folder))
    checkpoint = checked(config, tokenizer, weights)
    return dataclasses.replace(checkpoint, head=head_of(options, weights.tensors, path))


def read_google_bert(folder: Path) -> BertCheckpoint:
    """Reads a folder of google-research/bert.

    Args:
        folder: With `bert_config.json`, a checkpoint of TensorFlow 1 and `vocab.txt`.

    Raises:
        ValueError: If a file is missing or not whole, or the model has no counterpart here.
    """
    path = folder / "bert_config.json"
    config, tokenizer = _config(read_json(path), path), _tokenizer(folder)
    return checked(config, tokenizer, GoogleBert(_open_tensorflow(folder)))


def fill(model: MaskedLanguageModel, weights: BertWeights) -> None:
    """Gives a model the weights of a checkpoint; says what of the model or of these is left.

    Args:
        model: Of the checkpoint's configuration.
        weights: The checkpoint's.

    Raises:
        ValueError: If weights of the encoder are missing, of another shape, or not finite.
    """
    _fill_encoder(model.bert, weights)
    new = _fill_known(
        weights,
        {
            "pooler.dense": model.bert.pooler,
            "cls.predictions.transform.dense": model.masked_words.transform,
            "cls.seq_relationship": model.next_sentence,
        },
    )
    if weights.has("cls.predictions.transform.dense"):
        _fill_norm(model.masked_words.norm, weights, "cls.predictions.transform.LayerNorm")
        model.masked_words.bias.assign(weights.word_bias(model.config.vocab_size))
    _say_what_differs(new, weights)


def fill_fine_tuned(model: BertWithHead, weights: BertWeights, head: str) -> None:
    """Gives a model with a head the weights of a checkpoint; says what is left, as `fill` does.

    Args:
        model: Of the checkpoint's configuration.
        weights: The checkpoint's.
        head: The name of the head's weights.

    Raises:
        ValueError: As of `fill`, for weights of the head as well.
    """
    _fill_encoder(model.bert, weights)
    new = _fill_known(weights, {"pooler.dense": model.bert.pooler})
    _fill_dense(model.head, weights, [head])
    _say_what_differs(new if model.pools else [], weights)


def _fill_encoder(bert: Any, weights: BertWeights) -> None:
    for part, layer in (
        ("word", bert.token_embedding.embeddings),
        ("token_type", bert.segment_embedding.embeddings),
        ("position", bert.embedding_sum.encoding.table),
    ):
        layer.assign(weights.table(f"embeddings.{part}_embeddings", tuple(layer.shape)))
    _fill_norm(bert.embedding_sum.norm, weights, "embeddings.LayerNorm")
    for index, layer in enumerate(bert.encoder.layers):
        place = f"encoder.layer.{index}"
        for dense, parts in projections(layer):
            _fill_dense(dense, weights, [f"{place}.{_PARTS[part]}" for part in parts])
        for norm, part in norms(layer):
            _fill_norm(norm, weights, f"{place}.{_NORMS[part]}")


def _fill_known(weights: BertWeights, parts: Mapping[str, keras.layers.Dense | None]) -> list[str]:
    """Fills what a checkpoint has of some parts; returns the names of the others."""
    there = {name: dense for name, dense in parts.items() if dense is not None}
    for name, dense in there.items():
        if weights.has(name):
            _fill_dense(dense, weights, [name])
    return [name for name in there if not weights.has(name)]


def _say_what_differs(new: list[str], weights: BertWeights) -> None:
    if new:
        say(f"Not in the checkpoint, and so as in a new model: {', '.join(new)}")
    left = [name for name in weights.tensors.unread() if not _NO_WEIGHTS.fullmatch(name)]
    if left:
        say(f"Left out, as heads of another task: {', '.join(left)}")


class HuggingFaceBert:
    """PyTorch's weights; see `BertWeights`.

    Args:
        tensors: The file.
    """

    def __init__(self, tensors: Tensors) -> None:
        self.tensors = tensors
        # Models with a head have the encoder as a part, which the encoder alone is not.
        prefixed = "bert.embeddings.word_embeddings.weight" in tensors.names
        self._prefix = "bert." if prefixed else ""

    def has(self, part: str) -> bool:
        """Whichever of its weights it has."""
        return any(self._name(part, kind) in self.tensors.names for kind in ("weight", "gamma"))

    def linear(self, part: str, shape: tuple[int, int]) -> tuple[Floats, Floats]:
        """PyTorch has an output a row."""
        kernel = self.tensors.read(self._name(part, "weight"), *shape[::-1])
        return kernel.T, self.tensors.read(self._name(part, "bias"), shape[1])

    def norm(self, part: str, size: int) -> list[Floats]:
        """Old files have TensorFlow's names."""
        kinds = (("weight", "gamma"), ("bias", "beta"))
        names = [self.tensors.first(*(self._name(part, k) for k in pair)) for pair in kinds]
        return [self.tensors.read(name, size) for name in names]

    def table(self, part: str, shape: tuple[int, int]) -> Floats:
        """See `BertWeights`."""
        return self.tensors.read(self._name(part, "weight"), *shape)

    def word_bias(self, size: int) -> Floats:
        """See `BertWeights`."""
        return self.tensors.read("cls.predictions.bias", size)

    def _name(self, part: str, kind: str) -> str:
        prefix = "" if part.startswith(("cls.", *bert_heads.PARTS)) else self._prefix
        return f"{prefix}{part}.{kind}"


class GoogleBert:
    """TensorFlow's variables; see `BertWeights`.

    Args:
        tensors: The checkpoint.
    """

    def __init__(self, tensors: Tensors) -> None:
        self.tensors = tensors

    def has(self, part: str) -> bool:
        """Whichever of its weights it has."""
        kinds = ("kernel", "output_weights")
        return any(f"{self._name(part)}/{kind}" in self.tensors.names for kind in kinds)

    def linear(self, part: str, shape: tuple[int, int]) -> tuple[Floats, Floats]:
        """Only heads have an output a row."""
        name = self._name(part)
        if f"{name}/output_weights" in self.tensors.names:
            kernel = self.tensors.read(f"{name}/output_weights", *shape[::-1]).T
            return kernel, self.tensors.read(f"{name}/output_bias", shape[1])
        kernel = self.tensors.read(f"{name}/kernel", *shape)
        return kernel, self.tensors.read(f"{name}/bias", shape[1])

    def norm(self, part: str, size: int) -> list[Floats]:
        """See `BertWeights`."""
        return [self.tensors.read(f"{self._name(part)}/{kind}", size) for kind in ("gamma", "beta")]

    def table(self, part: str, shape: tuple[int, int]) -> Floats:
        """See `BertWeights`."""
        return self.tensors.read(self._name(part), *shape)

    def word_bias(self, size: int) -> Floats:
        """See `BertWeights`."""
        return self.tensors.read("cls/predictions/output_bias", size)

    @staticmethod
    def _name(part: str) -> str:
        place = part.replace("layer.", "layer_").replace(".", "/")
        return place if place.startswith("cls/") else f"bert/{place}"


def _config(options: Mapping[str, Any], path: Path) -> BertConfig:
    require_supported(options, _SUPPORTED, path)
    sizes = required_options(options, _SIZES, path)
    usual = BertConfig()
    return BertConfig(
        vocab_size=sizes["vocab_size"],
        num_layers=sizes["num_hidden_layers"],
        d_model=sizes["hidden_size"],
        d_ff=sizes["intermediate_size"],
        num_heads=sizes["num_attention_heads"],
        dropout=optional(options, "hidden_dropout_prob", usual.dropout, path),
        attention_dropout=optional(
            options, "attention_probs_dropout_prob", usual.attention_dropout, path
        ),
        activation=ACTIVATIONS[options.get("hidden_act", "gelu")],
        max_length=sizes["max_position_embeddings"],
        num_segments=sizes["type_vocab_size"],
        norm_epsilon=optional(options, "layer_norm_eps", usual.norm_epsilon, path),
        initial_stddev=optional(options, "initializer_range", usual.initial_stddev, path),
    )


def _tokenizer(folder: Path) -> WordPieceTokenizer:
    path = folder / "tokenizer.json"
    content = read_json(path, may_lack=True)
    options = {**_options_in(content, path), **read_json(folder / OPTIONS_FILE, may_lack=True)}
    if (folder / VOCABULARY_FILE).is_file():
        return WordPieceTokenizer.load(folder / VOCABULARY_FILE, options=options)
    if not content:
        raise ValueError(
            "`source` must hold vocab.txt or tokenizer.json; copy the whole of it. Received: "
            f"{folder}"
        )
    model = _part(content, "model")
    ids = model.get("vocab")
    if not isinstance(ids, dict) or model.get("type") != "WordPiece":
        raise ValueError(
            f"`source` must have a tokenizer of WordPiece. Received: another in {path}"
        )
    are_whole = all(type(number) is int for number in ids.values())
    if not are_whole or sorted(ids.values()) != list(range(len(ids))):
        raise ValueError(
            f"`source` must have a piece for each id from 0 on in {path.name}; copy it anew. "
            f"Received: {len(ids)} pieces in {path}"
        )
    pieces = sorted(ids, key=ids.__getitem__)
    return WordPieceTokenizer(pieces, lowercase_of(options, pieces))


# The options of a normalizer, and their names in tokenizer_config.json.
_NORMALIZER = {
    "lowercase": "do_lower_case",
    "strip_accents": "strip_accents",
    "handle_chinese_chars": "tokenize_chinese_chars",
    "clean_text": "clean_text",
}


def _options_in(content: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Returns what tokenizer.json says, by the names of tokenizer_config.json."""
    for name, known in (("normalizer", "BertNormalizer"), ("pre_tokenizer", "BertPreTokenizer")):
        absent = name in content and content[name] is None
        kind = None if absent else _part(content, name).get("type", known)
        if kind != known:
            raise ValueError(
                f"`source` must have a {name} of the type {known}, since no other runs in graph. "
                f"Received: {kind!r} in {path}"
            )
    told = _part(content, "normalizer")
    return {ours: told[theirs] for theirs, ours in _NORMALIZER.items() if theirs in told}


def _part(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = content.get(name)
    return part if isinstance(part, dict) else {}


def checked(
    config: BertConfig, tokenizer: WordPieceTokenizer, weights: BertWeights
) -> BertCheckpoint:
    """Makes a checkpoint of its parts, if these belong together.

    Raises:
        ValueError: If they do not.
    """
    if tokenizer.vocab_size != config.vocab_size:
        raise ValueError(
            f"`source` must have a vocabulary of the {config.vocab_size} pieces that its "
            "configuration tells; these files do not belong together. Received: "
            f"{tokenizer.vocab_size} pieces"
        )
    # Before memory is taken for a model: a configuration of a few bytes may tell of any.
    width = config.d_model
    tables = {
        **{"word": config.vocab_size, "position": config.max_length},
        "token_type": config.num_segments,
    }
    for part, rows in tables.items():
        weights.table(f"embeddings.{part}_embeddings", (rows, width))
    for index in range(config.num_layers):
        layer = f"encoder.layer.{index}"
        weights.linear(f"{layer}.attention.self.query", (width, width))
        weights.linear(f"{layer}.intermediate.dense", (width, config.d_ff))
    return BertCheckpoint(config, tokenizer, weights)


def _open_tensorflow(folder: Path) -> Tensors:
    import tensorflow as tf

    indices = sorted(folder.glob("*.index"))
    if len(indices) != 1:
        raise ValueError(
            "`source` must hold one checkpoint of TensorFlow, a file .index with its .data; copy "
            f"the whole of it. Received: {len(indices)} of them in {folder}"
        )
    path = indices[0].with_suffix("")
    try:
        reader = tf.train.load_checkpoint(path)
        names = reader.get_variable_to_shape_map()
    except (tf.errors.OpError, ValueError) as error:
        raise ValueError(
            f"`source` must hold a whole checkpoint; copy it anew. Received: {path}, {error}"
        ) from error
    return Tensors(path, names, reader.get_tensor)


def _fill_dense(dense: keras.layers.Dense, weights: BertWeights, parts: list[str]) -> None:
    width_in, width_out = dense.kernel.shape
    shape = width_in, width_out // len(parts)
    kernels, biases = zip(*(weights.linear(part, shape) for part in parts), strict=True)
    dense.kernel.assign(np.concatenate(kernels, axis=1))
    dense.bias.assign(np.concatenate(biases))


def _fill_norm(norm: keras.layers.LayerNormalization, weights: BertWeights, part: str) -> None:
    for variable, value in zip(
        (norm.gamma, norm.beta), weights.norm(part, norm.gamma.shape[0]), strict=True
    ):
        variable.assign(value)
