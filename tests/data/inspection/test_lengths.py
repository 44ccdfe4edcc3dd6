"""Lengths against NumPy, and what is an odd ratio."""

import random

import numpy as np
import pytest

from keras_transformer.data.inspection import lengths
from keras_transformer.data.inspection.lengths import QUANTILES, Lengths


def line(words):
    return " ".join(["ab"] * words)


def test_words_and_quantiles(monkeypatch):
    monkeypatch.setattr(lengths, "MOST_WORDS", 40)
    rng = random.Random(1706)
    counts = [[rng.randint(0, 50), rng.randint(1, 30)] for _ in range(997)]
    pairs = [(line(source), line(target)) for source, target in counts]
    found = Lengths(pairs[:100])
    for start in range(0, len(pairs), 100):
        found.read(start + 1, pairs[start : start + 100])
    for side, words in zip(found.sides(), np.transpose(counts), strict=True):
        assert side.words == words.sum()
        assert side.characters == np.maximum(3 * words - 1, 0).sum()
        assert side.mean == pytest.approx(words.mean())
        clipped = np.minimum(words, 40)
        assert side.lines == np.bincount(clipped).tolist()
        expected = np.quantile(clipped, QUANTILES, method="inverted_cdf")
        assert side.quantiles == expected.tolist()


def test_an_odd_ratio_is_beside_what_is_usual():
    """Of a language with few characters for many, the usual ratio is none that is odd."""
    usual = [("x" * 10, "y" * 60)] * 20
    odd = [("x" * 60, "y" * 60), ("x" * 2, "y" * 60), ("x" * 25, "y" * 25)]
    fine = [("x" * 10, "y" * 25), ("x" * 15, "y" * 250), ("x", "y" * 19), ("", "y" * 60)]
    found = Lengths(usual)
    found.read(1, [*usual, *odd, *fine])
    [tally] = found.tallies()
    assert [example.line for example in tally.examples] == [21, 22, 23]
    assert tally.count == 3
