"""The initializer of fused projections, part by part."""

import keras
import numpy as np
import pytest
from references import to_numpy

from keras_transformer.layers.initializers import FusedGlorotUniform

pytestmark = pytest.mark.any_backend


def fused_parts(initializer, widths, fan_in=64):
    matrix = to_numpy(initializer((fan_in, sum(widths)), "float32"))
    return np.split(matrix, np.cumsum(widths)[:-1], axis=1)


@pytest.mark.parametrize("gain", [1.0, 0.5])
def test_each_fused_part_has_the_glorot_bound_of_its_own_width(gain):
    widths = (64, 16, 256)
    parts = fused_parts(FusedGlorotUniform(widths, gain), widths)
    for part, width in zip(parts, widths, strict=True):
        bound = gain * np.sqrt(6.0 / (64 + width))
        assert part.shape == (64, width)
        assert 0.99 * bound < np.abs(part).max() <= bound
        # A uniform distribution over [-bound, bound].
        assert abs(part.mean()) < 0.05 * bound
        assert part.std() == pytest.approx(bound / np.sqrt(3.0), rel=0.05)


def test_fused_parts_differ_from_each_other():
    first, second = fused_parts(FusedGlorotUniform((32, 32), seed=1), (32, 32))
    assert (first != second).mean() > 0.99


def test_fused_initialization_follows_its_seed_and_the_global_one():
    def matrix(seed=None):
        return to_numpy(FusedGlorotUniform((4, 6), seed=seed)((8, 10), "float32"))

    np.testing.assert_array_equal(matrix(3), matrix(3))
    assert (matrix(3) != matrix(4)).any()
    keras.utils.set_random_seed(5)
    first, second = matrix(), matrix()
    assert (first != second).any()
    keras.utils.set_random_seed(5)
    np.testing.assert_array_equal(matrix(), first)


def test_fused_initializer_config_round_trip():
    initializer = FusedGlorotUniform((4, 6), gain=0.5, seed=3)
    copy = keras.initializers.deserialize(keras.initializers.serialize(initializer))
    assert type(copy) is FusedGlorotUniform
    assert copy.get_config() == initializer.get_config()
    np.testing.assert_array_equal(to_numpy(copy((8, 10))), to_numpy(initializer((8, 10))))
