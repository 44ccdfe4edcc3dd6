"""The penalties of GNMT against values computed by hand."""

import math

import numpy as np
import pytest
from keras import ops

from keras_transformer.decoding.penalties import coverage_penalty, length_penalty, power_of_length

pytestmark = pytest.mark.any_backend


def test_length_penalty_of_a_number():
    # (5 + |Y|) / 6 is 1, 2 and 3 at these lengths.
    for alpha in (0.0, 0.6, 1.0, 2.0):
        expected = [1.0, 2**alpha, 3**alpha]
        assert [length_penalty(n, alpha) for n in (1, 7, 13)] == pytest.approx(expected)
    assert length_penalty(4, 1.0) == pytest.approx(1.5)
    assert length_penalty(19, 0.5) == pytest.approx(2.0)


@pytest.mark.parametrize("alpha", [0.0, 0.6, -1.0])
def test_length_penalty_of_tensors(alpha):
    for lengths in (np.array([[1, 7], [13, 19]], "int32"), np.array(7, "int32")):
        found = ops.convert_to_numpy(length_penalty(ops.convert_to_tensor(lengths), alpha))
        assert found.dtype == "float32"
        expected = np.exp(alpha * np.log((5 + lengths.astype("float64")) / 6))
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_coverage_penalty():
    half, quarter = math.log(0.5), math.log(0.25)
    coverage = np.array(
        [
            # More than 1 is as good as 1.
            [[1.0, 1.0, 1.0], [0.5, 0.25, 3.0]],
            [[0.5, 0.5, 0.5], [2.0, 1.5, 0.25]],
        ],
        "float32",
    )
    # The second sentence has two tokens; what padding got does not count.
    mask = np.array([[[True, True, True]], [[True, True, False]]])
    expected = np.array([[0.0, half + quarter], [2 * half, 0.0]])
    for beta in (0.0, 0.2, 1.0):
        found = ops.convert_to_numpy(coverage_penalty(ops.convert_to_tensor(coverage), mask, beta))
        assert found.dtype == "float32"
        np.testing.assert_allclose(found, beta * expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_a_source_token_without_attention_costs_much_and_not_everything(dtype):
    coverage = ops.cast(np.array([[[0.0, 1.0], [0.01, 1.0], [0.0, 0.0]]], "float32"), dtype)
    none, little, nothing = ops.convert_to_numpy(coverage_penalty(coverage, True, 1.0))[0]
    assert nothing < none < little < 0
    assert none < math.log(1e-6)
    assert np.isfinite(nothing)


def test_the_length_alone():
    assert [power_of_length(n, 0.5) for n in (1, 4, 9)] == pytest.approx([1.0, 2.0, 3.0])
    lengths = ops.convert_to_tensor([1, 2, 8])
    found = ops.convert_to_numpy(power_of_length(lengths, np.array([1.0, 2.0, 0.0], "float32")))
    np.testing.assert_allclose(found, [1.0, 4.0, 1.0])
