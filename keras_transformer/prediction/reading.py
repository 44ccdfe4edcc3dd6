"""From strings to what a model reads, in graph, so that training and predictions read alike."""

from typing import Any, NamedTuple

import tensorflow as tf

from keras_transformer.text.framing import framed, padded

# Of a `Bert`: "ids" and "segments".
Inputs = dict[str, tf.Tensor]

# A word's tag is that of its first piece, so of a long one the others are of little use.
_MOST_PIECES = 16


class Windows(NamedTuple):
    """Parts of the second texts, each beside its first text.

    Args:
        first: int32 ragged `[windows, (tokens)]`.
        second: int32 ragged `[windows, (tokens)]`.
        owners: The row that each is of, int64 `[windows]`, in order.
        starts: Where each begins in the tokens of the second text, int64 `[windows]`.
    """

    first: tf.RaggedTensor
    second: tf.RaggedTensor
    owners: tf.Tensor
    starts: tf.Tensor


class Pieces(NamedTuple):
    """The pieces of words, in rows that a model can read.

    Args:
        ids: int32 ragged `[rows, (pieces)]`.
        places: For each word the row and the place in it, `[CLS]` counted, that its first piece
            has, int64 `[words, 2]`.
        has_pieces: For each word whether it has any, bool `[words]`; white space has none.
    """

    ids: tf.RaggedTensor
    places: tf.Tensor
    has_pieces: tf.Tensor


def read_texts(tokenizer: Any, max_length: int, *texts: tf.Tensor) -> Inputs:
    """Reads one text each, or two; what is too long is cut.

    Args:
        tokenizer: The tokenizer.
        max_length: Most tokens, special ones included.
        *texts: string `[batch]`.

    Returns:
        "ids" and "segments", int32 `[batch, length]`, 0 at padding.

    Example:
        >>> read_texts(wordpiece, 4, ["the cat sat"])["ids"].numpy().tolist()
        [[2, 5, 6, 3]]
    """
    pieces = [tokenizer.tokenize(text) for text in texts]
    return padded(*framed(tokenizer, *pieces, length=max_length))


def read_windows(
    tokenizer: Any,
    max_length: int,
    stride: int,
    max_question: int,
    question: tf.Tensor,
    context: tf.Tensor,
) -> tuple[Windows, tf.RaggedTensor, tf.RaggedTensor]:
    """Cuts contexts into windows beside their questions.

    Args:
        tokenizer: The tokenizer.
        max_length: Most tokens of a window with its question, special ones included.
        stride: Tokens from the beginning of a window to that of the next.
        max_question: Most tokens of a question; half of the places are the text's in any case.
        question: string `[batch]`.
        context: string `[batch]`.

    Returns:
        The windows; and the bytes of the contexts that their tokens begin at and end before, int64
        ragged `[batch, (tokens)]`.

    Example:
        >>> parts, starts, ends = read_windows(wordpiece, 6, 2, 9, ["who ?"], ["the cats sat"])
        >>> len(parts.second.to_list()), starts.to_list()
        (2, [[0, 4, 7, 9]])
    """
    asked = tokenizer.tokenize(question)[:, : min(max_question, (max_length - 3) // 2)]
    ids, starts, ends = tokenizer.tokenize_with_offsets(context)
    return windows(asked, ids, max_length - 3, stride), starts, ends


def windows(first: tf.RaggedTensor, second: tf.RaggedTensor, most: int, stride: int) -> Windows:
    """Cuts second texts into parts that fit beside the first ones, and overlap.

    Args:
        first: Ragged `[batch, (tokens)]`, each with fewer than `most` tokens.
        second: Ragged `[batch, (tokens)]`.
        most: Most tokens of both together.
        stride: Tokens from the beginning of a part to that of the next, where a part is as long.

    Returns:
        At least one part of each row, which together cover it.

    Example:
        >>> texts = tf.ragged.constant([[1]]), tf.ragged.constant([[5, 6, 7, 8, 9]])
        >>> windows(*texts, most=4, stride=2).second.to_list()
        [[5, 6, 7], [7, 8, 9]]
    """
    room = most - first.row_lengths()
    step = tf.minimum(tf.cast(stride, tf.int64), room)
    lengths = second.row_lengths()
    counts = 1 + -(-tf.maximum(lengths - room, 0) // step)
    owners = tf.repeat(tf.range(second.nrows()), counts)
    starts = tf.ragged.range(counts).flat_values * tf.gather(step, owners)
    taken = tf.minimum(tf.gather(room, owners), tf.gather(lengths, owners) - starts)
    parts = _parts(second, tf.gather(second.row_starts(), owners) + starts, taken)
    return Windows(tf.gather(first, owners), parts, owners, starts)


def read_words(tokenizer: Any, max_length: int, words: tf.RaggedTensor) -> Pieces:
    """Cuts words into pieces; a text with too many of them for a model takes several rows.

    Args:
        tokenizer: The tokenizer.
        max_length: Most tokens of a row, special ones included.
        words: string ragged `[batch, (words)]`.

    Example:
        >>> pieces = read_words(wordpiece, 8, tf.ragged.constant([["the", "cats", "sat"]]))
        >>> pieces.places.numpy().tolist()  # "cats" has two.
        [[0, 1], [0, 2], [0, 4]]
    """
    room = max_length - 2
    most = min(_MOST_PIECES, room // 2)
    ids = tokenizer.tokenize(words.flat_values)[:, :most]
    lengths = ids.row_lengths()
    of_texts = words.with_flat_values(lengths)
    ends = _running_sum(of_texts).flat_values
    fits = tf.repeat(tf.reduce_sum(of_texts, axis=1) <= room, words.row_lengths())
    # Shorter by the pieces of a word, which may have begun in the row before.
    in_parts = tf.maximum(ends - 1, 0) // (room - most + 1)
    row = words.with_flat_values(tf.where(fits, tf.zeros_like(ends), in_parts))
    rows_of_texts = tf.maximum(tf.reduce_max(row, axis=1), 0) + 1
    first_rows = tf.repeat(tf.cumsum(rows_of_texts, exclusive=True), words.row_lengths())
    rows = row.flat_values + first_rows
    by_row = tf.RaggedTensor.from_value_rowids(lengths, rows, tf.reduce_sum(rows_of_texts))
    places = (_running_sum(by_row) - by_row).flat_values + 1
    return Pieces(
        tf.RaggedTensor.from_row_lengths(ids.flat_values, tf.reduce_sum(by_row, axis=1)),
        tf.stack([rows, places], axis=1),
        lengths > 0,
    )


def characters_before(text: tf.Tensor, byte: tf.Tensor) -> tf.Tensor:
    """Counts the characters before a byte of each string.

    Args:
        text: string `[batch]`.
        byte: int32 `[batch]`.

    Example:
        >>> characters_before(tf.constant(["für"]), tf.constant([3])).numpy().tolist()
        [2]
    """
    return tf.strings.length(tf.strings.substr(text, tf.zeros_like(byte), byte), "UTF8_CHAR")


def _parts(text: tf.RaggedTensor, starts: tf.Tensor, lengths: tf.Tensor) -> tf.RaggedTensor:
    """Takes runs of the flat values."""
    return tf.gather(text.flat_values, tf.ragged.range(starts, starts + lengths))


def _running_sum(counts: tf.RaggedTensor) -> tf.RaggedTensor:
    """Adds up the numbers of each row, from its beginning to each of them."""
    sums = tf.cumsum(counts.flat_values)
    before = tf.gather(tf.pad(sums, [[1, 0]]), counts.row_starts())
    return counts.with_flat_values(sums - tf.repeat(before, counts.row_lengths()))
