"""Positional encodings (Section 3.5), sinusoidal or learned, and their sum with the embeddings.

All layers here add the encoding of positions `start`, `start + 1`, ... to their input. Tables are
float32 for the configured maximum and cast last: bfloat16 cannot count past 256.
"""

from typing import Any

import keras
import numpy as np
import numpy.typing as npt
from keras import ops

from keras_transformer.config import Positions
from keras_transformer.layers.serialization import register
from keras_transformer.tensors import Shape, Tensor


def sinusoidal_table(max_length: int, d_model: int) -> npt.NDArray[np.float32]:
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

    Attributes:
        table: float `[max_length, d_model]`, which a subclass makes when it is built.
    """

    table: Tensor

    def __init__(self, max_length: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.max_length = max_length

    def call(self, x: Tensor, start: int | Tensor = 0) -> Tensor:
        length = x.shape[1]
        if isinstance(length, int) and length > self.max_length:
            raise ValueError(
                f"A sequence has more tokens than the {self.max_length} positions of "
                f"`max_length`; raise `max_length` or shorten the input. Received: {length} tokens"
            )
        table = ops.convert_to_tensor(self.table, "float32")
        rows = ops.take(table, ops.arange(ops.shape(x)[1]) + start, axis=0)
        return x + ops.cast(rows, x.dtype)

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return input_shape

    def get_config(self) -> dict[str, Any]:
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

    def build(self, input_shape: Shape) -> None:
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
        "Attention Is All You Need", Section 3.5.
    """

    def build(self, input_shape: Shape) -> None:
        d_model = input_shape[-1]
        self.table = self.add_weight(
            shape=(self.max_length, d_model),
            initializer=keras.initializers.RandomNormal(stddev=d_model**-0.5),
            name="table",
        )


_ENCODINGS = {
    "sinusoidal": SinusoidalPositionalEncoding,
    "learned": LearnedPositionalEncoding,
}


@register
class PositionalSum(keras.layers.Layer):
    """Adds positions to token vectors, and applies dropout to the sum.

    Args:
        positions: "sinusoidal", "learned" or "none".
        max_length: Positions there are.
        dropout: Dropout rate of the sum.

    Call arguments:
        x: float `[batch, length, d_model]`, token vectors.
        start: int scalar, position of the first token.
        training: Whether dropout is active.

    Returns:
        float `[batch, length, d_model]`.

    Example:
        >>> summed = PositionalSum("sinusoidal", 256, 0.1)(keras.ops.zeros((2, 5, 128)))

    Reference:
        "Attention Is All You Need", Section 3.5; of the dropout, Section 5.4.
    """

    def __init__(
        self, positions: Positions, max_length: int, dropout: float, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.positions = positions
        self.max_length = max_length
        self.dropout_rate = dropout
        self.encoding: PositionalEncoding | None = None
        if positions != "none":
            self.encoding = _ENCODINGS[positions](
                max_length, dtype=self.dtype_policy, name="positions"
            )
        self.dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def build(self, input_shape: Shape) -> None:
        if self.encoding is not None:
            self.encoding.build(input_shape)

    def call(self, x: Tensor, start: int | Tensor = 0, training: bool | None = None) -> Tensor:
        if self.encoding is not None:
            x = self.encoding(x, start=start)
        return self.dropout(x, training=training)

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "positions": self.positions,
            "max_length": self.max_length,
            "dropout": self.dropout_rate,
        }
