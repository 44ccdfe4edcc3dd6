"""The loop that all searches share: extend hypotheses, keep what has ended, stop.

A search is a pure function over a step callback and a state. It knows no model. How it chooses is a
`propose` function: see `greedy`, `beam` and `sampling`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

import keras
from keras import ops

from keras_transformer.decoding.bans import NEVER_CHOSEN, Ban, bias_of
from keras_transformer.decoding.hypotheses import (
    Candidates,
    Hypotheses,
    Live,
    advance,
    start,
    stop,
)
from keras_transformer.decoding.penalties import LengthPenalty, length_penalty
from keras_transformer.layers.beams import take_beams
from keras_transformer.layers.gather import gather
from keras_transformer.tensors import Tensor

# Takes the newest tokens and the parents, int32 [batch, beam], and the state; gives logits
# [batch, beam, vocab_size] and the new state. A parent is the number of the hypothesis of the last
# step that is continued.
Step = Callable[[Tensor, Tensor, Any], tuple[Tensor, Any]]
# Takes logits [batch, beam, vocab_size], -inf where a token is not allowed; the logarithm of the
# softmax's denominator, [batch, beam]; the live hypotheses; the index of the step.
Propose = Callable[[Tensor, Tensor, Live, Tensor], Candidates]
# Takes the logits that earlier constraints left, those of the model, the live hypotheses and the
# index of the step; gives logits, -inf where a token is not allowed. It leaves the others as they
# are: a finite change would count in the log-probabilities that are returned.
Constraint = Callable[[Tensor, Tensor, Live, Tensor], Tensor]
# Takes the state after a step; gives what is added to the score of a hypothesis that ends there,
# float [batch, beam], at most 0.
Bonus = Callable[[Any], Tensor]
# Takes a state, the rows of the sentences to keep, int32 [kept], and the steps to have room for.
Resize = Callable[[Any, Tensor, Tensor], Any]

SEGMENT_LENGTH = 16


class Rooms(NamedTuple):
    """Lengths to have room for, one after the other, where the shapes in a loop must not change.

    Args:
        lengths: Ascending; the last one is the search's `max_length`.
        least: int32 scalar, tokens of the longest source: a room that has less is passed by.
        fix: Takes a state and a length; gives the state with room for so many steps and tokens.
    """

    lengths: Sequence[int]
    least: Tensor
    fix: Callable[[Any, int], Any]


class SearchOptions(TypedDict, total=False):
    """The options of `search` that greedy search, beam search and sampling have as well."""

    penalty: LengthPenalty
    early_stopping: bool
    bonus: Bonus | None
    constraints: Sequence[Constraint]
    inputs: Mapping[str, Tensor] | None
    resize: Resize | None
    rooms: Rooms | None


def search(
    step: Step,
    state: Any,
    propose: Propose,
    limits: Tensor,
    max_length: int | Tensor,
    *,
    starting: Sequence[float] = (0.0,),
    num_hypotheses: int = 1,
    alpha: float | Tensor = 0.0,
    penalty: LengthPenalty = length_penalty,
    early_stopping: bool = False,
    bonus: Bonus | None = None,
    constraints: Sequence[Constraint] = (),
    inputs: Mapping[str, Tensor] | None = None,
    resize: Resize | None = None,
    rooms: Rooms | None = None,
) -> Hypotheses:
    """Extends hypotheses until none can change the result any more.

    A hypothesis ends with eos or at its sentence's limit. What the other sentences of a batch are
    changes nothing. Padding and bos are never chosen: neither is a token of a translation.

    Args:
        step: See `Step`.
        state: What `step` needs first, a nested structure of tensors.
        propose: See `Propose`.
        limits: int32 `[batch]`, most tokens of each sentence, eos included.
        max_length: Most tokens of any sentence; an int, or a scalar tensor on TensorFlow.
        starting: A log-probability for each hypothesis of a sentence: 0, or -inf where there is
            none before the first step.
        num_hypotheses: n, hypotheses to return.
        alpha: Exponent of the length penalty that orders them: a float, or one for each sentence,
            float `[batch]`.
        penalty: The length penalty, of length and alpha.
        early_stopping: Whether a sentence is done, too, once as many hypotheses have ended as its
            beam holds, whatever the others could become.
        bonus: See `Bonus`; None for nothing.
        constraints: See `Constraint`; applied in their order, but for instances of `Ban`, which
            come first, all at once.
        inputs: Tensors `[batch, ...]` that constraints and `propose` find in `Live.inputs`.
        resize: See `Resize`. With it, sentences that are done leave the batch, and the state grows
            as it is needed; it is called before the first step. That changes shapes in a loop,
            which of the backends TensorFlow alone can do. None for a state that has room for
            `max_length` steps.
        rooms: See `Rooms`; None for one loop in the shapes that the state has.

    Returns:
        The best n hypotheses of each sentence.

    Example:
        >>> def step(tokens, parents, state):
        ...     return keras.ops.one_hot(tokens + 1, 4), state
        >>> limits = keras.ops.convert_to_tensor([5])
        >>> found = search(step, (), propose_best, limits, max_length=5)
        >>> keras.ops.convert_to_numpy(found.ids).tolist()
        [[[3, 0, 0, 0, 0]]]
    """

    def extend(index: Tensor, live: Live, state: Any) -> tuple[Tensor, Live, Any]:
        logits, state = step(live.tokens, live.parents, state)
        logits = ops.cast(logits, "float32")
        allowed = logits + bias_of(bans, index, logits.shape[-1])
        for constraint in others:
            allowed = constraint(allowed, logits, live, index)
        candidates = propose(allowed, log_normalizer(logits), live, index)
        scores = candidates.log_probs / ops.expand_dims(penalty(index + 1, live.alpha), 1)
        if bonus is not None:
            scores = scores + take_beams(bonus(state), candidates.parents)
        live = advance(live, candidates, scores, index)
        return index + 1, stop(live, index + 1, penalty, early_stopping), state

    bans = [NEVER_CHOSEN, *(one for one in constraints if isinstance(one, Ban))]
    others = [one for one in constraints if not isinstance(one, Ban)]
    limits = ops.minimum(limits, max_length)
    live = start(limits, alpha, max_length, starting, num_hypotheses, inputs or {})
    if resize is not None:
        return _in_segments(extend, live, state, resize)
    if rooms is not None:
        return _in_rooms(extend, live, state, rooms)

    def unfinished(index: Tensor, live: Live, state: Any) -> Tensor:
        return ops.any(ops.logical_not(live.done))

    _, live, _ = ops.while_loop(unfinished, extend, (ops.zeros((), "int32"), live, state))
    return live.ended


def log_normalizer(logits: Tensor) -> Tensor:
    """Computes the logarithm of the softmax's denominator.

    It is what the largest logit is above its own log-probability. A softmax is one operation and
    reads the logits once, where a `logsumexp` is a dozen that read them five times.

    Args:
        logits: float32 `[..., vocab_size]`.

    Returns:
        float32 `[...]`.

    Example:
        >>> round(float(log_normalizer(np.array([0.0, 0.0], "float32"))), 4)
        0.6931
    """
    # A rounded softmax may be a little above 1, and no log-probability is above 0.
    largest = ops.minimum(ops.max(ops.softmax(logits), axis=-1), 1.0)
    return ops.max(logits, axis=-1) - ops.log(largest)


def _in_segments(
    extend: Callable[[Tensor, Live, Any], tuple[Tensor, Live, Any]],
    live: Live,
    state: Any,
    resize: Resize,
) -> Hypotheses:
    """Runs a search in segments, between which sentences leave and the state grows."""

    def next_segment(
        index: Tensor, live: Live, state: Any, room: Tensor
    ) -> tuple[Tensor, Live, Any, Tensor]:
        rows = ops.cast(ops.nonzero(ops.logical_not(live.done))[0], "int32")
        live = keras.tree.map_structure(lambda x: gather(x, rows), live)
        until = ops.minimum(index + SEGMENT_LENGTH, ops.max(live.limits, initial=index))
        room = ops.maximum(room, until)
        return index, live, resize(state, rows, room), room

    def any_left(index: Tensor, live: Live, state: Any, room: Tensor, found: Hypotheses) -> Tensor:
        return ops.shape(live.rows)[0] > 0

    def run_segment(
        index: Tensor, live: Live, state: Any, room: Tensor, found: Hypotheses
    ) -> tuple[Tensor, Live, Any, Tensor, Hypotheses]:
        num_sentences = ops.shape(live.rows)[0]

        def worthwhile(index: Tensor, live: Live, state: Any) -> Tensor:
            # It also ends when a quarter of its sentences has nothing left to do in it.
            num_done = ops.sum(ops.cast(live.done, "int32"))
            return ops.logical_and(index < room, num_done * 4 < num_sentences)

        index, live, state = ops.while_loop(worthwhile, extend, (index, live, state))
        rows = ops.expand_dims(live.rows, 1)
        found = Hypotheses(
            *(ops.scatter_update(x, rows, new) for x, new in zip(found, live.ended, strict=True))
        )
        return *next_segment(index, live, state, room), found

    none = ops.zeros((), "int32")
    first = next_segment(none, live, state, room=none)
    *_, found = ops.while_loop(any_left, run_segment, (*first, live.ended))
    return found


def _in_rooms(
    extend: Callable[[Tensor, Live, Any], tuple[Tensor, Live, Any]],
    live: Live,
    state: Any,
    rooms: Rooms,
) -> Hypotheses:
    """Runs a search in a loop for each room, which goes on where the one before it ended."""
    index = ops.zeros((), "int32")
    for length in rooms.lengths:

        def unfinished(index: Tensor, live: Live, state: Any, length: int = length) -> Tensor:
            has_room = ops.logical_and(index < length, rooms.least <= length)
            return ops.logical_and(has_room, ops.any(ops.logical_not(live.done)))

        state = rooms.fix(state, length)
        index, live, state = ops.while_loop(unfinished, extend, (index, live, state))
    return live.ended
