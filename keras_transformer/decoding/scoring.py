"""Scores of given translations, by force decoding: all positions at once."""

from keras import ops

from keras_transformer.tensors import Tensor
from keras_transformer.text.vocabulary import BOS_ID, PAD_ID


def shift_right(target: Tensor) -> Tensor:
    """Puts bos before each target and drops its last column: the decoder's input.

    Args:
        target: int `[batch, length]`, tokens with their eos, then padding.

    Example:
        >>> keras.ops.convert_to_numpy(shift_right(np.array([[5, 3, 0]]))).tolist()
        [[2, 5, 3]]
    """
    return ops.concatenate([ops.full_like(target[:, :1], BOS_ID), target[:, :-1]], axis=1)


def token_log_probs(logits: Tensor, target: Tensor) -> Tensor:
    """Gives the log-probability of each token of a target.

    Args:
        logits: float `[batch, length, vocab_size]`, of the target shifted right.
        target: int `[batch, length]`, tokens with their eos, then padding.

    Returns:
        float32 `[batch, length]`, 0 at padding; its sum over a row is what a search calls the
        target's log-probability.

    Example:
        >>> log_probs = token_log_probs(np.zeros((1, 2, 8), "float32"), np.array([[3, 0]]))
        >>> [round(value, 3) for value in keras.ops.convert_to_numpy(log_probs)[0].tolist()]
        [-2.079, 0.0]
    """
    logits = ops.cast(logits, "float32")
    chosen = ops.take_along_axis(logits, ops.expand_dims(target, 2), axis=2)
    log_probs = ops.squeeze(chosen, 2) - ops.logsumexp(logits, axis=-1)
    return ops.where(ops.equal(target, PAD_ID), 0.0, log_probs)
