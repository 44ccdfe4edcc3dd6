"""Input that is longer than the model's maximum, cut at sentence ends or between words."""

import re
from collections.abc import Sequence
from typing import NamedTuple

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

    begins_word: tf.Tensor
    ends_sentence: tf.Tensor
    ends_always: tf.Tensor

    @classmethod
    def of(cls, vocabulary: Sequence[str]) -> "Boundaries":
        """Reads them from the pieces of a vocabulary, in the order of the ids.

        Example:
            >>> Boundaries.of(["\u2581the", "."]).ends_sentence.numpy().tolist()
            [False, True]
        """
        tests = (
            lambda piece: piece.startswith(_SPACE),
            lambda piece: bool(_SENTENCE_END.search(piece)),
            lambda piece: bool(_IDEOGRAPHIC_END.search(piece)),
        )
        # Tensors, which all graphs share; an array would be written into each.
        return cls(*(tf.constant([test(piece) for piece in vocabulary]) for test in tests))


def split_into_pieces(
    tokens: tf.RaggedTensor,
    max_length: int,
    boundaries: Boundaries,
    every_sentence: bool = False,
) -> tuple[tf.RaggedTensor, tf.Tensor]:
    """Cuts rows that are too long for the model into sentences, and these, if need be, into words.

    A sentence that is still too long is cut before the last word that fits, or, without one, where
    it reaches the most tokens.

    Args:
        tokens: int32 ragged `[batch, (tokens)]`, each row ending with eos.
        max_length: Most tokens of a piece, eos included, at least 2.
        boundaries: Of the vocabulary.
        every_sentence: Whether to cut all rows into sentences, however short.

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
    words, most = tokens[:, :-1], max_length - 1
    sentence_starts, word_starts = _starts(words.values, boundaries)
    rows = tf.gather(words.value_rowids(), sentence_starts)
    is_cut = (sentence_starts > tf.gather(words.row_starts(), rows)) & (
        every_sentence | (tf.gather(words.row_lengths(), rows) > most)
    )
    cut = tf.where(is_cut)[:, 0]
    sentences, owners = _cut(
        words, tf.range(words.nrows()), tf.gather(sentence_starts, cut), tf.gather(rows, cut)
    )
    cuts, of_sentence = _cuts_of_long_rows(sentences, most, word_starts)
    pieces, owners = _cut(sentences, owners, cuts, tf.gather(owners, of_sentence))
    eos = tf.fill([pieces.nrows(), 1], EOS_ID)
    return tf.concat([pieces, eos], axis=1), owners


def _starts(values: tf.Tensor, boundaries: Boundaries) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns where sentences may begin, and where words may, int64, both in their order."""
    before, after = values[:-1], values[1:]
    word = tf.gather(boundaries.begins_word, after)
    sentence = tf.gather(boundaries.ends_sentence, before) & word
    sentence |= tf.gather(boundaries.ends_always, before)
    return tuple(tf.reshape(tf.where(found), [-1]) + 1 for found in (sentence, word))


def _cut(
    rows: tf.RaggedTensor, owners: tf.Tensor, cuts: tf.Tensor, cut_owners: tf.Tensor
) -> tuple[tf.RaggedTensor, tf.Tensor]:
    """Cuts rows at positions in their values; returns the new rows and their owners."""
    starts = tf.concat([rows.row_starts(), cuts], 0)
    owners = tf.concat([owners, cut_owners], 0)
    # By owner, and of one owner by position: an empty row starts where the next one does.
    order = tf.argsort(owners * (tf.size(rows.values, tf.int64) + 1) + starts)
    return (
        tf.RaggedTensor.from_row_starts(rows.values, tf.gather(starts, order), validate=False),
        tf.gather(owners, order),
    )


def _cuts_of_long_rows(
    rows: tf.RaggedTensor, most: int, word_starts: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns where to cut rows of more than `most` tokens, and which row each cut is of."""
    ends = rows.row_starts() + rows.row_lengths()
    # Before the first of them, for where there is none.
    word_starts = tf.concat([tf.constant([-1], tf.int64), word_starts], 0)

    def any_left(
        which: tf.Tensor, starts: tf.Tensor, cuts: tf.Tensor, owners: tf.Tensor
    ) -> tf.Tensor:
        return tf.size(which) > 0

    def cut_once(
        which: tf.Tensor, starts: tf.Tensor, cuts: tf.Tensor, owners: tf.Tensor
    ) -> tuple[tf.Tensor, ...]:
        limits = starts + most
        last = tf.searchsorted(word_starts, limits, side="right") - 1
        word = tf.gather(word_starts, last)
        found = tf.where(word > starts, word, limits)
        still_long = tf.where(found + most < tf.gather(ends, which))[:, 0]
        return (
            tf.gather(which, still_long),
            tf.gather(found, still_long),
            tf.concat([cuts, found], 0),
            tf.concat([owners, which], 0),
        )

    which = tf.reshape(tf.where(rows.row_lengths() > most), [-1])
    none = tf.zeros([0], tf.int64)
    *_, cuts, owners = tf.while_loop(
        any_left,
        cut_once,
        (which, tf.gather(rows.row_starts(), which), none, none),
        shape_invariants=(tf.TensorShape([None]),) * 4,
    )
    return cuts, owners
