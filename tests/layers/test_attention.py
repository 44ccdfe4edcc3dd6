"""Attention against the paper's formulas in NumPy, and its stepwise form against its call."""

import keras
import numpy as np
import pytest
import references
from keras import ops
from references import softmax, to_numpy, weights_by_name

from keras_transformer.layers import (
    CrossAttention,
    DecoderMask,
    PaddingMask,
    SelfAttention,
    scaled_dot_product_attention,
)
from keras_transformer.layers.cache import newest_slots

pytestmark = pytest.mark.any_backend

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(3, 5, 8)).astype("float32")
MEMORY = GENERATOR.normal(size=(3, 7, 8)).astype("float32")
TARGET = np.array([[2, 4, 5, 6, 7], [2, 4, 0, 0, 0], [2, 9, 8, 7, 0]], "int32")
SOURCE = np.array([[4, 5, 6, 7, 8, 9, 3], [4, 3, 0, 0, 0, 0, 0], [6, 5, 4, 3, 0, 0, 0]], "int32")
HEADS, KEY_DIM, VALUE_DIM = 2, 3, 5


def make_self_attention(**kwargs):
    layer = SelfAttention(HEADS, KEY_DIM, VALUE_DIM, **kwargs)
    layer.build(X.shape)
    return layer


def make_cross_attention(**kwargs):
    layer = CrossAttention(HEADS, KEY_DIM, VALUE_DIM, **kwargs)
    layer.build(X.shape, MEMORY.shape)
    return layer


def named(layer, place):
    """`parts` of a layer that stands alone, as if it stood at a place."""
    values = {variable.path: to_numpy(variable) for variable in layer.weights}

    def parts(at, kind):
        assert at == place
        (value,) = (value for path, value in values.items() if path.endswith(f"/{kind}"))
        return value.astype("float64")

    return parts


def test_scaled_dot_product_attention_is_equation_1():
    query, key, value = (
        GENERATOR.normal(size=(2, 3, length, width)).astype("float32")
        for length, width in ((4, 6), (5, 6), (5, 2))
    )
    mask = GENERATOR.random((2, 1, 4, 5)) < 0.7
    mask[..., 0] = True
    output, weights = scaled_dot_product_attention(query, key, value, mask)
    assert output.shape == (2, 3, 4, 2)
    assert weights.shape == (2, 3, 4, 5)
    for i in range(2):
        for head in range(3):
            expected = references.attention(
                query[i, head], key[i, head], value[i, head], mask[i, 0]
            )
            np.testing.assert_allclose(to_numpy(output)[i, head], expected[0], atol=1e-6)
            np.testing.assert_allclose(to_numpy(weights)[i, head], expected[1], atol=1e-6)


def test_softmax_runs_in_float32_for_low_precision_inputs():
    """1,024 equal weights of 1/1024 sum to one; in bfloat16 their sum would stall at 0.25."""
    one = ops.ones((1, 1, 1, 4), "bfloat16")
    many = ops.ones((1, 1, 1024, 4), "bfloat16")
    output, weights = scaled_dot_product_attention(one, many, many)
    assert keras.backend.standardize_dtype(weights.dtype) == "bfloat16"
    np.testing.assert_array_equal(to_numpy(weights), 1 / 1024)
    np.testing.assert_allclose(to_numpy(output), 1.0, atol=1e-2)


@pytest.mark.parametrize("masked", [False, True])
def test_self_attention_is_the_papers(masked):
    layer = make_self_attention()
    mask = to_numpy(DecoderMask()(TARGET)) if masked else None
    output, weights = layer(X, attention_mask=mask)
    expected_output, expected_weights = references.self_attention(
        X, named(layer, ""), "", HEADS, KEY_DIM, mask
    )
    np.testing.assert_allclose(to_numpy(output), expected_output, atol=1e-5)
    np.testing.assert_allclose(to_numpy(weights), expected_weights, atol=1e-5)


@pytest.mark.parametrize("masked", [False, True])
def test_cross_attention_is_the_papers(masked):
    layer = make_cross_attention()
    mask = to_numpy(PaddingMask()(SOURCE)) if masked else None
    output, weights = layer(X, MEMORY, attention_mask=mask)
    expected_output, expected_weights = references.cross_attention(
        X, MEMORY, named(layer, ""), "", HEADS, KEY_DIM, mask
    )
    np.testing.assert_allclose(to_numpy(output), expected_output, atol=1e-5)
    np.testing.assert_allclose(to_numpy(weights), expected_weights, atol=1e-5)


