"""The residual connection around each sub-layer (Section 3.1, Section 5.4)."""

from typing import Any

import keras

from keras_transformer.layers.serialization import register
from keras_transformer.tensors import Shape, Tensor


@register
class Residual(keras.layers.Layer):
    """Normalization, dropout and addition around one sub-layer.

    Post-norm, the paper's: `LayerNorm(x + Dropout(Sublayer(x)))`.
    Pre-norm: `x + Dropout(Sublayer(LayerNorm(x)))`.

    The sub-layer runs between two halves, so that it may take and return more than `x`: it reads
    `residual.enter(x)`, and a call adds what it gave.

    Args:
        dropout: Dropout rate of the sub-layer's output.
        norm_first: Pre-norm.
        norm_epsilon: What the normalization adds to the variance.

    Call arguments:
        x: float `[batch, length, d_model]`, the input of the block.
        sublayer_output: float `[batch, length, d_model]`.
        training: Whether dropout is active.

    Returns:
        float `[batch, length, d_model]`.

    Example:
        >>> residual, x = Residual(dropout=0.1), keras.ops.ones((2, 5, 128))
        >>> residual.build(x.shape)
        >>> y = residual(x, FeedForward(256)(residual.enter(x)))

    Reference:
        "Attention Is All You Need", Section 3.1; of the dropout, Section 5.4; of pre-norm, "On
        Layer Normalization in the Transformer Architecture", arXiv 2002.04745.
    """

    def __init__(
        self, dropout: float, norm_first: bool = False, norm_epsilon: float = 1e-6, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.dropout_rate = dropout
        self.norm_first = norm_first
        # Named, so that the paths of variables are the same in every model.
        # The last axis by its number: where it is -1, Keras reshapes gain and bias in each call.
        self.norm = keras.layers.LayerNormalization(
            axis=2, epsilon=norm_epsilon, dtype=self.dtype_policy, name="norm"
        )
        self.dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def build(
        self,
        x_shape: Shape,
        sublayer_output_shape: Shape | None = None,
    ) -> None:
        self.norm.build(x_shape)

    def enter(self, x: Tensor) -> Tensor:
        """Returns what the sub-layer reads, `[batch, length, d_model]`."""
        return self.norm(x) if self.norm_first else x

    def call(self, x: Tensor, sublayer_output: Tensor, training: bool | None = None) -> Tensor:
        x = x + self.dropout(sublayer_output, training=training)
        return x if self.norm_first else self.norm(x)

    def compute_output_shape(
        self, x_shape: Shape, sublayer_output_shape: Shape | None = None
    ) -> Shape:
        return x_shape

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "dropout": self.dropout_rate,
            "norm_first": self.norm_first,
            "norm_epsilon": self.norm.epsilon,
        }
