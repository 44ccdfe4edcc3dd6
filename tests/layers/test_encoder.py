"""Encoder layer and stack against blocks built by hand in NumPy."""

import numpy as np
import pytest
import references
from references import to_numpy, weights_by_name

from keras_transformer import TransformerConfig
from keras_transformer.layers import Encoder, EncoderLayer, PaddingMask

pytestmark = pytest.mark.any_backend

X = np.random.default_rng(0).normal(size=(3, 5, 8)).astype("float32")
MASK = to_numpy(PaddingMask()(np.array([[4, 5, 6, 7, 3], [4, 3, 0, 0, 0], [5, 4, 3, 0, 0]])))
both_norms = pytest.mark.parametrize("norm_first", [False, True])


def config(norm_first=False, **overrides):
    sizes = dict(num_layers=2, d_model=8, d_ff=12, num_heads=2, key_dim=3, value_dim=5)
    return TransformerConfig(**{**sizes, **overrides}, norm_first=norm_first)


def make(layer_class, config):
    layer = layer_class(config)
    layer.build(X.shape)
    generator = np.random.default_rng(1)
    for variable in layer.trainable_variables:
        variable.assign(generator.normal(scale=0.5, size=variable.shape).astype("float32"))
    return layer


@both_norms
def test_encoder_layer_is_the_papers(norm_first):
    layer = make(EncoderLayer, config(norm_first))
    output, _ = layer(X, attention_mask=MASK)
    expected = references.encoder_layer(X, weights_by_name(layer), "", layer.config, MASK)
    np.testing.assert_allclose(to_numpy(output), expected, rtol=1e-4, atol=1e-4)


@both_norms
def test_encoder_is_the_papers(norm_first):
    encoder = make(Encoder, config(norm_first))
    output, weights = encoder(X, attention_mask=MASK)
    expected = references.encoder(X, weights_by_name(encoder), "", encoder.config, MASK)
    np.testing.assert_allclose(to_numpy(output), expected, rtol=1e-4, atol=1e-4)
    assert [tuple(layer.shape) for layer in weights] == [(3, 2, 5, 5)] * 2


@both_norms
def test_only_pre_norm_has_a_final_normalization(norm_first):
    paths = [variable.path for variable in make(Encoder, config(norm_first)).weights]
    assert any("/final_norm/" in path for path in paths) == norm_first


@both_norms
def test_what_is_masked_changes_nothing(norm_first):
    encoder = make(Encoder, config(norm_first))
    real = np.broadcast_to(MASK[:, 0, 0, :, None], X.shape)
    noisy = np.where(real, X, X + 9.0)
    output, _ = encoder(X, attention_mask=MASK)
    noisy_output, _ = encoder(noisy, attention_mask=MASK)
    np.testing.assert_array_equal(to_numpy(noisy_output)[real], to_numpy(output)[real])


def test_without_positions_the_encoder_does_not_know_order():
    encoder = make(Encoder, config())
    order = [3, 0, 4, 1, 2]
    output, _ = encoder(X)
    permuted, _ = encoder(X[:, order])
    np.testing.assert_allclose(to_numpy(permuted), to_numpy(output)[:, order], atol=1e-4)


def test_dropout_is_active_in_training_only_and_keeps_the_mean():
    layer = make(EncoderLayer, config(norm_first=True, dropout=0.5))
    many = np.repeat(X[:1], 4000, axis=0)
    plain = to_numpy(layer(X[:1], training=False)[0])
    np.testing.assert_array_equal(to_numpy(layer(X[:1], training=False)[0]), plain)
    dropped = to_numpy(layer(many, training=True)[0])
    assert (dropped != plain).mean() > 0.99
    # The output of attention enters the second sub-layer, so only its own part has the same mean.
    quiet = make(EncoderLayer, config(norm_first=True, dropout=0.5))
    quiet.feed_forward.outer.set_weights([np.zeros((12, 8)), np.zeros(8)])
    mean = to_numpy(quiet(many, training=True)[0]).mean(0)
    expected = to_numpy(quiet(X[:1], training=False)[0])[0]
    np.testing.assert_allclose(mean, expected, atol=0.15)


def test_the_configuration_is_taken_as_an_object_or_as_its_fields():
    layer = EncoderLayer(config())
    assert EncoderLayer(layer.get_config()["config"]).config == layer.config
