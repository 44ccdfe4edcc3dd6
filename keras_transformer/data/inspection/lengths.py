"""How long the lines of a corpus are, and which pairs have sides of unlike lengths."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from keras_transformer.data.corpora import LinePair
from keras_transformer.data.inspection.findings import Tally

Counts = npt.NDArray[np.intp]

QUANTILES = (0.1, 0.5, 0.9, 0.99)
# Lines of so many words or more are counted together.
MOST_WORDS = 1000
# How often the usual ratio of lengths is odd, and below how many characters it may be anything.
_ODD, _SHORT = 3.0, 20


@dataclasses.dataclass(frozen=True)
class SideLengths:
    """The lengths of the lines of a side.

    Args:
        words: In all, by white space.
        characters: In all.
        lines: How many lines have 0, 1, 2, ... words; the last number is of that many or more.

    Example:
        >>> lengths = SideLengths(words=6, characters=20, lines=[1, 0, 3])
        >>> lengths.mean, lengths.quantiles
        (1.5, [0, 2, 2, 2])
    """

    words: int
    characters: int
    lines: Sequence[int]

    @property
    def mean(self) -> float:
        """Words of a line."""
        return self.words / max(1, sum(self.lines))

    @property
    def quantiles(self) -> list[int]:
        """Words that the shares `QUANTILES` of the lines have at most."""
        cumulated = np.cumsum(self.lines)
        return [int(np.searchsorted(cumulated, share * cumulated[-1])) for share in QUANTILES]


class Lengths:
    """Counts words and characters, and looks for odd ratios; see `findings.Check`.

    The ratio is that of characters. One is odd if it is more than three times, or less than a
    third of, what is usual: Chinese has fewer characters than its translations everywhere.

    Args:
        sample: Pairs that tell what is usual.

    Example:
        >>> lengths = Lengths([("a dog", "ein Hund")])
        >>> lengths.read(1, [("a dog", "ein Hund und noch viele andere Tiere")])
        >>> [side.words for side in lengths.sides()], lengths.tallies()[0].count
        ([2, 7], 1)
    """

    def __init__(self, sample: Sequence[LinePair]) -> None:
        self._words = [np.zeros(MOST_WORDS + 1, np.intp) for _ in range(2)]
        self._totals = [np.zeros(2, np.intp) for _ in range(2)]
        self._usual = float(np.median(_log_ratios(*_characters(sample)))) if sample else 0.0
        self._odd = Tally("ratio", "with sides of unlike lengths")

    def read(self, first: int, pairs: Sequence[LinePair]) -> None:
        """Takes the next pairs, of which the first is in line `first`."""
        characters = _characters(pairs)
        for side, lines in enumerate(zip(*pairs, strict=True)):
            words = np.fromiter(map(len, map(str.split, lines)), np.intp, len(lines))
            self._totals[side] += words.sum(), characters[side].sum()
            clipped = np.minimum(words, MOST_WORDS)
            self._words[side] += np.bincount(clipped, minlength=MOST_WORDS + 1)
        odd = np.abs(_log_ratios(*characters) - self._usual) > np.log(_ODD)
        shorter, longer = np.sort(characters, axis=0)
        # A side that is empty is another fault.
        for index in np.flatnonzero(odd & (longer >= _SHORT) & (shorter > 0)).tolist():
            self._odd.add(first + index, pairs[index])

    def tallies(self) -> list[Tally]:
        """Returns what has been found so far."""
        return [self._odd]

    def sides(self) -> tuple[SideLengths, SideLengths]:
        """Returns the lengths of source and target so far."""
        source, target = (
            SideLengths(int(words), int(characters), np.trim_zeros(lines, "b").tolist() or [0])
            for (words, characters), lines in zip(self._totals, self._words, strict=True)
        )
        return source, target


def _characters(pairs: Sequence[LinePair]) -> Counts:
    """Returns the lengths of sources and of targets, `[2, pairs]`."""
    return np.array([[len(source), len(target)] for source, target in pairs], np.intp).T


def _log_ratios(source: Counts, target: Counts) -> npt.NDArray[np.float64]:
    return np.log((target + 1) / (source + 1))
