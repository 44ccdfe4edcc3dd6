"""What a check finds: how often, and the first examples with their lines."""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from keras_transformer.data.corpora import LinePair

# Examples that are kept of each finding.
EXAMPLES = 3


class Example(NamedTuple):
    """A pair of which a finding is true, and the number of its line, from 1."""

    line: int
    source: str
    target: str
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Finding:
    """What was found.

    Args:
        name: What it is called in a program.
        description: What it is, of pairs: "empty on a side".
        count: Pairs of which it is true.
        of: Pairs that were looked at.
        examples: The first ones.

    Example:
        >>> Finding("empty", "empty on a side", count=1, of=200).share
        0.005
    """

    name: str
    description: str
    count: int
    of: int
    examples: Sequence[Example] = ()

    @property
    def share(self) -> float:
        """Of the pairs that were looked at; 0.0 if there were none."""
        return self.count / self.of if self.of else 0.0


class Tally:
    """Counts pairs, and keeps the first ones.

    Args:
        name: Of the finding.
        description: Likewise.

    Example:
        >>> tally = Tally("empty", "empty on a side")
        >>> tally.add(7, ("", "ein Hund"))
        >>> tally.finding(of=10).examples
        [Example(line=7, source='', target='ein Hund', note='')]
    """

    def __init__(self, name: str, description: str) -> None:
        self.name = name
        self.description = description
        self.count = 0
        self.examples: list[Example] = []

    def add(self, line: int, pair: LinePair, note: str = "") -> None:
        """Counts a pair.

        Args:
            line: Its number, from 1.
            pair: Source and target.
            note: What is to be said of it.
        """
        self.count += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(Example(line, *pair, note))

    def finding(self, of: int) -> Finding:
        """Returns what was counted among so many pairs."""
        return Finding(self.name, self.description, self.count, of, self.examples)


class Check(Protocol):
    """Something that is looked for while a corpus is read once, from its beginning."""

    def read(self, first: int, pairs: Sequence[LinePair]) -> None:
        """Takes the next pairs.

        Args:
            first: Line of the first one, from 1.
            pairs: Sources and targets.
        """

    def tallies(self) -> Sequence[Tally]:
        """Returns what has been found so far."""
