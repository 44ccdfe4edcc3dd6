"""Corpora mixed by weight, such as the text of a domain with back-translations."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from keras_transformer.config import DataConfig
from keras_transformer.data.corpora import Corpus, CorpusError, LinePair, open_corpus
from keras_transformer.data.held_out import sentences_of, without
from keras_transformer.data.tags import tagged

# Decimal weights become the fractions that they stand for: 0.29 is 29 in 100 pairs, and not 28.
_LARGEST_DENOMINATOR = 10**9


def open_training_corpus(data: DataConfig, held_out: Iterable[LinePair] = ()) -> "Corpus | Mixture":
    """Opens the training corpus of a configuration, mixed with the further ones.

    Args:
        data: The configuration.
        held_out: Pairs to validate on; no pair that has one of their sentences is trained on.

    Raises:
        CorpusError: If a corpus is missing, empty or malformed, or if none has the weights that
            the configuration asks for.

    Example:
        >>> data = DataConfig(train="phrasebook:train:100", mix={"phrasebook:test": 0.5})
        >>> open_training_corpus(data).name
        'phrasebook:train:100 + 0.5 phrasebook:test'
    """
    languages = (data.source_language, data.target_language)
    sentences = sentences_of(held_out)
    corpora = [
        without(open_corpus(spec, *languages, data.weights), sentences)
        for spec in (data.train, *data.mix)
    ]
    main, *others = map(tagged, corpora) if data.tags else corpora
    corpus = Mixture(main, list(zip(others, data.mix.values(), strict=True))) if others else main
    if data.weights and not corpus.weighted:
        raise CorpusError(
            "`weights` needs a training corpus that has them: a third column of a TSV, or a file "
            f".weights beside those of a prefix. Received: {corpus.name} without any"
        )
    return corpus


@dataclasses.dataclass(frozen=True)
class Mixture:
    """A main corpus with others mixed into it: a stream that holds no corpus in memory.

    An epoch reads the main corpus once. The other corpora go on where the epoch before stopped, so
    that in the course of the epochs all of them is read, even where one is larger than its share:
    after n pairs of the main corpus, counted over all epochs, `floor(n * weight)` pairs of another
    one have been read.

    Args:
        main: The corpus whose end is the end of an epoch.
        others: Corpora of at least one pair each, and how many pairs of each are read for one pair
            of `main`. A corpus that has ended begins again.

    Example:
        >>> letters = Corpus("letters", lambda: iter([("a", "A"), ("b", "B"), ("c", "C")]))
        >>> digits = Corpus("digits", lambda: iter([("1", "I"), ("2", "II")]))
        >>> mixture = Mixture(letters, [(digits, 0.5)])
        >>> [source for source, _ in mixture]
        ['a', 'b', '1', 'c']
        >>> [source for source, _ in mixture.epoch(1)]
        ['a', '2', 'b', 'c', '1']
    """

    main: Corpus
    others: Sequence[tuple[Corpus, float]]

    @property
    def name(self) -> str:
        """The corpora and their weights, for messages."""
        others = (f"{weight:g} {corpus.name}" for corpus, weight in self.others)
        return " + ".join([self.main.name, *others])

    @property
    def weighted(self) -> bool:
        """Whether there are pairs with weights; those of a corpus without any count 1."""
        return self.main.weighted or any(corpus.weighted for corpus, _ in self.others)

    def __iter__(self) -> Iterator[LinePair]:
        return self.epoch(0)

    def epoch(self, index: int) -> Iterator[LinePair]:
        """Reads one epoch; for any but the first, each corpus is counted once beforehand."""
        passed = index and index * self.main.size
        ratios = [_ratio(weight) for _, weight in self.others]
        streams = [
            _endless(corpus, first=passed and passed * pairs // each % corpus.size)
            for (corpus, _), (pairs, each) in zip(self.others, ratios, strict=True)
        ]
        for number, pair in enumerate(self.main, passed):
            yield pair
            for stream, (pairs, each) in zip(streams, ratios, strict=True):
                for _ in range(number * pairs // each, (number + 1) * pairs // each):
                    yield next(stream)


def corpora_of(corpus: Corpus | Mixture) -> list[Corpus]:
    """Returns the corpora of a mixture, the main one first, or a corpus alone.

    Example:
        >>> corpora_of(corpus) == [corpus]
        True
    """
    if isinstance(corpus, Corpus):
        return [corpus]
    return [corpus.main, *(other for other, _ in corpus.others)]


def languages_of(corpus: Corpus | Mixture) -> list[str]:
    """Returns the codes of the languages of the targets, each once.

    Example:
        >>> data = DataConfig("phrasebook:train:9", mix={"reversed:phrasebook:train:9": 1})
        >>> languages_of(open_training_corpus(data))
        ['de', 'en']
    """
    return sorted({corpus.target_language for corpus in corpora_of(corpus)})


def _endless(corpus: Corpus, first: int) -> Iterator[LinePair]:
    yield from itertools.islice(corpus, first, None)
    while True:
        yield from corpus


def _ratio(weight: float) -> tuple[int, int]:
    return Fraction(weight).limit_denominator(_LARGEST_DENOMINATOR).as_integer_ratio()
