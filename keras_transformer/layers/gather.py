"""Entries by their places, where each place is known to be there.

`ops.take` reads a negative place from the end, as NumPy does. TensorFlow's gather does not, and
what makes up for it is five operations more, or a dozen with an axis before. That is nothing in
training; in decoding, where each step runs a few small ones, it was a third of all.
"""

import keras
from keras import ops

from keras_transformer.tensors import Tensor


def gather(x: Tensor, places: Tensor) -> Tensor:
    """Takes entries of the first axis.

    Args:
        x: `[size, ...]`.
        places: int, within 0 and `size`; of any shape.

    Returns:
        `[*places.shape, ...]`.

    Example:
        >>> keras.ops.convert_to_numpy(gather(np.array([4, 5, 6]), np.array([2, 2, 0]))).tolist()
        [6, 6, 4]
    """
    if keras.backend.backend() != "tensorflow":
        return ops.take(x, places, axis=0)
    import tensorflow as tf

    return tf.gather(x, places)


def gather_in_rows(x: Tensor, places: Tensor) -> Tensor:
    """Takes of each row its own entries.

    Args:
        x: `[rows, size, ...]`.
        places: int `[rows, taken]`, within 0 and `size`.

    Returns:
        `[rows, taken, ...]`.

    Example:
        >>> taken = gather_in_rows(np.array([[4, 5], [6, 7]]), np.array([[1], [0]]))
        >>> keras.ops.convert_to_numpy(taken).tolist()
        [[5], [6]]
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.gather(x, places, axis=1, batch_dims=1)
    rows, size, *inner = ops.shape(x)
    first = ops.expand_dims(ops.arange(rows, dtype="int32") * size, 1)
    taken = ops.take(ops.reshape(x, (-1, *inner)), ops.reshape(places + first, (-1,)), axis=0)
    return ops.reshape(taken, (rows, ops.shape(places)[1], *inner))
