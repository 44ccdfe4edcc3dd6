"""Unigram segmentation in graph: the most probable sequence of pieces, by Viterbi's algorithm.

Sums and ties are SentencePiece's, to the last bit: scores add up in float32 from the start of the
text, and a piece that begins later replaces one of the same sum only if that sum, before it was
rounded, is greater.

Reference:
    "Subword Regularization", arXiv 1804.10959.
"""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_transformer.export.tflite.pieces import normal_pieces
from keras_transformer.export.tflite.trie import Trie
from keras_transformer.export.tflite.vectors import shifted, walk

# Less than any sum of scores, and far enough from float32's end for sums of it.
_NEVER = np.float32(-1e30)
# What an unknown character has below the least score.
_UNKNOWN_PENALTY = np.float32(10.0)


class Unigram:
    """Segments text by a vocabulary of scores.

    Args:
        proto: A SentencePiece model of type UNIGRAM.
        max_characters: Most characters of a text.

    Example:
        >>> from keras_transformer.export.tflite.pieces import parse
        >>> from keras_transformer.text.tokenizer import SubwordTokenizer
        >>> unigram = SubwordTokenizer.train(["a small dog"], 12, algorithm="unigram")
        >>> codes = tf.constant([*map(ord, "\u2581a\u2581dog")])
        >>> ids, places = Unigram(parse(unigram.model), max_characters=64).segment(codes)
        >>> ids.numpy().tolist() == unigram.tokenize(["a dog"]).to_list()[0][:-1]
        True
    """

    def __init__(self, proto: Any, max_characters: int):
        pieces = normal_pieces(proto)
        self._most, self._longest = max_characters, max(map(len, pieces))
        self._trie = Trie(pieces)
        scores = {piece: np.float32(proto.pieces[i].score) for piece, i in pieces.items()}
        # As bits: no quantization of the file's weights may touch them.
        self._scores = self._trie.of_nodes(scores, _NEVER).view(np.int32)
        self._unknown_id = proto.trainer_spec.unk_id
        self._unknown_score = (min(scores.values()) - _UNKNOWN_PENALTY).view(np.int32)

    def segment(self, codes: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Segments a text.

        Args:
            codes: int32 `[characters]`, normalized.

        Returns:
            The ids of its pieces, and the place of the first character of each, int32 `[pieces]`;
            a character that is no piece is unk.
        """
        ids, scores = self._ending_pieces(codes)
        before = self._best_sums(scores)
        chosen = _chosen(before, scores)
        ends = tf.range(1, tf.size(codes) + 1)
        starts = ends - self._longest + chosen
        met = walk(tf.concat([[0], starts], 0), tf.size(codes), self._most)
        met = met[: tf.reduce_sum(tf.cast(met > 0, tf.int32))][::-1] - 1
        ids = tf.gather(tf.reshape(ids, [-1]), met * self._longest + tf.gather(chosen, met))
        return ids, tf.gather(starts, met)

    def _ending_pieces(self, codes: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Finds the pieces that end behind each character, the longest first.

        Returns:
            Their ids, int32, and scores, float32, `[characters, lengths]`; of no piece the score is
            `_NEVER`.
        """
        letters, nodes = self._trie.letters(codes), tf.zeros_like(codes)
        ids: list[tf.Tensor] = []
        scores: list[tf.Tensor] = []
        for before in range(self._longest):
            letter = shifted(letters, -before, self._trie.no_letter)
            nodes = self._trie.children(nodes, letter)
            number, score = tf.gather(self._trie.numbers, nodes), tf.gather(self._scores, nodes)
            if before == 0:
                score = tf.where(number < 0, self._unknown_score, score)
                number = tf.where(number < 0, self._unknown_id, number)
            ids.insert(0, shifted(number, before, self._unknown_id))
            scores.insert(0, shifted(score, before, int(_NEVER.view(np.int32))))
        return tf.stack(ids, 1), tf.bitcast(tf.stack(scores, 1), tf.float32)

    def _best_sums(self, scores: tf.Tensor) -> tf.Tensor:
        """Returns the best sum of scores up to where each piece begins, `[characters, lengths]`."""
        size, longest = tf.shape(scores)[0], self._longest

        def more(end: tf.Tensor, sums: tf.Tensor) -> tf.Tensor:
            return end <= size

        def step(end: tf.Tensor, sums: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            best = tf.reduce_max(tf.slice(sums, [end], [longest]) + scores[end - 1], keepdims=True)
            return end + 1, keras.ops.slice_update(sums, [longest + end], best)

        start = tf.concat([tf.fill([longest], _NEVER), [0.0], tf.fill([size], _NEVER)], 0)
        _, sums = tf.while_loop(more, step, (tf.constant(1), start))
        ends = tf.range(1, size + 1)
        return tf.gather(sums, ends[:, None] + tf.range(longest))


def _chosen(before: tf.Tensor, scores: tf.Tensor) -> tf.Tensor:
    """Returns the column of the best sum in each row: of equal ones the first, or the last that
    was rounded down.

    Args:
        before: float32 `[rows, columns]`.
        scores: float32 `[rows, columns]`, what is added.
    """
    sums = before + scores
    # What rounding took away, by Knuth's TwoSum.
    added = sums - before
    lost = (before - (sums - added)) + (scores - added)
    is_best = sums == tf.reduce_max(sums, 1, keepdims=True)
    columns = tf.range(sums.shape[1])
    first = tf.reduce_min(tf.where(is_best, columns, sums.shape[1]), 1)
    last = tf.reduce_max(tf.where(is_best & (lost > 0), columns, -1), 1)
    return tf.maximum(first, last)
