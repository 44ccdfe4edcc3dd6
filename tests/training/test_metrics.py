"""Metrics are means over tokens, whatever the batches they came in."""

import math

import keras
import numpy as np
import pytest
from references import softmax

from keras_transformer.training.metrics import Perplexity, TokenAccuracy

pytestmark = pytest.mark.any_backend

V = 5


def batch(rows, length, seed):
    """Labels of which about half are padding, and logits."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(1, V, size=(rows, length))
    labels *= generator.random((rows, length)) < 0.5
    return labels.astype("int32"), generator.normal(size=(rows, length, V)).astype("float32")


# Of unequal size, so that a mean of batch means would differ.
BATCHES = [batch(1, 3, seed=0), batch(8, 11, seed=1), batch(2, 2, seed=2)]


def real_tokens(value):
    """Concatenates a value of each real token over all batches."""
    return np.concatenate([value(labels, logits)[labels != 0] for labels, logits in BATCHES])


def is_best(labels, logits):
    return logits.argmax(-1) == labels


def cross_entropy(labels, logits):
    return -np.log(np.take_along_axis(softmax(logits), labels[..., None], -1)[..., 0])


EXPECTED = {
    TokenAccuracy: real_tokens(is_best).mean(),
    Perplexity: math.exp(real_tokens(cross_entropy).mean()),
}

both = pytest.mark.parametrize("metric_class", [TokenAccuracy, Perplexity])


def updated(metric, batches=BATCHES):
    for labels, logits in batches:
        metric.update_state(labels, logits)
    return metric


@both
def test_result_weights_every_real_token_alike(metric_class):
    metric = updated(metric_class())
    assert float(metric.result()) == pytest.approx(EXPECTED[metric_class], rel=1e-5)
    batch_means = [float(updated(metric_class(), [one]).result()) for one in BATCHES]
    assert np.mean(batch_means) != pytest.approx(EXPECTED[metric_class], rel=1e-3)


@both
def test_padding_changes_nothing(metric_class):
    wider = [
        (np.pad(labels, ((0, 1), (0, 2))), np.pad(logits, ((0, 1), (0, 2), (0, 0))))
        for labels, logits in BATCHES
    ]
    metric = updated(metric_class(), wider)
    assert float(metric.result()) == pytest.approx(EXPECTED[metric_class], rel=1e-5)


@both
def test_weights_of_pairs_weigh_their_tokens(metric_class):
    """A pair of weight 2 counts as if it were there twice, and one of weight 0 not at all."""
    weighted, repeated = metric_class(), metric_class()
    for labels, logits in BATCHES:
        times = (1 + np.arange(len(labels))) % 3
        weighted.update_state(labels, logits, sample_weight=(times / 4).astype("float32"))
        repeated.update_state(np.repeat(labels, times, axis=0), np.repeat(logits, times, axis=0))
    assert float(weighted.result()) == pytest.approx(float(repeated.result()), rel=1e-5)


@both
def test_reset_forgets_all(metric_class):
    metric = metric_class()
    empty = float(metric.result())
    assert empty == {TokenAccuracy: 0.0, Perplexity: 1.0}[metric_class]
    updated(metric).reset_state()
    assert float(metric.result()) == empty
    assert float(updated(metric).result()) == pytest.approx(EXPECTED[metric_class], rel=1e-5)


@both
def test_config_round_trip(metric_class):
    metric = metric_class(name="a_name")
    copy = keras.metrics.deserialize(keras.metrics.serialize(metric))
    assert type(copy) is metric_class
    assert copy.get_config() == metric.get_config() == {"name": "a_name"}
    assert float(updated(copy).result()) == float(updated(metric).result())


@both
def test_a_metric_saved_with_a_padding_id_loads(metric_class):
    """It was an option once."""
    saved = keras.metrics.serialize(metric_class())
    saved["config"]["pad_id"] = 0
    assert keras.metrics.deserialize(saved).get_config() == metric_class().get_config()


def test_accuracy_counts_hits_among_real_tokens():
    logits = np.eye(V, dtype="float32")[[[1, 2, 3, 0]]]
    metric = updated(TokenAccuracy(), [(np.array([[1, 2, 4, 0]]), logits)])
    assert float(metric.result()) == pytest.approx(2 / 3)


def test_perplexity_of_uniform_logits_is_the_vocabulary_size():
    labels, logits = BATCHES[1]
    metric = updated(Perplexity(), [(labels, np.full_like(logits, 0.7))])
    assert float(metric.result()) == pytest.approx(V, rel=1e-5)


def test_perplexity_is_that_of_the_label_not_of_the_smoothed_distribution():
    """A model that is sure and right has perplexity 1."""
    labels = np.array([[1, 2, 3, 4]])
    metric = updated(Perplexity(), [(labels, 100.0 * np.eye(V, dtype="float32")[labels])])
    assert float(metric.result()) == pytest.approx(1.0)
