"""Limits of a text: where it is cut, what is translated, and that its neighbours do not mind."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from small_translator import small_translator, train_tokenizers

from keras_transformer import DecodingConfig
from keras_transformer.config.limits import InputLimits
from keras_transformer.translation.limits import cut_bytes
from keras_transformer.translation.translator import Translator

ORDINARY = ["the old dog sat down", "cats"]
ENDLESS = "dog" * 1_000
LINES = "\n".join(["a dog ran"] * 200)
CONFIG = DecodingConfig(beam_size=2, max_extra_tokens=3, batch_size=8)


@settings(max_examples=50, deadline=None)
@given(texts=st.lists(st.text(max_size=9), min_size=1, max_size=5), most=st.integers(1, 12))
def test_a_text_is_cut_between_two_characters(texts, most):
    encoded = [text.encode("utf-8", "replace") for text in texts]
    kept, is_cut = cut_bytes(tf.constant(encoded), most)
    assert is_cut.numpy().tolist() == [len(text) > most for text in encoded]
    expected = [text[:most].decode("utf-8", "ignore").encode() for text in encoded]
    assert kept.numpy().tolist() == expected


@pytest.mark.parametrize("limit", ["max_pieces", "max_bytes"])
def test_a_limit_is_positive(limit):
    with pytest.raises(ValueError, match=f"`{limit}` must be at least 1.* Received: {limit}=0"):
        InputLimits(**{limit: 0})


@pytest.fixture(scope="module")
def translator():
    return small_translator(train_tokenizers(), False, {}, CONFIG)


def with_limits(translator, **limits):
    tokenizers = translator.source_tokenizer, translator.target_tokenizer
    return Translator(translator.models, *tokenizers, CONFIG, limits=InputLimits(**limits))


def translate(translator, texts):
    outputs = translator.graph.translate(tf.constant(texts))
    return {name: output.numpy().tolist() for name, output in outputs.items()}


@pytest.fixture(scope="module")
def limited(translator):
    return with_limits(translator, max_pieces=5, max_bytes=100)


def test_long_texts_are_cut_and_their_neighbours_are_not(translator, limited):
    """An ordinary sentence gets what it gets alone, and what it gets without limits."""
    outputs = translate(limited, [ORDINARY[0], ENDLESS, LINES, "", ORDINARY[1]])
    assert outputs["truncated"][1:4] == [True, True, False]
    assert outputs["pieces"][1:3] == [5, 5]
    for place, text in ((0, ORDINARY[0]), (4, ORDINARY[1])):
        for one in (limited, translator):
            alone = translate(one, [text])
            for name in ("translation", "pieces", "truncated"):
                assert outputs[name][place] == alone[name][0]
            assert outputs["score"][place] == pytest.approx(alone["score"][0], abs=1e-4)


def test_what_is_translated_of_a_long_text_is_its_beginning(translator, limited):
    [cut] = translate(limited, [LINES])["translation"]
    [whole] = translate(translator, ["\n".join(LINES.split("\n")[:5])])["translation"]
    # Lines that are left out leave their breaks.
    assert cut.rstrip() == whole
    few = with_limits(translator, max_bytes=len(ORDINARY[0]))
    assert few([ORDINARY[0] + " cats cats"]) == translator([ORDINARY[0]])


def test_scores_are_of_what_is_read(translator):
    few = with_limits(translator, max_bytes=len(ORDINARY[1]))
    outputs = few.graph.score(tf.constant([ORDINARY[1] + " ran"]), tf.constant([ORDINARY[1]]))
    whole = translator.graph.score(tf.constant([ORDINARY[1]]), tf.constant([ORDINARY[1]]))
    assert outputs["truncated"].numpy().tolist() == [True]
    np.testing.assert_allclose(outputs["log_prob"], whole["log_prob"], rtol=1e-5)
