"""Mixtures against a brute-force reading of their definition."""

import itertools
from collections import Counter
from math import floor

import pytest

from keras_transformer.config import DataConfig
from keras_transformer.data.corpora import Corpus, CorpusError
from keras_transformer.data.mixing import Mixture, open_training_corpus


def corpus(name, size):
    return Corpus(name, lambda: ((f"{name}{i}", f"{name.upper()}{i}") for i in range(size)))


def brute_force(size, weights, epochs):
    """The epochs of a mixture with corpora of 4 pairs, by the definition alone."""
    names = "bc"[: len(weights)]
    read, given = [], Counter()
    for number in range(epochs * size):
        read.append(("a", number % size))
        for name, weight in zip(names, weights, strict=True):
            while given[name] < floor((number + 1) * weight + 1e-9):
                read.append((name, given[name] % 4))
                given[name] += 1
    starts = [place for place, pair in enumerate(read) if pair == ("a", 0)]
    ends = [*starts[1:], None]
    pairs = [(f"{name}{place}", f"{name.upper()}{place}") for name, place in read]
    return [pairs[start:end] for start, end in zip(starts, ends, strict=True)]


@pytest.mark.parametrize("weights", [(1,), (0.5,), (2,), (2.5, 0.3), (0.1, 0.1), (7, 1e-3)])
def test_order(weights):
    others = [(corpus(name, 4), weight) for name, weight in zip("bc", weights, strict=False)]
    mixture = Mixture(corpus("a", 25), others)
    expected = brute_force(25, weights, epochs=5)
    assert list(mixture) == expected[0]
    assert [list(mixture.epoch(index)) for index in range(5)] == expected
    assert list(mixture.epoch(3)) == expected[3], "an epoch can be read by itself"


def test_epochs_read_all_of_a_corpus_that_is_larger_than_its_share():
    mixture = Mixture(corpus("a", 10), [(corpus("b", 35), 1)])
    read = {source for index in range(4) for source, _ in mixture.epoch(index)}
    assert len(read) == 10 + 35


@pytest.mark.parametrize("weight", [0.29, 0.57, 1.1, 0.07])
def test_decimal_weights_are_exact(weight):
    mixture = Mixture(corpus("a", 100), [(corpus("b", 7), weight)])
    assert Counter(source[0] for source, _ in mixture) == {"a": 100, "b": round(100 * weight)}


def test_a_mixture_is_a_stream():
    endless = Corpus("endless", lambda: ((str(i), "") for i in itertools.count()))
    mixture = Mixture(endless, [(endless, 0.5)])
    sources = [source for source, _ in itertools.islice(mixture, 6)]
    assert sources == ["0", "1", "0", "2", "3", "1"]


def test_the_corpora_of_a_configuration(tmp_path):
    (tmp_path / "main.tsv").write_text("the dog\tder Hund\nthe cat\tdie Katze\n")
    (tmp_path / "more.en").write_text("one\ntwo\n")
    (tmp_path / "more.de").write_text("eins\nzwei\n")
    main, more = str(tmp_path / "main.tsv"), str(tmp_path / "more")
    data = DataConfig(train=main, mix={more: 1.5}, source_language="de", target_language="en")
    opened = open_training_corpus(data)
    assert opened.name == f"{main} + 1.5 {more}"
    one, two = ("eins", "one"), ("zwei", "two")
    assert list(opened) == [("the dog", "der Hund"), one, ("the cat", "die Katze"), two, one]
    with pytest.raises(CorpusError, match="no such corpus file"):
        open_training_corpus(DataConfig(train=main, mix={str(tmp_path / "missing"): 1}))
