"""Beam search: the most probable hypotheses side by side (Section 6.1)."""

import math
from typing import Any, Unpack

from keras import ops

from keras_transformer.decoding.greedy import greedy_search
from keras_transformer.decoding.hypotheses import Candidates, Hypotheses, Live
from keras_transformer.decoding.search import SearchOptions, Step, search
from keras_transformer.decoding.top_k import top_k
from keras_transformer.layers.gather import gather_in_rows
from keras_transformer.tensors import Tensor


def beam_search(
    step: Step,
    state: Any,
    limits: Tensor,
    max_length: int | Tensor,
    *,
    beam_size: int = 4,
    alpha: float | Tensor = 0.6,
    num_hypotheses: int = 1,
    **options: Unpack[SearchOptions],
) -> Hypotheses:
    """Searches the hypotheses with the best log P(Y|X) / ((5 + |Y|) / 6)^alpha.

    At each step the most probable `beam_size` extensions are kept. One that ends leaves the beam
    for the pool of ended hypotheses, and the next best that goes on takes its place. A sentence is
    done when the pool holds `num_hypotheses` that no live hypothesis can beat any more, however it
    goes on.

    Args:
        step: As in `search`.
        state: As in `search`, for `beam_size` hypotheses a sentence.
        limits: int32 `[batch]`, most tokens of each sentence, eos included.
        max_length: Most tokens of any sentence.
        beam_size: Hypotheses that are extended. A beam of one is greedy search.
        alpha: Exponent of the length penalty: a float, or one for each sentence, float `[batch]`.
        num_hypotheses: n, hypotheses to return, at most twice `beam_size`: as many as a step
            proposes. To look for more of them takes longer.
        **options: `SearchOptions`, all of which `search` gets.

    Returns:
        The best n hypotheses of each sentence.

    Raises:
        ValueError: If `num_hypotheses` is not within 1 and twice `beam_size`.

    Example:
        >>> def step(tokens, parents, state):
        ...     return keras.ops.one_hot(tokens + 1, 6), state
        >>> limits = keras.ops.convert_to_tensor([5])
        >>> found = beam_search(step, (), limits, max_length=5, beam_size=2)
        >>> keras.ops.convert_to_numpy(found.ids).tolist()
        [[[3, 0, 0, 0, 0]]]

    Reference:
        "Attention Is All You Need", Section 6.1; "Google's Neural Machine Translation System",
        Section 7.
    """
    if not 1 <= num_hypotheses <= 2 * beam_size:
        raise ValueError(
            f"`num_hypotheses` must be within 1 and twice `beam_size`. Received: "
            f"num_hypotheses={num_hypotheses}, beam_size={beam_size}"
        )
    if beam_size == 1 and num_hypotheses == 1:
        # With alpha > 0 a beam of one could still go on to a longer hypothesis that wins.
        return greedy_search(step, state, limits, max_length, alpha=alpha, **options)
    return search(
        step,
        state,
        propose_most_probable,
        limits,
        max_length,
        starting=[0.0] + [-math.inf] * (beam_size - 1),
        num_hypotheses=num_hypotheses,
        alpha=alpha,
        **options,
    )


def propose_most_probable(
    logits: Tensor, log_normalizer: Tensor, live: Live, index: Tensor
) -> Candidates:
    """Proposes twice as many extensions as the beam holds, so that half may end.

    See `search.Propose`. The top-k runs on the logits as they are, for each hypothesis on its own;
    only what it leaves is normalized and compared.
    """
    beam_size = live.tokens.shape[1]
    per_hypothesis = min(2 * beam_size, logits.shape[-1])
    values, tokens = top_k(logits, per_hypothesis)
    log_probs = values + ops.expand_dims(live.log_probs - log_normalizer, 2)
    flat = (-1, beam_size * per_hypothesis)
    log_probs, best = top_k(ops.reshape(log_probs, flat), 2 * beam_size)
    return Candidates(
        tokens=gather_in_rows(ops.reshape(tokens, flat), best),
        parents=best // per_hypothesis,
        log_probs=log_probs,
    )
