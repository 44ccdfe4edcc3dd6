"""Restricted self-attention (Section 4, Table 1): each position sees its neighbourhood alone.

Queries are cut into blocks. A block's keys are those of its own positions and of the neighbourhoods
of its two ends, so that a few matrix products of the same size give all logits inside of the
neighbourhoods and few outside, which a mask hides: exact, in O(n r d) time and memory. A sequence
that is not much longer than a neighbourhood takes one product, with the same mask: fewer steps,
and less work.

A neighbourhood is told by `before` and `after`, positions on either side of the query; it has
before + 1 + after of them. Weights are a band `[..., length, neighbourhood]`: in row i, column j is
the weight of key i - before + j.
"""

from collections.abc import Callable
from typing import Any

from keras import ops

from keras_transformer.layers.attention import SelfAttention, attend
from keras_transformer.layers.serialization import register
from keras_transformer.tensors import Shape, Tensor

# A block is a part of the neighbourhood: a longer one computes more outside of it, and with shorter
# ones each key is copied more often. Products of fewer rows than the smallest are slow.
_BLOCKS_IN_NEIGHBOURHOOD = 2
_SMALLEST_BLOCK = 32


def restricted_attention(
    score: Callable[[Tensor, Tensor], Tensor],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    before: int,
    after: int,
    mask: Tensor | None = None,
    dropout: Callable[..., Tensor] | None = None,
    training: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Attends from each position to its neighbourhood.

    A query that may attend to nothing gets a finite mean of some values.

    Args:
        score: Gives float32 logits `[..., queries, keys]` of queries `[..., queries, key_dim]` and
            keys `[..., keys, key_dim]`.
        query: float `[batch, heads, length, key_dim]`.
        key: float `[batch, heads, length, key_dim]`.
        value: float `[batch, heads, length, value_dim]`.
        before: Positions before its own that a query sees.
        after: Positions after its own that a query sees.
        mask: bool `[batch, 1, 1, length]`, True at the keys that may be attended to; None for all.
        dropout: Layer applied to the weights; None for none.
        training: Whether `dropout` is active.

    Returns:
        The attended values `[batch, heads, length, value_dim]`, and the weights before dropout, a
        band `[batch, heads, length, before + 1 + after]`.

    Example:
        >>> x = keras.ops.ones((1, 2, 100, 4))
        >>> output, weights = restricted_attention(ScaledDotScore(), x, x, x, before=3, after=2)
        >>> tuple(weights.shape)
        (1, 2, 100, 6)

    Reference:
        "Attention Is All You Need", Section 4 and Table 1.
    """
    length, others = ops.shape(query)[2], before + after
    if mask is None:
        mask = ops.ones((1, 1, 1, length), "bool")
    block = block_size(others)

    def attended(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor) -> Any:
        return attend(score(query, key), value, allowed, dropout, training)

    def at_once() -> tuple[Tensor, Tensor]:
        near = _near(length, length, before, after)
        output, weights = attended(query, key, value, ops.logical_and(mask, near))
        weights = ops.pad(weights, [[0, 0]] * 3 + [[before, after]])
        return output, _band(weights, others)

    def in_blocks() -> tuple[Tensor, Tensor]:
        count = -(-length // block)
        keys, values, masks = (
            _spans(x, block, count, before, after) for x in (key, value, ops.swapaxes(mask, -2, -1))
        )
        # In a block's keys, those near to its query i begin at place i.
        near = _near(block, block + others, 0, others)
        allowed = ops.logical_and(ops.swapaxes(masks, -2, -1), near)
        heads, weights = attended(_blocks(query, block, count), keys, values, allowed)
        return _joined(heads, length), _joined(_band(weights, others), length)

    # Up to half as many keys again as a block reads, one product is faster (measured).
    short = 2 * length <= 3 * (block + others)
    if isinstance(length, int):
        return at_once() if short else in_blocks()
    return ops.cond(short, at_once, in_blocks)


def block_size(others: int) -> int:
    """Returns how many queries make a block, where each sees so many keys beside its own.

    Example:
        >>> block_size(127), block_size(7)
        (64, 32)
    """
    return max(_SMALLEST_BLOCK, -(-others // _BLOCKS_IN_NEIGHBOURHOOD))


def band_to_matrix(band: Tensor, before: int) -> Tensor:
    """Puts a band of weights where it is in the matrix of all queries and keys.

    Args:
        band: float `[..., length, neighbourhood]`, from `restricted_attention`.
        before: As there.

    Returns:
        float `[..., length, length]`, zero outside of the neighbourhoods.

    Example:
        >>> band = np.array([[0.0, 0.75, 0.25], [0.5, 0.5, 0.0]], "float32")
        >>> keras.ops.convert_to_numpy(band_to_matrix(band, before=1)).tolist()
        [[0.75, 0.25], [0.5, 0.5]]
    """
    *axes, length, width = ops.shape(band)
    columns = length + width - 1
    room = [[0, 0]] * len(axes) + [[0, 0], [0, length]]
    # Rows that are one number longer than those they are read as: each goes one further right.
    flat = ops.reshape(ops.pad(band, room), (*axes, length * (columns + 1)))
    shifted = ops.reshape(flat[..., : length * columns], (*axes, length, columns))
    return shifted[..., before : before + length]


def _band(weights: Tensor, others: int) -> Tensor:
    """Takes `[..., rows, others + 1]` out of `[..., rows, rows + others]`, from the diagonal on."""
    *axes, rows, columns = ops.shape(weights)
    # Rows that are read as one number longer than they are: each goes one further left.
    flat = ops.reshape(weights, (*axes, rows * columns))
    room = [[0, 0]] * len(axes) + [[0, rows]]
    return ops.reshape(ops.pad(flat, room), (*axes, rows, columns + 1))[..., : others + 1]


def _near(queries: int | Tensor, keys: int | Tensor, before: int, after: int) -> Tensor:
    """Says which keys are near: bool `[queries, keys]`, True from i - before to i + after."""
    offset = ops.arange(keys) - ops.expand_dims(ops.arange(queries), 1)
    return ops.logical_and(offset >= -before, offset <= after)


def _blocks(x: Tensor, block: int, count: int | Tensor) -> Tensor:
    """Cuts `[batch, heads, length, width]` into `[batch, heads, count, block, width]`."""
    _, heads, length, width = ops.shape(x)
    filled = ops.pad(x, [[0, 0], [0, 0], [0, count * block - length], [0, 0]])
    return ops.reshape(filled, (-1, heads, count, block, width))


def _spans(x: Tensor, block: int, count: int | Tensor, before: int, after: int) -> Tensor:
    """Gives each block its positions and those near to it.

    Args:
        x: `[batch, heads, length, width]`.
        block: Positions of a block.
        count: Blocks.
        before: Positions before those of a block.
        after: Positions after them.

    Returns:
        `[batch, heads, count, before + block + after, width]`, zero or False beyond the sequence.
    """
    room = count * block - ops.shape(x)[2] + after
    filled = ops.pad(x, [[0, 0], [0, 0], [before, room], [0, 0]])
    first = ops.expand_dims(ops.arange(count) * block, 1)
    # Not slices: the gradient of an overlapping slice is ten times slower on TensorFlow's CPU.
    return ops.take(filled, first + ops.arange(before + block + after), axis=2)


def _joined(blocks: Tensor, length: int | Tensor) -> Tensor:
    """Joins blocks `[batch, heads, count, block, width]` to `[batch, heads, length, width]`."""
    _, heads, count, block, width = ops.shape(blocks)
    return ops.reshape(blocks, (-1, heads, count * block, width))[:, :, :length]


@register
class RestrictedSelfAttention(SelfAttention):
    """Self-attention of each position to its neighbourhood alone.

    The neighbourhood has r positions: those centred on the query, of which an even r has one more
    before it than after it; or, if causal, the query and the r - 1 before it. A sequence of which
    no two positions are too far from each other gets what `SelfAttention` gives it.

    Args:
        num_heads: h.
        key_dim: d_k, width of a query or key in one head.
        value_dim: d_v, width of a value in one head.
        dropout: Dropout rate of the attention weights.
        use_bias: Add a bias in each projection.
        score: Name of the score.
        window: r.
        causal: See no later position.

    Call arguments:
        x: float `[batch, length, d_model]`.
        attention_mask: bool `[batch, 1, 1, length]`, True at the keys that may be attended to: that
            of the padding. The layer itself sees to the rest.
        training: Whether dropout is active.

    Returns:
        The output, float `[batch, length, d_model]`, and the attention weights, a band, float
        `[batch, heads, length, window]`; `weights_matrix` makes a matrix of it.

    Raises:
        ValueError: If `window` is below 1, or a mask tells queries apart.

    Example:
        >>> layer = RestrictedSelfAttention(num_heads=4, key_dim=32, value_dim=32, window=3)
        >>> output, weights = layer(keras.ops.ones((2, 5, 128)))

    Reference:
        "Attention Is All You Need", Section 4 and Table 1: "self-attention (restricted)".
    """

    # A step takes the place of the one that has left the neighbourhood.
    reuses_slots = True

    def __init__(self, *args: Any, window: int, causal: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if window < 1:
            raise ValueError(
                "`window` must be at least 1, the positions that a query sees, itself included. "
                f"Received: window={window}"
            )
        self.window = window
        self.causal = causal
        self.before = window - 1 if causal else window // 2
        self.after = window - 1 - self.before

    def call(
        self, x: Tensor, attention_mask: Tensor | None = None, training: bool | None = None
    ) -> tuple[Tensor, Tensor]:
        if attention_mask is not None and attention_mask.shape[-2] != 1:
            raise ValueError(
                "`attention_mask` must be the same for all queries of a restricted layer, of shape "
                "[batch, 1, 1, length]; give it that of the padding alone. Received: "
                f"attention_mask of shape {tuple(attention_mask.shape)}"
            )
        heads, weights = restricted_attention(
            self.score.logits,
            *self._query_key_value(x),
            self.before,
            self.after,
            attention_mask,
            self.weights_dropout,
            training,
        )
        return self._concat(heads), weights

    def compute_output_shape(self, input_shape: Shape) -> tuple[Shape, Shape]:
        return input_shape, (input_shape[0], self.num_heads, input_shape[1], self.window)

    def weights_matrix(self, weights: Tensor) -> Tensor:
        return band_to_matrix(weights, self.before)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "window": self.window, "causal": self.causal}
