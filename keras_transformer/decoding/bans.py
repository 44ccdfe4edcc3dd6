"""Tokens that no hypothesis is extended by, whatever it is: of all of them one vector is made.

A pass over the logits costs as much as a small layer, so bans are added to them together.
"""

import dataclasses
import math
from collections.abc import Iterable

import numpy as np
from keras import ops

from keras_transformer.decoding.hypotheses import Live
from keras_transformer.tensors import Tensor
from keras_transformer.text.vocabulary import BOS_ID, PAD_ID


@dataclasses.dataclass(frozen=True)
class Ban:
    """A constraint that forbids tokens; see `search.Constraint`.

    Args:
        ids: The tokens.
        until: The first step at which they are allowed; None for none.

    Example:
        >>> ban = Ban((5,), until=2)
    """

    ids: tuple[int, ...]
    until: int | None = None

    def __call__(self, allowed: Tensor, logits: Tensor, live: Live, index: Tensor) -> Tensor:
        return allowed + bias_of([self], index, logits.shape[-1])


# Neither is a token of a translation.
NEVER_CHOSEN = Ban((PAD_ID, BOS_ID))


def bias_of(bans: Iterable[Ban], index: Tensor, vocab_size: int) -> Tensor:
    """Makes the vector that is added to logits.

    Args:
        bans: The bans.
        index: int scalar, the step.
        vocab_size: Its length.

    Returns:
        float32 `[vocab_size]`: -inf at tokens that are banned at this step, otherwise 0.

    Example:
        >>> bias = bias_of([Ban((1,)), Ban((0,), until=2)], index=2, vocab_size=3)
        >>> keras.ops.convert_to_numpy(bias).tolist()
        [0.0, -inf, 0.0]
    """
    always, bias = np.zeros(vocab_size, np.float32), 0.0
    for ban in bans:
        if ban.until is None:
            always[list(ban.ids)] = -math.inf
        else:
            vector = np.zeros(vocab_size, np.float32)
            vector[list(ban.ids)] = -math.inf
            bias = bias + ops.where(index < ban.until, vector, 0.0)
    return always + bias
