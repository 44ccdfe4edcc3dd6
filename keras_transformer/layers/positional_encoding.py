"""Positional encodings (Section 3.5): sinusoidal, or learned as in Table 3, row E.

Both layers add the encoding of positions `start`, `start + 1`, ... to their input. Tables are
float32 for the configured maximum and cast last: bfloat16 cannot count past 256.
"""

import keras
import numpy as np
from keras import ops

from keras_transformer.layers.serialization import register


def sinusoidal_table(max_length: int, d_model: int) -> np.ndarray:
    """Computes PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos(the same).

    Args:
        max_length: Positions.
        d_model: Width, even.

    Returns:
        float32 `[max_length, d_model]`.

    Raises:
        ValueError: If `d_model` is odd.

    Example:
        >>> sinusoidal_table(512, 128)[0, :2]
        array([0., 1.], dtype=float32)

    Reference:
        "Attention Is All You Need", Section 3.5.
    """
    if d_model % 2:
        raise ValueError(
            f"`d_model` must be even, because a sine is paired with a cosine. Received: "
            f"d_model={d_model}"
        )
    position = np.arange(max_length, dtype=np.float64)[:, np.newaxis]
    angle = position / 10000.0 ** (np.arange(0, d_model, 2) / d_model)
    table = np.empty((max_length, d_model), np.float32)
    table[:, 0::2] = np.sin(angle)
    table[:, 1::2] = np.cos(angle)
    return table


class PositionalEncoding(keras.layers.Layer):
    """What both kinds share: adding rows of a table.

    Args:
        max_length: Positions that the table holds.
    """

    def __init__(self, max_length, **kwargs):
        super().__init__(**kwargs)
        self.max_length = max_length

    def call(self, x, start=0):
        length = x.shape[1]
        if isinstance(length, int) and length > self.max_length:
            raise ValueError(
                f"A sequence has more tokens than the {self.max_length} positions of "
                f"`max_length`; raise `max_length` or shorten the input. Received: {length} tokens"
            )
        table = ops.convert_to_tensor(self.table, "float32")
        rows = ops.take(table, ops.arange(ops.shape(x)[1]) + start, axis=0)
        return x + ops.cast(rows, x.dtype)

    def get_config(self):
        return {**super().get_config(), "max_length": self.max_length}


@register
class SinusoidalPositionalEncoding(PositionalEncoding):
    """Adds sines and cosines of geometrically growing wavelengths.

    Args:
        max_length: Positions that the table holds.

    Call arguments:
        x: float `[batch, length, d_model]`, d_model even.
        start: int scalar, position of the first row of `x`.

    Returns:
        float `[batch, length, d_model]`.

    Raises:
        ValueError: If d_model is odd or `length` exceeds `max_length`.

    Example:
        >>> encoded = SinusoidalPositionalEncoding(256)(keras.ops.zeros((2, 5, 128)))

    Reference:
        "Attention Is All You Need", Section 3.5.
    """

    def build(self, input_shape):
        self.table = sinusoidal_table(self.max_length, input_shape[-1])


@register
class LearnedPositionalEncoding(PositionalEncoding):
    """Adds a trained vector for each position.

    Args:
        max_length: Positions that the table holds.

    Call arguments:
        x: float `[batch, length, d_model]`.
        start: int scalar, position of the first row of `x`.

    Returns:
        float `[batch, length, d_model]`.

    Raises:
        ValueError: If `length` exceeds `max_length`.

    Example:
        >>> encoded = LearnedPositionalEncoding(256)(keras.ops.zeros((2, 5, 128)))

    Reference:
        "Attention Is All You Need", Table 3, row E.
    """

    def build(self, input_shape):
        d_model = input_shape[-1]
        self.table = self.add_weight(
            shape=(self.max_length, d_model),
            initializer=keras.initializers.RandomNormal(stddev=d_model**-0.5),
            name="table",
        )
