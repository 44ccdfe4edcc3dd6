"""Sentences to look at: those that are translated worst, and those on which systems differ."""

import dataclasses
from collections.abc import Mapping, Sequence


@dataclasses.dataclass(frozen=True)
class Example:
    """A sentence with all translations of it.

    Args:
        line: Its number in the corpus, from 1.
        source: The source.
        reference: The reference.
        translations: Of each system.
        scores: chrF of each, in [0, 100].
    """

    line: int
    source: str
    reference: str
    translations: tuple[str, ...]
    scores: tuple[float, ...]


def score_sentences(
    systems: Mapping[str, Sequence[str]], sources: Sequence[str], references: Sequence[str]
) -> list[Example]:
    """Scores each sentence by chrF, which tells more of a single one than BLEU.

    Args:
        systems: Translations by the name of the system.
        sources: As many sources.
        references: As many references.

    Example:
        >>> [one] = score_sentences({"a": ["a dog"]}, ["ein Hund"], ["a dog"])
        >>> one.scores
        (100.0,)
    """
    from sacrebleu.metrics.chrf import CHRF

    chrf = CHRF()
    rows = zip(sources, references, *systems.values(), strict=True)
    return [
        Example(
            line,
            source,
            reference,
            tuple(translations),
            tuple(chrf.sentence_score(text, [reference]).score for text in translations),
        )
        for line, (source, reference, *translations) in enumerate(rows, start=1)
    ]


def worst(examples: Sequence[Example], count: int = 10) -> list[Example]:
    """Returns the examples of the lowest mean score of all systems, the worst first.

    Example:
        >>> systems = {"a": ["a dog", "x"]}
        >>> examples = score_sentences(systems, ["ein Hund", "eine Katze"], ["a dog", "a cat"])
        >>> [one.line for one in worst(examples, count=1)]
        [2]
    """
    return sorted(examples, key=lambda one: (sum(one.scores), one.line))[:count]


def most_different(examples: Sequence[Example], count: int = 10) -> list[Example]:
    """Returns the examples whose scores differ most from system to system, and none that agree.

    Example:
        >>> systems = {"a": ["a dog", "a cat"], "b": ["a dog", "x"]}
        >>> examples = score_sentences(systems, ["ein Hund", "eine Katze"], ["a dog", "a cat"])
        >>> [one.line for one in most_different(examples)]
        [2]
    """

    def difference(one: Example) -> float:
        return max(one.scores) - min(one.scores)

    apart = [one for one in examples if difference(one) > 0]
    return sorted(apart, key=lambda one: (-difference(one), one.line))[:count]
