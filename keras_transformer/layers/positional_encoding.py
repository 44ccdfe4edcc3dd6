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
from keras_transformer.layers.gather import gather
from keras_transformer.layers.serialization import register
from keras_transformer.tensors import Shape, Tensor


def sinusoidal_table(
    max_length: int, d_model: int, positions: Positions = "sinusoidal"
) -> npt.NDArray[np.float32]:
    """Computes PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos(the same).

    "sinusoidal_halves" has the same columns in another order: all sines, then all cosines.
    "sinusoidal_t2t" has that order too, and pos / 10000^(i / (d_model/2 - 1)), so that
    the longest wavelength is 10000 * 2 pi and not a little less.

    Args:
        max_length: Positions.
        d_model: Width, even.
        positions: Which of the sinusoidal ones.

    Returns:
        float32 `[max_length, d_model]`.

    Raises:
        ValueError: If `d_model` is odd.

    Example:
        >>> sinusoidal_table(512, 128)[0, :2]
        array([0., 1.], dtype=float32)

    Reference:
        "Attention Is All You Need", Section 3.5; the last one: `get_timing_signal_1d` of
        Tensor2Tensor, the code of the paper's authors, and Marian.
    """
    if d_model % 2:
        raise ValueError(
            f"`d_model` must be even, because a sine is paired with a cosine. Received: "
            f"d_model={d_model}"
        )
    position = np.arange(max_length, dtype=np.float64)[:, np.newaxis]
    exponent = np.arange(0, d_model, 2) / d_model
    if positions == "sinusoidal_t2t":
        exponent = np.linspace(0.0, 1.0, d_model // 2)
    angle = position / 10000.0**exponent
    waves = np.stack([np.sin(angle), np.cos(angle)])
    # Position, then the wavelengths with the pair of each; or the halves with their wavelengths.
    order = (1, 2, 0) if positions == "sinusoidal" else (1, 0, 2)
    return waves.transpose(order).reshape(max_length, d_model).astype(np.float32)


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
        rows = gather(table, ops.arange(ops.shape(x)[1]) + start)
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
        positions: Which of the tables that `sinusoidal_table` has.

    Call arguments:
        x: float `[batch, length, d_model]`, d_model even.
        start: int scalar, position of the first row of `x`.

    Returns:
        float `[batch, length, d_model]`.

    Raises:
        ValueError: If d_model is odd, or `length` is known and exceeds `max_length`. In a graph for
            any length that is an error on a CPU alone; elsewhere such a row has no position.

    Example:
        >>> encoded = SinusoidalPositionalEncoding(256)(keras.ops.zeros((2, 5, 128)))

    Reference:
        "Attention Is All You Need", Section 3.5.
    """

    def __init__(self, max_length: int, positions: Positions = "sinusoidal", **kwargs: Any) -> None:
        super().__init__(max_length, **kwargs)
        self.positions = positions

    def build(self, input_shape: Shape) -> None:
        self.table = sinusoidal_table(self.max_length, input_shape[-1], self.positions)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "positions": self.positions}


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
        ValueError: If `length` is known and exceeds `max_length`. In a graph for any length that is
            an error on a CPU alone; elsewhere such a row has no position.

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


@register
class PositionalSum(keras.layers.Layer):
    """Adds positions to token vectors, and applies dropout to the sum.

    Args:
        positions: As in `TransformerConfig`.
        max_length: Positions there are.
        dropout: Dropout rate of the sum.
        norm_epsilon: What a normalization of the sum adds to the variance; None for none.

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
        self,
        positions: Positions,
        max_length: int,
        dropout: float,
        norm_epsilon: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.positions = positions
        self.max_length = max_length
        self.dropout_rate = dropout
        self.norm_epsilon = norm_epsilon
        part = {"dtype": self.dtype_policy, "name": "positions"}
        self.encoding: PositionalEncoding | None = None
        if positions == "learned":
            self.encoding = LearnedPositionalEncoding(max_length, **part)
        elif positions != "none":
            self.encoding = SinusoidalPositionalEncoding(max_length, positions, **part)
        self.norm = None
        if norm_epsilon is not None:
            self.norm = keras.layers.LayerNormalization(
                epsilon=norm_epsilon, dtype=self.dtype_policy, name="norm"
            )
        self.dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def build(self, input_shape: Shape) -> None:
        for layer in (self.encoding, self.norm):
            if layer is not None:
                layer.build(input_shape)

    def call(self, x: Tensor, start: int | Tensor = 0, training: bool | None = None) -> Tensor:
        if self.encoding is not None:
            x = self.encoding(x, start=start)
        if self.norm is not None:
            x = self.norm(x)
        return self.dropout(x, training=training)

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "positions": self.positions,
            "max_length": self.max_length,
            "dropout": self.dropout_rate,
            "norm_epsilon": self.norm_epsilon,
        }
