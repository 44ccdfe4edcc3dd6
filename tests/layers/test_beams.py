"""Hypotheses taken in another order, against NumPy's indexing."""

import numpy as np
import pytest
from keras import ops
from references import to_numpy

from keras_transformer.layers.beams import take_beams

pytestmark = pytest.mark.any_backend


@pytest.mark.parametrize("batch", [3, 0])
@pytest.mark.parametrize("taken", [1, 4, 9])
@pytest.mark.parametrize(("inner", "dtype"), [((), "int32"), ((5,), "bool"), ((2, 6), "float32")])
def test_each_sentence_takes_its_own(batch, taken, inner, dtype):
    """As many as there are, fewer or more, some of them twice and some not at all."""
    generator = np.random.default_rng(taken)
    x = (generator.normal(size=(batch, 4, *inner)) * 2).astype(dtype)
    beams = generator.integers(0, 4, (batch, taken)).astype("int32")
    expected = np.array([[x[row, beam] for beam in beams[row]] for row in range(batch)], dtype)
    found = to_numpy(take_beams(ops.convert_to_tensor(x), ops.convert_to_tensor(beams)))
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, expected.reshape(batch, taken, *inner))
