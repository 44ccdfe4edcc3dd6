"""What a search knows of its sentences: hypotheses that are live, and the best that have ended."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from keras import ops

from keras_transformer.decoding.penalties import LengthPenalty
from keras_transformer.layers.beams import take_beams
from keras_transformer.tensors import Tensor
from keras_transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID


class Hypotheses(NamedTuple):
    """Translations of a batch, best first.

    Args:
        ids: int32 `[batch, n, length]`, tokens with their eos, then padding.
        log_probs: float32 `[batch, n]`, the model's log-probability of the tokens, eos included;
            -inf where there are fewer than n hypotheses.
        scores: float32 `[batch, n]`, what they are ordered by.
    """

    ids: Tensor
    log_probs: Tensor
    scores: Tensor


class Candidates(NamedTuple):
    """Extensions of live hypotheses by a token; of a beam's, the best ones first.

    Args:
        tokens: int32 `[batch, candidates]`.
        parents: int32 `[batch, candidates]`, which hypothesis each one extends.
        log_probs: float32 `[batch, candidates]`, of the extended hypotheses.
    """

    tokens: Tensor
    parents: Tensor
    log_probs: Tensor


class Live(NamedTuple):
    """Sentences that are searched.

    Args:
        rows: int32 `[batch]`, their places in the whole batch.
        limits: int32 `[batch]`, most tokens of each sentence.
        alpha: float32 `[batch]`, exponent of each sentence's length penalty.
        done: bool `[batch]`, whether nothing can change the result any more.
        tokens: int32 `[batch, beam]`, the newest tokens.
        parents: int32 `[batch, beam]`, which hypothesis of the last step each one continues.
        ids: int32 `[batch, beam, length]`, all tokens.
        log_probs: float32 `[batch, beam]`; -inf for a hypothesis that is none.
        num_ended: int32 `[batch]`, hypotheses that have ended.
        ended: The best of them.
        inputs: Tensors `[batch, ...]` that constraints and proposals read.
    """

    rows: Tensor
    limits: Tensor
    alpha: Tensor
    done: Tensor
    tokens: Tensor
    parents: Tensor
    ids: Tensor
    log_probs: Tensor
    num_ended: Tensor
    ended: Hypotheses
    inputs: Mapping[str, Tensor]


def themselves(batch_size: int | Tensor, beam_size: int) -> Tensor:
    """Returns int32 `[batch, beam]`: the parents of hypotheses that each continue themselves."""
    return ops.zeros((batch_size, 1), "int32") + ops.arange(beam_size, dtype="int32")


def start(
    limits: Tensor,
    alpha: float | Tensor,
    max_length: int | Tensor,
    log_probs: Sequence[float],
    num_hypotheses: int,
    inputs: Mapping[str, Tensor],
) -> Live:
    """Begins each sentence with bos.

    Args:
        limits: int32 `[batch]`.
        alpha: Exponent of the length penalty, a float or float `[batch]`.
        max_length: Length of the ids.
        log_probs: The hypotheses that there are at first, `[beam]`: 0 for one, -inf for none.
        num_hypotheses: Ended hypotheses to keep.
        inputs: See `Live`.
    """
    batch_size, beam_size = ops.shape(limits)[0], len(log_probs)
    done = ops.less_equal(limits, 0)
    # A sentence without a step has one hypothesis, the empty one.
    nothing = ops.where(
        ops.logical_and(ops.expand_dims(done, 1), ops.arange(num_hypotheses) == 0), 0.0, -math.inf
    )
    return Live(
        rows=ops.arange(batch_size, dtype="int32"),
        limits=limits,
        alpha=ops.broadcast_to(ops.convert_to_tensor(alpha, "float32"), ops.shape(limits)),
        done=done,
        tokens=ops.full((batch_size, beam_size), BOS_ID, "int32"),
        parents=themselves(batch_size, beam_size),
        ids=ops.full((batch_size, beam_size, max_length), PAD_ID, "int32"),
        log_probs=ops.where(
            ops.expand_dims(done, 1), -math.inf, ops.convert_to_tensor(log_probs, "float32")
        ),
        num_ended=ops.zeros((batch_size,), "int32"),
        ended=Hypotheses(
            ids=ops.full((batch_size, num_hypotheses, max_length), PAD_ID, "int32"),
            log_probs=nothing,
            scores=nothing,
        ),
        inputs=dict(inputs),
    )


def advance(live: Live, candidates: Candidates, scores: Tensor, index: Tensor) -> Live:
    """Replaces hypotheses by their extensions, and keeps the best of what ends.

    Args:
        live: The hypotheses before.
        candidates: Their extensions. If these are more than the beam holds, then the best as many
            as that are its hypotheses; of the others, those that go on take the places of such as
            end.
        scores: float32 `[batch, candidates]`, what ended hypotheses are ordered by.
        index: int32 scalar, the step.
    """
    tokens, parents, log_probs = candidates
    beam_size, num_candidates = live.tokens.shape[1], tokens.shape[1]
    here = ops.equal(ops.arange(ops.shape(live.ids)[2], dtype="int32"), index)
    ids = ops.where(here, ops.expand_dims(tokens, 2), take_beams(live.ids, parents))

    at_limit = ops.expand_dims(live.limits <= index + 1, 1)
    ends = ops.logical_or(ops.equal(tokens, EOS_ID), at_limit)
    in_beam = ops.arange(num_candidates) < beam_size
    exists = ops.logical_and(in_beam, log_probs > -math.inf)
    end_now = ops.logical_and(ends, exists)
    scores = ops.where(end_now, scores, -math.inf)
    ended = _best(live.ended, Hypotheses(ids, log_probs, scores))
    num_ended = live.num_ended + ops.sum(ops.cast(end_now, "int32"), axis=1)

    log_probs = ops.where(ends, -math.inf, log_probs)
    if num_candidates > beam_size:
        log_probs, kept = ops.top_k(log_probs, beam_size)
        ids, tokens, parents = (
            take_beams(x, ops.cast(kept, "int32")) for x in (ids, tokens, parents)
        )
    return live._replace(
        ids=ids,
        tokens=tokens,
        parents=parents,
        log_probs=log_probs,
        num_ended=num_ended,
        ended=ended,
    )


def stop(live: Live, length: Tensor, penalty: LengthPenalty, early: bool) -> Live:
    """Marks sentences as done when no live hypothesis can beat the worst that is kept.

    A log-probability only falls, so the best that a hypothesis can reach is its own now under the
    penalty of the length that favours it most.

    Args:
        live: The hypotheses.
        length: int32 scalar, their length.
        penalty: The length penalty, of length and alpha; it grows with the length if alpha > 0.
        early: Whether a sentence is done, too, once as many hypotheses have ended as its beam
            holds.
    """
    favoured = ops.where(live.alpha > 0, live.limits, length + 1)
    reachable = ops.max(live.log_probs, axis=1) / penalty(favoured, live.alpha)
    done = ops.logical_or(live.done, live.ended.scores[:, -1] >= reachable)
    if early:
        done = ops.logical_or(done, live.num_ended >= live.tokens.shape[1])
    # Rounding must not let a hypothesis in that could not win.
    log_probs = ops.where(ops.expand_dims(done, 1), -math.inf, live.log_probs)
    return live._replace(done=done, log_probs=log_probs)


def _best(kept: Hypotheses, new: Hypotheses) -> Hypotheses:
    """Merges hypotheses, as many as were kept before; of equals, the earlier ones win."""
    ids, log_probs, scores = (
        ops.concatenate(parts, axis=1) for parts in zip(kept, new, strict=True)
    )
    scores, best = ops.top_k(scores, kept.scores.shape[1])
    best = ops.cast(best, "int32")
    # What is not there has no tokens; its log-probability says so.
    log_probs = ops.where(scores > -math.inf, take_beams(log_probs, best), -math.inf)
    return Hypotheses(take_beams(ids, best), log_probs, scores)
