"""Shapes that are fitted to a corpus by reading all of it once."""

import pytest

from keras_transformer.data.corpora import Corpus, CorpusError, open_corpus
from keras_transformer.data.planning import fit_plan
from keras_transformer.data.preprocessing import PairPreprocessor
from keras_transformer.text.tokenizer import SubwordTokenizer

PAIRS = [("a small dog", "ein kleiner Hund"), ("the dog sleeps", "der Hund schläft"), ("", "ja")]


@pytest.fixture(scope="module")
def preprocess():
    tokenizer = SubwordTokenizer.train([side for pair in PAIRS for side in pair], 40)
    return PairPreprocessor((tokenizer, tokenizer), max_length=32)


def test_the_corpus_is_read_once_and_what_is_dropped_is_told(preprocess):
    readings = []

    def read():
        readings.append("one")
        return iter(PAIRS)

    plan, summary = fit_plan(Corpus("a corpus", read), preprocess, batch_tokens=64)
    assert readings == ["one"]
    assert summary == "kept 2 of 3 pairs (dropped: 1 empty, 0 longer than 32 tokens)"
    assert plan.shape_of(32, 32) == (2, 32, 32)


def test_a_malformed_line_behind_the_sample_is_found(preprocess, tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("a small dog\tein kleiner Hund\n" * 50 + "the dog sleeps\n")
    with pytest.raises(CorpusError, match="line 51"):
        fit_plan(open_corpus(path, "en", "de"), preprocess, batch_tokens=64, sample=1)


def test_a_seed_decides_the_sample(preprocess):
    pairs = [("a dog " * length, "der Hund") for length in range(1, 8)]
    corpus = Corpus("a corpus", lambda: iter(pairs))
    plans = [
        fit_plan(corpus, preprocess, batch_tokens=64, seed=seed, sample=1)[0] for seed in range(8)
    ]
    again, _ = fit_plan(corpus, preprocess, batch_tokens=64, seed=0, sample=1)
    assert again == plans[0]
    assert len(set(plans)) > 1
