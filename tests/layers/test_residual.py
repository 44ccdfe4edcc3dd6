"""The residual connection, post-norm as in the paper and pre-norm."""

import keras
import numpy as np
import pytest
from references import layer_norm, to_numpy

from keras_transformer.layers import Residual

pytestmark = pytest.mark.any_backend

GENERATOR = np.random.default_rng(0)
X, SUBLAYER = (GENERATOR.normal(size=(2, 5, 8)).astype("float32") for _ in range(2))
GAMMA, BETA = (GENERATOR.normal(size=8).astype("float32") for _ in range(2))


def make(norm_first, dropout=0.0, **kwargs):
    layer = Residual(dropout, norm_first, **kwargs)
    layer.build(X.shape)
    layer.norm.set_weights([GAMMA, BETA])
    return layer


def test_post_norm_normalizes_the_sum():
    layer = make(norm_first=False)
    np.testing.assert_array_equal(to_numpy(layer.enter(X)), X)
    expected = layer_norm(X + SUBLAYER, GAMMA, BETA)
    np.testing.assert_allclose(to_numpy(layer(X, SUBLAYER)), expected, atol=1e-5)


def test_pre_norm_normalizes_what_the_sub_layer_reads():
    layer = make(norm_first=True)
    np.testing.assert_allclose(to_numpy(layer.enter(X)), layer_norm(X, GAMMA, BETA), atol=1e-5)
    np.testing.assert_allclose(to_numpy(layer(X, SUBLAYER)), X + SUBLAYER, atol=1e-6)


def test_dropout_falls_on_the_sub_layers_output_alone():
    """Section 5.4: dropout before the sum; what is left of x is x itself."""
    layer = make(norm_first=True, dropout=0.25)
    sublayer = np.ones((500, 5, 8), "float32")
    x = np.broadcast_to(X[:1], sublayer.shape)
    added = to_numpy(layer(x, sublayer, training=True)) - x
    dropped = np.abs(added) < 1e-5
    np.testing.assert_allclose(added[~dropped], 1.0 / 0.75, rtol=1e-4)
    assert dropped.mean() == pytest.approx(0.25, abs=0.01)
    assert added.mean() == pytest.approx(1.0, abs=0.02)
    np.testing.assert_allclose(to_numpy(layer(x, sublayer, training=False)) - x, 1.0, atol=1e-5)


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_large_values_are_normalized_in_low_precision(policy):
    """Squares of 300 are no float16 numbers."""
    layer = make(norm_first=False, dtype=policy)
    output = layer(300.0 * X, 300.0 * SUBLAYER)
    assert keras.backend.standardize_dtype(output.dtype) == layer.compute_dtype
    expected = layer_norm(300.0 * (X + SUBLAYER), GAMMA, BETA)
    np.testing.assert_allclose(to_numpy(output), expected, atol=0.1)
