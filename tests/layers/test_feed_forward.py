"""The feed-forward network against Equation 2."""

import keras
import numpy as np
import pytest
from references import feed_forward, to_numpy

from keras_transformer.layers import FeedForward

pytestmark = pytest.mark.any_backend

X = np.random.default_rng(0).normal(size=(2, 5, 8)).astype("float32")


def make(activation="relu"):
    layer = FeedForward(12, activation)
    layer.build(X.shape)
    generator = np.random.default_rng(1)
    for variable in layer.weights:
        variable.assign(generator.normal(size=variable.shape).astype("float32"))
    return layer


def parts_of(layer):
    weights = {"/".join(v.path.split("/")[1:]): to_numpy(v) for v in layer.weights}
    return lambda place, kind: weights[kind].astype("float64")


def test_output_is_equation_2():
    layer = make()
    expected = feed_forward(X.astype("float64"), parts_of(layer), "")
    np.testing.assert_allclose(to_numpy(layer(X)), expected, rtol=1e-4, atol=1e-5)


def test_shapes_of_the_weights():
    shapes = {"/".join(v.path.split("/")[1:]): tuple(v.shape) for v in make().weights}
    assert shapes == {
        "inner/kernel": (8, 12),
        "inner/bias": (12,),
        "outer/kernel": (12, 8),
        "outer/bias": (8,),
    }


def test_activation_is_an_option():
    layer, parts = make("gelu"), parts_of(make("gelu"))
    inner = X @ parts("", "inner/kernel") + parts("", "inner/bias")
    inner = to_numpy(keras.activations.gelu(inner.astype("float32")))
    expected = inner @ parts("", "outer/kernel") + parts("", "outer/bias")
    np.testing.assert_allclose(to_numpy(layer(X)), expected, rtol=1e-4, atol=1e-5)


def test_positions_do_not_see_each_other():
    layer = make()
    whole = to_numpy(layer(X))
    for position in range(5):
        alone = to_numpy(layer(X[:, position : position + 1]))
        np.testing.assert_allclose(alone[:, 0], whole[:, position], rtol=1e-5, atol=1e-6)
