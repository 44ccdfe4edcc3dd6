"""Alignments against their papers' equations; hard ones against exact expectations."""

import keras
import numpy as np
import pytest
from keras import ops
from references import softmax, to_numpy

from keras_transformer.layers.alignments import (
    ALIGNMENTS,
    GumbelAlignment,
    HardAlignment,
    LocalMonotonicAlignment,
    LocalPredictiveAlignment,
    make_alignment,
)

pytestmark = pytest.mark.any_backend

GENERATOR = np.random.default_rng(0)
LENGTHS, SOURCE, QUERIES, WIDTH, UNITS = (9, 4), 9, 5, 3, 4
LOGITS = GENERATOR.normal(size=(2, QUERIES, SOURCE)).astype("float32") * 2
QUERY = GENERATOR.normal(size=(2, QUERIES, WIDTH)).astype("float32")
MASK = np.arange(SOURCE) < np.reshape(LENGTHS, (2, 1, 1))
POSITION = np.array([[0, 3, 6, 8, 12]] * 2, "int32")
PROBABILITIES = np.array([0.1, 0.6, 0.3])
DRAWS = 20_000
# What layers that read nothing are called with.
NOTHING = np.zeros(1, "float32")


def aligned(name, dtype="float32", mask=MASK, training=False, **options):
    layer = make_alignment(name, units=UNITS, half_width=2, dtype=dtype, **options)
    return layer, layer(LOGITS, mask, QUERY, POSITION, training=training)


def local(logits, centre, length, sigma=None):
    """Luong et al., Equations 7, 9 and 10, for one query, place by place: D = 2."""
    near = [i for i in range(length) if centre - 2 <= i <= centre + 2]
    weights = np.zeros(len(logits))
    weights[near] = softmax(logits[near].astype("float64"))
    if sigma is not None:
        weights *= np.exp(-((np.arange(len(logits)) - centre) ** 2) / (2 * sigma**2))
    return weights


def centres(w, v):
    """S sigmoid(v^T tanh(W s)) for each query."""
    shares = 1 / (1 + np.exp(-(np.tanh(QUERY @ w) @ v)[..., 0]))
    return np.reshape(LENGTHS, (2, 1)) * shares


def local_p(w, v):
    """The weights of all queries."""
    found = np.empty(LOGITS.shape)
    for row, length in enumerate(LENGTHS):
        for query, centre in enumerate(centres(w, v)[row]):
            found[row, query] = local(LOGITS[row, query], centre, length, sigma=1.0)
    return found


@pytest.mark.parametrize("name", ["soft", "global"])
def test_soft_weights_are_a_softmax_over_the_real_tokens(name):
    _, weights = aligned(name)
    for row, length in enumerate(LENGTHS):
        expected = softmax(LOGITS[row, :, :length].astype("float64"))
        np.testing.assert_allclose(to_numpy(weights)[row, :, :length], expected, atol=1e-6)
        np.testing.assert_array_equal(to_numpy(weights)[row, :, length:], 0.0)


def test_local_m_is_centred_on_the_position_and_stays_in_the_source():
    _, weights = aligned("local_m")
    for row, length in enumerate(LENGTHS):
        for query, position in enumerate(POSITION[row]):
            expected = local(LOGITS[row, query], min(position, length - 1), length)
            np.testing.assert_allclose(to_numpy(weights)[row, query], expected, atol=1e-6)


def test_local_p_is_centred_where_the_query_says_and_not_normalized():
    layer, weights = aligned("local_p")
    expected = local_p(*layer.get_weights())
    np.testing.assert_allclose(to_numpy(weights), expected, atol=1e-6)
    assert (expected.sum(-1) < 1).all()


