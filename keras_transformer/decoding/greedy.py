"""Greedy search: the most probable token at every step."""

from typing import Any, Unpack

from keras import ops

from keras_transformer.decoding.hypotheses import Candidates, Hypotheses, Live
from keras_transformer.decoding.search import SearchOptions, Step, search
from keras_transformer.decoding.top_k import top_k
from keras_transformer.tensors import Tensor


def greedy_search(
    step: Step,
    state: Any,
    limits: Tensor,
    max_length: int | Tensor,
    *,
    alpha: float | Tensor = 0.0,
    **options: Unpack[SearchOptions],
) -> Hypotheses:
    """Extends each sentence by its most probable token until it ends.

    Args:
        step: As in `search`.
        state: As in `search`, for one hypothesis a sentence.
        limits: int32 `[batch]`, most tokens of each sentence, eos included.
        max_length: Most tokens of any sentence.
        alpha: Exponent of the length penalty in the score: a float, or one for each sentence,
            float `[batch]`.
        **options: `SearchOptions`, all of which `search` gets.

    Returns:
        One hypothesis of each sentence.

    Example:
        >>> def step(tokens, parents, state):
        ...     return keras.ops.one_hot(tokens + 1, 4), state
        >>> limits = keras.ops.convert_to_tensor([5])
        >>> found = greedy_search(step, (), limits, max_length=5)
        >>> keras.ops.convert_to_numpy(found.ids).tolist()
        [[[3, 0, 0, 0, 0]]]
    """
    return search(step, state, propose_best, limits, max_length, alpha=alpha, **options)


def propose_best(logits: Tensor, log_normalizer: Tensor, live: Live, index: Tensor) -> Candidates:
    """Extends each hypothesis by its most probable token; see `search.Propose`."""
    values, tokens = top_k(logits, 1)
    log_probs = live.log_probs + ops.squeeze(values, 2) - log_normalizer
    # As at the start: each continues itself.
    return Candidates(ops.squeeze(tokens, 2), live.parents, log_probs)
