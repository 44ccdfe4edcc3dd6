"""One row a token: the shape that projections multiply in.

A `Dense` on `[batch, length, width]` of unknown batch and length becomes TensorFlow's `Tensordot`,
some twenty graph nodes and as many for the gradient. On rows it is one matrix product.
"""

from keras import ops

from keras_transformer.tensors import Tensor


def as_rows(x: Tensor) -> Tensor:
    """Reshapes `[..., width]` to `[tokens, width]`.

    Example:
        >>> tuple(as_rows(keras.ops.ones((2, 5, 128))).shape)
        (10, 128)
    """
    return ops.reshape(x, (-1, x.shape[-1]))
