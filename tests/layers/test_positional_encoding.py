"""Positions against the closed form, past 256, in every precision; their sum with embeddings."""

import math

import keras
import numpy as np
import pytest
from references import positional_encoding, to_numpy

from keras_transformer.layers import (
    LearnedPositionalEncoding,
    PositionalSum,
    SinusoidalPositionalEncoding,
    sinusoidal_table,
)

pytestmark = pytest.mark.any_backend

D_MODEL = 128
# Half a unit in the last place of numbers up to 1.
TOLERANCE = {"float32": 1e-6, "mixed_bfloat16": 2**-9, "mixed_float16": 2**-12}
every_policy = pytest.mark.parametrize("policy", TOLERANCE)


def encodings(policy, length=302):
    """What the layer adds to nothing."""
    layer = SinusoidalPositionalEncoding(512, dtype=policy)
    encoded = layer(np.zeros((1, length, D_MODEL), "float32"))
    assert keras.backend.standardize_dtype(encoded.dtype) == layer.compute_dtype
    return to_numpy(encoded)[0]


@every_policy
@pytest.mark.parametrize("position", [0, 1, 255, 256, 257, 300])
def test_encoding_is_the_closed_form(policy, position):
    expected = positional_encoding(position, D_MODEL)
    np.testing.assert_allclose(encodings(policy)[position], expected, atol=TOLERANCE[policy])


@every_policy
def test_adjacent_positions_past_256_differ(policy):
    found = encodings(policy)
    for position in range(256, 301):
        difference = positional_encoding(position + 1, D_MODEL) - positional_encoding(
            position, D_MODEL
        )
        clear = np.abs(difference) > 2 * TOLERANCE[policy]
        assert clear.any()
        assert (found[position + 1] != found[position])[clear].all()


def test_wavelengths_grow_from_2_pi_to_10000_times_2_pi():
    table = sinusoidal_table(2, 512)
    assert table[0].tolist() == [0.0, 1.0] * 256
    assert table[1, 0] == pytest.approx(math.sin(1.0))
    assert table[1, -2] == pytest.approx(math.sin(10000.0 ** -(510 / 512)), rel=1e-5)


def test_a_shift_is_a_rotation_whatever_the_position():
    """Section 3.5: PE(pos + k) is a linear function of PE(pos)."""
    table = sinusoidal_table(200, 16).astype("float64")
    shift = 7
    for pair in range(8):
        angle = shift / 10000.0 ** (2 * pair / 16)
        rotation = [[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]]
        pairs = table[:, 2 * pair : 2 * pair + 2]
        np.testing.assert_allclose(
            pairs[:-shift] @ np.transpose(rotation), pairs[shift:], atol=1e-5
        )


def test_halves_are_the_papers_columns_in_another_order():
    table, halves = sinusoidal_table(60, 8), sinusoidal_table(60, 8, "sinusoidal_halves")
    np.testing.assert_array_equal(halves, table[:, [0, 2, 4, 6, 1, 3, 5, 7]])


@pytest.mark.parametrize("position", [0, 1, 59])
def test_wavelengths_of_tensor2tensor(position):
    """10000^(i / (d/2 - 1)): the last one is 10000 and not less."""
    angles = [position / 10000.0 ** (i / 3) for i in range(4)]
    expected = [*map(math.sin, angles), *map(math.cos, angles)]
    found = sinusoidal_table(60, 8, "sinusoidal_t2t")[position]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def make(layer_class, max_length=10):
    layer = layer_class(max_length)
    layer.build((None, None, 8))
    return layer


both = pytest.mark.parametrize(
    "layer_class", [SinusoidalPositionalEncoding, LearnedPositionalEncoding]
)


@both
def test_rows_of_the_table_are_added(layer_class):
    layer = make(layer_class)
    x = np.random.default_rng(0).normal(size=(2, 6, 8)).astype("float32")
    expected = x + to_numpy(layer.table)[:6]
    np.testing.assert_allclose(to_numpy(layer(x)), expected, rtol=1e-6)


@both
def test_encoding_can_start_at_a_later_position(layer_class):
    layer = make(layer_class)
    x = np.random.default_rng(0).normal(size=(2, 6, 8)).astype("float32")
    whole = to_numpy(layer(x))
    for start in range(6):
        np.testing.assert_array_equal(to_numpy(layer(x[:, start:], start=start)), whole[:, start:])


@both
def test_the_longest_input_fits_and_one_more_token_is_an_error(layer_class):
    layer = make(layer_class)
    assert layer(np.zeros((1, 10, 8), "float32")).shape == (1, 10, 8)
    with pytest.raises(ValueError, match=r"10 positions of `max_length`.*Received: 11 tokens"):
        layer(np.zeros((1, 11, 8), "float32"))


def test_an_odd_width_is_an_error():
    with pytest.raises(ValueError, match="Received: d_model=7"):
        SinusoidalPositionalEncoding(10)(np.zeros((1, 3, 7), "float32"))


def test_sinusoidal_positions_have_no_variables_and_learned_ones_have_one():
    assert make(SinusoidalPositionalEncoding).weights == []
    (table,) = make(LearnedPositionalEncoding, max_length=4000).trainable_variables
    assert table.shape == (4000, 8)
    values = to_numpy(table)
    assert values.std() == pytest.approx(8**-0.5, rel=0.02)
    assert abs(values.mean()) < 0.01


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "none"])
def test_positional_sum_adds_positions(positions):
    layer = PositionalSum(positions, 10, dropout=0.5)
    x = np.random.default_rng(0).normal(size=(2, 4, D_MODEL)).astype("float32")
    layer.build(x.shape)
    rows = {
        "sinusoidal": lambda: np.array([positional_encoding(i, D_MODEL) for i in range(4)]),
        "learned": lambda: to_numpy(layer.encoding.table)[:4],
        "none": lambda: np.zeros((4, D_MODEL)),
    }[positions]()
    np.testing.assert_allclose(to_numpy(layer(x, training=False)), x + rows, atol=1e-6)


def test_positional_sum_passes_the_start_on():
    layer = PositionalSum("sinusoidal", 10, dropout=0.0)
    summed = to_numpy(layer(np.zeros((1, 1, D_MODEL), "float32"), start=7))[0, 0]
    np.testing.assert_allclose(summed, positional_encoding(7, D_MODEL), atol=1e-6)


def test_dropout_falls_on_the_sum():
    """Section 5.4: the sum of embedding and position is kept and scaled, or dropped, as a whole."""
    layer = PositionalSum("sinusoidal", 10, dropout=0.25)
    x = np.ones((500, 4, D_MODEL), "float32")
    kept = to_numpy(layer(x, training=False))
    dropped = to_numpy(layer(x, training=True))
    is_zero = dropped == 0.0
    np.testing.assert_allclose(dropped[~is_zero], (kept / 0.75)[~is_zero], rtol=1e-5)
    assert is_zero.mean() == pytest.approx(0.25, abs=0.01)
    assert dropped.mean() == pytest.approx(kept.mean(), rel=0.02)
