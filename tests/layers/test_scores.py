"""Scores against their equations in NumPy, and their gradients against finite differences."""

import keras
import numpy as np
import pytest
from keras import ops
from references import SCORES, to_numpy

from keras_transformer.layers.scores import (
    AdditiveScore,
    DotScore,
    LocationScore,
    ScaledDotScore,
    make_score,
)

pytestmark = pytest.mark.any_backend

GENERATOR = np.random.default_rng(0)
WIDTH, KEY_WIDTH, UNITS, PLACES = 4, 3, 5, 6
QUERY = GENERATOR.normal(size=(2, 3, 2, WIDTH)).astype("float32")
KEYS = {
    width: GENERATOR.normal(size=(2, 3, 5, width)).astype("float32") for width in (WIDTH, KEY_WIDTH)
}
# Those that take keys of another width than that of the queries.
ANY_WIDTH = ["additive", "general", "concat", "location"]
# What a layer that reads nothing is called with.
NOTHING = np.zeros(1, "float32")


def logits(name, query, keys, weights):
    """All logits, one by one."""
    found = np.empty((*query.shape[:-1], keys.shape[-2]))
    for *where, place in np.ndindex(found.shape):
        key = keys[(*where[:-1], place)]
        found[(*where, place)] = SCORES[name](query[tuple(where)], key, place, weights)
    return found


def differences(function, arrays):
    """The gradient of a number by each number of some arrays, by central differences."""
    found = {}
    for name, array in arrays.items():
        found[name] = np.empty(array.shape)
        for where in np.ndindex(array.shape):
            values = []
            for step in (1e-5, -1e-5):
                moved = array.copy()
                moved[where] += step
                values.append(function({**arrays, name: moved}))
            found[name][where] = (values[0] - values[1]) / 2e-5
    return found


class Alone(keras.layers.Layer):
    """A score whose inputs are variables, so that they get a gradient too."""

    def __init__(self, score, query, keys):
        super().__init__()
        self.score = score
        self.query = self.add_weight(name="query", shape=query.shape)
        self.keys = self.add_weight(name="keys", shape=keys.shape)
        self.score.build(query.shape, keys.shape)
        for variable in self.score.weights:
            # No zeros, with which some numbers would count for nothing.
            variable.assign(GENERATOR.normal(size=variable.shape) * 0.5)
        self.query.assign(query)
        self.keys.assign(keys)
        self.built = True

    def call(self, x):
        return self.score(ops.convert_to_tensor(self.query), ops.convert_to_tensor(self.keys))


def short(path):
    """W/kernel, query and so on."""
    return "/".join(path.split("/")[-2:]) if path.count("/") > 1 else path.split("/")[-1]


@pytest.mark.parametrize("name", SCORES)
def test_a_score_is_its_equation_and_so_is_its_gradient(name, gradients):
    keys = KEYS[KEY_WIDTH if name in ANY_WIDTH else WIDTH]
    layer = Alone(make_score(name, units=UNITS, max_length=PLACES), QUERY, keys)
    values = {short(v.path): to_numpy(v).astype("float64") for v in layer.weights}
    expected = logits(name, values["query"], values["keys"], values)
    np.testing.assert_allclose(to_numpy(layer(NOTHING)), expected, atol=1e-5)
    projected = layer.score.project_keys(ops.convert_to_tensor(keys))
    found = layer.score.logits(ops.convert_to_tensor(QUERY), projected)
    np.testing.assert_allclose(to_numpy(found), expected, atol=1e-5)

    factors = GENERATOR.normal(size=expected.shape)
    numeric = differences(
        lambda v: np.sum(factors * logits(name, v["query"], v["keys"], v)), values
    )
    found = gradients(layer, lambda y: ops.sum(y * factors.astype("float32")), NOTHING)
    found = {short(path): gradient for path, gradient in found.items()}
    assert set(found) == set(numeric)
    for path, gradient in found.items():
        if gradient is None:
            # Location reads no keys.
            gradient = np.zeros(numeric[path].shape)
        np.testing.assert_allclose(gradient, numeric[path], atol=2e-4, err_msg=path)


def test_a_cosine_score_begins_where_the_scaled_dot_product_does():
    """Of vectors whose components have unit variance exactly."""
    signs = GENERATOR.choice([-1.0, 1.0], size=(2, 5, 16)).astype("float32")
    cosines = make_score("cosine")(signs[:, :2], signs)
    np.testing.assert_allclose(
        to_numpy(cosines), to_numpy(ScaledDotScore()(signs[:, :2], signs)), rtol=1e-5, atol=1e-5
    )


def test_zero_vectors_have_a_cosine_and_a_gradient(gradients):
    layer = Alone(make_score("cosine"), np.zeros((1, 1, 4)), np.zeros((1, 2, 4)))
    np.testing.assert_array_equal(to_numpy(layer(NOTHING)), 0.0)
    for gradient in gradients(layer, ops.sum, NOTHING).values():
        assert np.isfinite(gradient).all()


@pytest.mark.parametrize("name", ["dot", "general"])
def test_unscaled_products_do_not_overflow_in_float16(name):
    score = make_score(name, dtype="mixed_float16")
    many = np.full((1, 1, 64), 200.0, "float32")
    score.build(many.shape, many.shape)
    for variable in score.weights:
        variable.assign(np.eye(64))
    found = score(many, many)
    assert keras.backend.standardize_dtype(found.dtype) == "float32"
    np.testing.assert_allclose(to_numpy(found), 64 * 200.0**2)


def test_location_has_fewer_places_than_its_bound_or_as_many():
    score = LocationScore(max_length=PLACES)
    query = QUERY[:, 0]
    most = to_numpy(score(query, np.zeros((2, PLACES, 1), "float32")))
    for length in range(1, PLACES + 1):
        found = to_numpy(score(query, np.zeros((2, length, 1), "float32")))
        np.testing.assert_array_equal(found, most[..., :length])


def test_errors_say_what_to_do():
    query, narrow, long = QUERY[:, 0], KEYS[KEY_WIDTH][:, 0], np.zeros((2, 9, 1), "float32")
    for name in ("dot", "scaled_dot", "cosine"):
        with pytest.raises(ValueError, match=r"same width .* such as GeneralScore.*4 .*3"):
            make_score(name)(query, narrow)
    with pytest.raises(ValueError, match=r"6 places of `max_length`.*raise.*Received: 9 tokens"):
        LocationScore(PLACES)(query, long)
    with pytest.raises(ValueError, match=r"`score` must be one of additive, dot.*'cosin'"):
        make_score("cosin")
    with pytest.raises(ValueError, match=r"`max_length` must be given for the score 'location'"):
        make_score("location", units=3)
    for make in (AdditiveScore, LocationScore):
        with pytest.raises(ValueError, match=r"must be positive.*=0"):
            make(0)


def test_a_score_is_saved_with_its_sizes():
    score = AdditiveScore(UNITS)
    score(QUERY, KEYS[KEY_WIDTH])
    copy = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(score))
    copy(QUERY, KEYS[KEY_WIDTH])
    copy.set_weights(score.get_weights())
    expected = to_numpy(score(QUERY, KEYS[KEY_WIDTH]))
    np.testing.assert_array_equal(to_numpy(copy(QUERY, KEYS[KEY_WIDTH])), expected)
    assert DotScore.from_config(DotScore().get_config()).equal_widths
