"""Pairs whose sides are swapped, or in a language that their side does not have.

What a side looks like is learned from a sample of the corpus itself, so no language need be known:
its scripts, and its trigrams beside those of the other side. Lines of a third language have
trigrams that are rare on their side; by how much, beside the corpus's own lines, decides.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keras_transformer.data.corpora import LinePair
from keras_transformer.data.inspection.findings import Tally
from keras_transformer.data.inspection.letters import MOST_SCRIPTS, Letters, letters_of
from keras_transformer.data.inspection.trigrams import Floats, Likelihoods, TrigramModel

# Letters that a line has at least, to be judged by its trigrams, and to be judged by its script.
_FOR_TRIGRAMS, _FOR_SCRIPT = 12, 3
# Nats a letter by which a line looks like the other side; standard deviations below the usual down
# to which it may be of that side, and from which on it is of neither.
_OTHER_SIDE, _USUAL, _UNLIKE = 0.1, -4.0, -5.0
# A side has those scripts that have this share of its letters.
_SCRIPT_OF_SIDE = 0.02
# The median absolute deviation of a normal distribution, and how far below its mean the last tenth
# begins, in standard deviations; the least one, as equal lines have none.
_MAD, _TENTH, _LEAST_DEVIATION = 0.6745, 1.2816, 0.5

_TALLIES = {
    "swapped": "with swapped sides, by their letters",
    "source_language": "with the source in the language of the targets",
    "target_language": "with the target in the language of the sources",
    "script": "in another script than their side",
    "unlike": "unlike their side: another language?",
}

Flags = npt.NDArray[np.bool_]


class Languages:
    """Looks for swapped sides and other languages; see `findings.Check`.

    Args:
        sample: Pairs that tell what is usual.

    Example:
        >>> languages = Languages([("the dog and the cat", "der Hund und die Katze")] * 99)
        >>> languages.read(1, [("die Katze und der Hund", "the cat and the dog")])
        >>> [tally.name for tally in languages.tallies() if tally.count]
        ['swapped']
    """

    def __init__(self, sample: Sequence[LinePair]) -> None:
        self._tallies = {name: Tally(name, text) for name, text in _TALLIES.items()}
        sides = _letters_of_sides(sample)
        self._model = TrigramModel(*sides)
        self._scripts = [_scripts_of_side(letters) for letters in sides]
        self._usual = [
            _usual(lines.letters, lines.likelihoods[side])
            for side, lines in enumerate(self._scored(sides, len(sample)))
        ]

    def read(self, first: int, pairs: Sequence[LinePair]) -> None:
        """Takes the next pairs, of which the first is in line `first`."""
        sides = _letters_of_sides(pairs)
        scored = self._scored(sides, len(pairs))
        source, target = (
            _Verdict(
                self._looks_like_other_side(side, scored[side]),
                self._deviations(side, scored[side]) < _UNLIKE,
                _in_other_script(sides[side], self._scripts[side], len(pairs)),
            )
            for side in (0, 1)
        )
        swapped = source.other_side & target.other_side
        script = (source.script | target.script) & ~swapped
        explained = source.other_side | target.other_side | script
        found = {
            "swapped": swapped,
            "source_language": source.other_side & ~swapped,
            "target_language": target.other_side & ~swapped,
            "script": script,
            "unlike": (source.unlike | target.unlike) & ~explained,
        }
        for name, flags in found.items():
            for index in np.flatnonzero(flags).tolist():
                self._tallies[name].add(first + index, pairs[index])

    def tallies(self) -> list[Tally]:
        """Returns what has been found so far."""
        return list(self._tallies.values())

    def _scored(self, sides: Sequence[Letters], lines: int) -> list["_Lines"]:
        return [
            _Lines(
                np.bincount(letters.lines, minlength=lines),
                self._model.likelihoods(letters, lines),
            )
            for letters in sides
        ]

    def _looks_like_other_side(self, side: int, lines: "_Lines") -> Flags:
        """Returns which lines of a side are more likely on the other, and not odd there."""
        own, other = lines.likelihoods[side], lines.likelihoods[1 - side]
        is_usual = self._deviations(1 - side, lines) > _USUAL
        return (lines.letters >= _FOR_TRIGRAMS) & (other - own > _OTHER_SIDE) & is_usual

    def _deviations(self, side: int, lines: "_Lines") -> Floats:
        """Returns by how many standard deviations lines differ from those of a side."""
        usual = self._usual[side]
        differences = (lines.likelihoods[side] - usual.likelihood) * np.sqrt(lines.letters)
        return np.where(lines.letters >= _FOR_TRIGRAMS, differences / usual.deviation, 0.0)


class _Lines(NamedTuple):
    """Of each of some lines: its letters, and how likely one of them is on either side."""

    letters: npt.NDArray[np.intp]
    likelihoods: Likelihoods


class _Verdict(NamedTuple):
    """Of each line of a side, whether it is as the name says."""

    other_side: Flags
    unlike: Flags
    script: Flags


class _Usual(NamedTuple):
    """How likely a letter is in the lines of a side, and by how much that differs among them.

    The deviation is that of a line of one letter. The mean over more letters differs less.
    """

    likelihood: float
    deviation: float


def _usual(count: npt.NDArray[np.intp], likelihood: Floats) -> _Usual:
    whole = count >= _FOR_TRIGRAMS
    if not whole.any():
        return _Usual(0.0, np.inf)
    count, likelihood = count[whole], likelihood[whole]
    median = float(np.median(likelihood))
    differences = (likelihood - median) * np.sqrt(count)
    by_median = np.median(np.abs(differences)) / _MAD
    # Larger where a part of the text is of another kind.
    by_tenth = -np.quantile(differences, 0.1) / _TENTH
    return _Usual(median, float(max(by_median, by_tenth, _LEAST_DEVIATION)))


def _letters_of_sides(pairs: Sequence[LinePair]) -> list[Letters]:
    return [letters_of([pair[side] for pair in pairs]) for side in (0, 1)]


def _scripts_of_side(letters: Letters) -> Flags:
    """Returns which scripts a side has."""
    counts = np.bincount(letters.scripts, minlength=MOST_SCRIPTS)
    return counts > _SCRIPT_OF_SIDE * counts.sum()


def _in_other_script(letters: Letters, of_side: Flags, lines: int) -> Flags:
    """Returns which lines have most of their letters in a script that their side has not."""
    count = np.bincount(letters.lines, minlength=lines)
    others = np.bincount(letters.lines, ~of_side[letters.scripts], minlength=lines)
    return (count >= _FOR_SCRIPT) & (others > count / 2)
