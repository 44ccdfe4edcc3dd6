"""What tells one task of labelled examples from another."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import keras
import numpy as np
import numpy.typing as npt

from keras_transformer.data.labelled.examples import Examples
from keras_transformer.prediction.graph import PredictionGraph
from keras_transformer.prediction.predictor import Prediction, Predictor
from keras_transformer.prediction.reading import Inputs
from keras_transformer.streams.chunking import chunked
from keras_transformer.training.loss import LabelSmoothedCrossEntropy
from keras_transformer.training.metrics import TokenAccuracy
from keras_transformer.translation.storage import StoredWeights

Example = TypeVar("Example")

# Examples that are cut into pieces at once.
_CHUNK = 1000
# Examples that are predicted between two looks at what else there is to do.
_STRETCH = 256


class Row(NamedTuple):
    """What a model reads, and is to say, without padding.

    Args:
        ids: int `[length]`.
        segments: int `[length]`.
        labels: int or float `[labels]`; 0 counts for nothing.
    """

    ids: npt.NDArray[Any]
    segments: npt.NDArray[Any]
    labels: npt.NDArray[Any]


class Kind(Generic[Example]):
    """A kind of examples, with the model for them and how well that does.

    Attributes:
        label_type: Of what models are to say.
        label_count: Labels of a row; None for one of each token.
        segments: Texts that a model reads side by side.
    """

    label_type: Any = np.int32
    label_count: int | None = 1
    segments: int = 1

    def open(self, data: Any, spec: str) -> Examples[Example]:
        """Reads a corpus.

        Args:
            data: The section of the configuration.
            spec: The corpus.

        Raises:
            CorpusError: If it is missing or malformed.
        """
        raise NotImplementedError

    def labels(self, data: Any, examples: Examples[Example]) -> tuple[str, ...]:
        """Returns the labels of training examples; none if they are of another sort."""
        return ()

    def check(self, data: Any, examples: Examples[Example]) -> None:
        """Checks that a model can be right about examples.

        Raises:
            CorpusError: If they have labels that it does not know.
        """

    def texts(self, example: Example) -> Iterator[str]:
        """Yields the text of an example, to learn a vocabulary from."""
        raise NotImplementedError

    def make_model(self, config: Any, **kwargs: Any) -> keras.Model:
        """Makes the model for a run's configuration."""
        raise NotImplementedError

    def make_graph(
        self, config: Any, model: Any, tokenizer: Any, weights: StoredWeights | None = None
    ) -> PredictionGraph:
        """Makes what predicts from strings with a model."""
        raise NotImplementedError

    def read(self, config: Any, tokenizer: Any, examples: Sequence[Example]) -> Iterator[Row]:
        """Reads some examples as models do; of a long one there may be several rows."""
        raise NotImplementedError

    def rows(self, config: Any, tokenizer: Any, examples: Examples[Example]) -> list[Row]:
        """Reads all examples."""
        read = (self.read(config, tokenizer, chunk) for chunk in chunked(examples, _CHUNK))
        return list(itertools.chain.from_iterable(read))

    def loss(self, config: Any) -> keras.losses.Loss:
        """Makes the loss."""
        return LabelSmoothedCrossEntropy(0.0)

    def metrics(self, config: Any) -> list[keras.metrics.Metric]:
        """Makes the metrics of a step."""
        return [TokenAccuracy()]

    def columns(self, example: Example) -> Sequence[str]:
        """Returns the strings that a prediction is made from."""
        raise NotImplementedError

    def predict(
        self,
        graph: Any,
        examples: Sequence[Example],
        check: Callable[[], None] = lambda: None,
    ) -> list[Prediction]:
        """Predicts as an export does.

        Args:
            graph: From `make_graph`.
            examples: The examples.
            check: Called now and then; may raise an error to end it.
        """
        predictor, found = Predictor(graph.predict, graph.columns), []
        for stretch in chunked(examples, _STRETCH):
            check()
            found += predictor(*zip(*map(self.columns, stretch), strict=True))
        return found

    def require_scoring(self) -> None:
        """Checks that the packages that `score` takes are installed.

        Raises:
            ImportError: If one is not.
        """

    def score(self, found: Sequence[Prediction], examples: Any) -> dict[str, float]:
        """Scores predictions by the metrics of the field."""
        raise NotImplementedError


def rows_of(inputs: Inputs, labels: Sequence[npt.NDArray[Any]]) -> Iterator[Row]:
    """Takes padded inputs apart; what it gives holds no padding in memory.

    Args:
        inputs: As `frame` gives them.
        labels: Of each row.

    Example:
        >>> inputs = {"ids": np.array([[2, 5, 3, 0]]), "segments": np.array([[0, 0, 0, 0]])}
        >>> [len(row.ids) for row in rows_of(inputs, [np.array([1])])]
        [3]
    """
    for ids, segments, label in zip(*map(np.asarray, inputs.values()), labels, strict=True):
        length = np.count_nonzero(ids)
        yield Row(ids[:length].copy(), segments[:length].copy(), label)
