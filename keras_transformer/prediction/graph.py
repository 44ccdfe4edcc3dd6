"""A tokenizer and a model as functions of string tensors: the signatures of an export.

What all predictions have in common. All inputs and outputs have the batch first, which lets a
server join requests, and any string is an input.
"""

from collections.abc import Callable, Mapping
from typing import Any

import keras
import tensorflow as tf

from keras_transformer.config.limits import OF_AN_EXPORT
from keras_transformer.models.bert_heads import BertWithHead
from keras_transformer.prediction.reading import read_texts
from keras_transformer.text.vocabulary import PAD_ID
from keras_transformer.translation.groups import in_groups
from keras_transformer.translation.limits import cut_bytes
from keras_transformer.translation.storage import StoredWeights

Outputs = dict[str, tf.Tensor]

# Rows that the model reads at a time.
_ROWS = 64


class PredictionGraph:
    """Predicts from tensors of strings; a subclass says what.

    Args:
        model: The model, on the TensorFlow backend.
        tokenizer: Its tokenizer.
        weights: What to compute with; None for the model's weights as they are.

    Raises:
        ValueError: On another backend.

    Attributes:
        columns: The names of the strings that `predict` takes.
        logits_of: The model as a function of "ids" and "segments", int32 `[rows, length]`, compiled
            to compute with the weights.
    """

    columns: tuple[str, ...] = ("text",)

    def __init__(
        self, model: BertWithHead, tokenizer: Any, weights: StoredWeights | None = None
    ) -> None:
        if keras.backend.backend() != "tensorflow":
            raise ValueError(
                "Predictions from strings run on the TensorFlow backend, where the tokenizer does; "
                f"set KERAS_BACKEND=tensorflow. Received: {keras.backend.backend()!r}"
            )
        self.model, self.tokenizer = model, tokenizer
        self.max_length: int = model.config.max_length
        weights = weights or StoredWeights([model])
        # Compiled apart, so that a SavedModel holds each of them once for all of its signatures.
        self.logits_of = _of_any_shape(weights.compile(lambda x: model(x, training=False)))
        self._vectors = _of_any_shape(weights.compile(lambda x: model.bert(x, training=False)))

    def _logits(self, inputs: Mapping[str, tf.Tensor]) -> tf.Tensor:
        """Calls the model on some rows at a time: a text may be many windows."""

        def some(mine: slice) -> list[tf.Tensor]:
            return [self.logits_of({name: rows[mine] for name, rows in inputs.items()})]

        [logits] = in_groups(some, tf.shape(inputs["ids"])[0], _ROWS, [tf.float32])
        return logits

    def predict(self, *columns: tf.Tensor) -> Outputs:
        """Predicts from strings.

        Args:
            *columns: string `[batch]`, for each of `columns`. What is beyond the bytes that an
                export reads is left out.
        """
        return self.predict_from(*map(_cut, columns))

    def predict_from(self, *columns: tf.Tensor) -> Outputs:
        """Predicts from strings of bounded size; a subclass says what."""
        raise NotImplementedError

    def features(self, *columns: tf.Tensor) -> Outputs:
        """Gives vectors of texts, as the encoder has them below its head.

        Args:
            *columns: string `[batch]`, for each of `columns`.

        Returns:
            "sentence", float32 `[batch, d_model]`, the pooled vector; "tokens", float32
            `[batch, length, d_model]`; and "pieces", string `[batch, length]`, "" at padding.
        """
        inputs = read_texts(self.tokenizer, self.max_length, *map(_cut, columns))
        vectors: Mapping[str, tf.Tensor] = self._vectors(inputs)
        is_token = tf.cast(inputs["ids"] != PAD_ID, tf.float32)[:, :, tf.newaxis]
        return {
            "sentence": tf.cast(vectors["pooled"], tf.float32),
            "tokens": tf.cast(vectors["tokens"], tf.float32) * is_token,
            "pieces": self.tokenizer.to_pieces(inputs["ids"]),
        }


def _cut(text: tf.Tensor) -> tf.Tensor:
    text, _ = cut_bytes(text, OF_AN_EXPORT.max_bytes)
    return text


def _of_any_shape(function: Callable[..., Any]) -> Callable[..., Any]:
    """Traces a function of a model's inputs once."""
    ids = tf.TensorSpec([None, None], tf.int32)
    signature = [{"ids": ids, "segments": ids}]
    return tf.function(function, input_signature=signature, autograph=False)
