"""The loss against the explicit smoothed distribution, and its independence of padding."""

import keras
import numpy as np
import pytest
from keras import ops
from references import softmax, to_numpy

from keras_transformer import Transformer, TransformerConfig
from keras_transformer.training.loss import LabelSmoothedCrossEntropy, label_smoothed_cross_entropy

pytestmark = pytest.mark.any_backend

V = 7
LABELS = np.array([[4, 5, 3, 0, 0], [6, 1, 2, 4, 3], [3, 0, 0, 0, 0]], "int32")
LOGITS = np.random.default_rng(0).normal(scale=3.0, size=(3, 5, V)).astype("float32")
REAL = LABELS != 0


def smoothed_cross_entropy_of_one_hot(labels, logits, epsilon):
    """-sum_v q(v) log p(v), with q = (1 - epsilon) one-hot + epsilon / V."""
    q = (1.0 - epsilon) * np.eye(V)[labels] + epsilon / V
    return -(q * np.log(softmax(logits.astype("float64")))).sum(-1)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5])
def test_each_token_is_scored_against_the_smoothed_one_hot_distribution(epsilon):
    loss = to_numpy(label_smoothed_cross_entropy(LABELS, LOGITS, epsilon))
    expected = smoothed_cross_entropy_of_one_hot(LABELS, LOGITS, epsilon)
    np.testing.assert_allclose(loss, expected, rtol=1e-5)


class Shifted(keras.layers.Layer):
    """Adds a weight to its input, so that the `gradients` are those by the input."""

    def build(self, input_shape):
        self.shift = self.add_weight(shape=input_shape, initializer="zeros")

    def call(self, x):
        return ops.add(x, self.shift)


@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_the_gradient_is_the_slope_of_the_loss(gradients, scale):
    """It is written out by hand, so compared with differences of the explicit formula."""
    epsilon, step, logits = 0.1, 1e-6, (scale * LOGITS).astype("float64")

    def batch_loss(logits):
        return smoothed_cross_entropy_of_one_hot(LABELS, logits, epsilon)[REAL].mean()

    slopes = np.empty_like(logits)
    for index in np.ndindex(*logits.shape):
        moved = logits.copy()
        moved[index] += step
        slopes[index] = (batch_loss(moved) - batch_loss(logits)) / step
    loss = LabelSmoothedCrossEntropy(epsilon)
    layer = Shifted()
    layer.build(logits.shape)
    found = gradients(layer, lambda x: 3.0 * loss(LABELS, x), logits.astype("float32"))
    np.testing.assert_allclose(*found.values(), 3.0 * slopes, atol=1e-5)


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_batch_loss_is_the_mean_over_real_tokens(epsilon):
    loss = LabelSmoothedCrossEntropy(epsilon)(LABELS, LOGITS)
    assert loss.shape == ()
    expected = smoothed_cross_entropy_of_one_hot(LABELS, LOGITS, epsilon)[REAL].mean()
    assert float(loss) == pytest.approx(expected, rel=1e-6)
    keras_loss = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=epsilon)
    one_hot = np.eye(V, dtype="float32")[LABELS[REAL]]
    assert float(loss) == pytest.approx(float(keras_loss(one_hot, LOGITS[REAL])), rel=1e-5)


def test_weights_of_pairs_weigh_their_tokens():
    """The weighted sum over the sum of weights, however small they are."""
    weights = np.array([0.02, 0.0, 0.05], "float32")
    loss = LabelSmoothedCrossEntropy(0.1)(LABELS, LOGITS, sample_weight=weights)
    of_token = np.repeat(weights, LABELS.shape[1]).reshape(LABELS.shape)[REAL]
    tokens = smoothed_cross_entropy_of_one_hot(LABELS, LOGITS, 0.1)[REAL]
    assert float(loss) == pytest.approx(np.average(tokens, weights=of_token), rel=1e-5)
    nothing = LabelSmoothedCrossEntropy(0.1)(LABELS, LOGITS, sample_weight=0 * weights)
    assert float(nothing) == 0.0


def test_labels_may_arrive_as_floats():
    """Keras hands labels over as floats on some backends."""
    loss = LabelSmoothedCrossEntropy(0.1)
    assert float(loss(LABELS.astype("float32"), LOGITS)) == float(loss(LABELS, LOGITS))


