"""What is there more than once: within a corpus, and in two corpora.

A line is known by its hash of 64 bits, 16 bytes for each pair. Among five million lines the
probability that any two of them share one is below one in a million.
"""

from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keras_transformer.data.corpora import LinePair

Hashes = npt.NDArray[np.uint64]

# Pairs that are compared at once.
_BLOCK = 100_000
# An odd number mixes the sides' hashes, so that a pair and its swapped one differ.
_MIX = np.uint64(0x9E3779B97F4A7C15)

SIDES = ("pair", "source", "target")


class SentenceHashes:
    """The hashes of a corpus, in its order.

    Example:
        >>> hashes = SentenceHashes()
        >>> hashes.read([("a", "A"), ("b", "B"), ("a", "A"), ("b", "C")])
        >>> {kind: hashes.repeated(kind).total for kind in SIDES}
        {'pair': 1, 'source': 2, 'target': 1}
    """

    def __init__(self) -> None:
        # Python's own hashes of strings are 64 bits of SipHash, salted anew in each process.
        self._sides = array("q"), array("q")

    def __len__(self) -> int:
        return len(self._sides[0])

    def read(self, pairs: Sequence[LinePair]) -> None:
        """Takes the next pairs."""
        for hashes, lines in zip(self._sides, zip(*pairs, strict=True), strict=True):
            hashes.extend(map(hash, lines))

    def blocks(self, kind: str) -> Iterator[tuple[int, Hashes]]:
        """Yields the hashes of pairs, sources or targets by and by, each with its first index."""
        for start in range(0, len(self), _BLOCK):
            source, target = (
                np.frombuffer(side, np.uint64, min(_BLOCK, len(self) - start), 8 * start)
                for side in self._sides
            )
            mixed = {"pair": source * _MIX + target, "source": source, "target": target}
            yield start, mixed[kind]

    def sorted(self, kind: str) -> Hashes:
        """Returns the hashes of pairs, sources or targets in order: 8 bytes for each."""
        hashes = np.empty(len(self), np.uint64)
        for start, block in self.blocks(kind):
            hashes[start : start + len(block)] = block
        hashes.sort()
        return hashes

    def repeated(self, kind: str, examples: int = 0) -> "Repeats":
        """Finds what was there before.

        Args:
            kind: One of `SIDES`.
            examples: How many places to find.
        """
        hashes = self.sorted(kind)
        again = hashes[1:][hashes[1:] == hashes[:-1]]
        return Repeats(len(again), list(self._places(kind, np.unique(again), examples)))

    def _places(self, kind: str, wanted: Hashes, most: int) -> Iterator[tuple[int, int]]:
        """Yields the first places of hashes that were there before, each with where that was."""
        seen = np.full(len(wanted), -1, np.intp)
        for start, block in self.blocks(kind):
            if not most or not len(wanted):
                return
            found, places = _find(wanted, block)
            for index in np.flatnonzero(found).tolist():
                place = places[index]
                if seen[place] >= 0:
                    yield start + index, int(seen[place])
                    most -= 1
                    if not most:
                        return
                else:
                    seen[place] = start + index


class Repeats(NamedTuple):
    """What is there again.

    Attributes:
        total: How often something is there that was there before.
        places: The first ones: where, and where before, as indices from 0.
    """

    total: int
    places: Sequence[tuple[int, int]]


def find_overlap(of: SentenceHashes, known: SentenceHashes, kind: str, examples: int) -> Repeats:
    """Finds what of a corpus is in another one.

    Args:
        of: Hashes of the corpus, a small one, such as what a model is tested on.
        known: Those of the other one, such as what it is trained on.
        kind: One of `SIDES`.
        examples: How many places to find.

    Example:
        >>> test, train = SentenceHashes(), SentenceHashes()
        >>> test.read([("a", "A"), ("b", "B")])
        >>> train.read([("c", "C"), ("b", "D"), ("b", "E")])
        >>> find_overlap(test, train, "source", examples=3)
        Repeats(total=1, places=[(1, 1)])
        >>> find_overlap(test, train, "pair", examples=3).total
        0
    """
    if not len(of):
        return Repeats(0, [])
    wanted = np.unique(of.sorted(kind))
    where = np.full(len(wanted), -1, np.intp)
    for start, block in known.blocks(kind):
        found, place = _find(wanted, block)
        indices = np.flatnonzero(found)[::-1]
        # The first one of equal hashes, as it is written last.
        fresh = indices[where[place[indices]] < 0]
        where[place[fresh]] = start + fresh
    total = 0
    places: list[tuple[int, int]] = []
    for start, block in of.blocks(kind):
        _, place = _find(wanted, block)
        indices = np.flatnonzero(where[place] >= 0)
        total += len(indices)
        first = indices[: examples - len(places)]
        places += zip((start + first).tolist(), where[place[first]].tolist(), strict=True)
    return Repeats(total, places)


def _find(wanted: Hashes, block: Hashes) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.intp]]:
    """Returns which hashes of a block are among sorted ones, and the place of each there."""
    place = np.searchsorted(wanted, block)
    place[place == len(wanted)] = 0
    return wanted[place] == block, place
