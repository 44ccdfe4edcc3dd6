"""What examples with labels are, whatever they are read from."""

import dataclasses
import hashlib
from collections.abc import Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

from keras_transformer.data.corpora import CorpusError

Example = TypeVar("Example")


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

    Raises:
        CorpusError: If there are none.

    Example:
        >>> len(Examples("one", (LabelledText("good", "I like it."),)))
        1
    """

    name: str
    rows: tuple[Example, ...]

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
    found: set[str] = set()
    for row in rows:
        found.update([row.label] if isinstance(row, LabelledText) else row.tags)
    return tuple(sorted(found))


def require_known_labels(
    examples: Examples[LabelledText] | Examples[TaggedWords], labels: Iterable[str], source: str
) -> None:
    """Checks that a model can be right about each example.

    Args:
        examples: The examples.
        labels: The labels that the model knows.
        source: What those are.

    Raises:
        CorpusError: If an example has another label; the message lists them.
    """
    known = {*labels}
    unknown = [label for label in labels_of(examples) if label not in known]
    if unknown:
        raise CorpusError(
            f"{examples.name} must have no labels but {source}: a model knows no others; correct "
            f"them, or add training examples. Received: {', '.join(unknown)}, beside "
            f"{', '.join(sorted(known))}"
        )
