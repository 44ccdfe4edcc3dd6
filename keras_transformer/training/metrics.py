"""Metrics over real tokens: accuracy and perplexity."""

import keras
from keras import ops

from keras_transformer.layers.serialization import register
from keras_transformer.training.loss import at_label, label_smoothed_cross_entropy


class TokenMean(keras.metrics.Metric):
    """The mean of a value over all real tokens seen, whatever the batches they came in.

    Args:
        pad_id: The label of positions that do not count.
    """

    def __init__(self, pad_id=0, name=None, **kwargs):
        super().__init__(name=name, dtype="float32")
        self.pad_id = pad_id
        # Two sums in one variable: each variable lengthens the trace of the training step.
        self.sums = self.add_variable((2,), "zeros", name="sums")

    def values(self, y_true, y_pred):
        """Returns the value of each token, float `[batch, length]`."""
        raise NotImplementedError

    def update_state(self, y_true, y_pred, sample_weight=None):
        real = ops.cast(ops.not_equal(y_true, self.pad_id), "float32")
        total = ops.sum(ops.cast(self.values(y_true, y_pred), "float32") * real)
        self.sums.assign_add(ops.stack([total, ops.sum(real)]))

    @property
    def count(self) -> float:
        """Real tokens that this process has seen since the last reset."""
        # Under a distribution strategy each replica has its own sum, and reading the variable
        # itself would wait for all workers.
        parts = getattr(self.sums.value, "values", [self.sums])
        return sum(float(part[1]) for part in parts)

    def result(self):
        return self.sums[0] / ops.maximum(self.sums[1], 1.0)

    def reset_state(self):
        self.sums.assign(ops.zeros((2,)))

    def get_config(self):
        return {"name": self.name, "pad_id": self.pad_id}


@register
class TokenAccuracy(TokenMean):
    """The share of real tokens whose most probable prediction is the label; a tie counts.

    Compared with the highest logit, which the loss needs as well: an argmax would be another pass
    over the vocabulary.

    Args:
        pad_id: The label of positions that do not count.

    Example:
        >>> model.compile(optimizer, loss, metrics=[TokenAccuracy(), Perplexity()])
    """

    def __init__(self, pad_id=0, name="accuracy", **kwargs):
        super().__init__(pad_id, name)

    def values(self, y_true, y_pred):
        return ops.equal(at_label(y_true, y_pred), ops.max(y_pred, axis=-1))


@register
class Perplexity(TokenMean):
    """exp of the mean cross-entropy of real tokens, without label smoothing.

    Args:
        pad_id: The label of positions that do not count.

    Example:
        >>> model.compile(optimizer, loss, metrics=[TokenAccuracy(), Perplexity()])
    """

    def __init__(self, pad_id=0, name="perplexity", **kwargs):
        super().__init__(pad_id, name)

    def values(self, y_true, y_pred):
        return label_smoothed_cross_entropy(y_true, y_pred)

    def result(self):
        return ops.exp(super().result())
