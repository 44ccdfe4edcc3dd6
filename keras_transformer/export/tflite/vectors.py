"""What text needs of vectors of unknown length, from TFLite's own operations.

No vector is ever empty: there are kernels and runtimes that cannot read one, so what holds text
ends with an entry that is none.
"""

import tensorflow as tf


def walk(following: tf.Tensor, start: tf.Tensor | int, most: int) -> tf.Tensor:
    """Follows pointers from place to place, in as many steps as `most` has binary digits.

    Twice as many places are known after each step: those so far, and where the same number of
    pointers leads from each of them.

    Args:
        following: int32 `[places]`, where each place points to; the last one to itself.
        start: The first place.
        most: At most so many places are asked for.

    Returns:
        int32 `[at least most]`, the places in the order in which they are met.

    Example:
        >>> walk(tf.constant([2, 2, 3, 3]), 0, most=4).numpy().tolist()
        [0, 2, 3, 3]
    """
    places = tf.reshape(start, [1])
    for _ in range((most - 1).bit_length()):
        places = tf.concat([places, tf.gather(following, places)], 0)
        following = tf.gather(following, following)
    return places


def walk_to_end(following: tf.Tensor) -> tf.Tensor:
    """Follows pointers from the first place to the last one, however many there are between.

    Args:
        following: int32 `[places]`, where each place points to, further on; the last one to itself.

    Returns:
        int32, the places in the order in which they are met, the last one once.

    Example:
        >>> walk_to_end(tf.constant([2, 2, 3, 3])).numpy().tolist()
        [0, 2, 3]
    """
    end = tf.size(following) - 1

    def is_before_end(places: tf.Tensor, following: tf.Tensor) -> tf.Tensor:
        return places[-1] < end

    def twice_as_many(places: tf.Tensor, following: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        met = tf.concat([places, tf.gather(following, places)], 0)
        return met, tf.gather(following, following)

    vector = tf.TensorShape([None])
    places, _ = tf.while_loop(
        is_before_end,
        twice_as_many,
        (tf.zeros([1], tf.int32), following),
        shape_invariants=(vector, vector),
    )
    return places[: tf.reduce_sum(tf.cast(places < end, tf.int32)) + 1]


def ranges(starts: tf.Tensor, lengths: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Counts from each of some starts, one range after the other.

    Args:
        starts: int32 `[ranges]`.
        lengths: int32 `[ranges]`, not all of them 0.

    Returns:
        The numbers, and the range that each belongs to, both int32 `[sum of lengths]`.

    Example:
        >>> numbers, owners = ranges(tf.constant([7, 0, 3]), tf.constant([2, 0, 3]))
        >>> numbers.numpy().tolist(), owners.numpy().tolist()
        ([7, 8, 3, 4, 5], [0, 0, 2, 2, 2])
    """
    ends = tf.cumsum(lengths)
    total, first = ends[-1], ends - lengths
    begins = tf.scatter_nd(first[:, None], tf.ones_like(first), tf.reshape(total + 1, [1]))
    owners = tf.cumsum(begins)[:total] - 1
    return tf.range(total) + tf.gather(starts - first, owners), owners


def kept(keep: tf.Tensor) -> tf.Tensor:
    """Returns the places where a mask is true, int32.

    Example:
        >>> kept(tf.constant([False, True, True])).numpy().tolist()
        [1, 2]
    """
    return tf.cast(tf.where(keep)[:, 0], tf.int32)


def shifted(x: tf.Tensor, by: int, fill: int | bool = 0) -> tf.Tensor:
    """Moves entries to the end by so many places, or to the start where `by` is negative.

    Example:
        >>> shifted(tf.constant([1, 2, 3]), 1).numpy().tolist()
        [0, 1, 2]
        >>> shifted(tf.constant([1, 2, 3]), -2).numpy().tolist()
        [3, 0, 0]
    """
    # Not padded: TFLite pads no booleans.
    ends = tf.fill([abs(by)], tf.constant(fill, x.dtype))
    size = tf.size(x)
    return tf.concat([ends, x], 0)[:size] if by > 0 else tf.concat([x, ends], 0)[-by : size - by]
