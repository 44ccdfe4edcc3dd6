"""`benchmarks/corpus_size.py`: the baseline that translates word by word."""

from pathlib import Path

import pytest

from keras_transformer.data.corpora import open_corpus


@pytest.fixture
def corpus_size(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    import corpus_size

    return corpus_size


def test_what_stands_beside_each_other_as_often_is_told_apart(corpus_size):
    """By counts alone "house" is as much "das" as "Haus"; but "das" is explained by "the"."""
    lines = [("the house", "das Haus"), ("the book", "das Buch"), ("a book", "ein Buch")]
    pairs = [(source.split(), target.split()) for source, target in lines]
    found = corpus_size.lexicon(pairs)
    assert found == {"the": "das", "house": "Haus", "book": "Buch", "a": "ein"}


def test_words_are_translated_in_the_order_of_the_source(corpus_size, tmp_path):
    """What was never seen stays as it is, and a period is a word."""
    train, test = tmp_path / "train.tsv", tmp_path / "test.tsv"
    train.write_text("one .\teins .\ntwo\tzwei\nthree .\tdrei .\nfour\tvier\n")
    test.write_text("one two three four 5.\teins zwei drei vier 5.\n")
    corpora = [open_corpus(str(path), "en", "de") for path in (train, test)]
    assert corpus_size.word_by_word(*corpora) == pytest.approx(100)
    test.write_text("four three two one 5.\teins zwei drei vier 5.\n")
    assert corpus_size.word_by_word(*corpora) < 50
