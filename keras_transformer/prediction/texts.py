"""The label or the number of a text, or of a pair of texts."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from keras_transformer.models.bert_heads import BertWithHead
from keras_transformer.prediction.graph import Outputs, PredictionGraph
from keras_transformer.prediction.reading import read_texts
from keras_transformer.translation.storage import StoredWeights

PAIR = ("text", "text_pair")


class TextGraph(PredictionGraph):
    """Says something of a text, or of a pair, as a whole; a subclass says what.

    Args:
        model: The model.
        tokenizer: Its tokenizer.
        weights: What to compute with.
        pairs: Whether each prediction is of two texts.
    """

    def __init__(
        self,
        model: BertWithHead,
        tokenizer: Any,
        weights: StoredWeights | None = None,
        pairs: bool = False,
    ) -> None:
        super().__init__(model, tokenizer, weights)
        self.columns = PAIR if pairs else PAIR[:1]

    def numbers(self, logits: tf.Tensor) -> Outputs:
        """Returns what is no string of the predictions, by the model's logits."""
        raise NotImplementedError

    def predict_from(self, *columns: tf.Tensor) -> Outputs:
        """Returns `numbers`.

        Args:
            *columns: string `[batch]`, for each of `columns`.
        """
        return self.numbers(self._logits(read_texts(self.tokenizer, self.max_length, *columns)))


class LabelGraph(TextGraph):
    """Tells labels.

    Args:
        model: A `TextClassifier`.
        tokenizer: Its tokenizer.
        weights: What to compute with.
        labels: The names of the labels, by their numbers.
        pairs: Whether each prediction is of two texts.

    Example:
        >>> graph = LabelGraph(classifier, wordpiece, labels=["bad", "good"])
        >>> sorted(graph.predict(tf.constant(["the cat", ""])))
        ['label', 'probabilities']
    """

    def __init__(
        self,
        model: BertWithHead,
        tokenizer: Any,
        weights: StoredWeights | None = None,
        labels: Sequence[str] = (),
        pairs: bool = False,
    ) -> None:
        super().__init__(model, tokenizer, weights, pairs)
        self.labels = list(labels)

    def numbers(self, logits: tf.Tensor) -> Outputs:
        """Returns "probabilities", float32 `[batch, labels]`, in the order of `labels`."""
        return {"probabilities": tf.nn.softmax(logits[:, 0, 1:])}

    def predict_from(self, *columns: tf.Tensor) -> Outputs:
        """Tells the most probable label of each text.

        Args:
            *columns: string `[batch]`, for each of `columns`.

        Returns:
            "label", string `[batch]`, and "probabilities", float32 `[batch, labels]`, in the order
            of `labels`.
        """
        numbers = super().predict_from(*columns)
        best = tf.argmax(numbers["probabilities"], axis=-1)
        return {"label": tf.gather(tf.constant(self.labels), best), **numbers}


class NumberGraph(TextGraph):
    """Gives numbers, of a `TextRegressor`."""

    def numbers(self, logits: tf.Tensor) -> Outputs:
        """Returns "value", float32 `[batch]`."""
        return {"value": logits[:, 0]}
