"""Random numbers by their places: the published generator, uniform, and independent."""

import numpy as np
import pytest
from keras import ops

from keras_transformer.decoding.random_numbers import make_key, threefry, uniform_numbers

pytestmark = pytest.mark.any_backend

# Of the authors' library Random123: counter, key and result of `threefry2x32` with 20 rounds.
KNOWN = [
    ((0x00000000, 0x00000000), (0x00000000, 0x00000000), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_known_answers(counter, key, expected):
    def words(pair):
        return tuple(ops.convert_to_tensor(np.array([word], "uint32")) for word in pair)

    found = threefry(words(key), words(counter))
    assert tuple(int(word[0]) for word in found) == expected


def numbers(places, rows=2, columns=50, seed=1):
    places = ops.convert_to_tensor(np.array(places, "int32"))
    return ops.convert_to_numpy(uniform_numbers(make_key(seed), places, rows, columns))


def test_uniform_and_independent():
    found = numbers([(line, piece) for line in range(50) for piece in range(4)])
    assert found.dtype == np.float32
    assert (found >= 0).all()
    assert (found < 1).all()
    # Pearson's test of ten bins, at five standard deviations.
    counts = np.histogram(found, 10, (0, 1))[0]
    mean = found.size / 10
    assert ((counts - mean) ** 2 / mean).sum() < 9 + 5 * np.sqrt(18)
    # Neighbours on each axis; a correlation of n pairs has a deviation of n^-0.5.
    for axis in range(3):
        one, other = (np.delete(found, end, axis).ravel() for end in (0, -1))
        assert abs(np.corrcoef(one, other)[0, 1]) < 5 / np.sqrt(one.size)


def test_a_number_follows_from_its_place():
    found = numbers([(0, 0), (1, 0), (0, 1)])
    np.testing.assert_array_equal(numbers([(0, 1)], rows=1, columns=7), found[2:, :1, :7])
    assert not np.isin(numbers([(0, 0)], seed=2), found).all()
