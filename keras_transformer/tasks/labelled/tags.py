"""Tags of words: Figure 4, (d). The first piece of a word counts."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_transformer.data.labelled.examples import (
    Examples,
    TaggedWords,
    labels_of,
    require_known_labels,
)
from keras_transformer.data.labelled.opening import open_words
from keras_transformer.evaluation.tags import score_tags
from keras_transformer.models.bert_heads import TokenTagger
from keras_transformer.prediction.graph import PredictionGraph
from keras_transformer.prediction.predictor import BATCH_SIZE, Prediction
from keras_transformer.prediction.reading import read_words
from keras_transformer.prediction.tags import TagGraph
from keras_transformer.streams.chunking import chunked
from keras_transformer.tasks.labelled.kind import Kind, Row, rows_of
from keras_transformer.text.framing import framed, padded
from keras_transformer.translation.storage import StoredWeights


class Tags(Kind[TaggedWords]):
    """Words with tags."""

    label_count = None

    def open(self, data: Any, spec: str) -> Examples[TaggedWords]:
        return open_words(spec)

    def labels(self, data: Any, examples: Examples[TaggedWords]) -> tuple[str, ...]:
        return labels_of(examples)

    def check(self, data: Any, examples: Examples[TaggedWords]) -> None:
        require_known_labels(examples, data.labels)

    def texts(self, example: TaggedWords) -> Iterator[str]:
        yield " ".join(example.words)

    def make_model(self, config: Any, **kwargs: Any) -> keras.Model:
        return TokenTagger(config.model, len(config.data.labels), **kwargs)

    def make_graph(
        self, config: Any, model: Any, tokenizer: Any, weights: StoredWeights | None = None
    ) -> PredictionGraph:
        return TagGraph(model, tokenizer, weights, config.data.labels)

    def read(self, config: Any, tokenizer: Any, examples: Sequence[TaggedWords]) -> Iterator[Row]:
        pieces = read_words(tokenizer, config.model.max_length, _words_of(examples))
        inputs = padded(*framed(tokenizer, pieces.ids, length=config.model.max_length))
        numbers = {label: number for number, label in enumerate(config.data.labels, 1)}
        tags = np.array([numbers[tag] for one in examples for tag in one.tags], np.int32)
        labels = np.zeros(inputs["ids"].shape, np.int32)
        known = pieces.has_pieces.numpy()
        rows, places = pieces.places.numpy()[known].T
        labels[rows, places] = tags[known]
        for row in rows_of(inputs, list(labels)):
            yield row._replace(labels=row.labels[: len(row.ids)].copy())

    def predict(
        self,
        graph: Any,
        examples: Sequence[TaggedWords],
        check: Callable[[], None] = lambda: None,
    ) -> list[Prediction]:
        """Predicts the tags of words that are known, of which a graph else finds its own."""
        found = []
        for batch in chunked(examples, BATCH_SIZE):
            check()
            tags = graph.tag(_words_of(batch)).to_list()
            found += [
                {"tokens": list(one.words), "tags": [tag.decode() for tag in of_words]}
                for one, of_words in zip(batch, tags, strict=True)
            ]
        return found

    def score(
        self, found: Sequence[Prediction], examples: Sequence[TaggedWords]
    ) -> dict[str, float]:
        return score_tags([one["tags"] for one in found], [one.tags for one in examples])

    def columns(self, example: TaggedWords) -> Sequence[str]:
        return (" ".join(example.words),)


def _words_of(examples: Sequence[TaggedWords]) -> tf.RaggedTensor:
    return tf.ragged.constant([one.words for one in examples], tf.string, ragged_rank=1)
