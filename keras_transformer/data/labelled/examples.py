"""What examples with labels are, whatever they are read from."""

import dataclasses
import hashlib
from collections.abc import Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar, cast

from keras_transformer.data.corpora import CorpusError

Example = TypeVar("Example")

# Fewer examples may well have a label each.
_ENOUGH_TO_TELL = 20


class LabelledText(NamedTuple):
    """A text, or a pair of them, with its label.

    Args:
        label: The label; of a regression, a number as it was written.
        text: The text.
        text_pair: The second text; empty if there is one alone.
    """

    label: str
    text: str
    text_pair: str = ""


class Answer(NamedTuple):
    """A part of a text that answers a question.

    Args:
        text: The answer.
        start: Where it begins, in characters.
    """

    text: str
    start: int


class Question(NamedTuple):
    """A question about a text.

    Args:
        question: The question.
        context: The text.
        answers: Answers that people have given, each right; none if the text does not tell.
    """

    question: str
    context: str
    answers: tuple[Answer, ...]


class TaggedWords(NamedTuple):
    """A sentence in words, each with a tag."""

    words: tuple[str, ...]
    tags: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Examples(Generic[Example]):
    """Examples in memory: labels are made by people, so there are not too many.

    Args:
        name: Name for messages.
        rows: The examples.
        unit: What messages number them as.

    Raises:
        CorpusError: If there are none.

    Example:
        >>> len(Examples("one", (LabelledText("good", "I like it."),)))
        1
    """

    name: str
    rows: tuple[Example, ...]
    unit: str = "example"

    def __post_init__(self) -> None:
        if not self.rows:
            raise CorpusError(f"{self.name} must have at least one example. Received: 0 examples")

    def __iter__(self) -> Iterator[Example]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def fingerprint(self) -> dict[str, int | str]:
        """Returns what tells whether the examples are still the same, as plain values."""
        digest = hashlib.sha256()
        for row in self.rows:
            digest.update(f"{row!r}\n".encode())
        return {"examples": len(self.rows), "sha256": digest.hexdigest()}


def labels_of(rows: Iterable[LabelledText | TaggedWords]) -> tuple[str, ...]:
    """Returns the labels there are, in order, of which each place is the label's number.

    Example:
        >>> labels_of([LabelledText("good", "I like it."), LabelledText("bad", "Well ...")])
        ('bad', 'good')
    """
    return tuple(sorted({label for row in rows for label in _labels(row)}))


def require_known_labels(
    examples: Examples[LabelledText] | Examples[TaggedWords], labels: Iterable[str]
) -> None:
    """Checks that a model can be right about each example.

    Args:
        examples: The examples.
        labels: The labels that the model knows.

    Raises:
        CorpusError: If an example has another label; the message lists them, with the first place.
    """
    known, rows = {*labels}, cast("Iterable[LabelledText | TaggedWords]", examples)
    unknown = [label for label in labels_of(rows) if label not in known]
    if unknown:
        number, first = next(
            (number, label)
            for number, row in enumerate(rows, 1)
            for label in _labels(row)
            if label not in known
        )
        raise CorpusError(
            f"{examples.name} must have no labels but `data.labels`, by default those of the "
            "training examples: a model knows no others; correct them, add them there, or add "
            f"training examples. Received: {', '.join(unknown)}, beside "
            f"{', '.join(sorted(known))}; {first!r} in {examples.unit} {number}"
        )


def require_shared_labels(examples: Examples[LabelledText]) -> None:
    """Checks that examples share labels, as texts or numbers that are taken for labels do not.

    Args:
        examples: The examples.

    Raises:
        CorpusError: If most of them, and they are not just a few, have a label of their own.
    """
    labels = {example.label for example in examples}
    if len(examples) >= _ENOUGH_TO_TELL and 2 * len(labels) > len(examples):
        raise CorpusError(
            f"{examples.name} must have few labels, which stand before the texts: swap the columns "
            "if they are the other way round; if labels are numbers to learn, give "
            f"`--data.regression True`. Received: {len(labels):,} labels of {len(examples):,} "
            f"examples; {examples.rows[0].label!r} in {examples.unit} 1"
        )


def _labels(row: LabelledText | TaggedWords) -> tuple[str, ...]:
    return (row.label,) if isinstance(row, LabelledText) else row.tags
