"""Greedy search: the most probable token at every step.

A pure function over a step callback, with no knowledge of the model, on any Keras backend.
"""

import math
from collections.abc import Callable
from typing import Any

from keras import ops

from keras_transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID


def greedy_search(
    step: Callable[[Any, Any], tuple[Any, Any]], state: Any, limits: Any, max_length: Any
) -> tuple[Any, Any]:
    """Extends each sentence by its most probable token until it ends.

    A sentence ends with eos or at its own limit, so what the others in its batch are does not
    change it. Padding and bos are never chosen: neither is a token of a translation.

    Args:
        step: Takes the newest tokens, int32 `[batch]`, and the state; gives logits
            `[batch, vocab_size]` and the new state.
        state: What `step` needs first, a nested structure of tensors that keep their shapes.
        limits: int32 `[batch]`, most tokens of each sentence, eos included.
        max_length: Most tokens of any sentence; an int, or a scalar tensor on TensorFlow.

    Returns:
        ids, int32 `[batch, max_length]`: tokens with their eos, then padding; and scores, float32
        `[batch]`: the log-probability of each sentence's tokens, eos included.

    Example:
        >>> def step(tokens, state):
        ...     return keras.ops.one_hot(tokens + 1, 4), state
        >>> ids, scores = greedy_search(step, (), limits=np.array([5]), max_length=5)
        >>> keras.ops.convert_to_numpy(ids).tolist()
        [[3, 0, 0, 0, 0]]
    """
    batch_size = ops.shape(limits)[0]
    positions = ops.expand_dims(ops.arange(max_length, dtype="int32"), 0)

    def unfinished(index, tokens, finished, ids, scores, state):
        return ops.logical_and(index < max_length, ops.any(ops.logical_not(finished)))

    def extend(index, tokens, finished, ids, scores, state):
        logits, state = step(tokens, state)
        logits = ops.cast(logits, "float32")
        candidates = ops.where(never_chosen(ops.shape(logits)[-1]), -math.inf, logits)
        best = ops.cast(ops.argmax(candidates, axis=-1), "int32")
        log_probability = ops.max(candidates, axis=-1) - ops.logsumexp(logits, axis=-1)
        tokens = ops.where(finished, PAD_ID, best)
        scores = scores + ops.where(finished, 0.0, log_probability)
        ids = ops.where(ops.equal(positions, index), ops.expand_dims(tokens, 1), ids)
        ended = ops.logical_or(ops.equal(tokens, EOS_ID), index + 1 >= limits)
        return index + 1, tokens, ops.logical_or(finished, ended), ids, scores, state

    start = (
        ops.zeros((), "int32"),
        ops.full((batch_size,), BOS_ID, "int32"),
        ops.less_equal(limits, 0),
        ops.full((batch_size, max_length), PAD_ID, "int32"),
        ops.zeros((batch_size,), "float32"),
        state,
    )
    _, _, _, ids, scores, _ = ops.while_loop(unfinished, extend, start)
    return ids, scores


def never_chosen(vocab_size: Any) -> Any:
    """Returns bool `[vocab_size]`, True at the ids that no translation has: pad and bos."""
    ids = ops.arange(vocab_size)
    return ops.logical_or(ops.equal(ids, PAD_ID), ops.equal(ids, BOS_ID))
