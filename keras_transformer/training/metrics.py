"""Metrics over real tokens: accuracy, cross-entropy and perplexity."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import keras
from keras import ops

from keras_transformer.layers.serialization import register, without_pad_id
from keras_transformer.models.token_weights import token_weights
from keras_transformer.tensors import Tensor
from keras_transformer.training.loss import at_label, label_smoothed_cross_entropy

# Of a model's output, or of each of several by its name.
Metrics = (
    Sequence[keras.metrics.Metric] | Mapping[str, keras.metrics.Metric | list[keras.metrics.Metric]]
)


class TokenMean(keras.metrics.Metric):
    """The mean of a value over all real tokens seen, whatever the batches they came in.

    Labels are 0 at padding, which does not count. Among the `weighted_metrics` of `compile`, each
    token counts by the weight of its pair.

    Args:
        name: Of the metric, in the history of `fit` for one.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name=name, dtype="float32")
        # Two sums in one variable: each variable lengthens the trace of the training step.
        self.sums = self.add_variable((2,), "zeros", name="sums")

    def values(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        """Returns the value of each token, float `[batch, length]`."""
        raise NotImplementedError

    def update_state(
        self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None
    ) -> None:
        weights = token_weights(y_true, sample_weight)
        total = ops.sum(ops.cast(self.values(y_true, y_pred), "float32") * weights)
        self.sums.assign_add(ops.stack([total, ops.sum(weights)]))

    @property
    def count(self) -> float:
        """Real tokens that this process has seen since the last reset, or their weights."""
        # Under a distribution strategy each replica has its own sum, and reading the variable
        # itself would wait for all workers.
        parts = getattr(self.sums.value, "values", [self.sums])
        return sum(float(part[1]) for part in parts)

    def result(self) -> Tensor:
        return ops.divide_no_nan(self.sums[0], self.sums[1])

    def reset_state(self) -> None:
        self.sums.assign(ops.zeros((2,)))

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        return super().from_config(without_pad_id(config))


@register
class TokenAccuracy(TokenMean):
    """The share of real tokens whose most probable prediction is the label; a tie counts.

    Compared with the highest logit, which the loss needs as well: an argmax would be another pass
    over the vocabulary.

    Args:
        name: Of the metric.

    Example:
        >>> model.compile(optimizer, loss, metrics=[TokenAccuracy(), Perplexity()])
    """

    def __init__(self, name: str = "accuracy") -> None:
        super().__init__(name)

    def values(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        return ops.equal(at_label(y_true, y_pred), ops.max(y_pred, axis=-1))


@register
class CrossEntropy(TokenMean):
    """The mean cross-entropy of real tokens, without label smoothing: a loss to be shown.

    Args:
        name: Of the metric.

    Example:
        >>> model.compile(optimizer, loss, metrics=[TokenAccuracy(), CrossEntropy()])
    """

    def __init__(self, name: str = "loss") -> None:
        super().__init__(name)

    def values(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        return label_smoothed_cross_entropy(y_true, y_pred)


@register
class Perplexity(CrossEntropy):
    """exp of the mean cross-entropy of real tokens, without label smoothing.

    Args:
        name: Of the metric.

    Example:
        >>> model.compile(optimizer, loss, metrics=[TokenAccuracy(), Perplexity()])
    """

    def __init__(self, name: str = "perplexity") -> None:
        super().__init__(name)

    def result(self) -> Tensor:
        return ops.exp(super().result())