def test_the_centre_of_local_p_learns_by_the_gaussian(gradients):
    """Against central differences of the formula, between which no place enters the window."""
    layer, _ = aligned("local_p")
    factors = GENERATOR.normal(size=LOGITS.shape)

    class Wrapped(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.alignment = layer
            self.built = True

        def call(self, logits):
            return self.alignment(logits, MASK, QUERY)

    found = gradients(Wrapped(), lambda y: ops.sum(y * factors.astype("float32")), LOGITS)
    before = [array.astype("float64") for array in layer.get_weights()]
    for index, variable in enumerate(layer.weights):
        expected = np.empty(variable.shape)
        for where in np.ndindex(expected.shape):
            values = []
            for step in (1e-6, -1e-6):
                moved = [array.copy() for array in before]
                moved[index][where] += step
                values.append(np.sum(factors * local_p(*moved)))
            expected[where] = (values[0] - values[1]) / 2e-6
        np.testing.assert_allclose(found[variable.path], expected, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16", "mixed_float16"])
@pytest.mark.parametrize("training", [False, True])
def test_masks_in_each_precision(dtype, training):
    """Padding gets nothing at all, and what may attend to nothing is finite."""
    for name in ALIGNMENTS:
        layer, weights = aligned(name, dtype, training=training)
        assert keras.backend.standardize_dtype(weights.dtype) == layer.compute_dtype
        np.testing.assert_array_equal(to_numpy(weights) * ~MASK, 0.0, err_msg=name)
        assert (to_numpy(weights).sum(-1) > 0.1).all(), name
        _, weights = aligned(name, dtype, mask=np.zeros_like(MASK), training=training)
        assert np.isfinite(to_numpy(weights)).all(), name


@pytest.mark.parametrize("name", ["hard", "gumbel"])
def test_outside_of_training_hard_weights_are_on_the_best_place(name):
    _, weights = aligned(name)
    expected = np.zeros(LOGITS.shape)
    for row, query in np.ndindex(2, QUERIES):
        expected[row, query, np.argmax(LOGITS[row, query, : LENGTHS[row]])] = 1.0
    np.testing.assert_array_equal(to_numpy(weights), expected)


def drawn(layer):
    logits = np.tile(np.log(PROBABILITIES).astype("float32"), (DRAWS, 1, 1))
    return to_numpy(layer(logits, training=True))[:, 0]


@pytest.mark.parametrize("layer", [HardAlignment(expectation_rate=0.0), GumbelAlignment()])
def test_draws_have_the_probabilities_of_the_softmax(layer):
    weights = drawn(layer)
    assert set(np.unique(weights)) == {0.0, 1.0}
    np.testing.assert_array_equal(weights.sum(-1), 1.0)
    error = np.sqrt(PROBABILITIES * (1 - PROBABILITIES) / DRAWS)
    assert (np.abs(weights.mean(0) - PROBABILITIES) < 4 * error).all()


def test_the_expectation_takes_the_place_of_as_many_draws_as_it_should():
    weights = drawn(HardAlignment(expectation_rate=0.25))
    soft = np.abs(weights - PROBABILITIES).max(-1) < 1e-6
    assert abs(soft.mean() - 0.25) < 4 * np.sqrt(0.25 * 0.75 / DRAWS)
    np.testing.assert_array_equal(weights[~soft].max(-1), 1.0)


class Rewarded(keras.layers.Layer):
    """Draws a place for each row, with a log-likelihood for each place; gives the loss's term."""

    def __init__(self, alignment, rewards, rows):
        super().__init__()
        self.alignment, self.rewards = alignment, rewards
        shape = (rows, 1, len(rewards))
        self.alignment.build(shape)
        self.logits = self.add_weight(name="logits", shape=shape)
        self.logits.assign(np.tile(np.log(PROBABILITIES), (rows, 1, 1)))
        self.built = True

    def call(self, x):
        logits = ops.convert_to_tensor(self.logits)
        weights = self.alignment(logits, training=True)
        log_likelihood = ops.sum(weights * self.rewards, axis=(1, 2))
        return self.alignment.reinforce_loss(logits, weights, log_likelihood)


@pytest.mark.parametrize(("reinforce_weight", "entropy_weight"), [(1.0, 0.0), (0.5, 0.3)])
def test_the_mean_gradient_of_draws_is_that_of_the_expectation(
    reinforce_weight, entropy_weight, gradients
):
    rewards = np.array([-1.0, -4.0, -2.5], "float32")
    alignment = HardAlignment(reinforce_weight, entropy_weight, expectation_rate=0.0)
    layer = Rewarded(alignment, rewards, DRAWS)
    alignment.baseline.assign(-3.0)
    [found] = gradients(layer, ops.sum, NOTHING).values()
    found = found[:, 0]
    # Of the expected log-likelihood, sum p_i r_i, and of the entropy, -sum p_i log p_i.
    p, log_p = PROBABILITIES, np.log(PROBABILITIES)
    of_reward = p * (rewards - p @ rewards)
    of_entropy = -p * (log_p - p @ log_p)
    expected = -(reinforce_weight * of_reward + entropy_weight * of_entropy)
    error = found.std(0) / np.sqrt(DRAWS)
    assert (error < 0.02).all()
    assert (np.abs(found.mean(0) - expected) < 4 * error).all()


def test_the_baseline_lowers_the_variance_and_follows_the_log_likelihood(gradients):
    rewards = np.array([-5.0, -5.5, -5.2], "float32")
    alignment = HardAlignment(entropy_weight=0.0, expectation_rate=0.0)
    layer = Rewarded(alignment, rewards, 500)
    spread = []
    for baseline in (0.0, -5.4):
        alignment.baseline.assign(baseline)
        [found] = gradients(layer, ops.sum, NOTHING).values()
        spread.append(found.std())
    assert spread[1] < 0.2 * spread[0]
    alignment.baseline.assign(0.0)
    for step in range(1, 6):
        layer(NOTHING)
        expected = (1 - 0.9**step) * PROBABILITIES @ rewards
        assert float(to_numpy(alignment.baseline.value)) == pytest.approx(expected, rel=0.02)


def test_padding_and_expectations_count_for_nothing_in_the_reward():
    """By hand: the second query is padding, the third took the expectation."""
    alignment = HardAlignment(reinforce_weight=2.0, entropy_weight=0.5)
    logits = np.tile(np.log(PROBABILITIES).astype("float32"), (1, 3, 1))
    alignment.build(logits.shape)
    alignment.baseline.assign(1.0)
    weights = np.array([[[0, 0, 1], [1, 0, 0], PROBABILITIES]], "float32")
    real = np.array([[True, False, True]])
    found = alignment.reinforce_loss(logits, weights, np.array([4.0], "float32"), None, real)
    entropy = -PROBABILITIES @ np.log(PROBABILITIES)
    expected = -(2.0 * (4.0 - 1.0) * np.log(0.3) + 0.5 * 2 * entropy)
    np.testing.assert_allclose(to_numpy(found), [expected], rtol=1e-5)


def test_the_baseline_knows_no_rows_of_padding():
    alignment = HardAlignment(baseline_momentum=0.9)
    logits = np.zeros((3, 2, 3), "float32")
    alignment.build(logits.shape)
    real = np.array([[True, True], [True, False], [False, False]])
    likelihood = np.array([-4.0, -2.0, 0.0], "float32")
    alignment.reinforce_loss(logits, np.ones_like(logits) / 3, likelihood, None, real)
    assert float(to_numpy(alignment.baseline.value)) == pytest.approx(0.1 * -3.0)
    nothing = np.zeros_like(real)
    alignment.reinforce_loss(logits, np.ones_like(logits) / 3, likelihood * 0, None, nothing)
    assert float(to_numpy(alignment.baseline.value)) == pytest.approx(0.1 * -3.0)


def test_the_straight_through_gradient_is_that_of_the_softmax_with_the_same_noise(gradients):
    rewards, tau = np.array([-1.0, -4.0, -2.5], "float32"), 0.7

    class Drawn(Rewarded):
        def call(self, x):
            weights = self.alignment(ops.convert_to_tensor(self.logits), training=True)
            return ops.sum(weights * self.rewards)

    layer = Drawn(GumbelAlignment(tau, seed=5), rewards, 4)
    uniform = keras.random.uniform((4, 1, 3), 1e-20, seed=keras.random.SeedGenerator(5))
    noise = -np.log(-np.log(to_numpy(uniform).astype("float64")))
    soft = softmax((np.log(PROBABILITIES) + noise) / tau)
    expected = soft * (rewards - (soft @ rewards)[..., None]) / tau
    # Of log p; that of a softmax by its logits is the same, less its mean.
    expected = expected - PROBABILITIES * expected.sum(-1, keepdims=True)
    [found] = gradients(layer, lambda y: y, NOTHING).values()
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_errors_say_what_to_do():
    with pytest.raises(ValueError, match=r"`alignment` must be one of soft, .*'lokal'"):
        make_alignment("lokal", units=3)
    with pytest.raises(ValueError, match=r"`position` must be given"):
        LocalMonotonicAlignment()(LOGITS, MASK)
    with pytest.raises(ValueError, match=r"`query` must be given"):
        LocalPredictiveAlignment(UNITS)(LOGITS, MASK)
    with pytest.raises(ValueError, match=r"`half_width` must be at least 1.*=0"):
        make_alignment("local_m", units=3, half_width=0)
    with pytest.raises(ValueError, match=r"`units` must be positive.*=0"):
        make_alignment("local_p", units=0)
    with pytest.raises(ValueError, match=r"`temperature` must be positive.*=0"):
        GumbelAlignment(0.0)
