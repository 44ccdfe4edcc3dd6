"""Texts and pairs of texts as BERT reads them: between special pieces, cut to a length, in graph.

[CLS] first [SEP]
[CLS] first [SEP] second [SEP]
"""

from typing import Protocol

import tensorflow as tf

from keras_transformer.text.vocabulary import PAD_ID


class Frames(Protocol):
    """The ids of a vocabulary that frame a text."""

    cls_id: int
    sep_id: int


def framed(
    frames: Frames, first: tf.RaggedTensor, second: tf.RaggedTensor | None = None, *, length: int
) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
    """Puts special pieces around texts.

    What is longer than `length` loses tokens at its end; of a pair always the longer text, as far
    as it is longer, and then both in turn.

    Args:
        frames: A tokenizer, or what else has the ids of special pieces.
        first: Token ids, int32 ragged `[batch, (tokens)]`.
        second: Those of second texts; None where there are none.
        length: Most tokens of a row, special ones included.

    Returns:
        Ids and segments, int32 ragged `[batch, (tokens)]`: 0 up to the first `[SEP]`, 1 after it.

    Raises:
        ValueError: If `length` has no room for the special pieces and a token of each text.

    Example:
        >>> from keras_transformer.text.wordpiece import SPECIAL, WordPieceTokenizer
        >>> tokenizer = WordPieceTokenizer([*SPECIAL, "a", "b"])
        >>> first, second = tokenizer.tokenize(["a a a a"]), tokenizer.tokenize(["b"])
        >>> ids, segments = framed(tokenizer, first, second, length=6)
        >>> ids.to_list(), segments.to_list()
        ([[2, 5, 5, 3, 6, 3]], [[0, 0, 0, 0, 1, 1]])

    Reference:
        arXiv 1810.04805, Section 3, "Input/Output Representations"; of the cutting,
        `_truncate_seq_pair` in google-research/bert.
    """
    room = room_in(length, texts=1 if second is None else 2)
    rows = first.nrows()

    def column(value: int) -> tf.Tensor:
        return tf.fill([rows, 1], value)

    cls, sep = column(frames.cls_id), column(frames.sep_id)
    if second is None:
        first = first[:, :room]
        return _joined([cls, first, sep], [0, 0, 0])
    kept = kept_of_pair(first.row_lengths(), second.row_lengths(), room)
    parts = [cls, _beginnings(first, kept[0]), sep, _beginnings(second, kept[1]), sep]
    return _joined(parts, [0, 0, 0, 1, 1])


def padded(ids: tf.RaggedTensor, segments: tf.RaggedTensor) -> dict[str, tf.Tensor]:
    """Returns what `Bert` reads: "ids" and "segments", int32 `[batch, length]`, 0 at padding."""
    return {"ids": ids.to_tensor(PAD_ID), "segments": segments.to_tensor(0)}


def room_in(length: int, texts: int) -> int:
    """Returns how many tokens fit between special pieces.

    Args:
        length: Most tokens of a row, special ones included.
        texts: How many texts are in a row.

    Raises:
        ValueError: If there is no room for a token of each text.

    Example:
        >>> room_in(8, texts=2)
        5
    """
    room = length - 1 - texts
    if room < texts:
        raise ValueError(
            f"`length` must be at least {1 + 2 * texts}, so that a token of each text fits. "
            f"Received: length={length}"
        )
    return room


def kept_of_pair(first: tf.Tensor, second: tf.Tensor, room: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns how many tokens of two texts stay.

    Args:
        first: How many the first text has.
        second: How many the second one has.
        room: Most tokens of both together.

    Example:
        >>> [int(count) for count in kept_of_pair(tf.constant(9), tf.constant(2), room=6)]
        [4, 2]
    """
    of_first = tf.minimum(first, tf.maximum(room - second, room - room // 2))
    return of_first, tf.minimum(second, room - of_first)


def _beginnings(text: tf.RaggedTensor, most: tf.Tensor) -> tf.RaggedTensor:
    """Keeps so many tokens of each row, from its beginning."""
    places = tf.ragged.range(text.row_lengths())
    return tf.ragged.boolean_mask(text, places < most[:, None])


def _joined(
    parts: list[tf.Tensor | tf.RaggedTensor], segments: list[int]
) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
    numbers = [tf.ones_like(part) * segment for part, segment in zip(parts, segments, strict=True)]
    return tf.concat(parts, axis=1), tf.concat(numbers, axis=1)
