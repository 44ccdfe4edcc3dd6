"""Pairs of ids that are looked up by place, where others are made of lines."""

import dataclasses
import functools
import itertools
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

import numpy as np

from keras_transformer.data.corpora import Corpus, Read
from keras_transformer.data.filtering import Pair, PairFilter
from keras_transformer.data.mixing import Mixture, corpora_of
from keras_transformer.data.prepared.reading import IntArray, PreparedCorpus
from keras_transformer.data.preprocessing import CHUNK, PairPreprocessor
from keras_transformer.streams.chunking import chunked

# A pair of which no id has been read: its place, and the lengths of source and target.
Unread = tuple[int, int, int]


class PreparedPairs:
    """Stands in for a `PairPreprocessor` without subword dropout: looks up what it would make.

    Args:
        corpora: The prepared corpora. Places go on from one to the next: see `places_of`.
        preprocess: What is stood in for; it tells which pairs are kept.

    Example:
        >>> preprocess = PairPreprocessor((tokenizer, tokenizer), max_length=32)
        >>> pairs = PreparedPairs([prepare(corpus, origin, "cache")], preprocess)
        >>> [(source, target)] = pairs.read(list(pairs([2], pairs.new_filter())))
        >>> source.tolist() == tokenizer.tokenize([list(corpus)[2][0]]).to_list()[0]
        True
    """

    def __init__(self, corpora: Sequence[PreparedCorpus], preprocess: PairPreprocessor) -> None:
        self.tokenizers = preprocess.tokenizers
        self.max_length = preprocess.max_length
        self.new_filter = preprocess.new_filter
        self._corpora = corpora
        self._firsts = _firsts(map(len, corpora))
        # Of what is not read yet, without a call of Python: a resumed run asks for millions.
        self.lengths = operator.itemgetter(1, 2)

    def __call__(
        self, places: Iterable[Any], usable: PairFilter, seed: Sequence[int] = (0,)
    ) -> Iterator[Unread]:
        """Yields those pairs that are kept, in their order.

        Args:
            places: The places of the pairs, whole numbers.
            usable: From `new_filter`; it counts the pairs.
            seed: Of no meaning here, where nothing is drawn.
        """
        for chunk in chunked(places, CHUNK):
            numbers = np.array(chunk)
            lengths = np.empty((len(chunk), 2), np.int32)
            for corpus, own, its_places in self._by_corpus(numbers):
                lengths[own] = corpus.lengths[its_places]
            kept = usable.kept(lengths)
            yield from zip(numbers[kept].tolist(), *lengths[kept].T.tolist(), strict=True)

    def read(self, pairs: Sequence[Unread]) -> list[Pair]:
        """Looks up the ids of pairs; see `PreparedCorpus.pairs`."""
        found: list[Any] = [None] * len(pairs)
        for corpus, own, places in self._by_corpus(np.array([pair[0] for pair in pairs])):
            for row, pair in zip(own.tolist(), corpus.pairs(places), strict=True):
                found[row] = pair
        return found

    def _by_corpus(self, numbers: IntArray) -> Iterator[tuple[PreparedCorpus, IntArray, IntArray]]:
        """Yields each corpus that is meant, with the indices of its numbers and its own places."""
        owners = np.searchsorted(self._firsts, numbers, side="right") - 1
        for owner in np.unique(owners).tolist():
            own = np.flatnonzero(owners == owner)
            yield self._corpora[owner], own, numbers[own] - self._firsts[owner]


def places_of(corpus: Corpus | Mixture, prepared: Sequence[PreparedCorpus]) -> Corpus | Mixture:
    """Returns a corpus with the places of its pairs in place of their lines.

    Args:
        corpus: A corpus or a mixture.
        prepared: What was made of it, or of each corpus of the mixture, the main one first.

    Example:
        >>> places = places_of(corpus, [prepare(corpus, origin, "cache")])
        >>> list(places)[:3]
        [0, 1, 2]
    """
    main, *others = (
        # What reads a corpus in this way hands on what it reads, and looks at none of it.
        dataclasses.replace(
            one, read=cast(Read, functools.partial(iter, range(first, first + size)))
        )
        for one, first, size in zip(
            corpora_of(corpus), _firsts(map(len, prepared)), map(len, prepared), strict=True
        )
    )
    if isinstance(corpus, Corpus):
        return main
    weights = (weight for _, weight in corpus.others)
    return Mixture(main, list(zip(others, weights, strict=True)))


def _firsts(sizes: Iterable[int]) -> list[int]:
    """Returns where each of several parts begins, if they follow each other."""
    return [0, *itertools.accumulate(sizes)][:-1]
