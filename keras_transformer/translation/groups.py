"""A search of any number of pieces, in groups: its memory does not grow with their number."""

from collections.abc import Callable, Sequence

import tensorflow as tf

from keras_transformer.decoding import Hypotheses
from keras_transformer.text.vocabulary import PAD_ID


def search_in_groups(
    search: Callable[..., Hypotheses],
    pieces: tf.RaggedTensor,
    size: int,
    length: int,
    **columns: tf.Tensor,
) -> Hypotheses:
    """Searches the translations of pieces, one group after the other.

    The groups are as few as there can be, and of equal sizes but for the last; in each, pieces are
    padded to the longest of that group.

    Args:
        search: Takes source ids, int32 `[batch, length]`, and the columns by their names.
        pieces: int32 ragged `[pieces, (tokens)]`.
        size: Most pieces of a group.
        length: Most tokens of a translation.
        **columns: Tensors `[pieces, ...]`, options of each piece.

    Returns:
        The hypotheses of all pieces, ids `[pieces, n, length]`.

    Example:
        >>> def echo(source):
        ...     scores = tf.zeros([tf.shape(source)[0], 1])
        ...     return Hypotheses(source[:, None], scores, scores)
        >>> pieces = tf.ragged.constant([[5, 3], [6, 7, 3], [8, 3]], dtype=tf.int32)
        >>> search_in_groups(echo, pieces, size=2, length=3).ids[:, 0].numpy().tolist()
        [[5, 3, 0], [6, 7, 3], [8, 3, 0]]
    """

    def search_some(mine: slice) -> tuple[tf.Tensor, ...]:
        options = {name: column[mine] for name, column in columns.items()}
        ids, log_probs, scores = search(to_dense(pieces[mine]), **options)
        room = tf.maximum(length - tf.shape(ids)[2], 0)
        return tf.pad(ids, [[0, 0], [0, 0], [0, room]], constant_values=PAD_ID), log_probs, scores

    count = tf.cast(pieces.nrows(), tf.int32)
    return Hypotheses(*in_groups(search_some, count, size, (tf.int32, tf.float32, tf.float32)))


def in_groups(
    compute: Callable[[slice], Sequence[tf.Tensor]],
    count: tf.Tensor,
    size: int,
    dtypes: Sequence[tf.DType],
) -> list[tf.Tensor]:
    """Computes rows in the fewest groups, one after the other, and joins what they give.

    Args:
        compute: Takes which rows, and gives tensors that have as many; of the same other sizes in
            each group.
        count: int32 scalar, how many rows there are.
        size: Most rows of a group.
        dtypes: Of the tensors.

    Example:
        >>> def double(mine):
        ...     return [2 * tf.range(5)[mine]]
        >>> [doubled] = in_groups(double, tf.constant(5), 2, [tf.int32])
        >>> doubled.numpy().tolist()
        [0, 2, 4, 6, 8]
    """
    # One group of nothing at least: it tells the other sizes of what a row gives.
    groups = tf.maximum(-(-count // size), 1)
    rows = -(-count // groups)

    def next_group(i: tf.Tensor, *found: tf.TensorArray) -> tuple[tf.Tensor | tf.TensorArray, ...]:
        parts = compute(slice(i * rows, tf.minimum((i + 1) * rows, count)))
        # An array of parts of several sizes knows nothing of their other axes.
        shapes[:] = [part.shape[1:].as_list() for part in parts]
        written = (array.write(i, part) for array, part in zip(found, parts, strict=True))
        return i + 1, *written

    shapes: list[list[int | None]] = []
    arrays = [tf.TensorArray(dtype, groups, infer_shape=False) for dtype in dtypes]
    _, *arrays = tf.while_loop(
        lambda i, *_: i < groups, next_group, (0, *arrays), parallel_iterations=1
    )
    joined = [array.concat() for array in arrays]
    for part, shape in zip(joined, shapes, strict=True):
        part.set_shape([None, *shape])
    return joined


def to_dense(ids: tf.RaggedTensor) -> tf.Tensor:
    """Pads rows, to one column at least: an empty tensor can be neither reshaped nor read.

    Example:
        >>> to_dense(tf.ragged.constant([[5, 3], [3]], dtype=tf.int32)).numpy().tolist()
        [[5, 3], [3, 0]]
    """
    dense = ids.to_tensor(PAD_ID)
    return tf.pad(dense, [[0, 0], [0, tf.maximum(1 - tf.shape(dense)[1], 0)]])
