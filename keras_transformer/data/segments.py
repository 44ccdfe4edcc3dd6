"""What of a document becomes one input: as many sentences as fit, or two halves of which a model
is to tell whether the second follows.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

# A sentence as token ids, and a document as such sentences, of which none is empty.
Tokens = list[int]
TokenDocument = Sequence[Tokens]

# The labels of next sentences; like that of all labels, 0 is for nothing.
FOLLOWS, ANOTHER = 1, 2


class Segments(NamedTuple):
    """The texts of an input, without special pieces.

    Args:
        first: The first text.
        second: The second one; None where there is one text alone.
        label: `FOLLOWS` or `ANOTHER`; 0 where there is one text alone.
    """

    first: Tokens
    second: Tokens | None = None
    label: int = 0


def packed(
    document: TokenDocument, most: int, short: float, rng: np.random.Generator
) -> Iterator[Segments]:
    """Fills inputs with the sentences of a document, in their order, each token once.

    A sentence that fits in no input goes on in the next one.

    Args:
        document: The document.
        most: Most tokens of an input.
        short: Probability with which an input is to be shorter, by a length drawn at random.
        rng: Source of the draws.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> [row.first for row in packed([[5, 6], [7], [8, 9]], 3, 0.0, rng)]
        [[5, 6, 7], [8, 9]]
    """
    text: Tokens = []
    target = _target(most, short, rng)
    for sentence in document:
        for start in range(0, len(sentence), most):
            part = sentence[start : start + most]
            if text and len(text) + len(part) > target:
                yield Segments(text)
                text, target = [], _target(most, short, rng)
            text = text + part
    if text:
        yield Segments(text)


def paired(
    document: TokenDocument,
    draw_another: Callable[[], TokenDocument],
    most: int,
    short: float,
    rng: np.random.Generator,
) -> Iterator[Segments]:
    """Fills inputs with two texts each, of which the second follows the first in every other one.

    Where it does not, it is of another document, and the sentences that it has replaced come in the
    next input. A single sentence that is left over always gets another one. What is too long loses
    tokens at both ends, the longer text first.

    Args:
        document: The document.
        draw_another: Gives another document at random.
        most: Most tokens of an input.
        short: Probability with which an input is to be shorter, by a length drawn at random.
        rng: Source of the draws.

    Example:
        >>> rng = np.random.default_rng(1)
        >>> rows = paired([[5], [6]], lambda: [[7]], most=8, short=0.0, rng=rng)
        >>> [row.label in (FOLLOWS, ANOTHER) for row in rows][0]
        True

    Reference:
        arXiv 1810.04805, Appendix A.2; `create_instances_from_document` in google-research/bert.
    """
    chunk: list[Tokens] = []
    target, index = _target(most, short, rng), 0
    while index < len(document):
        chunk.append(document[index])
        index += 1
        if index < len(document) and sum(map(len, chunk)) < target:
            continue
        size = 1 if len(chunk) == 1 else int(rng.integers(1, len(chunk)))
        first = _joined(chunk[:size])
        follows = len(chunk) > 1 and rng.random() < 0.5
        if follows:
            second = _joined(chunk[size:])
        else:
            second = _from_somewhere(draw_another(), target - len(first), rng)
            index -= len(chunk) - size
        yield Segments(*_cut(first, second, most, rng), FOLLOWS if follows else ANOTHER)
        chunk, target = [], _target(most, short, rng)


def _target(most: int, short: float, rng: np.random.Generator) -> int:
    """Draws how long an input is to be."""
    return int(rng.integers(2, most + 1)) if rng.random() < short else most


def _from_somewhere(document: TokenDocument, wanted: int, rng: np.random.Generator) -> Tokens:
    """Takes sentences from a random one on, until there are as many tokens as are wanted."""
    text: Tokens = []
    for sentence in document[int(rng.integers(len(document))) :]:
        text = text + sentence
        if len(text) >= wanted:
            break
    return text


def _cut(
    first: Tokens, second: Tokens, most: int, rng: np.random.Generator
) -> tuple[Tokens, Tokens]:
    """Drops tokens of the longer text, at either end at random, until both fit."""
    kept = min(len(first), max(most - len(second), most - most // 2))
    return _shortened(first, kept, rng), _shortened(second, most - kept, rng)


def _shortened(text: Tokens, most: int, rng: np.random.Generator) -> Tokens:
    dropped = max(0, len(text) - most)
    # As if each token that goes was taken off an end by the toss of a coin.
    start = int(rng.binomial(dropped, 0.5))
    return text[start : start + len(text) - dropped]


def _joined(sentences: Sequence[Tokens]) -> Tokens:
    return [token for sentence in sentences for token in sentence]
