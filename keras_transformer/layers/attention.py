"""Attention: scaled dot-product (Section 3.2.1) and multi-head (Section 3.2.2).

    Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V
    MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O
    head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)

The heads are an axis of a tensor, so that all of them are one call of the first equation. Shapes
use `length` for the queries' length and `memory_length` for that of keys and values.
"""

import itertools
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_transformer.layers.cache import empty_cache, write
from keras_transformer.layers.initializers import PROJECTION_GAIN, FusedGlorotUniform
from keras_transformer.layers.masks import masked_softmax
from keras_transformer.layers.rows import as_rows
from keras_transformer.layers.scores import make_score, scaled_dot
from keras_transformer.layers.serialization import register
from keras_transformer.tensors import Shape, Tensor


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    dropout: Callable[..., Tensor] | None = None,
    training: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Computes softmax(Q K^T / sqrt(d_k)) V, Equation 1.

    The softmax runs in float32 whatever the inputs' dtype. A query that may attend to nothing gets
    the plain mean of the values: finite, and of no effect where such a query is padding.

    Args:
        query: float `[batch, heads, length, key_dim]`.
        key: float `[batch, heads, memory_length, key_dim]`.
        value: float `[batch, heads, memory_length, value_dim]`.
        mask: bool, True where attention is allowed, broadcastable to
            `[batch, heads, length, memory_length]`; None allows all.
        dropout: Layer applied to the weights; None for none.
        training: Whether `dropout` is active.

    Returns:
        The attended values `[batch, heads, length, value_dim]` and the weights
        `[batch, heads, length, memory_length]` before dropout, both of the inputs' dtype.

    Example:
        >>> one = keras.ops.ones((1, 1, 1, 4))
        >>> output, weights = scaled_dot_product_attention(one, one, one)

    Reference:
        "Attention Is All You Need", Section 3.2.1.
    """
    return attend(scaled_dot(query, key), value, mask, dropout, training)


def attend(
    logits: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    dropout: Callable[..., Tensor] | None = None,
    training: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Computes softmax(logits) V, whatever score the logits are of.

    Args:
        logits: float32 `[..., length, memory_length]`.
        value: float `[..., memory_length, value_dim]`.
        mask: As in `scaled_dot_product_attention`, broadcastable to the logits.
        dropout: As there.
        training: As there.

    Returns:
        The attended values `[..., length, value_dim]` and the weights
        `[..., length, memory_length]` before dropout, both of the values' dtype.

    Example:
        >>> output, weights = attend(keras.ops.zeros((1, 2, 3)), keras.ops.ones((1, 3, 4)))
    """
    weights = ops.cast(masked_softmax(logits, mask), value.dtype)
    kept = weights if dropout is None else dropout(weights, training=training)
    return ops.matmul(kept, value), weights


