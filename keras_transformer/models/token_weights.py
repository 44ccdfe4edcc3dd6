"""What a label counts in a loss, in a metric and in the gradient: its pair's weight, padding 0.

So that it holds for classes as well, those are numbered from 1.
"""

import numpy as np
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


def class_logits(logits: Tensor) -> Tensor:
    """Puts a logit that counts for nothing before those of classes.

    Where 0 is the label of nothing, class i has the label i + 1. So losses and metrics of tokens
    are those of classes too.

    Args:
        logits: float `[..., classes]`.

    Returns:
        float32 `[..., 1 + classes]`.

    Example:
        >>> logits = class_logits(keras.ops.zeros((1, 2)))
        >>> keras.ops.convert_to_numpy(keras.ops.softmax(logits)).tolist()
        [[0.0, 0.5, 0.5]]
    """
    logits = ops.cast(logits, "float32")
    none = ops.full_like(logits[..., :1], np.finfo(np.float32).min)
    return ops.concatenate([none, logits], axis=-1)
