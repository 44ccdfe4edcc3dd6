"""Beyond the paper: the head of a masked language model, from vectors of places to their words."""

from typing import Any

import keras
from keras import ops

from keras_transformer.layers.feed_forward import activation_named
from keras_transformer.layers.rows import on_rows
from keras_transformer.layers.serialization import register
from keras_transformer.tensors import Shape, Tensor


@register
class MaskedWordHead(keras.layers.Layer):
    """Computes LayerNorm(activation(x W + b)) E^T + c, with the matrix E of the embeddings.

    Args:
        activation: Activation, by the names that `FeedForward` takes.
        norm_epsilon: What the normalization adds to the variance.

    Call arguments:
        x: float `[batch, places, d_model]`.
        output_kernel: E^T, float `[d_model, vocab_size]`.

    Returns:
        float32 logits `[batch, places, vocab_size]`.

    Example:
        >>> head = MaskedWordHead()
        >>> logits = head(keras.ops.ones((2, 5, 8)), keras.ops.ones((8, 100)))
        >>> tuple(logits.shape)
        (2, 5, 100)

    Reference:
        arXiv 1810.04805, "Masked LM"; the transformation before the logits is of its authors' code.
    """

    def __init__(self, activation: str = "gelu", norm_epsilon: float = 1e-12, **kwargs: Any):
        super().__init__(**kwargs)
        self.activation = activation
        self.norm = keras.layers.LayerNormalization(
            epsilon=norm_epsilon, dtype=self.dtype_policy, name="norm"
        )

    def build(self, x_shape: Shape, output_kernel_shape: Shape) -> None:
        self.transform = keras.layers.Dense(
            x_shape[-1],
            activation_named(self.activation),
            dtype=self.dtype_policy,
            name="transform",
        )
        self.transform.build(x_shape)
        self.norm.build(x_shape)
        # Not rounded in a call: logits are float32.
        self.bias = self.add_weight(
            shape=(output_kernel_shape[-1],), initializer="zeros", autocast=False, name="bias"
        )

    def call(self, x: Tensor, output_kernel: Tensor) -> Tensor:
        def logits(rows: Tensor) -> Tensor:
            products = ops.matmul(self.norm(self.transform(rows)), output_kernel)
            return ops.cast(products, "float32") + ops.cast(self.bias, "float32")

        return on_rows(logits, x)

    def compute_output_spec(self, x: Tensor, output_kernel: Tensor) -> keras.KerasTensor:
        return keras.KerasTensor((*x.shape[:-1], output_kernel.shape[-1]), "float32")

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "activation": self.activation,
            "norm_epsilon": self.norm.epsilon,
        }
