"""Seeded shuffling and sampling of streams that need not fit in memory."""

import itertools
from collections.abc import Iterable, Iterator
from typing import TypeVar

import numpy as np

Item = TypeVar("Item")

_DRAWS = 4096


def shuffled(items: Iterable[Item], buffer_size: int, rng: np.random.Generator) -> Iterator[Item]:
    """Shuffles a stream through a buffer.

    A stream that fits in the buffer is shuffled uniformly. In a longer one, each item that is drawn
    from the buffer makes room for the next, so no item comes out long before its place: a sorted
    stream stays sorted in the large.

    Args:
        items: The stream.
        buffer_size: Items held in memory; 0 keeps the order.
        rng: Source of the order.

    Yields:
        Every item once.

    Example:
        >>> sorted(shuffled(range(5), buffer_size=2, rng=np.random.default_rng(0)))
        [0, 1, 2, 3, 4]
    """
    stream = iter(items)
    buffer = list(itertools.islice(stream, buffer_size))
    if buffer:
        for item, place in zip(stream, _places(len(buffer), rng), strict=False):
            yield buffer[place]
            buffer[place] = item
        for place in rng.permutation(len(buffer)).tolist():
            yield buffer[place]
    yield from stream


def sampled(items: Iterable[Item], size: int, rng: np.random.Generator) -> list[Item]:
    """Draws a uniform sample of a stream in one pass (reservoir sampling).

    Args:
        items: The stream.
        size: Items to draw; a shorter stream is returned whole, in order.
        rng: Source of the choice.

    Returns:
        At most `size` items.

    Example:
        >>> sampled(range(3), size=10, rng=np.random.default_rng(0))
        [0, 1, 2]
    """
    stream = iter(items)
    sample = list(itertools.islice(stream, size))
    fractions = _fractions(rng)
    for seen, item in enumerate(stream, size + 1):
        place = int(next(fractions) * seen)
        if place < size:
            sample[place] = item
    return sample


def _places(size: int, rng: np.random.Generator) -> Iterator[int]:
    """Endless draws below `size`, many at a time: single draws cost more than the shuffle."""
    while True:
        yield from rng.integers(size, size=_DRAWS).tolist()


def _fractions(rng: np.random.Generator) -> Iterator[float]:
    """Endless draws from [0, 1)."""
    while True:
        yield from rng.random(_DRAWS).tolist()
