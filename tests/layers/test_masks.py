"""Masks, position by position, and what attention makes of rows that allow nothing."""

import keras
import numpy as np
import pytest
from keras import ops
from references import to_numpy

from keras_transformer.layers import (
    CausalMask,
    DecoderMask,
    PaddingMask,
    SelfAttention,
    scaled_dot_product_attention,
)

pytestmark = pytest.mark.any_backend

IDS = np.array([[5, 3, 0, 0], [6, 7, 8, 3], [0, 0, 0, 0]], "int32")


def test_padding_mask_allows_real_tokens():
    mask = to_numpy(PaddingMask()(IDS))
    assert mask.shape == (3, 1, 1, 4)
    np.testing.assert_array_equal(mask[:, 0, 0], [[1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]])


def test_causal_mask_allows_the_past_and_the_present():
    mask = to_numpy(CausalMask()(IDS))
    assert mask.shape == (1, 1, 4, 4)
    expected = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    np.testing.assert_array_equal(mask[0, 0], expected)


def test_decoder_mask_allows_what_both_allow():
    mask = to_numpy(DecoderMask()(IDS))
    assert mask.shape == (3, 1, 4, 4)
    for sentence in range(3):
        for query in range(4):
            for key in range(4):
                allowed = key <= query and IDS[sentence, key] != 0
                assert mask[sentence, 0, query, key] == allowed


@pytest.mark.parametrize("mask_class", [PaddingMask, DecoderMask])
def test_masks_saved_with_a_padding_id_load(mask_class):
    """It was an option once."""
    saved = keras.layers.serialize(mask_class(name="a_name"))
    saved["config"]["pad_id"] = 0
    mask = keras.layers.deserialize(saved)
    assert type(mask) is mask_class
    assert mask.get_config() == mask_class(name="a_name").get_config()
    saved["config"]["pad_id"] = 9
    with pytest.raises(ValueError, match=r"`pad_id` must be 0.*Received: pad_id=9"):
        keras.layers.deserialize(saved)


@pytest.mark.parametrize("mask_class", [PaddingMask, CausalMask, DecoderMask])
@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16", "mixed_float16"])
def test_masks_are_boolean_and_explicit_in_every_policy(mask_class, policy):
    mask = mask_class(dtype=policy)(IDS)
    assert keras.backend.standardize_dtype(mask.dtype) == "bool"
    assert getattr(mask, "_keras_mask", None) is None


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_a_fully_masked_row_is_the_finite_mean_of_the_values(dtype):
    generator = np.random.default_rng(0)
    # Logits as large as float16 allows.
    query, key = (ops.cast(100.0 * generator.normal(size=(1, 1, 4, 8)), dtype) for _ in range(2))
    value = ops.cast(generator.normal(size=(1, 1, 4, 8)), dtype)
    mask = np.array([[True, False, False, True], [False] * 4, [True] * 4, [False] * 4])
    output, weights = scaled_dot_product_attention(query, key, value, mask)
    assert np.isfinite(to_numpy(output)).all()
    np.testing.assert_allclose(to_numpy(weights)[0, 0, [1, 3]], 0.25)
    mean = to_numpy(value)[0, 0].mean(0)
    np.testing.assert_allclose(to_numpy(output)[0, 0, 1], mean, atol=2e-2)
    assert (to_numpy(weights)[0, 0, 0, [1, 2]] == 0.0).all()


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16", "mixed_float16"])
def test_gradients_of_a_fully_masked_sentence_are_finite(policy, gradients):
    layer = SelfAttention(2, 4, 4, dtype=policy)
    x = np.random.default_rng(0).normal(size=(2, 3, 8)).astype("float32")
    layer.build(x.shape)
    mask = np.array([True, False])[:, None, None, None]
    found = gradients(
        layer, lambda outputs: ops.sum(ops.cast(outputs[0], "float32")), x, attention_mask=mask
    )
    assert all(np.isfinite(gradient).all() for gradient in found.values())
