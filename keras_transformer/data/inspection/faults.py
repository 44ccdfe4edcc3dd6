"""Faults that a pair shows by itself, whatever the rest of its corpus is."""

import re
from collections.abc import Callable, Sequence

from keras_transformer.data.corpora import LinePair
from keras_transformer.data.inspection.findings import Tally
from keras_transformer.data.inspection.mojibake import MOJIBAKE
from keras_transformer.text.invisible import shows_nothing

# Sides are nearly the same if they share so many of the words of the longer one.
_NEARLY = 0.8

_WORD = re.compile(r"\w+")
_HTML = re.compile(
    # Entities by name, in decimal and in hexadecimal; tags.
    r"&(?:[A-Za-z][A-Za-z0-9]{1,9}|#\d{1,6}|#[xX][0-9A-Fa-f]{1,6});|</?[A-Za-z][^<>]*>"
)
# C0 but for tab and line feed, DEL and C1; line and paragraph separators.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


class Faults:
    """Looks for each fault in each pair; see `findings.Check`.

    Example:
        >>> faults = Faults()
        >>> faults.read(1, [("a dog", "ein Hund"), ("Tom &amp; Ann", "Tom und Ann")])
        >>> {tally.name: tally.count for tally in faults.tallies() if tally.count}
        {'html': 1}
    """

    def __init__(self) -> None:
        self._tallies = [(Tally(name, text), test) for name, text, test in _FAULTS]

    def read(self, first: int, pairs: Sequence[LinePair]) -> None:
        """Takes the next pairs, of which the first is in line `first`."""
        for line, pair in enumerate(pairs, first):
            for tally, is_true in self._tallies:
                if is_true(*pair):
                    tally.add(line, pair)

    def tallies(self) -> list[Tally]:
        """Returns what has been found so far."""
        return [tally for tally, _ in self._tallies]


def _is_empty(source: str, target: str) -> bool:
    return _is_blank(source) or _is_blank(target)


def _is_blank(line: str) -> bool:
    # Most lines begin with a letter, which is found at once.
    return not line[:1].isalnum() and shows_nothing(line)


def _is_identical(source: str, target: str) -> bool:
    return source == target and not _is_blank(source)


def _is_nearly_identical(source: str, target: str) -> bool:
    if source == target:
        return False
    ours, theirs = (set(_WORD.findall(line.casefold())) for line in (source, target))
    return len(ours & theirs) >= _NEARLY * max(1, len(ours), len(theirs))


def _either(pattern: re.Pattern[str]) -> Callable[[str, str], bool]:
    search = pattern.search
    return lambda source, target: bool(search(source) or search(target))


_FAULTS: tuple[tuple[str, str, Callable[[str, str], bool]], ...] = (
    ("empty", "empty on a side", _is_empty),
    ("identical", "the same on both sides", _is_identical),
    ("nearly_identical", "nearly the same on both sides", _is_nearly_identical),
    ("html", "with HTML entities or tags", _either(_HTML)),
    ("mojibake", "with broken characters (mojibake)", _either(MOJIBAKE)),
    ("control", "with control characters", _either(_CONTROL)),
)
