"""A part of the training corpus that is held out to validate on.

Which pairs are held out follows from their text: they are those of the smallest hashes, of which
both sentences occur once. Neither the order of the corpus nor its format matters, and no sentence
is both trained and validated on. The corpus is read twice, more often if few of its sentences occur
once, and is never held in memory.
"""

import dataclasses
import hashlib
import heapq
import re
from collections import Counter
from collections.abc import Iterable, Set

from keras_transformer.data.corpora import Corpus, CorpusError, LinePair
from keras_transformer.streams.chunking import chunked

_CHUNK = 10_000
# Pairs are looked at for each that is held out, since sentences may occur more than once: so many,
# and if those do not suffice more, up to what still fits in memory.
_CANDIDATES = (4, 32, 256)
# What a line of a text file cannot begin with, have within or end with.
_UNWRITABLE = re.compile("[\n\r\ufeff]")


def hold_out(corpus: Corpus, size: int) -> list[LinePair]:
    """Chooses the pairs that are held out.

    Args:
        corpus: The training corpus.
        size: How many; fewer if, of 256 times as many of its pairs, not so many have two sentences
            that occur once.

    Raises:
        CorpusError: If there is no such pair, or none is left to train on.

    Example:
        >>> corpus = Corpus("letters", lambda: iter([("a", "A"), ("b", "B"), ("b", "B")]))
        >>> hold_out(corpus, size=1)
        [('a', 'A')]
    """
    chosen: list[LinePair] = []
    for times in _CANDIDATES:
        candidates = _smallest(corpus, times * size)
        sentences = sentences_of(candidates)
        counts = Counter(line for pair in corpus for line in pair if line in sentences)
        chosen = [pair for pair in candidates if all(counts[line] == 1 for line in pair)][:size]
        if len(chosen) == size or len(candidates) < times * size:
            break
    if not chosen:
        raise CorpusError(
            f"No pair of {corpus.name} can be held out to validate on, because sentences occur "
            "more than once; choose a corpus for `valid`, or null for no validation. Received: "
            f"{corpus.size:,} pairs"
        )
    return chosen


def sentences_of(pairs: Iterable[LinePair]) -> frozenset[str]:
    """Returns the lines of both sides.

    Example:
        >>> sorted(sentences_of([("a", "A")]))
        ['A', 'a']
    """
    return frozenset(line for pair in pairs for line in pair)


def without(corpus: Corpus, sentences: Set[str]) -> Corpus:
    """Returns a corpus without the pairs that have one of some sentences, on whichever side.

    Args:
        corpus: The corpus.
        sentences: The sentences.

    Raises:
        CorpusError: If no pair is left.

    Example:
        >>> corpus = Corpus("letters", lambda: iter([("a", "A"), ("b", "B")]))
        >>> list(without(corpus, {"A"}))
        [('b', 'B')]
    """
    if not sentences:
        return corpus
    rest = dataclasses.replace(
        corpus,
        read=lambda: (pair for pair in corpus if sentences.isdisjoint(pair)),
        files=(),
    )
    if next(iter(rest), None) is None:
        raise CorpusError(
            f"Nothing of {corpus.name} is left to train on, because all of it is held out to "
            "validate on; hold out fewer pairs, or choose another corpus for `valid`. Received: "
            f"{corpus.size:,} pairs"
        )
    return rest


def _smallest(corpus: Iterable[LinePair], size: int) -> list[LinePair]:
    """Returns the different pairs of the smallest hashes, in the order of these."""
    found: dict[bytes, LinePair] = {}
    for chunk in chunked(corpus, _CHUNK):
        found.update((_hash(pair), pair) for pair in chunk if _is_sentences(pair))
        found = dict(heapq.nsmallest(size, found.items()))
    return list(found.values())


def _hash(pair: LinePair) -> bytes:
    source, target = pair
    # The length keeps apart two pairs that differ only in where the source ends.
    text = f"{len(source)} {source}{target}"
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def _is_sentences(pair: LinePair) -> bool:
    return all(line.strip() and not _UNWRITABLE.search(line) for line in pair)
