"""Hypotheses of a sentence, side by side on the second axis of a tensor."""

from keras import ops

from keras_transformer.tensors import Tensor


def take_beams(x: Tensor, beams: Tensor) -> Tensor:
    """Takes hypotheses of each sentence, in another order or several times.

    Args:
        x: `[batch, beam, ...]`.
        beams: int `[batch, taken]`, numbers of the hypotheses to take.

    Returns:
        `[batch, taken, ...]`.

    Example:
        >>> taken = take_beams(np.array([["a", "b"]]) == "b", np.array([[1, 1, 0]]))
        >>> keras.ops.convert_to_numpy(taken).tolist()
        [[True, True, False]]
    """
    shape = ops.shape(x)
    first = ops.expand_dims(ops.arange(shape[0], dtype="int32") * shape[1], 1)
    # One gather of rows: a batched gather is a dozen graph nodes.
    rows = ops.take(ops.reshape(x, (-1, *shape[2:])), ops.reshape(beams + first, (-1,)), axis=0)
    return ops.reshape(rows, (shape[0], ops.shape(beams)[1], *shape[2:]))
