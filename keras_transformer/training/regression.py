"""The loss and the metric of numbers in place of labels, of which 0 counts for nothing."""

from typing import Any

import keras
from keras import ops

from keras_transformer.layers.serialization import register
from keras_transformer.models.token_weights import token_weights
from keras_transformer.tensors import Tensor
from keras_transformer.training.metrics import TokenMean


@register
class SquaredError(keras.losses.Loss):
    """The mean squared error of a batch's numbers.

    Args:
        name: Of the loss.

    Call arguments:
        y_true: float `[batch, numbers]`, 0 at padding.
        y_pred: float `[batch, numbers]`.
        sample_weight: Of each row, `[batch]`; None for 1.

    Returns:
        float32 scalar.

    Example:
        >>> float(SquaredError()(np.array([[2.0], [0.0]]), np.array([[5.0], [7.0]])))
        9.0
    """

    def __init__(self, name: str = "loss") -> None:
        # As is said of a loss that gives a scalar; the weights are in the sum already.
        super().__init__(name=name, reduction="sum", dtype="float32")

    def __call__(
        self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None
    ) -> Tensor:
        with keras.name_scope(self.name):
            weights = token_weights(y_true, sample_weight)
            error = ops.square(ops.cast(y_true, "float32") - ops.cast(y_pred, "float32"))
            return ops.divide_no_nan(ops.sum(error * weights), ops.sum(weights))

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name}


@register
class AbsoluteError(TokenMean):
    """The mean absolute error of numbers.

    Args:
        name: Of the metric.

    Example:
        >>> metric = AbsoluteError()
        >>> metric.update_state(np.array([[2.0], [0.0]]), np.array([[5.0], [7.0]]))
        >>> float(metric.result())
        3.0
    """

    def __init__(self, name: str = "absolute_error") -> None:
        super().__init__(name)

    def values(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        return ops.abs(ops.cast(y_true, "float32") - ops.cast(y_pred, "float32"))
