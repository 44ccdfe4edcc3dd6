"""Answers that stand in a text: Figure 4, (c)."""

from collections.abc import Iterator, Sequence
from typing import Any

import keras
import numpy as np
import numpy.typing as npt

from keras_transformer.data.labelled.examples import Answer, Examples, Question
from keras_transformer.data.labelled.opening import open_questions
from keras_transformer.evaluation.answers import score_answers
from keras_transformer.models.bert_heads import SpanFinder
from keras_transformer.prediction.graph import PredictionGraph
from keras_transformer.prediction.predictor import Prediction
from keras_transformer.prediction.reading import read_windows
from keras_transformer.prediction.spans import SpanGraph
from keras_transformer.tasks.labelled.kind import Kind, Row, rows_of
from keras_transformer.text.framing import framed, padded
from keras_transformer.translation.storage import StoredWeights


class Spans(Kind[Question]):
    """Questions about texts."""

    label_count = 2
    segments = 2

    def open(self, data: Any, spec: str) -> Examples[Question]:
        return open_questions(spec)

    def texts(self, example: Question) -> Iterator[str]:
        yield from self.columns(example)

    def make_model(self, config: Any, **kwargs: Any) -> keras.Model:
        return SpanFinder(config.model, **kwargs)

    def make_graph(
        self, config: Any, model: Any, tokenizer: Any, weights: StoredWeights | None = None
    ) -> PredictionGraph:
        data = config.data
        limits = (data.stride, data.max_question, data.max_answer, data.threshold)
        return SpanGraph(model, tokenizer, weights, *limits)

    def read(self, config: Any, tokenizer: Any, examples: Sequence[Question]) -> Iterator[Row]:
        """Reads questions: a row for each window of their texts.

        A window without the whole answer has none, and says so by the place of `[CLS]`.
        """
        data = config.data
        limits = (config.model.max_length, data.stride, data.max_question)
        columns = ([one.question for one in examples], [one.context for one in examples])
        parts, *offsets = read_windows(tokenizer, *limits, *columns)
        spans = [
            _tokens_of(one, np.asarray(starts), np.asarray(ends))
            for one, starts, ends in zip(
                examples, *(each.to_list() for each in offsets), strict=True
            )
        ]
        # The places before a window's first token: [CLS], the question, [SEP].
        before = parts.first.row_lengths().numpy() + 2
        windows = zip(
            parts.owners.numpy(),
            parts.starts.numpy(),
            parts.second.row_lengths().numpy(),
            before,
            strict=True,
        )
        labels = [
            _labels(spans[owner], first, length, place) for owner, first, length, place in windows
        ]
        texts = framed(tokenizer, parts.first, parts.second, length=config.model.max_length)
        yield from rows_of(padded(*texts), labels)

    def columns(self, example: Question) -> Sequence[str]:
        return example.question, example.context

    def score(self, found: Sequence[Prediction], examples: Sequence[Question]) -> dict[str, float]:
        references = [[answer.text for answer in one.answers] for one in examples]
        return score_answers([one["answer"] for one in found], references)


def _tokens_of(
    question: Question, starts: npt.NDArray[Any], ends: npt.NDArray[Any]
) -> tuple[int, int] | None:
    """Finds the first and the last token of the first answer; None if there are none.

    Args:
        question: The question.
        starts: The bytes of the context that its tokens begin at, `[tokens]`.
        ends: The bytes that they end before.
    """
    if not question.answers:
        return None
    first, last = _bytes_of(question.context, question.answers[0])
    tokens = np.flatnonzero((ends > first) & (starts < last))
    return (int(tokens[0]), int(tokens[-1])) if len(tokens) else None


def _bytes_of(context: str, answer: Answer) -> tuple[int, int]:
    start = len(context[: answer.start].encode())
    return start, start + len(answer.text.encode())


def _labels(
    span: tuple[int, int] | None, first: int, length: int, place: int
) -> npt.NDArray[np.int32]:
    """Returns the labels of a window: the places of the answer's ends, or of `[CLS]`, from 1."""
    if span is None or span[0] < first or span[1] >= first + length:
        return np.array([1, 1], np.int32)
    return np.array(span, np.int32) - first + place + 1
