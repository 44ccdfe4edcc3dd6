"""One row a token: the shape that projections multiply in.

A `Dense` on `[batch, length, width]` of unknown batch and length becomes TensorFlow's `Tensordot`,
some twenty graph nodes and as many for the gradient. On rows it is one matrix product.
"""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_transformer.tensors import Tensor


def as_rows(x: Tensor) -> Tensor:
    """Reshapes `[..., width]` to `[tokens, width]`.

    Example:
        >>> tuple(as_rows(keras.ops.ones((2, 5, 128))).shape)
        (10, 128)
    """
    return ops.reshape(x, (-1, x.shape[-1]))


def on_rows(function: Callable[..., Any], x: Tensor, *others: Any) -> Any:
    """Calls a function of rows with tensors of more axes.

    Args:
        function: Takes and returns structures of tensors `[tokens, width]`, such as a layer.
        x: `[batch, ..., width]`.
        *others: Structures of tensors with the same axes, but for their width.

    Returns:
        What the function returns, as tensors `[batch, ..., width]`.

    Example:
        >>> tuple(on_rows(keras.layers.Dense(64), keras.ops.ones((2, 5, 128))).shape)
        (2, 5, 64)
    """
    axes = ops.shape(x)[1:-1]
    outputs = function(*keras.tree.map_structure(as_rows, (x, *others)))
    return keras.tree.map_structure(lambda y: ops.reshape(y, (-1, *axes, y.shape[-1])), outputs)


def rows_at(x: Tensor, places: Tensor) -> Tensor:
    """Takes the vectors at some places of each sequence.

    Args:
        x: float `[batch, length, width]`.
        places: int `[batch, places]`.

    Returns:
        float `[batch, places, width]`.

    Example:
        >>> x = keras.ops.array([[[1.0], [2.0]], [[3.0], [4.0]]])
        >>> keras.ops.convert_to_numpy(rows_at(x, np.array([[1], [0]]))).tolist()
        [[[2.0]], [[3.0]]]
    """
    batch, length = ops.shape(x)[:2]
    places = ops.cast(places, "int32")
    first = ops.expand_dims(ops.arange(batch, dtype="int32") * length, 1)
    return ops.take(as_rows(x), first + places, axis=0)
