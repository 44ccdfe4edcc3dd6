"""What is held out of a training corpus: so many pairs, by their text, and none of their sentences
is left in the training."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.config import DataConfig
from keras_transformer.data import held_out
from keras_transformer.data.corpora import Corpus, CorpusError
from keras_transformer.data.held_out import hold_out, sentences_of, without
from keras_transformer.data.mixing import open_training_corpus
from phrasebook import phrasebook

PAIRS = [(f"source {i}", f"target {i}") for i in range(500)]


def corpus_of(pairs):
    return Corpus("pairs", lambda: iter(pairs))


@pytest.mark.parametrize("chunk", [7, 10_000])
def test_order_does_not_matter(monkeypatch, chunk):
    monkeypatch.setattr(held_out, "_CHUNK", chunk)
    chosen = hold_out(corpus_of(PAIRS), size=20)
    assert len({*chosen}) == 20
    assert {*chosen} < {*PAIRS}
    shuffled = random.Random(1706).sample(PAIRS, len(PAIRS))
    assert hold_out(corpus_of(shuffled), size=20) == chosen
    # Fewer are the first of more, and half of the corpus holds those of the whole that it has.
    assert hold_out(corpus_of(PAIRS), size=5) == chosen[:5]
    half = hold_out(corpus_of(PAIRS[:250]), size=20)
    assert half[: sum(pair in PAIRS[:250] for pair in chosen)] == [
        pair for pair in chosen if pair in PAIRS[:250]
    ]


@given(st.lists(st.tuples(*[st.sampled_from("abcdefghij")] * 2), min_size=1), st.integers(1, 9))
def test_no_sentence_is_in_both(pairs, size):
    once = [pair for pair in pairs if all(sum(p.count(line) for p in pairs) == 1 for line in pair)]
    try:
        chosen = hold_out(corpus_of(pairs), size)
    except CorpusError:
        assert not once
        return
    assert {*chosen} <= {*once}
    assert len(chosen) == len({*chosen}) == min(size, len(once))
    if len(chosen) < len(pairs):
        rest = list(without(corpus_of(pairs), sentences_of(chosen)))
        assert sorted([*rest, *chosen]) == sorted(pairs), "only what is held out is lost"
        assert sentences_of(rest).isdisjoint(sentences_of(chosen))


def test_most_sentences_occur_more_than_once():
    """Of a pair in twenty both occur once: four candidates for each that is wanted do not do."""
    often = [(f"often {i // 2}", f"oft {i}") for i in range(9_500)]
    chosen = hold_out(corpus_of([*often, *PAIRS]), size=100)
    assert len(chosen) == 100
    assert {*chosen} < {*PAIRS}
    assert hold_out(corpus_of([*PAIRS, *often]), size=5) == chosen[:5]


def test_lines_that_a_file_cannot_hold_stay_in_the_training():
    unfit = [("", "a"), ("b", " "), ("c\nd", "e"), ("f", "g\r"), ("\ufeffh", "i")]
    assert hold_out(corpus_of([*unfit, ("j", "k")]), size=3) == [("j", "k")]


def test_nothing_can_be_held_out():
    with pytest.raises(CorpusError, match=r"sentences occur more than once.*`valid`.*: 2 pairs"):
        hold_out(corpus_of([("a", "b")] * 2), size=1)
    with pytest.raises(
        CorpusError, match=r"Nothing of pairs is left to train on.*Received: 1 pair"
    ):
        without(corpus_of([("a", "b")]), {"a"})


def test_a_mixture_has_none_of_it_either(tmp_path):
    """Reversed text, as "With little data" in docs/training.md mixes in."""
    reversed_pairs = tmp_path / "reversed.tsv"
    pairs = phrasebook("train", size=200)
    reversed_pairs.write_text("".join(f"{target}\t{source}\n" for source, target in pairs))
    data = DataConfig("phrasebook:train:200", mix={str(reversed_pairs): 1})
    chosen = hold_out(corpus_of(pairs), size=10)
    mixture = open_training_corpus(data, chosen)
    read = [*mixture.epoch(0), *mixture.epoch(1)]
    assert sentences_of(read).isdisjoint(sentences_of(chosen))
    assert len(read) == 4 * 190


@pytest.mark.parametrize(
    ("valid", "pairs", "expected"),
    [
        ("held_out", 200, 10),
        ("held_out", 3, 1),
        ("held_out", 4_500_000, 1000),
        ("held_out:70", 100, 70),
        ("phrasebook:valid", 200, 0),
        (["a.en", "a.de"], 200, 0),
        (None, 200, 0),
    ],
)
def test_how_many(valid, pairs, expected):
    data = DataConfig(valid=valid)
    assert data.pairs_held_out(pairs) == expected
    assert data.holds_out == (expected > 0)


@pytest.mark.parametrize("valid", ["held_out:", "held_out:0", "held_out:1%", "held_out:5:5"])
def test_what_is_no_number_of_pairs(valid):
    with pytest.raises(
        ValueError, match=rf"`valid` must be held_out or.*Received: valid='{valid}'"
    ):
        DataConfig(valid=valid)
