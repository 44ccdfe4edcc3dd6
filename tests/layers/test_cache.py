"""The cache of keys and values against NumPy's assignments."""

import keras
import numpy as np
import pytest
from keras import ops
from references import to_numpy

from keras_transformer.layers.cache import empty_cache, newest_slots, resize, write

pytestmark = pytest.mark.any_backend

BATCH, HEADS, STEPS, BEAM, WIDTH = 2, 3, 4, 2, 5
SLOTS = STEPS * BEAM
NEW = np.random.default_rng(0).normal(size=(STEPS, BATCH, BEAM, HEADS, WIDTH)).astype("float32")


def slots_of(step):
    return newest_slots(step, BATCH, BEAM, HEADS)


def written(steps):
    """What the cache holds after these steps."""
    cache = np.zeros((BATCH, HEADS, SLOTS, WIDTH), "float32")
    for step in steps:
        for hypothesis in range(BEAM):
            cache[:, :, step * BEAM + hypothesis] = NEW[step, :, hypothesis]
    return cache


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_an_empty_cache_is_zero_in_the_widths_that_are_asked_for(dtype):
    cache = empty_cache(2, num_heads=3, slots=8, widths=(5, 7), dtype=dtype)
    for part, width in zip(cache, (5, 7), strict=True):
        assert keras.backend.standardize_dtype(part.dtype) == dtype
        np.testing.assert_array_equal(to_numpy(part), np.zeros((2, 3, 8, width)))


def test_each_step_has_its_own_slots():
    (cache,) = empty_cache(BATCH, HEADS, SLOTS, (WIDTH,), "float32")
    for step in range(STEPS):
        before, cache = cache, write(cache, ops.convert_to_tensor(NEW[step]), slots_of(step))
        np.testing.assert_array_equal(to_numpy(cache), written(range(step + 1)))
        # The old one is not written into while somebody holds it.
        np.testing.assert_array_equal(to_numpy(before), written(range(step)))


def test_write_keeps_the_dtype_of_low_precision():
    (cache,) = empty_cache(BATCH, HEADS, SLOTS, (WIDTH,), "bfloat16")
    new = ops.cast(NEW[2], "bfloat16")
    cache = write(cache, new, slots_of(2))
    assert keras.backend.standardize_dtype(cache.dtype) == "bfloat16"
    expected = to_numpy(new).transpose(0, 2, 1, 3)
    np.testing.assert_array_equal(to_numpy(cache)[:, :, 2 * BEAM : 3 * BEAM], expected)


def test_write_in_a_loop_takes_a_step_that_is_a_tensor():
    new = ops.convert_to_tensor(NEW)

    def body(step, cache):
        return step + 1, write(cache, ops.take(new, step, axis=0), slots_of(step))

    (cache,) = empty_cache(BATCH, HEADS, SLOTS, (WIDTH,), "float32")
    start = ops.zeros((), "int32"), cache
    _, cache = ops.while_loop(lambda step, cache: step < STEPS, body, start)
    np.testing.assert_array_equal(to_numpy(cache), written(range(STEPS)))


@pytest.mark.parametrize("grows", [False, True])
def test_a_step_takes_the_slots_of_an_earlier_one(grows):
    """Not a bit of what was there stays, though what comes is small beside it."""
    smaller = NEW * np.reshape([1e0, 1e-3, 1e-6, 1e-9], (STEPS, 1, 1, 1, 1)).astype("float32")
    if grows and keras.backend.backend() != "tensorflow":
        pytest.skip("caches grow on TensorFlow alone")

    def body(step, cache):
        new = ops.take(smaller, step, axis=0)
        return step + 1, write(cache, new, slots_of(step % 2), reused=True)

    def run(cache):
        start = ops.zeros((), "int32"), cache
        return ops.while_loop(lambda step, cache: step < STEPS, body, start)[1]

    if grows:
        import tensorflow as tf

        run = tf.function(run, input_signature=[tf.TensorSpec((None, HEADS, None, WIDTH))])
    (cache,) = empty_cache(BATCH, HEADS, 2 * BEAM, (WIDTH,), "float32")
    expected = np.zeros((BATCH, HEADS, 2 * BEAM, WIDTH), "float32")
    for step in (2, 3):
        for hypothesis in range(BEAM):
            expected[:, :, step % 2 * BEAM + hypothesis] = smaller[step, :, hypothesis]
    np.testing.assert_array_equal(to_numpy(run(cache)), expected)


@pytest.mark.parametrize("rows", [[0, 1, 2], [2, 0], [1], []], ids=str)
@pytest.mark.parametrize("slots", [4, 7])
def test_resize_keeps_rows_and_adds_empty_slots(rows, slots):
    generator = np.random.default_rng(1)
    for x in (
        generator.normal(size=(3, 2, 4, 5)).astype("float32"),
        generator.random((3, 2, 4)) < 0.5,
    ):
        resized = to_numpy(resize(ops.convert_to_tensor(x), np.array(rows, "int32"), slots))
        assert resized.dtype == x.dtype
        np.testing.assert_array_equal(resized[:, :, :4], x[rows])
        assert resized.shape[2] == slots
        assert not resized[:, :, 4:].any()
