"""How hypotheses of different lengths are compared (GNMT, arXiv 1609.08144, Section 7)."""

from collections.abc import Callable, Mapping

from keras import ops

from keras_transformer.tensors import Tensor

# Takes the length of hypotheses, with their eos, and alpha; gives what divides a log-probability.
LengthPenalty = Callable[[int | Tensor, float | Tensor], Tensor]


def length_penalty(length: int | Tensor, alpha: float | Tensor) -> Tensor:
    """Computes ((5 + |Y|) / 6)^alpha, by which a log-probability is divided.

    Args:
        length: |Y|, tokens with their eos.
        alpha: 0 for no penalty; the more, the longer the hypotheses that win. A float, or floats
            that broadcast against `length`.

    Returns:
        float32, of the shape that both broadcast to.

    Example:
        >>> length_penalty(1, alpha=0.6)
        1.0

    Reference:
        "Google's Neural Machine Translation System", Equation 14; "Attention Is All You Need",
        Section 6.1, has alpha = 0.6.
    """
    return ((5.0 + _float(length)) / 6.0) ** alpha


def power_of_length(length: int | Tensor, alpha: float | Tensor) -> Tensor:
    """Computes |Y|^alpha; with alpha = 1, the mean log-probability of a token is compared.

    Args:
        length: As for `length_penalty`.
        alpha: As for `length_penalty`.

    Returns:
        As `length_penalty`.

    Example:
        >>> power_of_length(4, alpha=0.5)
        2.0

    Reference:
        The `--normalize` of Marian, and the length penalty of CTranslate2 and transformers.
    """
    return _float(length) ** alpha


# By the name that `DecodingConfig.length_normalization` has for it.
LENGTH_PENALTIES: Mapping[str, LengthPenalty] = {
    "gnmt": length_penalty,
    "length": power_of_length,
}


def _float(length: int | Tensor) -> float | Tensor:
    return ops.cast(length, "float32") if hasattr(length, "dtype") else float(length)


def coverage_penalty(coverage: Tensor, source_mask: Tensor, beta: float) -> Tensor:
    """Computes beta * sum_i log(min(coverage_i, 1)), which is added to a score.

    Args:
        coverage: float `[batch, beam, source_length]`, the attention that each source token got in
            all.
        source_mask: bool, broadcastable to `coverage`, True at real tokens.
        beta: Weight.

    Returns:
        float32 `[batch, beam]`, at most 0.

    Example:
        >>> penalty = coverage_penalty(np.array([[[1.5, 1.0]]], "float32"), True, beta=0.2)
        >>> float(penalty[0, 0])
        0.0

    Reference:
        "Google's Neural Machine Translation System", Equation 14.
    """
    # A source token that got nothing at all costs much, but leaves the score finite.
    attended = ops.clip(ops.cast(coverage, "float32"), 1e-9, 1.0)
    return beta * ops.sum(ops.where(source_mask, ops.log(attended), 0.0), axis=-1)
