"""Label-smoothed cross-entropy over real tokens (Section 5.4)."""

from collections.abc import Callable, Mapping
from typing import Any, Self

import keras
from keras import ops

from keras_transformer.layers.ids import require_in_vocabulary
from keras_transformer.layers.serialization import register, without_pad_id
from keras_transformer.models.token_weights import token_weights
from keras_transformer.tensors import Tensor

# Of a model's output, or of each of several by its name.
Losses = keras.losses.Loss | Mapping[str, keras.losses.Loss]


def label_smoothed_cross_entropy(
    labels: Tensor, logits: Tensor, label_smoothing: float = 0.0
) -> Tensor:
    """Computes the cross-entropy of each token against the smoothed one-hot distribution.

    The distribution is (1 - epsilon) at the label plus epsilon / V everywhere, as in Szegedy et al.
    (arXiv 1512.00567, Section 7). In closed form: logsumexp(z) - (1 - epsilon) z[label] -
    epsilon mean(z). Its gradient is the softmax less the smoothed distribution: written out here,
    because that of the closed form makes several times as many passes over the vocabulary.

    Args:
        labels: int `[..., length]`.
        logits: float `[..., length, vocab_size]`.
        label_smoothing: epsilon_ls.

    Returns:
        float32 `[..., length]`, in nats.

    Example:
        >>> loss = label_smoothed_cross_entropy(np.array([1]), np.zeros((1, 4)))
        >>> round(float(loss[0]), 4)  # log(4)
        1.3863
    """
    labels = ops.cast(labels, "int32")
    # Known while it is traced, but where the labels are places of a text of any length.
    vocab_size = ops.shape(logits)[-1]

    @ops.custom_gradient
    def cross_entropy(logits: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        probabilities = ops.softmax(logits)
        highest = ops.max(logits, axis=-1)
        # logsumexp, of what is there: the highest probability is at least 1 / V.
        log_partition = highest - ops.log(ops.max(probabilities, axis=-1))
        loss = log_partition - (1.0 - label_smoothing) * at_label(labels, logits)
        if label_smoothing:
            loss = loss - label_smoothing * ops.mean(logits, axis=-1)

        def gradient(upstream: Tensor) -> Tensor:
            one_hot = ops.one_hot(labels, vocab_size)
            smoothed = (1.0 - label_smoothing) * one_hot
            if label_smoothing:
                smoothed = smoothed + label_smoothing / vocab_size
            return (probabilities - smoothed) * ops.expand_dims(upstream, -1)

        return loss, gradient

    return cross_entropy(ops.cast(logits, "float32"))


def at_label(labels: Tensor, logits: Tensor) -> Tensor:
    """Picks the logit of each label.

    Args:
        labels: int `[..., length]`.
        logits: float `[..., length, vocab_size]`.

    Returns:
        `[..., length]` of the logits' dtype.

    Raises:
        ValueError: If labels that have values are not in the vocabulary.
    """
    require_in_vocabulary("Labels", labels, logits.shape[-1])
    indices = ops.expand_dims(ops.cast(labels, "int32"), -1)
    return ops.squeeze(ops.take_along_axis(logits, indices, axis=-1), -1)


@register
class LabelSmoothedCrossEntropy(keras.losses.Loss):
    """The mean label-smoothed cross-entropy of a batch's real tokens.

    Summed over real tokens and divided by their number, so that padding changes nothing; with a
    weight for each pair, the weighted sum over the sum of the tokens' weights. A batch of nothing
    but padding gives 0.

    Args:
        label_smoothing: epsilon_ls.

    Call arguments:
        y_true: int `[batch, length]`, 0 at padding.
        y_pred: float logits `[batch, length, vocab_size]`.
        sample_weight: Of each pair, `[batch]`; None for 1.

    Returns:
        float32 scalar, in nats a token.

    Example:
        >>> model.compile(optimizer, loss=LabelSmoothedCrossEntropy(0.1))

    Reference:
        "Attention Is All You Need", Section 5.4.
    """

    def __init__(self, label_smoothing: float = 0.1, name: str = "loss") -> None:
        # As is said of a loss that gives a scalar; the weights are in the sum already.
        super().__init__(name=name, reduction="sum", dtype="float32")
        self.label_smoothing = label_smoothing

    def __call__(
        self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None
    ) -> Tensor:
        with keras.name_scope(self.name):
            return self.call(y_true, y_pred, sample_weight)

    def call(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        loss = label_smoothed_cross_entropy(y_true, y_pred, self.label_smoothing)
        weights = token_weights(y_true, sample_weight)
        return ops.divide_no_nan(ops.sum(loss * weights), ops.sum(weights))

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name, "label_smoothing": self.label_smoothing}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        return super().from_config(without_pad_id(config))