def test_projections_have_no_bias_and_the_fused_shapes():
    shapes = {v.path.split("/", 1)[1]: tuple(v.shape) for v in make_self_attention().weights}
    assert shapes == {"query_key_value/kernel": (8, 2 * (3 + 3 + 5)), "output/kernel": (10, 8)}
    shapes = {v.path.split("/", 1)[1]: tuple(v.shape) for v in make_cross_attention().weights}
    assert shapes == {
        "query/kernel": (8, 6),
        "key_value/kernel": (8, 2 * (3 + 5)),
        "output/kernel": (10, 8),
    }


@pytest.mark.parametrize("score", ["dot", "general", "cosine", "additive"])
def test_weights_are_the_softmax_of_another_score(score):
    layer = make_cross_attention(score=score)
    for variable in layer.score.weights:
        variable.assign(GENERATOR.normal(size=variable.shape))
    parts = {"/".join(v.path.split("/")[-2:]): to_numpy(v) for v in layer.weights}
    width = HEADS * KEY_DIM
    query = X @ parts["query/kernel"]
    key = MEMORY @ parts["key_value/kernel"][:, :width]
    mask = to_numpy(PaddingMask()(SOURCE))
    _, weights = layer(X, MEMORY, attention_mask=mask)
    for row, head in np.ndindex(len(X), HEADS):
        part = slice(head * KEY_DIM, (head + 1) * KEY_DIM)
        logits = [
            [
                references.SCORES[score](s, h, place, parts)
                for place, h in enumerate(key[row, :, part])
            ]
            for s in query[row, :, part]
        ]
        expected = softmax(np.where(mask[row, 0], logits, -1e30))
        np.testing.assert_allclose(to_numpy(weights)[row, head], expected, atol=1e-5)


def test_permuting_the_memory_permutes_the_weights_and_leaves_the_output():
    layer = make_cross_attention()
    order = GENERATOR.permutation(MEMORY.shape[1])
    output, weights = layer(X, MEMORY)
    permuted_output, permuted_weights = layer(X, MEMORY[:, order])
    np.testing.assert_allclose(to_numpy(permuted_output), to_numpy(output), atol=1e-5)
    expected = to_numpy(weights)[..., order]
    np.testing.assert_allclose(to_numpy(permuted_weights), expected, atol=1e-6)


def test_attention_dropout_is_off_by_default_and_an_option():
    layer, dropping = make_self_attention(), make_self_attention(dropout=0.5)
    dropping.set_weights(layer.get_weights()[: len(layer.weights)])
    output = to_numpy(layer(X, training=False)[0])
    np.testing.assert_array_equal(to_numpy(layer(X, training=True)[0]), output)
    np.testing.assert_array_equal(to_numpy(dropping(X, training=False)[0]), output)
    dropped, weights = dropping(X, training=True)
    assert (to_numpy(dropped) != output).any()
    # What is returned for inspection is the distribution itself.
    np.testing.assert_allclose(to_numpy(weights).sum(-1), 1.0, atol=1e-6)


def test_attention_dropout_keeps_the_mean():
    layer = make_self_attention(dropout=0.5)
    many = np.repeat(X[:1], 2000, axis=0)
    mean = to_numpy(layer(many, training=True)[0]).mean(0)
    np.testing.assert_allclose(mean, to_numpy(layer(X[:1])[0])[0], atol=0.1)


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_steps_of_self_attention_equal_its_call(policy):
    layer = make_self_attention(dtype=policy)
    tolerance = 1e-5 if policy == "float32" else 5e-2
    causal = np.tri(5, dtype=bool)
    expected_output, expected_weights = (to_numpy(part) for part in layer(X, attention_mask=causal))
    cache = layer.empty_cache(batch_size=3, slots=6)
    assert [tuple(part.shape) for part in cache] == [(3, 2, 6, 3), (3, 2, 6, 5)]
    for i in range(5):
        x = ops.cast(X[:, i : i + 1], policy[-8:])
        output, weights, cache = layer.step(
            x, cache, newest_slots(i, 3, 1, HEADS), attention_mask=np.arange(6) <= i
        )
        np.testing.assert_allclose(
            to_numpy(output)[:, 0], expected_output[:, i], tolerance, tolerance
        )
        expected = np.pad(expected_weights[:, :, i], ((0, 0), (0, 0), (0, 1)))
        np.testing.assert_allclose(to_numpy(weights)[:, :, 0], expected, atol=tolerance)
        assert (to_numpy(weights)[:, :, 0, i + 1 :] == 0.0).all()
    assert all(part.dtype == layer.compute_dtype for part in map(ops.convert_to_tensor, cache))


