"""Chance: drawing from sequences, by weight, reproducibly."""

import random
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


class Dice:
    """Draws from sequences.

    Only `random.Random.random` is used: Python documents that its sequence stays the same for a
    seed, which it does not of `choice`.

    Args:
        seed: The seed.

    Example:
        >>> Dice(0).pick("abc") == Dice(0).pick("abc")
        True
    """

    def __init__(self, seed: int):
        self._random = random.Random(seed).random

    def pick(self, items: Sequence[Item]) -> Item:
        """Draws one of the items."""
        return items[int(self._random() * len(items))]

    def chance(self, probability: float) -> bool:
        """Returns True with a probability."""
        return self._random() < probability


def weighted(table: dict[Item, int]) -> tuple[Item, ...]:
    """Repeats each item as often as its weight says, so that `Dice.pick` draws by weight.

    Args:
        table: The weight of each item.

    Returns:
        The items, repeated.

    Example:
        >>> weighted({"a": 1, "b": 2})
        ('a', 'b', 'b')
    """
    return tuple(item for item, weight in table.items() for _ in range(weight))
