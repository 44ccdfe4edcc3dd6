"""Sampling: tokens drawn at random from the model's distribution, or from its likely part."""

import math
from typing import Any, Unpack

import keras
from keras import ops

from keras_transformer.decoding.hypotheses import Candidates, Hypotheses, Live
from keras_transformer.decoding.random_numbers import make_key, uniform_numbers
from keras_transformer.decoding.search import Propose, SearchOptions, Step, search
from keras_transformer.decoding.top_k import top_k
from keras_transformer.tensors import Tensor


def sample(
    step: Step,
    state: Any,
    limits: Tensor,
    max_length: int | Tensor,
    *,
    num_hypotheses: int = 1,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
    seed: int | keras.random.SeedGenerator | Tensor | None = None,
    places: Tensor | None = None,
    **options: Unpack[SearchOptions],
) -> Hypotheses:
    """Draws translations.

    All random numbers are drawn before the first step, one for each token, and each token is where
    its number falls in the cumulative distribution. So a sample is a function of its numbers, and
    these follow from the seed and the sentence's place alone: neither from its batch, nor from its
    neighbours.

    Args:
        step: As in `search`.
        state: As in `search`, for `num_hypotheses` hypotheses a sentence.
        limits: int32 `[batch]`, most tokens of each sentence, eos included.
        max_length: Most tokens of any sentence.
        num_hypotheses: n, independent samples of each sentence.
        temperature: Divides the logits: below 1 makes likely tokens likelier.
        top_k: Draw from the k most probable tokens only; None for all.
        top_p: Draw from the fewest most probable tokens that have this probability together.
        seed: As in `keras.random`: an int, a `SeedGenerator`, or None for one from Keras's own; or
            random bits, int32 `[2]`.
        places: int32 `[batch, 2]`, what tells the sentences of all batches apart, such as the line
            and the piece of it; None for their places in this batch.
        **options: `SearchOptions`, all of which `search` gets, the random numbers among its
            `inputs`.

    Returns:
        The samples, the most probable ones first. Their log-probabilities are the model's own,
        whatever temperature and cuts are.

    Raises:
        ValueError: If an option is out of its range.

    Example:
        >>> def step(tokens, parents, state):
        ...     return keras.ops.one_hot(tokens + 1, 4) * 99, state
        >>> limits = keras.ops.convert_to_tensor([5])
        >>> found = sample(step, (), limits, max_length=5, seed=0)
        >>> keras.ops.convert_to_numpy(found.ids).tolist()
        [[[3, 0, 0, 0, 0]]]

    Reference:
        Top-k: arXiv 1805.04833; top-p: arXiv 1904.09751.
    """
    for name, value, allowed in (
        ("temperature", temperature, temperature > 0),
        ("top_k", top_k, top_k is None or top_k > 0),
        ("top_p", top_p, 0 < top_p <= 1),
    ):
        if not allowed:
            raise ValueError(f"`{name}` is out of its range. Received: {name}={value}")
    if places is None:
        line = ops.arange(ops.shape(limits)[0], dtype="int32")
        places = ops.stack([line, ops.zeros_like(line)], axis=1)
    uniform = uniform_numbers(make_key(seed), places, num_hypotheses, max_length)
    options["inputs"] = {**(options.get("inputs") or {}), "uniform": uniform}
    return search(
        step,
        state,
        propose_at_random(temperature, top_k, top_p),
        limits,
        max_length,
        starting=[0.0] * num_hypotheses,
        num_hypotheses=num_hypotheses,
        **options,
    )


def propose_at_random(temperature: float, k: int | None, p: float) -> Propose:
    """Makes the function that draws a token for each hypothesis; see `search.Propose`."""

    def propose(logits: Tensor, log_normalizer: Tensor, live: Live, index: Tensor) -> Candidates:
        vocab_size = logits.shape[-1]
        if k is None and p == 1.0:
            values, tokens = logits, None
        else:
            values, tokens = top_k(logits, min(k or vocab_size, vocab_size))
        cumulative = ops.cumsum(ops.softmax(values / temperature), axis=-1)
        # All of it is the last that counts: with top-p, the first sum that reaches p.
        total = ops.min(ops.where(cumulative >= p, cumulative, math.inf), axis=-1, keepdims=True)
        total = ops.minimum(total, cumulative[..., -1:])
        number = ops.take(live.inputs["uniform"], index, axis=2)
        drawn = ops.sum(
            ops.cast(cumulative <= ops.expand_dims(number, 2) * total, "int32"),
            axis=-1,
            keepdims=True,
        )
        drawn = ops.minimum(drawn, values.shape[-1] - 1)
        log_probs = ops.squeeze(ops.take_along_axis(values, drawn, axis=2), 2) - log_normalizer
        chosen = drawn if tokens is None else ops.take_along_axis(tokens, drawn, axis=2)
        # As at the start: each continues itself.
        return Candidates(ops.squeeze(chosen, 2), live.parents, live.log_probs + log_probs)

    return propose
