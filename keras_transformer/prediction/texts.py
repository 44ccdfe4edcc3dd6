"""The label or the number of a text, or of a pair of texts."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from keras_transformer.models.bert_heads import BertWithHead
from keras_transformer.prediction.graph import Outputs, PredictionGraph
from keras_transformer.prediction.reading import read_texts
from keras_transformer.translation.storage import StoredWeights

PAIR = ("text", "text_pair")


class LabelGraph(PredictionGraph):
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
        super().__init__(model, tokenizer, weights)
        self.labels = list(labels)
        self.columns = PAIR if pairs else PAIR[:1]

    def predict_from(self, *columns: tf.Tensor) -> Outputs:
        """Tells the most probable label of each text.

        Args:
            *columns: string `[batch]`, for each of `columns`.

        Returns:
            "label", string `[batch]`, and "probabilities", float32 `[batch, labels]`, in the order
            of `labels`.
        """
        logits = self._logits(read_texts(self.tokenizer, self.max_length, *columns))[:, 0, 1:]
        best = tf.argmax(logits, axis=-1)
        return {
            "label": tf.gather(tf.constant(self.labels), best),
            "probabilities": tf.nn.softmax(logits),
        }


class NumberGraph(PredictionGraph):
    """Gives numbers.

    Args:
        model: A `TextRegressor`.
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

    def predict_from(self, *columns: tf.Tensor) -> Outputs:
        """Returns "value", float32 `[batch]`."""
        return {"value": self._logits(read_texts(self.tokenizer, self.max_length, *columns))[:, 0]}
