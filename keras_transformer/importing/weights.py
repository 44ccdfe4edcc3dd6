"""Which weights of a checkpoint are which of ours, whatever a format calls them.

A part of a layer is named by its place, such as `self_attention/query`. What other toolkits hold as
several projections of the same input is one matrix here, side by side.
"""

from collections.abc import Iterator
from typing import Any, Protocol

import keras
import numpy as np
import numpy.typing as npt

from keras_transformer.config import TransformerConfig
from keras_transformer.importing.tensors import Floats
from keras_transformer.models.transformer import Transformer

STACKS = ("encoder", "decoder")


class Weights(Protocol):
    """A format's weights, by place; rows of vocabularies are in the order of our ids."""

    def linear(
        self, stack: str, layer: int, part: str, shape: tuple[int, int]
    ) -> tuple[Floats, Floats]:
        """Returns a kernel `[in, out]` and its bias `[out]`."""

    def norm(self, stack: str, part: str, size: int, layer: int | None = None) -> list[Floats]:
        """Returns gamma and beta; of a layer, or of the whole stack."""

    def embedding(self, side: str, width: int) -> Floats:
        """Returns the matrix of the "source", the "target" or the "output"."""

    def output_bias(self) -> Floats:
        """Returns the bias of the logits."""

    def positions(self, length: int, width: int) -> Floats:
        """Returns the table of learned positions."""

    def require_all_read(self) -> None:
        """Raises a ValueError if there are weights that nobody asked for."""


def sines_before_cosines(d_model: int) -> npt.NDArray[np.int64]:
    """Returns the order in which the paper's sinusoids are those in halves.

    With the model's width in that order throughout, one model computes what the other does.

    Args:
        d_model: The width.

    Example:
        >>> sines_before_cosines(6).tolist()
        [0, 2, 4, 1, 3, 5]
    """
    return np.arange(d_model).reshape(-1, 2).T.reshape(-1)


