"""Streams in parts, for what is faster for many items at once."""

import itertools
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def chunked(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yields lists of `size` items, of which the last may be shorter.

    Example:
        >>> list(chunked(range(5), 2))
        [[0, 1], [2, 3], [4]]
    """
    stream = iter(items)
    while chunk := list(itertools.islice(stream, size)):
        yield chunk