class MultiHeadAttention(keras.layers.Layer):
    """MultiHead(Q, K, V), of which self-attention and cross-attention are two uses.

    Projections have no bias by default, as in the paper. The W_i^Q, W_i^K and W_i^V of all heads
    that read the same input are one matrix, side by side.

    Args:
        num_heads: h.
        key_dim: d_k, width of a query or key in one head.
        value_dim: d_v, width of a value in one head.
        dropout: Dropout rate of the attention weights.
        use_bias: Add a bias in each projection.
        score: Name of the score, of `layers/scores.py`; the paper's is the scaled dot product. What
            it learns is shared by the heads, since each has its own projections already.

    Reference:
        "Attention Is All You Need", Section 3.2.2.
    """

    def __init__(
        self,
        num_heads: int,
        key_dim: int,
        value_dim: int,
        dropout: float = 0.0,
        use_bias: bool = False,
        score: str = "scaled_dot",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.key_dim = key_dim
        self.value_dim = value_dim
        self.dropout = dropout
        self.use_bias = use_bias
        self.score_name = score
        self.score = make_score(score, units=key_dim, dtype=self.dtype_policy, name="score")
        self.weights_dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "key_dim": self.key_dim,
            "value_dim": self.value_dim,
            "dropout": self.dropout,
            "use_bias": self.use_bias,
            "score": self.score_name,
        }

    def _projection(self, *head_dims: int, name: str) -> keras.layers.Dense:
        """Makes a projection to heads of these widths, stored side by side."""
        widths = [self.num_heads * dim for dim in head_dims]
        return keras.layers.Dense(
            sum(widths),
            use_bias=self.use_bias,
            kernel_initializer=FusedGlorotUniform(widths, gain=PROJECTION_GAIN),
            dtype=self.dtype_policy,
            name=name,
        )

    def _build_heads(self, d_model: int) -> None:
        """Makes what follows the projections: the score, and W^O."""
        heads = (None, self.num_heads, None, self.key_dim)
        self.score.build(heads, heads)
        self.output_projection = keras.layers.Dense(
            d_model, use_bias=self.use_bias, dtype=self.dtype_policy, name="output"
        )
        self.output_projection.build((None, None, self.num_heads * self.value_dim))

    def _project(self, projection: keras.layers.Dense, x: Tensor, *head_dims: int) -> list[Tensor]:
        """Projects `[batch, length, d_model]` to one `[batch, length, heads, dim]` per dim."""
        projected = projection(as_rows(x))
        ends = list(itertools.accumulate(self.num_heads * dim for dim in head_dims[:-1]))
        parts = ops.split(projected, ends, axis=-1) if ends else [projected]
        length = ops.shape(x)[1]
        return [
            ops.reshape(part, (-1, length, self.num_heads, dim))
            for part, dim in zip(parts, head_dims, strict=True)
        ]

    def _project_to_heads(
        self, projection: keras.layers.Dense, x: Tensor, *head_dims: int
    ) -> list[Tensor]:
        """Projects `[batch, length, d_model]` to one `[batch, heads, length, dim]` per dim."""
        return [_swap_heads_and_length(part) for part in self._project(projection, x, *head_dims)]

    def _multi_head(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        training: bool | None,
    ) -> tuple[Tensor, Tensor]:
        """Computes MultiHead(Q, K, V) of projections.

        Args:
            query: The Q W_i^Q of all heads, float `[batch, heads, length, key_dim]`.
            key: The K W_i^K as the score projects them, float
                `[batch, heads, memory_length, key_dim]`.
            value: The V W_i^V, float `[batch, heads, memory_length, value_dim]`.
            attention_mask: As in a call.
            training: As in a call.

        Returns:
            float `[batch, length, d_model]` and the weights of all heads.
        """
        logits = self.score.logits(query, key)
        heads, weights = attend(logits, value, attention_mask, self.weights_dropout, training)
        return self._concat(heads), weights

    def _concat(self, heads: Tensor) -> Tensor:
        """Computes Concat(head_1, ..., head_h) W^O of `[batch, heads, length, value_dim]`."""
        # A row for each position, with its heads side by side.
        concat = ops.reshape(_swap_heads_and_length(heads), (-1, self.num_heads * self.value_dim))
        output = self.output_projection(concat)
        return ops.reshape(output, (-1, ops.shape(heads)[2], self.output_projection.units))

    def _weights_shape(self, x_shape: Shape, memory_shape: Shape) -> Shape:
        return (x_shape[0], self.num_heads, x_shape[1], memory_shape[1])


