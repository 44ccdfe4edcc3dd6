"""Decoder layer and stack against blocks built by hand in NumPy, and steps against a call."""

import numpy as np
import pytest
import references
from references import to_numpy, weights_by_name

from keras_transformer import TransformerConfig
from keras_transformer.layers import Decoder, DecoderLayer, DecoderMask, PaddingMask
from keras_transformer.layers.cache import newest_slots

pytestmark = pytest.mark.any_backend

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(3, 5, 8)).astype("float32")
MEMORY = GENERATOR.normal(size=(3, 7, 8)).astype("float32")
TARGET = np.array([[2, 4, 5, 6, 7], [2, 4, 0, 0, 0], [2, 9, 8, 7, 0]])
SOURCE = np.array([[4, 5, 6, 7, 8, 9, 3], [4, 3, 0, 0, 0, 0, 0], [6, 5, 4, 3, 0, 0, 0]])
MASKS = {
    "attention_mask": to_numpy(DecoderMask()(TARGET)),
    "cross_attention_mask": to_numpy(PaddingMask()(SOURCE)),
}
both_norms = pytest.mark.parametrize("norm_first", [False, True])


def make(layer_class, norm_first=False, **overrides):
    sizes = dict(num_layers=2, d_model=8, d_ff=12, num_heads=2, key_dim=3, value_dim=5)
    layer = layer_class(TransformerConfig(**{**sizes, **overrides}, norm_first=norm_first))
    layer.build(X.shape, MEMORY.shape)
    generator = np.random.default_rng(1)
    for variable in layer.trainable_variables:
        variable.assign(generator.normal(scale=0.5, size=variable.shape).astype("float32"))
    return layer


@both_norms
@pytest.mark.parametrize(
    ("layer_class", "reference"),
    [(DecoderLayer, references.decoder_layer), (Decoder, references.decoder)],
)
def test_decoder_is_the_papers(layer_class, reference, norm_first):
    layer = make(layer_class, norm_first)
    output = layer(X, MEMORY, **MASKS)[0]
    expected = reference(X, MEMORY, weights_by_name(layer), "", layer.config, *MASKS.values())
    np.testing.assert_allclose(to_numpy(output), expected, rtol=1e-4, atol=1e-4)


@both_norms
def test_only_pre_norm_has_a_final_normalization(norm_first):
    paths = [variable.path for variable in make(Decoder, norm_first).weights]
    assert any("/final_norm/" in path for path in paths) == norm_first


@both_norms
def test_the_future_and_masked_memory_change_nothing(norm_first):
    decoder = make(Decoder, norm_first)
    output = to_numpy(decoder(X, MEMORY, **MASKS)[0])
    later = X.copy()
    later[:, 3:] += 9.0
    noisy = np.where(MASKS["cross_attention_mask"][:, 0, 0, :, None], MEMORY, 9.0)
    changed = to_numpy(decoder(later, noisy, **MASKS)[0])
    np.testing.assert_array_equal(changed[:, :3], output[:, :3])
    assert (changed[:, 3:] != output[:, 3:]).any()


@both_norms
def test_steps_equal_a_call(norm_first):
    decoder = make(Decoder, norm_first)
    memory_mask = MASKS["cross_attention_mask"]
    output, _, cross_weights = decoder(
        X, MEMORY, attention_mask=np.tri(5, dtype=bool), cross_attention_mask=memory_mask
    )
    keys_values = decoder.keys_values(MEMORY)
    caches = decoder.empty_caches(batch_size=3, slots=6)
    for i in range(5):
        step, weights, caches = decoder.step(
            X[:, i : i + 1],
            caches,
            keys_values,
            newest_slots(i, 3, 1, 2),
            np.arange(6) <= i,
            memory_mask,
        )
        np.testing.assert_allclose(to_numpy(step)[:, 0], to_numpy(output)[:, i], atol=1e-4)
        for found, expected in zip(weights, cross_weights, strict=True):
            expected = to_numpy(expected)[:, :, i]
            np.testing.assert_allclose(to_numpy(found)[:, :, 0], expected, atol=1e-5)


def test_hypotheses_side_by_side_equal_each_alone():
    """Each goes its own way, and all read the one memory of their sentence."""
    decoder, beam = make(Decoder), 2
    ways = np.stack([X, X[:, ::-1]], 2)
    keys_values = decoder.keys_values(MEMORY)
    caches = decoder.empty_caches(3, 5 * beam)
    expected = [
        decoder(ways[:, :, i], MEMORY, np.tri(5, dtype=bool), MASKS["cross_attention_mask"])
        for i in range(beam)
    ]
    for step in range(5):
        slots = np.arange(5 * beam)
        mask = (slots // beam <= step) & (slots % beam == np.arange(beam)[:, None])
        output, weights, caches = decoder.step(
            ways[:, step],
            caches,
            keys_values,
            newest_slots(step, 3, beam, 2),
            mask,
            MASKS["cross_attention_mask"],
        )
        for i, (alone, _, cross_weights) in enumerate(expected):
            alone = to_numpy(alone)[:, step]
            np.testing.assert_allclose(to_numpy(output)[:, i], alone, atol=1e-4)
            for found, one in zip(weights, cross_weights, strict=True):
                found, one = to_numpy(found)[:, :, i], to_numpy(one)[:, :, step]
                np.testing.assert_allclose(found, one, atol=1e-5)


def test_dropout_is_active_in_training_only():
    layer = make(DecoderLayer, dropout=0.5)
    plain = to_numpy(layer(X, MEMORY, training=False)[0])
    np.testing.assert_array_equal(to_numpy(layer(X, MEMORY, training=False)[0]), plain)
    first, second = (to_numpy(layer(X, MEMORY, training=True)[0]) for _ in range(2))
    assert (first != plain).any()
    assert (first != second).any()


def test_attention_dropout_is_an_option_of_its_own():
    plain = make(DecoderLayer, dropout=0.0)
    dropping = make(DecoderLayer, dropout=0.0, attention_dropout=0.5)
    expected = to_numpy(plain(X, MEMORY)[0])
    np.testing.assert_array_equal(to_numpy(plain(X, MEMORY, training=True)[0]), expected)
    np.testing.assert_array_equal(to_numpy(dropping(X, MEMORY, training=False)[0]), expected)
    assert (to_numpy(dropping(X, MEMORY, training=True)[0]) != expected).any()
