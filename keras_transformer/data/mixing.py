"""Corpora mixed by weight, such as the text of a domain with back-translations."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from keras_transformer.config import DataConfig
from keras_transformer.data.corpora import Corpus, LinePair, open_corpus

# Decimal weights become the fractions that they stand for: 0.29 is 29 in 100 pairs, and not 28.
_LARGEST_DENOMINATOR = 10**9


def open_training_corpus(data: DataConfig) -> Corpus:
    """Opens the training corpus of a configuration, mixed with the further ones.

    Raises:
        CorpusError: If a corpus is missing, empty or malformed.

    Example:
        >>> data = DataConfig(train="phrasebook:train:100", mix={"phrasebook:test": 0.5})
        >>> open_training_corpus(data).name
        'phrasebook:train:100 + 0.5 phrasebook:test'
    """
    languages = (data.source_language, data.target_language)
    others = [(open_corpus(spec, *languages), weight) for spec, weight in data.mix.items()]
    return mixed(open_corpus(data.train, *languages), others)


def mixed(main: Corpus, others: Sequence[tuple[Corpus, float]]) -> Corpus:
    """Mixes other corpora into a main one.

    Args:
        main: The corpus whose end is the end of the mixture.
        others: Corpora of at least one pair each, and how many pairs of it are read for one pair
            of `main`. One that ends before `main` does is read again.

    Returns:
        The mixture, a stream that holds no corpus in memory. After n pairs of `main` it has had
        `floor(n * weight)` of each other corpus.

    Example:
        >>> letters = Corpus("letters", lambda: iter([("a", "A"), ("b", "B"), ("c", "C")]))
        >>> digits = Corpus("digits", lambda: iter([("1", "I"), ("2", "II")]))
        >>> [source for source, _ in mixed(letters, [(digits, 1.5)])]
        ['a', '1', 'b', '2', '1', 'c', '2']
    """
    if not others:
        return main
    name = " + ".join([main.name, *(f"{weight:g} {corpus.name}" for corpus, weight in others)])
    return Corpus(name, lambda: _mixture(main, others))


def _mixture(main: Corpus, others: Sequence[tuple[Corpus, float]]) -> Iterator[LinePair]:
    ratios = [_ratio(weight) for _, weight in others]
    streams = [_endless(corpus) for corpus, _ in others]
    for number, pair in enumerate(main):
        yield pair
        for stream, (pairs, each) in zip(streams, ratios, strict=True):
            for _ in range(number * pairs // each, (number + 1) * pairs // each):
                yield next(stream)


def _endless(corpus: Corpus) -> Iterator[LinePair]:
    while True:
        yield from corpus


def _ratio(weight: float) -> tuple[int, int]:
    return Fraction(weight).limit_denominator(_LARGEST_DENOMINATOR).as_integer_ratio()
