"""Which side of a corpus a line looks like, by its letters alone.

The two sides of a corpus are two languages, and either has its own sequences of three letters. How
often each occurs on which side is counted in a sample, and tells of any line how likely it is on
this side or on that one: no model and no list of languages is needed, so it works for any two.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keras_transformer.data.inspection.letters import Integers, Letters

Floats = npt.NDArray[np.float64]

# Trigrams are counted by a hash of so many bits, each as if it had been seen this often before.
_BITS, _PRIOR = 17, 0.5
_FACTORS = (0x9E3779B1, 0x85EBCA6B, 0xC2B2AE35)


class Likelihoods(NamedTuple):
    """Of some lines, the mean log-likelihood of their trigrams on either side, in nats, `[lines]`.

    It is 0.0 for lines without letters.
    """

    as_source: Floats
    as_target: Floats


class TrigramModel:
    """The trigrams of both sides of a corpus.

    Args:
        sources: Letters of the source side.
        targets: Letters of the target side.

    Example:
        >>> from keras_transformer.data.inspection.letters import letters_of
        >>> sides = [["the dog and the cat"] * 9, ["der Hund und die Katze"] * 9]
        >>> model = TrigramModel(*map(letters_of, sides))
        >>> likely = model.likelihoods(letters_of(["the cat", "die Katze"]), lines=2)
        >>> (likely.as_source > likely.as_target).tolist()
        [True, False]
    """

    def __init__(self, sources: Letters, targets: Letters) -> None:
        self._log_probs = [_log_probs(_hashes(letters)) for letters in (sources, targets)]

    def likelihoods(self, letters: Letters, lines: int) -> Likelihoods:
        """Returns how likely each of so many lines is on either side."""
        hashes, count = _hashes(letters), np.bincount(letters.lines, minlength=lines)

        def mean(log_probs: Floats) -> Floats:
            sums = np.bincount(letters.lines, log_probs[hashes], minlength=lines)
            return sums / np.maximum(count, 1)

        return Likelihoods(*map(mean, self._log_probs))


def _log_probs(hashes: Integers) -> Floats:
    counts = np.bincount(hashes, minlength=1 << _BITS) + _PRIOR
    return np.log(counts / counts.sum())


def _hashes(letters: Letters) -> Integers:
    """Returns the hash of each letter with its neighbours."""
    mixed = np.zeros(len(letters.places), np.uint32)
    for shift, factor in zip((-1, 0, 1), _FACTORS, strict=True):
        mixed += letters.codes[letters.places + shift] * np.uint32(factor)
    return (mixed >> np.uint32(32 - _BITS)).astype(np.intp)
