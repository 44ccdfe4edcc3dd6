"""Restricted attention against full attention with a band mask."""

import keras
import numpy as np
import pytest
from keras import ops
from references import band, to_numpy

from keras_transformer.layers import PaddingMask, RestrictedSelfAttention, SelfAttention
from keras_transformer.layers import restricted_attention as module
from keras_transformer.layers.attention import scaled_dot_product_attention
from keras_transformer.layers.restricted_attention import band_to_matrix, restricted_attention
from keras_transformer.layers.scores import scaled_dot

pytestmark = pytest.mark.filterwarnings("ignore:You are using a softmax over axis -1:UserWarning")

GENERATOR = np.random.default_rng(0)
KEY_DIM, VALUE_DIM = 3, 4


def neighbourhoods(window):
    """Positions before and after a query: centred, and causal."""
    return (window // 2, (window - 1) // 2), (window - 1, 0)


def inputs(length):
    """Queries, keys and values of two sentences, and the mask of their padding."""
    widths = (KEY_DIM, KEY_DIM, VALUE_DIM)
    heads = [GENERATOR.normal(size=(2, 2, length, width)).astype("float32") for width in widths]
    lengths = np.reshape([length, -(-length // 2)], (2, 1, 1, 1))
    return heads, np.arange(length) < lengths


@pytest.fixture(params=[1, 2, 4])
def _small_blocks(request, monkeypatch):
    """Blocks that are small beside the sequences of tests."""
    monkeypatch.setattr(module, "_SMALLEST_BLOCK", request.param)


@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("length", [1, 2, 7, 12])
def test_values_and_gradients_are_those_of_a_band_mask(length):
    import tensorflow as tf

    heads, mask = inputs(length)
    heads = [tf.constant(x) for x in heads]
    real = np.swapaxes(mask, -1, -2)
    factors = GENERATOR.normal(size=heads[2].shape).astype("float32") * real

    def with_gradients(function):
        with tf.GradientTape() as tape:
            tape.watch(heads)
            output, weights = function()
            value = tf.reduce_sum(output * factors)
        return [output * real, *tape.gradient(value, heads), weights]

    for window in range(1, length + 4):
        for before, after in neighbourhoods(window):
            *found, weights_band = with_gradients(
                lambda b=before, a=after: restricted_attention(scaled_dot, *heads, b, a, mask)
            )
            seen = mask & band(length, before, after)
            *expected, weights = with_gradients(
                lambda seen=seen: scaled_dot_product_attention(*heads, seen)
            )
            for x, y in zip(found, expected, strict=True):
                np.testing.assert_allclose(x, y, atol=1e-5, err_msg=f"{window} {before}")
            assert weights_band.shape[-1] == window
            matrix = band_to_matrix(weights_band, before)
            np.testing.assert_allclose(matrix * real, weights * real, atol=1e-6)


def test_a_graph_takes_any_length(monkeypatch):
    """Both ways are in the same graph, one for short and one for long sequences."""
    import tensorflow as tf

    monkeypatch.setattr(module, "_SMALLEST_BLOCK", 2)
    signature = [tf.TensorSpec((None, 2, None, width)) for width in (KEY_DIM, KEY_DIM, VALUE_DIM)]
    signature.append(tf.TensorSpec((None, 1, 1, None), tf.bool))

    @tf.function(input_signature=signature)
    def gradients(query, key, value, mask):
        with tf.GradientTape() as tape:
            tape.watch([query, key, value])
            output, weights = restricted_attention(scaled_dot, query, key, value, 2, 1, mask)
        return output, weights, tape.gradient(output, [query, key, value])

    for length in (3, 6, 7, 11):
        heads, mask = inputs(length)
        output, weights, found = gradients(*heads, mask)
        expected = restricted_attention(scaled_dot, *heads, 2, 1, mask)
        np.testing.assert_allclose(output, expected[0], atol=1e-6)
        np.testing.assert_allclose(weights, expected[1], atol=1e-6)
        assert all(np.isfinite(x).all() for x in found)


def layers(window, causal, **options):
    """A restricted layer and a plain one with the same weights."""
    sizes = dict(num_heads=2, key_dim=KEY_DIM, value_dim=VALUE_DIM, **options)
    restricted = RestrictedSelfAttention(**sizes, window=window, causal=causal)
    plain = SelfAttention(**sizes)
    for layer in (restricted, plain):
        layer.build((None, None, 8))
    plain.set_weights(restricted.get_weights())
    return restricted, plain


@pytest.mark.any_backend
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("score", ["scaled_dot", "additive"])
def test_a_layer_is_self_attention_with_a_band_mask(causal, score, monkeypatch):
    monkeypatch.setattr(module, "_SMALLEST_BLOCK", 2)
    ids = np.array([[4, 5, 6, 7, 8, 9, 4, 5, 3], [4, 5, 6, 7, 3, 0, 0, 0, 0]], "int32")
    x = GENERATOR.normal(size=(2, 9, 8)).astype("float32")
    mask = to_numpy(PaddingMask()(ids))
    real = (ids != 0)[..., None]
    for window in (1, 4, 5):
        restricted, plain = layers(window, causal, score=score)
        seen = mask & band(9, *neighbourhoods(window)[causal])
        output, weights = restricted(x, attention_mask=mask)
        expected, expected_weights = plain(x, attention_mask=seen)
        np.testing.assert_allclose(to_numpy(output) * real, to_numpy(expected) * real, atol=1e-5)
        found = to_numpy(restricted.weights_matrix(weights)) * real[:, None]
        np.testing.assert_allclose(found, to_numpy(expected_weights) * real[:, None], atol=1e-6)


@pytest.mark.any_backend
@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16", "mixed_float16"])
def test_fully_masked_sentences_are_finite(policy, monkeypatch):
    monkeypatch.setattr(module, "_SMALLEST_BLOCK", 2)
    layer = RestrictedSelfAttention(2, KEY_DIM, VALUE_DIM, window=3, dtype=policy)
    output, weights = layer(
        GENERATOR.normal(size=(1, 9, 8)).astype("float32"), np.zeros((1, 1, 1, 9), bool)
    )
    assert keras.backend.standardize_dtype(output.dtype) == layer.compute_dtype
    assert np.isfinite(to_numpy(output)).all()
    assert np.isfinite(to_numpy(weights)).all()


@pytest.mark.any_backend
def test_no_position_reads_beyond_its_neighbourhood(monkeypatch):
    """A change of one position changes the outputs that see it, and no other by a bit."""
    monkeypatch.setattr(module, "_SMALLEST_BLOCK", 4)
    x = GENERATOR.normal(size=(1, 20, 8)).astype("float32")
    moved = x.copy()
    moved[:, 11] += 1.0
    for window, causal, changed in ((5, False, range(9, 14)), (4, False, range(10, 14))):
        layer, _ = layers(window, causal)
        differs = to_numpy(layer(x)[0]) != to_numpy(layer(moved)[0])
        assert np.flatnonzero(differs.any(-1)[0]).tolist() == list(changed)


def test_dropout_of_the_weights_is_an_option():
    restricted, _ = layers(3, False, dropout=0.5)
    x = ops.convert_to_tensor(GENERATOR.normal(size=(1, 90, 8)).astype("float32"))
    assert not np.allclose(restricted(x, training=True)[0], restricted(x, training=False)[0])


def test_errors_say_what_to_do():
    with pytest.raises(ValueError, match=r"`window` must be at least 1.*window=0"):
        RestrictedSelfAttention(2, 3, 4, window=0)
    layer, _ = layers(3, True)
    with pytest.raises(ValueError, match=r"`attention_mask` must be the same for all queries"):
        layer(np.zeros((1, 5, 8), "float32"), np.ones((1, 1, 5, 5), bool))
