"""Input that is longer than the model's maximum, cut at sentence ends or between words."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_transformer.text.vocabulary import EOS_ID

# SentencePiece's mark of a space.
_SPACE = "\u2581"
# A full stop ends a sentence where a space follows; its ideographic form needs none.
_SENTENCE_END = re.compile(r"[.!?\u2026\u061f\u06d4\u0964][\"')\]\u201c\u201d\u2019\u00bb]*$")
_IDEOGRAPHIC_END = re.compile(r"[\u3002\uff01\uff1f][\u300d\u300f\uff09]*$")


class Boundaries(NamedTuple):
    """What the pieces of a vocabulary say about where a text may be cut.

    Args:
        begins_word: bool `[vocab_size]`, pieces that begin with a space.
        ends_sentence: bool `[vocab_size]`, pieces that end a sentence if a space follows.
        ends_always: bool `[vocab_size]`, pieces that end a sentence whatever follows.
    """

    begins_word: np.ndarray
    ends_sentence: np.ndarray
    ends_always: np.ndarray

    @classmethod
    def of(cls, vocabulary: Sequence[str]) -> "Boundaries":
        """Reads them from the pieces of a vocabulary, in the order of the ids.

        Example:
            >>> Boundaries.of(["\u2581the", "."]).ends_sentence.tolist()
            [False, True]
        """
        tests = (
            lambda piece: piece.startswith(_SPACE),
            lambda piece: bool(_SENTENCE_END.search(piece)),
            lambda piece: bool(_IDEOGRAPHIC_END.search(piece)),
        )
        return cls(*(np.array([test(piece) for piece in vocabulary]) for test in tests))


def split_into_pieces(
    tokens: tf.RaggedTensor, max_length: int, boundaries: Boundaries
) -> tuple[tf.RaggedTensor, tf.Tensor]:
    """Cuts rows that are too long for the model.

    A piece is as long as it may be and ends, if it can, with a sentence; else before a word; else
    anywhere.

    Args:
        tokens: int32 ragged `[batch, (tokens)]`, each row ending with eos.
        max_length: Most tokens of a piece, eos included, at least 2.
        boundaries: Of the vocabulary.

    Returns:
        The pieces, int32 ragged `[pieces, (tokens)]`, each ending with eos, at least one for each
        row; and the row that each belongs to, int64 `[pieces]`.

    Example:
        >>> tokens = tf.ragged.constant([[5, 6, 7, 3], [3]])
        >>> boundaries = Boundaries.of([""] * 6 + ["\u2581a", "b"])
        >>> pieces, rows = split_into_pieces(tokens, 4, boundaries)
        >>> pieces.to_list(), rows.numpy().tolist()
        ([[5, 6, 7, 3], [3]], [0, 1])
        >>> split_into_pieces(tokens, 3, boundaries)[0].to_list()
        [[5, 3], [6, 7, 3], [3]]
    """
    words = tokens[:, :-1]
    cuts, owners = _cuts(words, max_length - 1, boundaries)
    starts = tf.concat([words.row_starts(), cuts], 0)
    owners = tf.concat([tf.range(words.nrows()), owners], 0)
    # By row, and within a row by position: an empty row starts where the next one does.
    order = tf.argsort(owners * (tf.size(words.values, tf.int64) + 1) + starts)
    starts, owners = tf.gather(starts, order), tf.gather(owners, order)
    pieces = tf.RaggedTensor.from_row_starts(words.values, starts)
    eos = tf.fill([pieces.nrows(), 1], EOS_ID)
    return tf.concat([pieces, eos], axis=1), owners


def _cuts(words: tf.RaggedTensor, most: int, boundaries: Boundaries) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns where pieces of at most `most` tokens begin beside the rows' own beginnings.

    Positions are those in `words.values`, int64 `[cuts]`, and so are the rows that they belong to.
    """
    sentences, spaces = _candidates(words.values, boundaries)
    ends = words.row_starts() + words.row_lengths()

    def too_long(rows, starts, cuts, owners):
        return tf.size(rows) > 0

    def cut_once(rows, starts, cuts, owners):
        limits = starts + most
        sentence, space = _last(sentences, limits), _last(spaces, limits)
        found = tf.where(sentence > starts, sentence, tf.where(space > starts, space, limits))
        longer = found + most < tf.gather(ends, rows)
        return (
            tf.boolean_mask(rows, longer),
            tf.boolean_mask(found, longer),
            tf.concat([cuts, found], 0),
            tf.concat([owners, rows], 0),
        )

    rows = tf.reshape(tf.where(words.row_lengths() > most), [-1])
    none = tf.zeros([0], tf.int64)
    any_number = tf.TensorShape([None])
    *_, cuts, owners = tf.while_loop(
        too_long,
        cut_once,
        (rows, tf.gather(words.row_starts(), rows), none, none),
        shape_invariants=(any_number,) * 4,
    )
    return cuts, owners


def _candidates(values: tf.Tensor, boundaries: Boundaries) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns where sentences may begin, and where words may, both in their order."""
    before, after = values[:-1], values[1:]
    space = tf.gather(boundaries.begins_word, after)
    sentence = tf.gather(boundaries.ends_sentence, before) & space
    sentence |= tf.gather(boundaries.ends_always, before)
    return tuple(tf.reshape(tf.where(found), [-1]) + 1 for found in (sentence, space))


def _last(candidates: tf.Tensor, limits: tf.Tensor) -> tf.Tensor:
    """Returns for each limit the last candidate up to it, -1 if there is none."""
    candidates = tf.concat([tf.constant([-1], tf.int64), candidates], 0)
    return tf.gather(candidates, tf.searchsorted(candidates, limits, side="right") - 1)