def reordered(
    part: str, kernel: Floats, bias: Floats, order: npt.NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Brings the model's width into another order in a projection to it, or from it."""
    if part in ("self_attention/output", "cross_attention/output", "feed_forward/outer"):
        return kernel[:, order], bias[order]
    return kernel[order], bias


class Reordered:
    """Weights with the model's width in another order; see `Weights`.

    Args:
        weights: The weights.
        order: The new order, a permutation of the width.
    """

    def __init__(self, weights: Weights, order: npt.NDArray[np.int64]) -> None:
        self._weights = weights
        self._order = order
        self.output_bias = weights.output_bias
        self.require_all_read = weights.require_all_read

    def linear(
        self, stack: str, layer: int, part: str, shape: tuple[int, int]
    ) -> tuple[Floats, Floats]:
        """See `Weights`."""
        return reordered(part, *self._weights.linear(stack, layer, part, shape), self._order)

    def norm(self, stack: str, part: str, size: int, layer: int | None = None) -> list[Floats]:
        """See `Weights`."""
        return [value[self._order] for value in self._weights.norm(stack, part, size, layer)]

    def embedding(self, side: str, width: int) -> Floats:
        """See `Weights`."""
        return self._weights.embedding(side, width)[:, self._order]

    def positions(self, length: int, width: int) -> Floats:
        """See `Weights`."""
        return self._weights.positions(length, width)[:, self._order]


def projections(layer: Any) -> Iterator[tuple[keras.layers.Dense, list[str]]]:
    """Yields the projections of an encoder's or a decoder's layer, each with its parts."""
    attention = layer.self_attention
    parts = [f"self_attention/{part}" for part in ("query", "key", "value")]
    yield attention.query_key_value, parts
    yield attention.output_projection, ["self_attention/output"]
    if hasattr(layer, "cross_attention"):
        attention = layer.cross_attention
        yield attention.query, ["cross_attention/query"]
        yield attention.key_value, ["cross_attention/key", "cross_attention/value"]
        yield attention.output_projection, ["cross_attention/output"]
    yield layer.feed_forward.inner, ["feed_forward/inner"]
    yield layer.feed_forward.outer, ["feed_forward/outer"]


def norms(layer: Any) -> Iterator[tuple[keras.layers.LayerNormalization, str]]:
    """Yields the normalizations of an encoder's or a decoder's layer, each with its part."""
    for part in ("self_attention", "cross_attention", "feed_forward"):
        if hasattr(layer, part):
            yield getattr(layer, f"{part}_residual").norm, part


def require_sizes(config: TransformerConfig, weights: Weights) -> None:
    """Compares a model with its weights before memory is taken for it.

    A configuration of a few bytes may tell of a model that no machine has the memory for.

    Args:
        config: The checkpoint's configuration.
        weights: The checkpoint's.

    Raises:
        ValueError: If weights are missing or of another shape, or positions are too many.
    """
    if config.positions != "learned" and config.max_length > _MOST_POSITIONS:
        raise ValueError(
            f"`source` must have at most {_MOST_POSITIONS:,} positions; mend its configuration. "
            f"Received: {config.max_length:,}"
        )
    width = config.d_model
    sizes = (
        ("source", config.source_vocab_size or config.vocab_size),
        ("target", config.vocab_size),
    )
    for side, size in sizes:
        rows = len(weights.embedding(side, width))
        if rows != size:
            raise ValueError(
                f"`source` must have the {size} pieces of the {side} that its configuration tells; "
                f"these files do not belong together. Received: {rows}"
            )
    for stack, layers in zip(STACKS, (config.num_layers, config.decoder_layers), strict=True):
        for i in range(layers):
            weights.linear(stack, i, "feed_forward/inner", (width, config.d_ff))
            for part, size in (("query", config.head_key_dim), ("value", config.head_value_dim)):
                shape = width, config.num_heads * size
                weights.linear(stack, i, f"self_attention/{part}", shape)


# Of a table that is computed, and so in no file: a thousand pages.
_MOST_POSITIONS = 2**16


def fill(model: Transformer, weights: Weights) -> None:
    """Gives a model the weights of a checkpoint.

    Args:
        model: Of the checkpoint's configuration.
        weights: The checkpoint's.

    Raises:
        ValueError: If weights are missing, left over, of another shape, or not finite.
    """
    # First what takes most memory, while little of the file has been mapped into it.
    _fill_embeddings(model, weights)
    for name in STACKS:
        stack = getattr(model, name)
        for i, layer in enumerate(stack.layers):
            for dense, parts in projections(layer):
                _fill_dense(dense, [(name, i, part) for part in parts], weights)
            for norm, part in norms(layer):
                _fill_norm(norm, weights.norm(name, part, model.config.d_model, i))
        if model.config.norm_first:
            _fill_norm(stack.final_norm, weights.norm(name, "top", model.config.d_model))
    weights.require_all_read()


def _fill_dense(
    dense: keras.layers.Dense, places: list[tuple[str, int, str]], weights: Weights
) -> None:
    width_in, width_out = dense.kernel.shape
    shape = width_in, width_out // len(places)
    kernels, biases = zip(*(weights.linear(*place, shape) for place in places), strict=True)
    dense.kernel.assign(np.concatenate(kernels, axis=1))
    if dense.use_bias:
        dense.bias.assign(np.concatenate(biases))
    else:
        _require_zero(np.concatenate(biases), "attention_bias")


def _require_zero(bias: Floats, option: str) -> None:
    if np.any(bias):
        raise ValueError(
            "`source` must be as it was exported from a run here, or be imported as any other "
            "model: remove `keras_transformer` from its config.json. Received: biases of a run "
            f"with {option}=False"
        )


def _fill_norm(norm: keras.layers.LayerNormalization, values: list[Floats]) -> None:
    for variable, value in zip((norm.gamma, norm.beta), values, strict=True):
        variable.assign(value)


def _fill_embeddings(model: Any, weights: Weights) -> None:
    config, filled = model.config, set()
    for side in ("target", "source", "output"):
        embedding = getattr(model, f"{side}_embedding")
        if id(embedding) not in filled:
            embedding.embeddings.assign(weights.embedding(side, config.d_model))
            filled.add(id(embedding))
    if config.output_bias:
        model.output_embedding.bias.assign(weights.output_bias())
    else:
        _require_zero(weights.output_bias(), "output_bias")
    for stack, positional in zip(STACKS, (model.source_sum, model.target_sum), strict=True):
        if config.embedding_norm:
            _fill_norm(positional.norm, weights.norm(stack, "emb", config.d_model))
        if config.positions == "learned":
            table = weights.positions(config.max_length, config.d_model)
            positional.encoding.table.assign(table)