def test_steps_of_hypotheses_that_change_places_attend_to_their_own_past():
    """The mask says whose past a slot is; the paper's formulas get the past as one sequence."""
    layer, (steps, batch, beam) = make_self_attention(), (4, 2, 3)
    generator = np.random.default_rng(1)
    xs = generator.normal(size=(steps, batch, beam, 8)).astype("float32")
    parents = generator.integers(0, beam, (steps, batch, beam))
    cache = layer.empty_cache(batch, steps * beam)
    for step, pasts in enumerate(references.pasts(parents)):
        slots = np.arange(step + 1) * beam + pasts
        mask = (slots[..., None] == np.arange(steps * beam)).any(2)
        output, weights, cache = layer.step(
            xs[step], cache, newest_slots(step, batch, beam, HEADS), mask[:, None]
        )
        for sentence, hypothesis in np.ndindex(batch, beam):
            past = xs[np.arange(step + 1), sentence, pasts[sentence, hypothesis]]
            expected_output, expected_weights = references.self_attention(
                past[None], named(layer, ""), "", HEADS, KEY_DIM, np.tri(step + 1, dtype=bool)
            )
            found = to_numpy(output)[sentence, hypothesis]
            np.testing.assert_allclose(found, expected_output[0, -1], atol=1e-5)
            found = to_numpy(weights)[sentence, :, hypothesis, slots[sentence, hypothesis]]
            np.testing.assert_allclose(found.T, expected_weights[0, :, -1], atol=1e-5)


def test_a_step_writes_its_own_slots_of_the_cache_and_no_other():
    layer, beam = make_self_attention(), 2
    before = [np.full((3, 2, 6, dim), 7.0, "float32") for dim in (KEY_DIM, VALUE_DIM)]
    for part in before:
        part[:, :, 2:4] = 0.0  # Slots that are not written yet.
    cache = [ops.convert_to_tensor(part) for part in before]
    _, _, after = layer.step(
        X[:, :beam], cache, newest_slots(1, 3, beam, HEADS), attention_mask=True
    )
    kernel = to_numpy(layer.query_key_value.kernel)
    key, value = np.split(X[:, :beam] @ kernel, [6, 12], axis=-1)[1:]
    for new, old, heads in zip(map(to_numpy, after), before, (key, value), strict=True):
        np.testing.assert_array_equal(np.delete(new, [2, 3], axis=2), 7.0)
        heads = heads.reshape(3, beam, HEADS, -1).transpose(0, 2, 1, 3)
        np.testing.assert_allclose(new[:, :, 2:4], heads, atol=1e-5)
        assert (old[:, :, 2:4] == 0.0).all()
    for part, old in zip(cache, before, strict=True):
        np.testing.assert_array_equal(to_numpy(part), old)


def test_cross_attention_with_the_memory_projected_once_equals_its_call():
    layer = make_cross_attention()
    mask = to_numpy(PaddingMask()(SOURCE))
    keys, values = layer.keys_values(MEMORY)
    assert keys.shape == (3, 2, 7, 3)
    assert values.shape == (3, 2, 7, 5)
    expected_output, expected_weights = layer(X, MEMORY, attention_mask=mask)
    output, weights = layer.attend(X, (keys, values), mask)
    np.testing.assert_array_equal(to_numpy(output), to_numpy(expected_output))
    np.testing.assert_array_equal(to_numpy(weights), to_numpy(expected_weights))


def test_projections_begin_at_half_of_the_glorot_bound_part_by_part():
    """Those to queries, keys and values; the output's begins at Glorot's own."""
    own, cross = (
        layer(num_heads=4, key_dim=4, value_dim=32) for layer in (SelfAttention, CrossAttention)
    )
    own.build((None, None, 128))
    cross.build((None, None, 128), (None, None, 128))

    def check(layer, name, widths, gain):
        kernel = weights_by_name(layer)(name, "kernel")
        parts = np.split(kernel, np.cumsum(widths)[:-1], axis=1)
        for part, width in zip(parts, widths, strict=True):
            bound = gain * np.sqrt(6.0 / (128 + width))
            assert 0.98 * bound < np.abs(part).max() <= bound

    check(own, "query_key_value", (16, 16, 128), gain=0.5)
    check(cross, "query", (16,), gain=0.5)
    check(cross, "key_value", (16, 128), gain=0.5)
    check(own, "output", (128,), gain=1.0)


def test_softmax_reference_is_a_distribution():
    """The reference itself: sums to one, and is not moved by a constant."""
    logits = GENERATOR.normal(size=(4, 6))
    np.testing.assert_allclose(softmax(logits).sum(-1), 1.0)
    np.testing.assert_allclose(softmax(logits + 1000.0), softmax(logits))