def test_extra_padding_columns_and_rows_change_nothing():
    loss = LabelSmoothedCrossEntropy(0.1)
    labels = np.pad(LABELS, ((0, 2), (0, 3)))
    logits = np.pad(LOGITS, ((0, 2), (0, 3), (0, 0)), constant_values=9.0)
    assert float(loss(labels, logits)) == pytest.approx(float(loss(LABELS, LOGITS)), rel=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_logits_of_low_precision_are_summed_in_float32(dtype):
    # 4,096 tokens of about 5 nats: their sum is no float16 number.
    generator = np.random.default_rng(0)
    labels = generator.integers(1, V, size=(64, 64))
    logits = generator.normal(scale=4.0, size=(64, 64, V)).astype("float32")
    low = ops.cast(logits, dtype)
    loss = LabelSmoothedCrossEntropy(0.1)(labels, low)
    assert keras.backend.standardize_dtype(loss.dtype) == "float32"
    expected = smoothed_cross_entropy_of_one_hot(labels, to_numpy(low), 0.1).mean()
    assert float(loss) == pytest.approx(expected, rel=1e-5)


def test_large_float16_logits_give_a_finite_loss():
    logits = ops.cast(np.array([[[60000.0, -60000.0, 0.0]]]), "float16")
    loss = LabelSmoothedCrossEntropy(0.0)(np.array([[1]]), logits)
    assert float(loss) == pytest.approx(120000.0, rel=1e-3)


@pytest.fixture
def loss_gradients(gradients):
    """The loss of a tiny model and its gradients by the model's variables."""
    config = TransformerConfig(vocab_size=V, num_layers=1, d_model=8, d_ff=8, num_heads=2)
    model = Transformer(config)

    def run(source, target, labels):
        loss = LabelSmoothedCrossEntropy(0.1)
        inputs = {"source": source, "target": target}
        found = gradients(model, lambda logits: loss(labels, logits), inputs)
        return float(loss(labels, model(inputs))), found

    return run


SOURCE = np.array([[4, 6, 3], [5, 3, 0], [3, 0, 0]], "int32")
TARGET = np.array([[2, 4, 5, 0, 0], [2, 6, 1, 2, 4], [2, 0, 0, 0, 0]], "int32")


def test_padding_does_not_change_the_gradient(loss_gradients):
    loss, found = loss_gradients(SOURCE, TARGET, LABELS)
    assert any(gradient.any() for gradient in found.values())
    wider = [np.pad(ids, ((0, 1), (0, 2))) for ids in (SOURCE, TARGET, LABELS)]
    padded_loss, padded = loss_gradients(*wider)
    assert padded_loss == pytest.approx(loss, rel=1e-6)
    for path, gradient in found.items():
        np.testing.assert_allclose(padded[path], gradient, rtol=1e-4, atol=1e-6, err_msg=path)


def test_a_batch_of_nothing_but_padding_gives_zero_and_zero_gradients(loss_gradients):
    loss, found = loss_gradients(*(np.zeros_like(ids) for ids in (SOURCE, TARGET, LABELS)))
    assert loss == 0.0
    for path, gradient in found.items():
        np.testing.assert_array_equal(gradient, 0.0, err_msg=path)


def test_config_round_trip():
    loss = LabelSmoothedCrossEntropy(0.2)
    copy = keras.losses.deserialize(keras.losses.serialize(loss))
    assert type(copy) is LabelSmoothedCrossEntropy
    assert copy.get_config() == loss.get_config()
    assert float(copy(LABELS, LOGITS)) == float(loss(LABELS, LOGITS))


def test_a_loss_saved_with_a_padding_id_loads():
    """It was an option once."""
    saved = keras.losses.serialize(LabelSmoothedCrossEntropy(0.2))
    saved["config"]["pad_id"] = 0
    assert keras.losses.deserialize(saved).label_smoothing == 0.2
    saved["config"]["pad_id"] = 3
    with pytest.raises(ValueError, match=r"`pad_id` must be 0.*Received: pad_id=3"):
        keras.losses.deserialize(saved)
