"""Several models of one vocabulary that decide together."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from keras import ops

from keras_transformer.decoding.search import Resize, Step
from keras_transformer.tensors import Tensor


def mean_log_probs(logits: Sequence[Tensor]) -> Tensor:
    """Computes the logarithm of the models' mean probability.

    Args:
        logits: float `[..., vocab_size]` of each model.

    Returns:
        float32 `[..., vocab_size]`; of a single model, its logits as they are.

    Example:
        >>> mean = mean_log_probs([np.log([[0.25, 0.75]]), np.log([[0.75, 0.25]])])
        >>> keras.ops.convert_to_numpy(keras.ops.exp(mean)).round(6).tolist()
        [[0.5, 0.5]]
    """
    if len(logits) == 1:
        return ops.cast(logits[0], "float32")
    log_probs = ops.stack([ops.log_softmax(ops.cast(one, "float32")) for one in logits])
    return ops.logsumexp(log_probs, axis=0) - math.log(len(logits))


def ensemble_step(steps: Sequence[Step]) -> Step:
    """Makes a step in which models decide together, by their mean probability.

    Args:
        steps: The step of each model.

    Returns:
        A step whose state is the list of the models' states.

    Example:
        >>> models = [model, model]
        >>> source = np.array([[5, 6, 3]])
        >>> states = [one.start_decoding(source, max_length=5) for one in models]
        >>> step = ensemble_step([one.decode_step for one in models])
        >>> found = greedy_search(step, states, keras.ops.convert_to_tensor([5]), max_length=5)
    """

    def step(tokens: Tensor, parents: Tensor, states: Sequence[Any]) -> tuple[Tensor, list[Any]]:
        results = [one(tokens, parents, state) for one, state in zip(steps, states, strict=True)]
        logits, states = zip(*results, strict=True)
        return mean_log_probs(logits), list(states)

    return step


def ensemble_resize(resizes: Sequence[Resize]) -> Resize:
    """Makes the `resize` of an ensemble from those of its models; see `search.Resize`."""

    def resize(states: Sequence[Any], rows: Tensor, max_length: Tensor) -> list[Any]:
        return [one(state, rows, max_length) for one, state in zip(resizes, states, strict=True)]

    return resize


def ensemble_fix(
    fixes: Sequence[Callable[[Any, Any, int], Any]], begun: Sequence[Any]
) -> Callable[[Sequence[Any], int], list[Any]]:
    """Makes the `fix` of an ensemble from the `fix_decoding` of its models; see `search.Rooms`.

    Args:
        fixes: The method of each model.
        begun: The state that each one began with.
    """

    def fix(states: Sequence[Any], length: int) -> list[Any]:
        parts = zip(fixes, begun, states, strict=True)
        return [one(first, state, length) for one, first, state in parts]

    return fix
