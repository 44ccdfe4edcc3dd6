"""Pairs that count more or less than others in the loss.

A pair with a weight is still a pair: what shuffles, shares, filters and mixes pairs does not know
of weights. Only what reads them, what makes ids of lines and what makes batches does.
"""

from collections.abc import Iterable
from typing import Any, TypeVar

Side = TypeVar("Side")


class WeightedPair(tuple[Side, Side]):
    """A pair, of lines or of their ids, with its weight.

    Args:
        pair: Source and target.
        weight: What it counts; 2.0 is as if it were there twice, 0.0 as if it were not.

    Example:
        >>> pair = WeightedPair(("a dog", "ein Hund"), 0.5)
        >>> source, target = pair
        >>> target, pair.weight
        ('ein Hund', 0.5)
    """

    weight: float

    def __new__(cls, pair: Iterable[Side], weight: float = 1.0) -> "WeightedPair[Side]":
        made = super().__new__(cls, pair)
        made.weight = weight
        return made


def weight_of(pair: tuple[Any, Any]) -> float:
    """Returns the weight of a pair, 1.0 if it has none.

    Example:
        >>> weight_of(("a dog", "ein Hund"))
        1.0
    """
    return pair.weight if isinstance(pair, WeightedPair) else 1.0


def weighed_like(pair: tuple[Side, Side], other: tuple[Any, Any]) -> tuple[Side, Side]:
    """Returns a pair with the weight that another one has, if that has one.

    Example:
        >>> weight_of(weighed_like(([5, 3], [6, 3]), WeightedPair(("a", "b"), 2.0)))
        2.0
    """
    return WeightedPair(pair, other.weight) if isinstance(other, WeightedPair) else pair
