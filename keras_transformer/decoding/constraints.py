"""What a translation must or must not contain, as constraints of `search`.

A constraint sets the logits of tokens that are not allowed to -inf. Scores do not change: they are
the model's own, whatever was allowed.
"""

import math
from collections.abc import Sequence

from keras import ops

from keras_transformer.decoding.bans import Ban
from keras_transformer.decoding.hypotheses import Live
from keras_transformer.decoding.search import Constraint
from keras_transformer.tensors import Tensor
from keras_transformer.text.vocabulary import EOS_ID, PAD_ID


def ban_tokens(ids: Sequence[int]) -> Constraint:
    """Makes a constraint that never lets tokens be chosen.

    Args:
        ids: The tokens.

    Example:
        >>> found = greedy_search(step, state, limits, 5, constraints=[ban_tokens([7])])
    """
    return Ban(tuple(ids))


def at_least(length: int) -> Constraint:
    """Makes a constraint that allows no eos before so many tokens.

    Args:
        length: Least tokens of a translation, eos not counted. A sentence's limit goes before it.

    Example:
        >>> found = greedy_search(step, state, limits, 5, constraints=[at_least(2)])
    """
    return Ban((EOS_ID,), until=length)


def no_repeated_ngram(n: int) -> Constraint:
    """Makes a constraint that allows no sequence of n tokens twice in a translation.

    Args:
        n: Tokens of the sequence.

    Example:
        >>> found = greedy_search(step, state, limits, 5, constraints=[no_repeated_ngram(3)])
    """

    def constrain(allowed: Tensor, logits: Tensor, live: Live, index: Tensor) -> Tensor:
        batch_size, beam_size, length = ops.shape(live.ids)
        vocab_size = logits.shape[-1]
        positions = ops.arange(length, dtype="int32")
        # Where an n-gram begins as the one that the next token would complete.
        begins = ops.logical_and(positions + n <= index, ops.ones_like(live.ids, "bool"))
        for offset in range(n - 1):
            at = ops.clip(index - (n - 1) + offset, 0, length - 1)
            newest = ops.expand_dims(ops.take(live.ids, at, axis=2), 2)
            begins = ops.logical_and(begins, ops.equal(_shifted(live.ids, offset), newest))
        last = _shifted(live.ids, n - 1)
        hypothesis = ops.reshape(
            ops.arange(batch_size * beam_size, dtype="int32"), (batch_size, beam_size, 1)
        )
        at = ops.reshape(hypothesis * vocab_size + last, (-1, 1))
        counts = ops.scatter(
            at,
            ops.reshape(ops.cast(begins, "float32"), (-1,)),
            (batch_size * beam_size * vocab_size,),
        )
        counts = ops.reshape(counts, (batch_size, beam_size, vocab_size))
        return ops.where(counts > 0, -math.inf, allowed)

    return constrain


def forced_prefix(allowed: Tensor, logits: Tensor, live: Live, index: Tensor) -> Tensor:
    """Makes translations begin with given tokens; a constraint that comes last.

    The tokens are `inputs["prefix"]` of `search`, int32 `[batch, prefix_length]`, with padding
    where a prefix is shorter. They go before all other constraints.

    Example:
        >>> options = {"constraints": [forced_prefix], "inputs": {"prefix": np.array([[5, 7]])}}
        >>> found = greedy_search(step, state, limits, 5, **options)
    """
    # One column more, of padding, for all steps after the longest prefix.
    prefix = ops.pad(live.inputs["prefix"], [[0, 0], [0, 1]])
    token = ops.take(prefix, ops.minimum(index, ops.shape(prefix)[1] - 1), axis=1)
    forced = ops.not_equal(token, PAD_ID)
    is_token = ops.equal(ops.arange(logits.shape[-1], dtype="int32"), ops.expand_dims(token, 1))
    only = ops.where(ops.expand_dims(is_token, 1), logits, -math.inf)
    return ops.where(ops.expand_dims(forced, (1, 2)), only, allowed)


def _shifted(ids: Tensor, offset: int) -> Tensor:
    """Moves tokens to the left, so that a position shows the token `offset` after it."""
    return ops.concatenate([ids[:, :, offset:], ops.zeros_like(ids[:, :, :offset])], axis=2)
