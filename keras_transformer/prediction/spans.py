"""The answer to a question, as a part of a text of any length.

A text that is too long beside its question is read in windows that overlap, and the best answer of
all counts.
"""

from typing import Any

import tensorflow as tf

from keras_transformer.models.bert_heads import BertWithHead
from keras_transformer.prediction.graph import Outputs, PredictionGraph
from keras_transformer.prediction.reading import Windows, characters_before, read_windows
from keras_transformer.text.framing import framed, padded
from keras_transformer.translation.storage import StoredWeights

# A logit of places that no answer is at; finite, so that a score is a number in JSON as well.
_NOWHERE = -1e4

# White space, in the terms of RE2.
_SPACE = r"[\s\p{Z}]"


class SpanGraph(PredictionGraph):
    """Finds answers.

    Args:
        model: A `SpanFinder`.
        tokenizer: Its tokenizer.
        weights: What to compute with.
        stride: Tokens from the beginning of a window to that of the next.
        max_question: Most tokens of a question; what goes beyond is not read.
        max_answer: Most tokens of an answer.
        threshold: The answer is "" where its score is below.

    Example:
        >>> graph = SpanGraph(span_finder, wordpiece)
        >>> sorted(graph.predict(tf.constant(["who sat ?"]), tf.constant(["the cat sat"])))
        ['answer', 'end', 'score', 'start']

    Reference:
        arXiv 1810.04805, "SQuAD v1.1" and "SQuAD v2.0".
    """

    columns = ("question", "context")

    def __init__(
        self,
        model: BertWithHead,
        tokenizer: Any,
        weights: StoredWeights | None = None,
        stride: int = 128,
        max_question: int = 64,
        max_answer: int = 30,
        threshold: float = 0.0,
    ) -> None:
        super().__init__(model, tokenizer, weights)
        self.stride, self.max_question = stride, max_question
        self.max_answer, self.threshold = max_answer, threshold

    def predict_from(self, *columns: tf.Tensor) -> Outputs:
        """Finds the best answer in each context.

        Args:
            *columns: string `[batch]`, the questions and the contexts.

        Returns:
            "answer", string `[batch]`, "" for none; "score", float32 `[batch]`, how much the answer
            is better than none, in logits; and "start" and "end", int32 `[batch]`, the characters
            of the context that it begins and ends before, -1 for none.
        """
        question, context = columns
        parts, starts, ends = read_windows(
            self.tokenizer, self.max_length, self.stride, self.max_question, question, context
        )
        scores, first, last = self._best(parts)
        batch = tf.shape(context, tf.int64)[0]
        # Of the windows of a text the first with the best answer.
        best = tf.math.unsorted_segment_max(scores, parts.owners, batch)
        places = tf.range(tf.shape(scores, tf.int64)[0])
        is_best = scores == tf.gather(best, parts.owners)
        chosen = tf.boolean_mask(places, is_best)
        chosen = tf.math.unsorted_segment_min(chosen, tf.gather(parts.owners, chosen), batch)
        return self._answers(
            context, best, starts, ends, tf.gather(first, chosen), tf.gather(last, chosen)
        )

    def _best(self, parts: Windows) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Finds the best answer of each window.

        Returns:
            Its score above that of none, and the tokens of the context that it begins and ends
            with; the score is far below any other where a window has no token.
        """
        texts = framed(self.tokenizer, parts.first, parts.second, length=self.max_length)
        logits = self._logits(padded(*texts))[:, :, 1:]
        before = parts.first.row_lengths()[:, tf.newaxis] + 2
        places = tf.range(tf.shape(logits, tf.int64)[2])[tf.newaxis]
        is_text = (places >= before) & (places < before + parts.second.row_lengths()[:, tf.newaxis])
        begins, ends = tf.unstack(tf.where(is_text[:, tf.newaxis], logits, _NOWHERE), axis=1)
        ends = tf.pad(ends, [[0, 0], [0, self.max_answer - 1]], constant_values=_NOWHERE)
        # [windows, begin, length - 1]: an answer that ends before it begins is not among them.
        scores = begins[:, :, tf.newaxis] + tf.signal.frame(ends, self.max_answer, 1)
        flat = tf.reshape(scores, [tf.shape(scores)[0], -1])
        best = tf.argmax(flat, axis=1)
        begin, longer = best // self.max_answer, best % self.max_answer
        none = tf.reduce_sum(logits[:, :, 0], axis=1)
        first = begin - before[:, 0] + parts.starts
        return tf.reduce_max(flat, axis=1) - none, first, first + longer

    def _answers(
        self,
        context: tf.Tensor,
        scores: tf.Tensor,
        starts: tf.RaggedTensor,
        ends: tf.RaggedTensor,
        first: tf.Tensor,
        last: tf.Tensor,
    ) -> Outputs:
        """Cuts answers out of contexts."""
        found = (scores >= self.threshold) & (starts.row_lengths() > 0)
        rows = tf.range(tf.shape(context, tf.int64)[0])

        def at(offsets: tf.RaggedTensor, tokens: tf.Tensor) -> tf.Tensor:
            dense = tf.pad(offsets.to_tensor(), [[0, 0], [0, 1]])
            places = tf.clip_by_value(tokens, 0, tf.shape(dense, tf.int64)[1] - 1)
            return tf.cast(tf.gather_nd(dense, tf.stack([rows, places], axis=1)), tf.int32)

        start, end = at(starts, first), at(ends, last)
        cut = tf.strings.substr(context, start, tf.maximum(end - start, 0))
        # Of SentencePiece a token begins with the space before its word.
        text = tf.strings.regex_replace(cut, rf"^{_SPACE}+", "")
        answer = tf.strings.regex_replace(text, rf"{_SPACE}+$", "")
        found &= answer != ""
        before = characters_before(
            context, start + tf.strings.length(cut) - tf.strings.length(text)
        )
        length = tf.strings.length(answer, "UTF8_CHAR")
        return {
            "answer": tf.where(found, answer, ""),
            "score": scores,
            "start": tf.where(found, before, -1),
            "end": tf.where(found, before + length, -1),
        }
