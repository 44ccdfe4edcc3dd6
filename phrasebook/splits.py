"""The corpus and its splits.

Which split a sentence belongs to depends on the sentence alone: on the combinations in it, and else
on a checksum of its German side. So splits never overlap, whatever the sizes and the seeds: a seed
decides which sentences of a split are drawn, and in which order. A checksum of the German side
parts the English sides as well, for an English sentence has one translation.

Some *combinations* of words, a verb with an object or an adjective with a noun, are held out: a
sentence with one of them is in the split "combinations" and in no other. A model that translates
those has learned words and grammar, not sentences. Of an adjective only the place before its noun
counts: "warm bread" may be held out while "the bread is warm" is not.
"""

import zlib
from collections.abc import Iterator
from functools import cache
from itertools import islice

from phrasebook.dice import Dice
from phrasebook.grammar import Combination, Sentence
from phrasebook.templates import draw

SPLITS = ("train", "valid", "test", "combinations")

# What is drawn if no size is given, and the most that may be asked for.
DEFAULT_SIZES = {"train": 200_000, "valid": 1_000, "test": 1_000, "combinations": 1_000}
LARGEST_SIZES = {"train": 1_000_000, "valid": 20_000, "test": 20_000, "combinations": 20_000}

# Per hundred: combinations held out, and sentences in the splits "valid" and "test".
_HELD_OUT = 6
_VALID = 3
_TEST = 3


def _percentile(text: str) -> int:
    """Hashes a text to 0...99, the same in every process and on every machine."""
    return zlib.crc32(text.encode("utf-8")) % 100


@cache
def is_held_out(combination: Combination) -> bool:
    """Returns whether a combination of words is held out of every split but "combinations".

    Args:
        combination: The combination.

    Returns:
        Whether it is held out, by a fixed rule that holds for about 6 in 100.
    """
    return _percentile(" ".join(combination)) < _HELD_OUT


def split_of(sentence: Sentence) -> str:
    """Returns the split a sentence belongs to.

    Args:
        sentence: The sentence.

    Returns:
        One of `SPLITS`.

    Example:
        >>> split_of(Sentence("Anna laughs.", "Anna lacht."))
        'train'
    """
    if any(map(is_held_out, sentence.combinations)):
        return "combinations"
    percentile = _percentile(sentence.german)
    if percentile < _VALID:
        return "valid"
    return "test" if percentile < _VALID + _TEST else "train"


def sentences(split: str, seed: int = 0) -> Iterator[Sentence]:
    """Draws the sentences of a split without end and without repetition.

    Args:
        split: One of `SPLITS`.
        seed: Decides which sentences are drawn, and their order.

    Yields:
        The sentences, with the combinations in them.

    Raises:
        ValueError: If there is no such split.

    Example:
        >>> first = next(sentences("combinations"))
        >>> any(is_held_out(combination) for combination in first.combinations)
        True
    """
    if split not in SPLITS:
        known = ", ".join(SPLITS)
        raise ValueError(f"`split` must be one of {known}. Received: split={split!r}")
    return _draw(split, seed)


def _draw(split: str, seed: int) -> Iterator[Sentence]:
    dice = Dice(seed)
    seen = set()
    while True:
        sentence = draw(dice)
        if sentence.english not in seen and split_of(sentence) == split:
            seen.add(sentence.english)
            yield sentence


def phrasebook(
    split: str = "train", *, size: int | None = None, seed: int = 0
) -> list[tuple[str, str]]:
    """Returns English-German sentence pairs of the built-in corpus.

    The pairs are made by a grammar, on the spot, and are distinct. No sentence of one split occurs
    in another, in neither language and with no seed. Each sentence of "combinations" has a verb
    with an object, or an adjective with a noun, that never occur together in the other splits.

    Args:
        split: "train", "valid", "test" or "combinations".
        size: The number of pairs: by default 200,000 for "train" and 1,000 for the others. A
            smaller corpus is the beginning of a larger one.
        seed: Decides which pairs are drawn, and their order.

    Returns:
        The pairs, English first.

    Raises:
        ValueError: If there is no such split, or if the size is not between 1 and the largest that
            the split supports: 1,000,000 for "train" and 20,000 for the others.

    Example:
        >>> len(phrasebook("test", size=100))
        100
    """
    drawn = sentences(split, seed)
    size = DEFAULT_SIZES[split] if size is None else size
    if not 1 <= size <= LARGEST_SIZES[split]:
        raise ValueError(
            f"`size` must be between 1 and {LARGEST_SIZES[split]} for the split {split!r}. "
            f"Received: size={size}"
        )
    return [(sentence.english, sentence.german) for sentence in islice(drawn, size)]
