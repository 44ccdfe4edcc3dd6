"""Input that is longer than the model's maximum, cut into pieces."""

import tensorflow as tf

from keras_transformer.text.vocabulary import EOS_ID


def split_into_pieces(
    tokens: tf.RaggedTensor, max_length: int
) -> tuple[tf.RaggedTensor, tf.Tensor]:
    """Cuts rows that are too long for the model.

    Args:
        tokens: int32 ragged `[batch, (tokens)]`, each row ending with eos.
        max_length: Most tokens of a piece, eos included.

    Returns:
        The pieces, int32 ragged `[pieces, (tokens)]`, each ending with eos, at least one for each
        row; and the row that each belongs to, `[pieces]`.

    Example:
        >>> tokens = tf.ragged.constant([[5, 6, 7, 3], [3]])
        >>> pieces, rows = split_into_pieces(tokens, max_length=3)
        >>> pieces.to_list(), rows.numpy().tolist()
        ([[5, 6, 3], [7, 3], [3]], [0, 0, 1])
    """
    words = tokens[:, :-1]
    starts = words.row_starts()
    ends = tf.maximum(starts + words.row_lengths(), starts + 1)
    piece_starts = tf.ragged.range(starts, ends, max_length - 1)
    pieces = tf.RaggedTensor.from_row_starts(words.values, piece_starts.flat_values)
    eos = tf.fill([pieces.nrows(), 1], EOS_ID)
    return tf.concat([pieces, eos], axis=1), piece_starts.value_rowids()
