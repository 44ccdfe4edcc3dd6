"""Which source token each target token comes from, read from attention weights."""

import numpy as np

from keras_transformer.tensors import Tensor


def hard_alignment(
    weights: Tensor, source_length: int, target_length: int
) -> list[tuple[int, int]]:
    """Aligns each target token to the source token that it attends to most.

    The eos of either side is no part of an alignment.

    Args:
        weights: float `[target, source]`, attention weights of one sentence.
        source_length: Source tokens, eos not counted.
        target_length: Target tokens, eos not counted.

    Returns:
        Pairs of source and target positions, in the order of the target.

    Example:
        >>> hard_alignment(np.array([[0.1, 0.9], [0.8, 0.2]]), source_length=2, target_length=2)
        [(1, 0), (0, 1)]

    Reference:
        "Jointly Learning to Align and Translate with Transformer Models", arXiv 1909.02074.
    """
    inner = np.asarray(weights)[:target_length, :source_length]
    if not source_length:
        return []
    return [(int(source), target) for target, source in enumerate(inner.argmax(axis=1))]
