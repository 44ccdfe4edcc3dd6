"""Hypotheses of a sentence, side by side on the second axis of a tensor."""

from keras_transformer.layers.gather import gather_in_rows
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
    if x.shape[1] == beams.shape[1] == 1:
        return x
    return gather_in_rows(x, beams)