@register
class SelfAttention(MultiHeadAttention):
    """Multi-head attention of a sequence to itself, with one fused projection.

    Args:
        num_heads: h.
        key_dim: d_k, width of a query or key in one head.
        value_dim: d_v, width of a value in one head.
        dropout: Dropout rate of the attention weights.
        use_bias: Add a bias in each projection.
        score: Name of the score.

    Call arguments:
        x: float `[batch, length, d_model]`.
        attention_mask: bool, broadcastable to `[batch, heads, length, length]`, True where
            attention is allowed.
        training: Whether dropout is active.

    Returns:
        The output, float `[batch, length, d_model]`, and the attention weights, float
        `[batch, heads, length, length]`.

    Example:
        >>> layer = SelfAttention(num_heads=4, key_dim=32, value_dim=32)
        >>> output, weights = layer(keras.ops.ones((2, 5, 128)))

    Reference:
        "Attention Is All You Need", Section 3.2.3: that of the encoder and, with a mask, that of
        the decoder.
    """

    # Whether a step writes over that of an earlier token in the cache.
    reuses_slots = False

    def build(self, input_shape: Shape) -> None:
        self._widths = (self.key_dim, self.key_dim, self.value_dim)
        self.query_key_value = self._projection(*self._widths, name="query_key_value")
        self.query_key_value.build(input_shape)
        self._build_heads(input_shape[-1])

    def call(
        self, x: Tensor, attention_mask: Tensor | None = None, training: bool | None = None
    ) -> tuple[Tensor, Tensor]:
        return self._multi_head(*self._query_key_value(x), attention_mask, training)

    def _query_key_value(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        query, key, value = self._project_to_heads(self.query_key_value, x, *self._widths)
        return query, self.score.project_keys(key), value

    def compute_output_shape(self, input_shape: Shape) -> tuple[Shape, Shape]:
        return input_shape, self._weights_shape(input_shape, input_shape)

    def weights_matrix(self, weights: Tensor) -> Tensor:
        """Returns the weights of a call as a matrix of queries and keys."""
        return weights

    def empty_cache(self, batch_size: int | Tensor, slots: int | Tensor) -> tuple[Tensor, ...]:
        """Returns keys and values of no token yet, for `step`; see `cache.empty_cache`."""
        widths = (self.key_dim, self.value_dim)
        return empty_cache(batch_size, self.num_heads, slots, widths, self.compute_dtype)

    def step(
        self, x: Tensor, cache: tuple[Tensor, ...], slots: Tensor, attention_mask: Tensor
    ) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
        """Attends from the newest token of each hypothesis to itself and its past.

        Args:
            x: float `[batch, beam, d_model]`.
            cache: Keys `[batch, heads, slots, key_dim]` and values
                `[batch, heads, slots, value_dim]` of the earlier tokens, from `empty_cache` or the
                last `step`.
            slots: Where in the cache the newest tokens go, from `cache.newest_slots`.
            attention_mask: bool, broadcastable to `[batch, heads, beam, slots]`, True at a
                hypothesis's past and at its newest token.

        Returns:
            The output `[batch, beam, d_model]`, the weights `[batch, heads, beam, slots]` and the
            cache with the tokens in it.
        """
        query, key, value = self._project(self.query_key_value, x, *self._widths)
        new = (self.score.project_keys(key), value)
        key, value = (
            write(old, heads, slots, self.reuses_slots)
            for old, heads in zip(cache, new, strict=True)
        )
        output, weights = self._multi_head(
            _swap_heads_and_length(query), key, value, attention_mask, training=False
        )
        return output, weights, (key, value)


@register
class CrossAttention(MultiHeadAttention):
    """Multi-head attention of the decoder to the encoder's output.

    Args:
        num_heads: h.
        key_dim: d_k, width of a query or key in one head.
        value_dim: d_v, width of a value in one head.
        dropout: Dropout rate of the attention weights.
        use_bias: Add a bias in each projection.
        score: Name of the score.

    Call arguments:
        x: float `[batch, length, d_model]`.
        memory: float `[batch, memory_length, d_model]`.
        attention_mask: bool, broadcastable to `[batch, heads, length, memory_length]`, True
            where attention is allowed.
        training: Whether dropout is active.

    Returns:
        The output, float `[batch, length, d_model]`, and the attention weights, float
        `[batch, heads, length, memory_length]`.

    Example:
        >>> layer = CrossAttention(num_heads=4, key_dim=32, value_dim=32)
        >>> output, weights = layer(keras.ops.ones((2, 5, 128)), keras.ops.ones((2, 7, 128)))

    Reference:
        "Attention Is All You Need", Section 3.2.3: the "encoder-decoder attention".
    """

    def build(self, x_shape: Shape, memory_shape: Shape) -> None:
        self.query = self._projection(self.key_dim, name="query")
        self.query.build(x_shape)
        self.key_value = self._projection(self.key_dim, self.value_dim, name="key_value")
        self.key_value.build(memory_shape)
        self._build_heads(x_shape[-1])

    def call(
        self,
        x: Tensor,
        memory: Tensor,
        attention_mask: Tensor | None = None,
        training: bool | None = None,
    ) -> tuple[Tensor, Tensor]:
        return self.attend(x, self.keys_values(memory), attention_mask, training)

    def compute_output_shape(self, x_shape: Shape, memory_shape: Shape) -> tuple[Shape, Shape]:
        return x_shape, self._weights_shape(x_shape, memory_shape)

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Projects the memory, once for all decoding steps.

        Args:
            memory: float `[batch, memory_length, d_model]`.

        Returns:
            Keys `[batch, heads, memory_length, key_dim]`, as the score projects them, and values
            `[batch, heads, memory_length, value_dim]`.
        """
        key, value = self._project_to_heads(self.key_value, memory, self.key_dim, self.value_dim)
        return self.score.project_keys(key), value

    def attend(
        self,
        x: Tensor,
        keys_values: tuple[Tensor, Tensor],
        attention_mask: Tensor | None = None,
        training: bool | None = None,
    ) -> tuple[Tensor, Tensor]:
        """As a call, with the memory already projected by `keys_values`."""
        (query,) = self._project_to_heads(self.query, x, self.key_dim)
        key, value = keys_values
        return self._multi_head(query, key, value, attention_mask, training)


def _swap_heads_and_length(x: Tensor) -> Tensor:
    """Transposes `[batch, length, heads, dim]` to `[batch, heads, length, dim]`, or back."""
    return ops.transpose(x, (0, 2, 1, 3))
