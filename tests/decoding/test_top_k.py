"""Top-k against NumPy's sort, whether the vocabulary can be cut into chunks or not."""

import math

import numpy as np
import pytest
from keras import ops
from plain_search import as_arrays, on, several

from keras_transformer.decoding.top_k import top_k

pytestmark = pytest.mark.any_backend


def assert_largest(x, k, found):
    values, positions = as_arrays(found)
    assert (values.dtype, positions.dtype) == (x.dtype, "int32")
    np.testing.assert_array_equal(values, -np.sort(-x, axis=-1)[..., :k])
    # Of equal entries any will do, but each only once.
    np.testing.assert_array_equal(np.take_along_axis(x, positions, axis=-1), values)
    assert (np.diff(np.sort(positions, axis=-1), axis=-1) > 0).all()


# Short ones, a prime, powers of two, one with no divisor between 32 and 256 (2 * 1009), and the
# sizes of vocabularies.
@pytest.mark.parametrize("length", several([8, 1023, 1024, 1031, 2018, 4096, 8000, 10000, 16000]))
@pytest.mark.parametrize("k", [1, 8])
def test_equals_a_sort(length, k):
    x = np.random.default_rng(length + k).normal(size=(3, length)).astype("float32")
    _, positions = found = top_k(ops.convert_to_tensor(x), k)
    assert_largest(x, k, found)
    np.testing.assert_array_equal(positions, np.argsort(-x, axis=-1)[:, :k])


@pytest.mark.parametrize("shape", several([(1024,), (2, 3, 1024), (2, 1, 2, 1200)]))
def test_any_leading_axes(shape):
    x = np.random.default_rng(0).normal(size=shape).astype("float32")
    assert_largest(x, 5, top_k(ops.convert_to_tensor(x), 5))


@pytest.mark.parametrize("k", several([4, 5, 31, 32, 1024, 33]))
def test_many_of_few(k):
    """Up to all, and more than there are chunks of any length."""
    x = np.random.default_rng(k).normal(size=(2, 1024)).astype("float32")
    assert_largest(x, k, top_k(ops.convert_to_tensor(x), k))


def test_all_largest_in_one_chunk_or_each_in_its_own():
    x = np.zeros((3, 4096), "float32")
    x[0, 100:108] = x[1, 5::512] = x[2, -8:] = np.arange(1, 9)
    found = as_arrays(top_k(ops.convert_to_tensor(x), 8))
    assert found[1].tolist() == [
        list(range(107, 99, -1)),
        list(range(5, 4096, 512))[::-1],
        list(range(4095, 4087, -1)),
    ]


def test_ties():
    x = np.random.default_rng(0).integers(0, 3, size=(4, 2048)).astype("float32")
    assert_largest(x, 16, top_k(ops.convert_to_tensor(x), 16))
    assert_largest(x[:1] * 0, 16, top_k(ops.convert_to_tensor(x[:1] * 0), 16))


def test_fewer_possible_entries_than_k():
    x = np.full((2, 2048), -math.inf, "float32")
    x[0, [7, 2000]], x[1, 30] = [1.0, 2.0], -5.0
    found = top_k(ops.convert_to_tensor(x), 8)
    assert_largest(x, 8, found)
    assert as_arrays(found)[1][0, :2].tolist() == [2000, 7]


@pytest.mark.parametrize("dtype", several(["float16", "bfloat16"]))
def test_half_precision(dtype):
    x = ops.cast(np.random.default_rng(1).normal(size=(2, 1024)).astype("float32"), dtype)
    values, positions = top_k(x, 8)
    assert values.dtype == x.dtype
    as_float32 = ops.convert_to_numpy(ops.cast(x, "float32"))
    assert_largest(as_float32, 8, (ops.cast(values, "float32"), positions))


@on("tensorflow")
@pytest.mark.parametrize("length", [50, 1024])
def test_one_graph_for_any_batch(length):
    import tensorflow as tf

    largest = tf.function(lambda x: top_k(x, 3))
    graph = largest.get_concrete_function(tf.TensorSpec([None, None, length], tf.float32))
    for shape in ((2, 3, length), (1, 1, length), (0, 3, length)):
        x = np.random.default_rng(0).normal(size=shape).astype("float32")
        assert_largest(x, 3, graph(tf.constant(x)))
