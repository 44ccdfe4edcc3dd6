"""What a token counts in a loss, in a metric and in the gradient: its pair's weight, padding 0."""

from keras import ops

from keras_transformer.tensors import Tensor
from keras_transformer.text.vocabulary import PAD_ID


def token_weights(labels: Tensor, sample_weight: Tensor | None = None) -> Tensor:
    """Returns the weight of each token.

    Args:
        labels: int `[batch, length]`, 0 at padding.
        sample_weight: A weight for each pair, `[batch]`, or for each token, `[batch, length]`, none
            below 0; None for 1.

    Returns:
        float32 `[batch, length]`.

    Example:
        >>> weights = token_weights(np.array([[5, 3], [3, 0]]), np.array([0.5, 2.0]))
        >>> keras.ops.convert_to_numpy(weights).tolist()
        [[0.5, 0.5], [2.0, 0.0]]
    """
    weights = ops.cast(ops.not_equal(labels, PAD_ID), "float32")
    if sample_weight is None:
        return weights
    sample_weight = ops.cast(sample_weight, "float32")
    if len(sample_weight.shape) == 1:
        sample_weight = ops.expand_dims(sample_weight, -1)
    return weights * sample_weight
