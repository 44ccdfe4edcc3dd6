"""Position-wise feed-forward networks (Section 3.3)."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_transformer.layers.rows import as_rows
from keras_transformer.layers.serialization import register
from keras_transformer.tensors import Shape, Tensor


def quick_gelu(x: Tensor) -> Tensor:
    """Computes x sigmoid(1.702 x), which Marian takes for the GELU.

    Example:
        >>> round(float(quick_gelu(1.0)), 4)
        0.8458

    Reference:
        "Gaussian Error Linear Units", arXiv 1606.08415, Section 2.
    """
    return x * ops.sigmoid(1.702 * x)


def gelu_tanh(x: Tensor) -> Tensor:
    """Computes the GELU with the hyperbolic tangent in place of the error function.

    Example:
        >>> round(float(gelu_tanh(1.0)), 4)
        0.8412

    Reference:
        "Gaussian Error Linear Units", arXiv 1606.08415, Section 2.
    """
    return keras.activations.gelu(x, approximate=True)


# Activations that Keras has no name for.
_ACTIVATIONS = {"quick_gelu": quick_gelu, "gelu_tanh": gelu_tanh}


def activation_named(name: str) -> Callable[[Tensor], Tensor]:
    """Returns an activation by its Keras name, "quick_gelu" or "gelu_tanh".

    Raises:
        ValueError: If there is none of that name.

    Example:
        >>> float(activation_named("relu")(keras.ops.array(-1.0)))
        0.0
    """
    return keras.activations.get(_ACTIVATIONS.get(name, name))


@register
class FeedForward(keras.layers.Layer):
    """Computes max(0, x W1 + b1) W2 + b2 at each position, Equation 2.

    Args:
        d_ff: Inner width.
        activation: Activation between the two products, by a name that
            `activation_named` takes.

    Call arguments:
        x: float `[batch, length, d_model]`.

    Returns:
        float `[batch, length, d_model]`.

    Example:
        >>> output = FeedForward(d_ff=256)(keras.ops.ones((2, 5, 128)))

    Reference:
        "Attention Is All You Need", Section 3.3.
    """

    def __init__(self, d_ff: int, activation: str = "relu", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.d_ff = d_ff
        self.activation = activation

    def build(self, input_shape: Shape) -> None:
        d_model = input_shape[-1]
        self.inner = keras.layers.Dense(
            self.d_ff, activation_named(self.activation), dtype=self.dtype_policy, name="inner"
        )
        self.inner.build(input_shape)
        self.outer = keras.layers.Dense(d_model, dtype=self.dtype_policy, name="outer")
        self.outer.build((*input_shape[:-1], self.d_ff))

    def call(self, x: Tensor) -> Tensor:
        rows = self.outer(self.inner(as_rows(x)))
        return ops.reshape(rows, (-1, *ops.shape(x)[1:]))

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "d_ff": self.d_ff, "activation": self.activation}
