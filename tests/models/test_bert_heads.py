"""BERT's heads against their formulas, on the vectors that the encoder gives."""

import keras
import numpy as np
import pytest
from random_models import vary
from references import softmax, to_numpy

from keras_transformer import BertConfig
from keras_transformer.models.bert_heads import (
    SpanFinder,
    TextClassifier,
    TextRegressor,
    TokenTagger,
)
from keras_transformer.training.loss import LabelSmoothedCrossEntropy
from keras_transformer.training.regression import AbsoluteError, SquaredError

pytestmark = pytest.mark.any_backend

CONFIG = BertConfig(vocab_size=40, num_layers=1, d_model=16, d_ff=24, num_heads=4, max_length=12)
IDS = np.array([[2, 8, 9, 3, 10, 11, 3], [2, 12, 3, 13, 3, 0, 0]], "int32")
SEGMENTS = np.array([[0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 0, 0]], "int32")
INPUTS = {"ids": IDS, "segments": SEGMENTS}
MODELS = {TextClassifier: 3, TextRegressor: 1, SpanFinder: 2, TokenTagger: 4}


def head_of(model, x):
    return x @ to_numpy(model.head.kernel) + to_numpy(model.head.bias)


@pytest.fixture(scope="module", params=MODELS, ids=lambda kind: kind.__name__)
def model(request):
    return vary(request.param(CONFIG, MODELS[request.param]), seed=3)


def test_a_head_is_one_projection(model):
    found = to_numpy(model(INPUTS, training=False))
    vectors = {name: to_numpy(x) for name, x in model.bert(INPUTS, training=False).items()}
    by_token, by_text = head_of(model, vectors["tokens"]), head_of(model, vectors["pooled"])
    expected = {
        TextClassifier: lambda: by_text[:, None, :],
        TextRegressor: lambda: by_text,
        SpanFinder: lambda: np.swapaxes(by_token, 1, 2),
        TokenTagger: lambda: by_token,
    }[type(model)]()
    if isinstance(model, TextRegressor):
        np.testing.assert_allclose(found, expected, atol=1e-5)
        return
    assert found[..., 0].max() < -1e38  # Of nothing.
    real = np.broadcast_to(True, expected.shape)
    if isinstance(model, SpanFinder):
        real = np.broadcast_to(IDS[:, None, :] != 0, expected.shape)
        assert found[..., 1:][~real].max() < -1e38
    np.testing.assert_allclose(found[..., 1:][real], expected[real], atol=1e-5)


def test_the_loss_of_spans_is_that_of_the_two_places():
    model = vary(SpanFinder(CONFIG), seed=4)
    logits = to_numpy(model(INPUTS, training=False))
    places = np.array([[5, 6], [0, 3]])
    found = float(LabelSmoothedCrossEntropy(0.0)(places + 1, logits))
    each = [
        -np.log(softmax(logits[row, end, 1:])[places[row, end]])
        for row in range(2)
        for end in range(2)
    ]
    assert found == pytest.approx(np.mean(each), rel=1e-5)


def test_numbers_without_a_label_count_for_nothing():
    labels, found = np.array([[2.0], [0.0], [-1.0]]), np.array([[5.0], [7.0], [-2.0]])
    assert float(SquaredError()(labels, found)) == pytest.approx((9 + 1) / 2)
    metric = AbsoluteError()
    metric.update_state(labels, found)
    metric.update_state(labels[:1], labels[:1])
    assert float(metric.result()) == pytest.approx((3 + 1 + 0) / 3)


def test_what_no_head_reads_does_not_learn(model):
    reads_pooled = isinstance(model, TextClassifier | TextRegressor)
    assert model.bert.pooler.trainable == reads_pooled


def test_a_saved_model_is_the_same(model, tmp_path):
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras", compile=False)
    assert loaded.outputs == MODELS[type(model)]
    one, other = (to_numpy(each(INPUTS, training=False)) for each in (model, loaded))
    np.testing.assert_array_equal(one, other)
