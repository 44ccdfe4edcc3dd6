"""TFLite's tokenizer against the SentencePiece library."""

import functools

import pytest
import sentencepiece
import tensorflow as tf
import thorough
from hostile import HOSTILE, hostile_strings
from hypothesis import given, settings

from keras_transformer.data.corpora import open_corpus
from keras_transformer.export.tflite.string_tokenizer import LiteTokenizer
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import EOS_ID

MAX_LENGTH = 40


@functools.cache
def tokenizers(algorithm):
    """The library, and the function that TFLite is given."""
    lines = [line for pair in open_corpus("phrasebook:train:400", "en", "de") for line in pair]
    tokenizer = SubwordTokenizer.train(lines, 400, algorithm=algorithm)
    lite = LiteTokenizer(tokenizer, MAX_LENGTH)
    text = tf.TensorSpec([1], tf.string)
    ids = tf.TensorSpec([None], tf.int32)
    return (
        sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model),
        tf.function(lite.tokenize, [text], autograph=False),
        tf.function(lite.detokenize, [ids], autograph=False),
    )


def check(algorithm, string):
    library, tokenize, detokenize = tokenizers(algorithm)
    expected = [*library.encode(string), EOS_ID]
    ids = tokenize([string]).numpy().tolist()
    if len(expected) > MAX_LENGTH:
        # What the model does not read may be missing.
        assert ids[: MAX_LENGTH - 1] == expected[: MAX_LENGTH - 1]
        return
    assert ids == expected
    assert detokenize(ids[:-1]).numpy().tolist() == [library.decode(ids[:-1]).encode()]


@pytest.mark.parametrize("algorithm", ["bpe", "unigram"])
@settings(max_examples=thorough.number(100, 300))
@given(string=hostile_strings())
def test_any_string(algorithm, string):
    check(algorithm, string)


@pytest.mark.parametrize("algorithm", ["bpe", "unigram"])
def test_text_of_its_language(algorithm):
    for string in [line for line, _ in open_corpus("phrasebook:test", "en", "de")][
        : thorough.number(50, 200)
    ]:
        check(algorithm, string.encode())


@pytest.mark.parametrize("algorithm", ["bpe", "unigram"])
def test_chosen_strings(algorithm):
    for string in HOSTILE:
        check(algorithm, string)


def test_equal_pairs_merge_from_the_left():
    """Three equal letters, of which any two are a piece."""
    tokenizer = SubwordTokenizer.train(["aa aa aa aa b"], 9)
    assert "aa" in tokenizer.pieces or "\u2581aa" in tokenizer.pieces
    library = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
    lite = LiteTokenizer(tokenizer, MAX_LENGTH)
    for string in ("aaa", "aaaa", "baaab", "aaaaaaa a aa"):
        assert lite.tokenize(tf.constant([string])).numpy().tolist() == [
            *library.encode(string),
            EOS_ID,
        ]


def test_a_vocabulary_with_bytes_is_refused():
    tokenizer = SubwordTokenizer.train(["the cat sat"], 280, byte_fallback=True)
    with pytest.raises(ValueError, match=r"`tokenizer` must not fall back to bytes"):
        LiteTokenizer(tokenizer, MAX_LENGTH)
