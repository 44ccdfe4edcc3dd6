"""Half-precision storage: what is computed is that of weights rounded to it."""

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
from random_models import vary

from keras_transformer import Transformer, TransformerConfig
from keras_transformer.data.corpora import open_corpus
from keras_transformer.export.saved_model import export_saved_model
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.translation.storage import StoredWeights
from keras_transformer.translation.translator import Translator

TYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
SOURCE = np.array([[5, 6, 7, 3], [8, 3, 0, 0]], "int32")


def make_model():
    size = dict(num_layers=1, d_model=32, d_ff=64, num_heads=2, max_length=16, norm_first=True)
    return vary(Transformer(TransformerConfig(400, **size)), seed=0)


def rounded(dtype):
    """The model with its matrices rounded, by NumPy."""
    model = make_model()
    for variable in model.weights:
        value = np.asarray(variable)
        if value.ndim > 1:
            variable.assign(value.astype(dtype).astype(np.float32))
    return model


@pytest.mark.parametrize("name", TYPES)
def test_computes_with_rounded_matrices(name):
    model = make_model()
    before = model.get_weights()
    stored = StoredWeights([model], name)
    memory = stored.compile(model.encode)(SOURCE)
    np.testing.assert_allclose(memory, rounded(TYPES[name]).encode(SOURCE), rtol=1e-5, atol=1e-5)
    assert np.abs(memory - model.encode(SOURCE)).max() > 1e-4, "rounding must show"
    types = {(len(value.shape), value.dtype.name) for value in stored.stored}
    assert types == {(2, name), (1, "float32")}
    for one, other in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_weights_as_they_are():
    model = make_model()
    stored = StoredWeights([model])
    np.testing.assert_allclose(
        stored.compile(model.encode)(SOURCE), model.encode(SOURCE), 1e-5, 1e-5
    )
    assert all(one is other.value for one, other in zip(stored.stored, model.weights, strict=True))


def test_an_export_is_half_as_large_and_translates_as_rounded(tmp_path):
    lines = [line for pair in open_corpus("phrasebook:train:300", "en", "de") for line in pair]
    tokenizer = SubwordTokenizer.train(lines, 400)
    path = export_saved_model(Translator(make_model(), tokenizer), tmp_path, quantization="float16")
    parameters = make_model().count_params()
    [data] = (path / "variables").glob("variables.data-*")
    assert 2 * parameters <= data.stat().st_size < 2.2 * parameters
    text = tf.constant(lines[:40:2])
    found = tf.saved_model.load(path).signatures["serving_default"](text=text)
    expected = Translator(rounded(np.float16), tokenizer).graph.translate(text)
    assert found["translation"].numpy().tolist() == expected["translation"].numpy().tolist()
    np.testing.assert_allclose(found["score"], expected["score"], rtol=1e-4)


def test_a_weight_beyond_float16():
    model = make_model()
    model.target_embedding.embeddings.assign(np.full((400, 32), 1e5))
    with pytest.raises(ValueError, match=r"must be 'bfloat16' or None.*embeddings holds 100000"):
        StoredWeights([model], "float16")
    StoredWeights([model], "bfloat16")


def test_an_unknown_type():
    with pytest.raises(ValueError, match=r"`quantization` must be one of float16.*'int4'"):
        StoredWeights([make_model()], "int4")
