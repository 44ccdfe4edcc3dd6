"""Labels, or numbers, of texts and of pairs of texts: Figure 4, (a) and (b)."""

from collections.abc import Iterator, Sequence
from typing import Any

import keras
import numpy as np

from keras_transformer.data.labelled.examples import (
    Examples,
    LabelledText,
    labels_of,
    require_known_labels,
    require_shared_labels,
)
from keras_transformer.data.labelled.opening import open_texts
from keras_transformer.evaluation.labels import require_packages, score_labels, score_numbers
from keras_transformer.models.bert_heads import TextClassifier, TextRegressor
from keras_transformer.prediction.graph import PredictionGraph
from keras_transformer.prediction.predictor import Prediction
from keras_transformer.prediction.reading import read_texts
from keras_transformer.prediction.texts import LabelGraph, NumberGraph
from keras_transformer.tasks.labelled.kind import Kind, Row, rows_of
from keras_transformer.training.regression import AbsoluteError, SquaredError
from keras_transformer.translation.storage import StoredWeights


class Texts(Kind[LabelledText]):
    """Texts with labels.

    Args:
        pairs: Whether there are two texts to a label.
    """

    def __init__(self, pairs: bool) -> None:
        self.pairs = pairs
        self.segments = 2 if pairs else 1

    def open(self, data: Any, spec: str) -> Examples[LabelledText]:
        return open_texts(spec, self.pairs)

    def labels(self, data: Any, examples: Examples[LabelledText]) -> tuple[str, ...]:
        require_shared_labels(examples)
        return labels_of(examples)

    def check(self, data: Any, examples: Examples[LabelledText]) -> None:
        require_known_labels(examples, data.labels)

    def texts(self, example: LabelledText) -> Iterator[str]:
        yield from self.columns(example)

    def make_model(self, config: Any, **kwargs: Any) -> keras.Model:
        return TextClassifier(config.model, len(config.data.labels), **kwargs)

    def make_graph(
        self, config: Any, model: Any, tokenizer: Any, weights: StoredWeights | None = None
    ) -> PredictionGraph:
        return LabelGraph(model, tokenizer, weights, config.data.labels, self.pairs)

    def read(self, config: Any, tokenizer: Any, examples: Sequence[LabelledText]) -> Iterator[Row]:
        columns = zip(*map(self.columns, examples), strict=True)
        inputs = read_texts(tokenizer, config.model.max_length, *map(list, columns))
        yield from rows_of(inputs, [self.target(config, one) for one in examples])

    def target(self, config: Any, example: LabelledText) -> Any:
        """Returns what a model is to say of an example, `[1]`."""
        return np.array([1 + config.data.labels.index(example.label)], np.int32)

    def columns(self, example: LabelledText) -> Sequence[str]:
        return (example.text, example.text_pair) if self.pairs else (example.text,)

    def require_scoring(self) -> None:
        require_packages()

    def score(
        self, found: Sequence[Prediction], examples: Sequence[LabelledText]
    ) -> dict[str, float]:
        return score_labels([one["label"] for one in found], [one.label for one in examples])


class Numbers(Texts):
    """Texts with numbers."""

    label_type = np.float32

    def open(self, data: Any, spec: str) -> Examples[LabelledText]:
        return open_texts(spec, self.pairs, numbers=True)

    def labels(self, data: Any, examples: Examples[LabelledText]) -> tuple[str, ...]:
        return ()

    def check(self, data: Any, examples: Examples[LabelledText]) -> None:
        """All numbers can be validated on."""

    def make_model(self, config: Any, **kwargs: Any) -> keras.Model:
        return TextRegressor(config.model, 1, **kwargs)

    def make_graph(
        self, config: Any, model: Any, tokenizer: Any, weights: StoredWeights | None = None
    ) -> PredictionGraph:
        return NumberGraph(model, tokenizer, weights, self.pairs)

    def loss(self, config: Any) -> keras.losses.Loss:
        return SquaredError()

    def metrics(self, config: Any) -> list[keras.metrics.Metric]:
        return [AbsoluteError()]

    def target(self, config: Any, example: LabelledText) -> Any:
        # The label 0 stands for nothing, so the number 0 is written as the next one.
        number = np.array([float(example.label)], np.float32)
        return np.where(number == 0, np.finfo(np.float32).tiny, number)

    def score(
        self, found: Sequence[Prediction], examples: Sequence[LabelledText]
    ) -> dict[str, float]:
        numbers = [float(one.label) for one in examples]
        return score_numbers([one["value"] for one in found], numbers)
