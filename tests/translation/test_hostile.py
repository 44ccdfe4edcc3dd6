"""Thousands of hostile strings through the exported files: no crash, and valid UTF-8."""

import numpy as np
import pytest
import tensorflow as tf
import thorough
from hostile import hostile_strings
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_models import vary

from keras_transformer import DecodingConfig, Transformer, TransformerConfig
from keras_transformer.data.corpora import open_corpus
from keras_transformer.export.saved_model import export_saved_model
from keras_transformer.export.tflite import export_tflite
from keras_transformer.export.tflite.translator import LiteTranslator
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.translation.translator import Translator

BATCH = 32
# The same strings in each run; a batch that fails is shrunk to its simplest strings.
REPEATABLE = dict(
    deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)


@pytest.fixture(scope="module")
def translator():
    lines = [line for pair in open_corpus("phrasebook:train:300", "en", "de") for line in pair]
    tokenizer = SubwordTokenizer.train(lines, 400)
    size = dict(num_layers=1, d_model=8, d_ff=8, num_heads=1, max_length=10, norm_first=True)
    model = vary(Transformer(TransformerConfig(400, **size)), seed=0)
    return Translator(model, tokenizer, config=DecodingConfig(beam_size=2, max_extra_tokens=2))


@pytest.fixture(scope="module")
def signatures(translator, tmp_path_factory):
    path = export_saved_model(translator, tmp_path_factory.mktemp("exports"))
    loaded = tf.saved_model.load(path)
    # `loaded` owns what its signatures read.
    yield loaded.signatures
    del loaded


@pytest.fixture(scope="module")
def lite(translator, tmp_path_factory):
    return LiteTranslator(export_tflite(translator, tmp_path_factory.mktemp("lite")))


batches = st.lists(hostile_strings(), min_size=BATCH, max_size=BATCH)


@settings(max_examples=thorough.number(2_000, 20_000) // BATCH, **REPEATABLE)
@given(lines=batches)
def test_saved_model(signatures, lines):
    outputs = signatures["serving_default"](text=tf.constant(lines))
    for line in outputs["translation"].numpy():
        line.decode("utf-8")
    assert np.isfinite(outputs["score"]).all()
    assert (outputs["pieces"].numpy() >= 1).all()


@settings(max_examples=thorough.number(10, 20), **REPEATABLE)
@given(
    lines=batches,
    others=batches,
    max_length=st.lists(st.integers(-(2**31), 2**31 - 1), min_size=BATCH, max_size=BATCH),
    length_penalty=st.lists(st.floats(width=32), min_size=BATCH, max_size=BATCH),
)
def test_other_signatures(signatures, lines, others, max_length, length_penalty):
    text, target = tf.constant(lines), tf.constant(others)
    options = {
        "max_length": tf.constant(max_length),
        "length_penalty": tf.constant(length_penalty, tf.float32),
    }
    all_outputs = {
        "translate": signatures["translate"](text=text, **options),
        "nbest": signatures["nbest"](text=text),
        "score": signatures["score"](source=text, target=target),
        "attention": signatures["attention"](text=text),
    }
    for outputs in all_outputs.values():
        for output in outputs.values():
            assert output.shape[0] == BATCH
            if output.dtype == tf.string:
                for line in output.numpy().ravel():
                    line.decode("utf-8")
            elif output.dtype.is_floating:
                assert np.isfinite(output).all()


@settings(max_examples=thorough.number(200, 2_000), **REPEATABLE)
@given(line=hostile_strings())
def test_tflite(lite, line):
    [[best]] = lite.nbest([line])
    assert np.isfinite(best.log_prob)
    assert "\ufffd" not in best.text
