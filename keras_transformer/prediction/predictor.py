"""Predictions as plain values and as lines, of a graph or of an export of one."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.translation.in_batches import encode, map_in_batches

Prediction = dict[str, Any]

BATCH_SIZE = 32


class Predictor:
    """Predicts from strings in Python.

    Args:
        function: Takes a string tensor `[batch]` for each of `columns`; gives a dict of tensors.
        columns: The names of what it takes.
        batch_size: Strings that are predicted from together.

    Example:
        >>> from keras_transformer.prediction.texts import LabelGraph
        >>> graph = LabelGraph(classifier, wordpiece, labels=["bad", "good"])
        >>> predict = Predictor(graph.predict, graph.columns)
        >>> [one["label"] in ("bad", "good") for one in predict(["the cat", "a dog"])]
        [True, True]
    """

    def __init__(
        self,
        function: Callable[..., Mapping[str, tf.Tensor]],
        columns: Sequence[str],
        batch_size: int = BATCH_SIZE,
    ) -> None:
        self.function, self.columns, self.batch_size = function, tuple(columns), batch_size

    def __call__(self, *columns: Iterable[str | bytes], progress: bool = False) -> list[Prediction]:
        """Predicts.

        Args:
            *columns: Strings, for each of `columns`.
            progress: Show a progress bar, on standard error.

        Returns:
            For each row of strings the prediction, as `plain` gives it.

        Raises:
            ValueError: If there are other columns, or of other lengths.
        """
        if len(columns) != len(self.columns):
            raise ValueError(
                f"Predictions need {' and '.join(self.columns)}. Received: {len(columns)} column(s)"
            )
        encoded = map(encode, columns)
        rows = map_in_batches(self.function, *encoded, size=self.batch_size, progress=progress)
        return list(map(plain, rows))

    def of_lines(self, lines: Sequence[bytes], progress: bool = False) -> list[Prediction]:
        """Predicts from lines, with a tab between columns where there are several.

        Args:
            lines: The lines.
            progress: Show a progress bar, on standard error.

        Raises:
            ValueError: If a line has other columns.
        """
        if not lines:
            return []
        # What a tab parts beyond the columns is text of the last one.
        rows = [line.split(b"\t", len(self.columns) - 1) for line in lines]
        for row in rows:
            if len(row) != len(self.columns):
                expected = " and ".join(self.columns)
                raise ValueError(
                    f"A line must be {expected}, apart by a tab. Received: {row[0][:80]!r}"
                )
        return self(*zip(*rows, strict=True), progress=progress)


def plain(row: Mapping[str, Any]) -> Prediction:
    """Makes plain values, as JSON has, of NumPy's; rows of tokens lose their padding.

    Args:
        row: What a graph gave for one string.

    Example:
        >>> plain({"tokens": np.array([b"the", b""], object), "starts": np.array([0, -1])})
        {'tokens': ['the'], 'starts': [0]}
    """
    count = np.count_nonzero(row["tokens"] != b"") if "tokens" in row else None
    values = {
        name: np.asarray(value)[:count] if np.ndim(value) else value for name, value in row.items()
    }
    return {name: _plain(value) for name, value in values.items()}


def _plain(value: Any) -> Any:
    if np.ndim(value):
        return [_plain(one) for one in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value.item() if isinstance(value, np.generic | np.ndarray) else value


def line_of(prediction: Prediction) -> str:
    """Returns a prediction as a line, with tabs between its parts.

    Example:
        >>> line_of({"label": "good", "probabilities": [0.25, 0.75]})
        'good\\t0.7500'
        >>> line_of({"tokens": ["the", "cat"], "tags": ["DET", "NOUN"]})
        'the/DET cat/NOUN'
    """
    found = prediction
    if "label" in found:
        return f"{found['label']}\t{max(found['probabilities']):.4f}"
    if "value" in found:
        return f"{found['value']:.6g}"
    if "answer" in found:
        answer = " ".join(found["answer"].split())
        return f"{answer}\t{found['score']:.4f}\t{found['start']}\t{found['end']}"
    words = zip(found["tokens"], found["tags"], strict=True)
    return " ".join(f"{token}/{tag}" for token, tag in words)
