"""Where a system is good and where it is not: by length of sentences, by frequency of words."""

import bisect
import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from keras_transformer.evaluation.bleu import make_bleu

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

# The largest number of each class but the last.
_LENGTHS = (10, 20, 30, 40, 50)
_FREQUENCIES = (0, 1, 4, 9, 99, 999)


@dataclasses.dataclass(frozen=True)
class Slice:
    """A part of a corpus.

    Args:
        least: Smallest length or frequency in it.
        most: The largest; None for any.
        size: Sentences, or words of the references, in it.
        scores: Of each system, in [0, 100].
    """

    least: int
    most: int | None
    size: int
    scores: tuple[float, ...]

    @property
    def label(self) -> str:
        """The bounds, as in "11-20"."""
        if self.most is None:
            return f"{self.least}+"
        return f"{self.least}" if self.least == self.most else f"{self.least}-{self.most}"


def scores_by_length(
    systems: Mapping[str, Sequence[str]], references: Sequence[str], tokenize: str = "13a"
) -> list[Slice]:
    """Gives the BLEU of sentences of like lengths.

    Args:
        systems: Translations by the name of the system.
        references: As many references, whose lengths count, in words.
        tokenize: sacreBLEU's tokenizer, which tells words apart.

    Example:
        >>> lines = ["the dog sleeps in the garden", "a cat " * 6]
        >>> [(one.label, one.size) for one in scores_by_length({"same": lines}, lines)]
        [('1-10', 1), ('11-20', 1)]
    """
    bleu = make_bleu(tokenize)
    classes = [bisect.bisect_left(_LENGTHS, len(_words(bleu, line))) for line in references]
    slices = []
    for number in sorted({*classes}):
        chosen = [i for i, of_line in enumerate(classes) if of_line == number]
        targets = [references[i] for i in chosen]
        scores = (
            bleu.corpus_score([lines[i] for i in chosen], [targets]).score
            for lines in systems.values()
        )
        slices.append(_slice(_LENGTHS, number, len(chosen), scores, least=1))
    return slices


def scores_by_frequency(
    systems: Mapping[str, Sequence[str]],
    references: Sequence[str],
    tokenize: str = "13a",
    counted: Iterable[str] | Counter[str] | None = None,
) -> list[Slice]:
    """Gives F1 of the words of like frequencies.

    Of a sentence, a word is right as often as it is in both translation and reference.

    Args:
        systems: Translations by the name of the system.
        references: As many references.
        tokenize: sacreBLEU's tokenizer, which tells words apart.
        counted: Lines in which words are counted, such as a training corpus, or what `count_words`
            has counted in them; None for the references.

    Example:
        >>> references = ["the dog", "the cat"]
        >>> found = scores_by_frequency({"one": ["the dog", "the dog"]}, references)
        >>> [(one.label, one.size, round(one.scores[0])) for one in found]
        [('1', 2, 50), ('2-4', 2, 100)]
    """
    bleu = make_bleu(tokenize)
    of_references = [Counter(_words(bleu, line)) for line in references]
    counts = counted
    if not isinstance(counts, Counter):
        counts = count_words(references if counted is None else counted, tokenize)

    def by_class(words: Counter[str]) -> Counter[int]:
        found: Counter[int] = Counter()
        for word, times in words.items():
            found[bisect.bisect_left(_FREQUENCIES, counts[word])] += times
        return found

    wanted = sum(map(by_class, of_references), Counter[int]())
    scores: dict[int, list[float]] = {number: [] for number in sorted(wanted)}
    for lines in systems.values():
        of_system = [Counter(_words(bleu, line)) for line in lines]
        given = sum(map(by_class, of_system), Counter[int]())
        both = (mine & theirs for mine, theirs in zip(of_system, of_references, strict=True))
        right = sum(map(by_class, both), Counter[int]())
        for number, of_class in scores.items():
            # The harmonic mean of precision and recall.
            of_class.append(100 * 2 * right[number] / (given[number] + wanted[number]))
    return [
        _slice(_FREQUENCIES, number, wanted[number], found, least=0)
        for number, found in scores.items()
    ]


def count_words(lines: Iterable[str], tokenize: str = "13a") -> Counter[str]:
    """Counts words, of which there are fewer than lines to keep.

    Args:
        lines: The lines, which are read once.
        tokenize: sacreBLEU's tokenizer, which tells words apart.

    Example:
        >>> count_words(["the dog", "the cat"])["the"]
        2
    """
    bleu = make_bleu(tokenize)
    return Counter(word for line in lines for word in _words(bleu, line))


def _words(bleu: "BLEU", line: str) -> list[str]:
    return bleu.tokenizer(line).split()


def _slice(
    bounds: Sequence[int], number: int, size: int, scores: Iterable[float], least: int
) -> Slice:
    low = bounds[number - 1] + 1 if number else least
    return Slice(low, bounds[number] if number < len(bounds) else None, size, tuple(scores))
