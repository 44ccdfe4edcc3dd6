"""Attention (Section 3.2): scaled dot-product attention and its multi-head form.

Shapes use `length` for the queries' length and `memory_length` for that of keys and values.
"""

import itertools
import math

import keras
import numpy as np
from keras import ops

from keras_transformer.layers.cache import empty_cache, write
from keras_transformer.layers.rows import as_rows
from keras_transformer.layers.serialization import register


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None, training=None):
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
    """
    scale = 1.0 / math.sqrt(query.shape[-1])
    logits = ops.matmul(query * scale, ops.swapaxes(key, -2, -1))
    logits = ops.cast(logits, "float32")
    if mask is not None:
        # Finite, so that a fully masked row gives no NaN.
        logits = ops.where(mask, logits, np.finfo(np.float32).min)
    weights = ops.cast(ops.softmax(logits), value.dtype)
    kept = weights if dropout is None else dropout(weights, training=training)
    return ops.matmul(kept, value), weights


# Of the projections to queries, keys and values, for which the paper gives no initialization. With
# Glorot's own bound a post-norm model takes half as many steps again to learn the same
# (docs/results.md, "Learning beside PyTorch").
PROJECTION_GAIN = 0.5


@register
class FusedGlorotUniform(keras.initializers.Initializer):
    """Glorot-uniform initialization of matrices that are stored side by side.

    Each part has the bound of its own width, `gain * sqrt(6 / (fan_in + width))`, as if it were
    stored alone.

    Args:
        widths: Columns of each part.
        gain: Factor on Glorot's bound.
        seed: int; None for one from Python's generator, which `keras.utils.set_random_seed` sets.
    """

    def __init__(self, widths, gain=1.0, seed=None):
        self.widths = tuple(widths)
        self.gain = gain
        self.seed = keras.initializers.GlorotUniform(seed).seed

    def __call__(self, shape, dtype=None):
        parts = [
            keras.initializers.GlorotUniform(self.seed + part)((shape[0], width), dtype)
            for part, width in enumerate(self.widths)
        ]
        return self.gain * ops.concatenate(parts, axis=1)

    def get_config(self):
        return {"widths": self.widths, "gain": self.gain, "seed": self.seed}


def heads_first(x):
    """Transposes `[batch, length, heads, dim]` to `[batch, heads, length, dim]`, or back."""
    return ops.transpose(x, (0, 2, 1, 3))


class MultiHeadAttention(keras.layers.Layer):
    """What self-attention and cross-attention share (Section 3.2.2).

    Projections have no bias, as in the paper. Those that read the same input are one matrix.

    Args:
        num_heads: h.
        key_dim: d_k, width of a query or key in one head.
        value_dim: d_v, width of a value in one head.
        dropout: Dropout rate of the attention weights.
    """

    def __init__(self, num_heads, key_dim, value_dim, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.key_dim = key_dim
        self.value_dim = value_dim
        self.dropout = dropout
        self.weights_dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def get_config(self):
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "key_dim": self.key_dim,
            "value_dim": self.value_dim,
            "dropout": self.dropout,
        }

    def _projection(self, *head_dims, name):
        """Makes a projection to heads of these widths, stored side by side."""
        widths = [self.num_heads * dim for dim in head_dims]
        return keras.layers.Dense(
            sum(widths),
            use_bias=False,
            kernel_initializer=FusedGlorotUniform(widths, gain=PROJECTION_GAIN),
            dtype=self.dtype_policy,
            name=name,
        )

    def _build_output(self, d_model):
        self.output_projection = keras.layers.Dense(
            d_model, use_bias=False, dtype=self.dtype_policy, name="output"
        )
        self.output_projection.build((None, None, self.num_heads * self.value_dim))

    def _project(self, projection, x, *head_dims):
        """Projects `[batch, length, d_model]` to one `[batch, length, heads, dim]` per dim."""
        projected = projection(as_rows(x))
        ends = list(itertools.accumulate(self.num_heads * dim for dim in head_dims[:-1]))
        parts = ops.split(projected, ends, axis=-1) if ends else [projected]
        length = ops.shape(x)[1]
        return [
            ops.reshape(part, (-1, length, self.num_heads, dim))
            for part, dim in zip(parts, head_dims, strict=True)
        ]

    def _heads(self, projection, x, *head_dims):
        """Projects `[batch, length, d_model]` to one `[batch, heads, length, dim]` per dim."""
        return [heads_first(part) for part in self._project(projection, x, *head_dims)]

    def _attend(self, query, key, value, attention_mask, training):
        """Returns `[batch, length, d_model]` and the weights of all heads."""
        heads, weights = scaled_dot_product_attention(
            query, key, value, attention_mask, self.weights_dropout, training
        )
        joined = ops.reshape(heads_first(heads), (-1, self.num_heads * self.value_dim))
        output = self.output_projection(joined)
        output = ops.reshape(output, (-1, ops.shape(query)[2], self.output_projection.units))
        return output, weights


@register
class SelfAttention(MultiHeadAttention):
    """Multi-head attention of a sequence to itself, with one fused projection.

    Args:
        num_heads: h.
        key_dim: d_k, width of a query or key in one head.
        value_dim: d_v, width of a value in one head.
        dropout: Dropout rate of the attention weights.

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
        "Attention Is All You Need", Sections 3.2.2 and 3.2.3.
    """

    def build(self, input_shape):
        self._widths = (self.key_dim, self.key_dim, self.value_dim)
        self.query_key_value = self._projection(*self._widths, name="query_key_value")
        self.query_key_value.build(input_shape)
        self._build_output(input_shape[-1])

    def call(self, x, attention_mask=None, training=None):
        query, key, value = self._heads(self.query_key_value, x, *self._widths)
        return self._attend(query, key, value, attention_mask, training)

    def empty_cache(self, batch_size, slots):
        """Returns keys and values of no token yet, for `step`; see `cache.empty_cache`."""
        widths = (self.key_dim, self.value_dim)
        return empty_cache(batch_size, self.num_heads, slots, widths, self.compute_dtype)

    def step(self, x, cache, slots, attention_mask):
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
        query, *new = self._project(self.query_key_value, x, *self._widths)
        key, value = (write(old, heads, slots) for old, heads in zip(cache, new, strict=True))
        output, weights = self._attend(
            heads_first(query), key, value, attention_mask, training=False
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
        "Attention Is All You Need", Sections 3.2.2 and 3.2.3.
    """

    def build(self, x_shape, memory_shape):
        self.query = self._projection(self.key_dim, name="query")
        self.query.build(x_shape)
        self.key_value = self._projection(self.key_dim, self.value_dim, name="key_value")
        self.key_value.build(memory_shape)
        self._build_output(x_shape[-1])

    def call(self, x, memory, attention_mask=None, training=None):
        return self.attend(x, self.keys_values(memory), attention_mask, training)

    def keys_values(self, memory):
        """Projects the memory, once for all decoding steps.

        Args:
            memory: float `[batch, memory_length, d_model]`.

        Returns:
            Keys `[batch, heads, memory_length, key_dim]` and values
            `[batch, heads, memory_length, value_dim]`.
        """
        return tuple(self._heads(self.key_value, memory, self.key_dim, self.value_dim))

    def attend(self, x, keys_values, attention_mask=None, training=None):
        """As a call, with the memory already projected by `keys_values`."""
        (query,) = self._heads(self.query, x, self.key_dim)
        return self._attend(query, *keys_values, attention_mask, training)
