"""Embeddings scaled by sqrt(d_model), and logits from the same matrix."""

import keras
import numpy as np
import pytest
from keras import ops
from references import to_numpy

from keras_transformer.layers import TokenEmbedding

pytestmark = pytest.mark.any_backend

V, D_MODEL = 11, 16
IDS = np.array([[4, 5, 3, 0], [6, 10, 4, 4]], "int32")
POLICIES = {"float32": 1e-6, "mixed_bfloat16": 2e-2, "mixed_float16": 2e-3}
every_policy = pytest.mark.parametrize("policy", POLICIES)


def make(policy="float32", vocab_size=V):
    embedding = TokenEmbedding(vocab_size, D_MODEL, dtype=policy)
    embedding.build()
    return embedding, to_numpy(embedding.embeddings)


@every_policy
def test_vectors_are_scaled_by_the_square_root_of_d_model(policy):
    embedding, matrix = make(policy)
    vectors = embedding(IDS)
    assert keras.backend.standardize_dtype(vectors.dtype) == embedding.compute_dtype
    tolerance = POLICIES[policy]
    np.testing.assert_allclose(to_numpy(vectors), matrix[IDS] * 4.0, tolerance, tolerance)


@every_policy
def test_logits_are_x_times_the_transposed_matrix_in_float32(policy):
    embedding, matrix = make(policy)
    x = np.random.default_rng(0).normal(size=(2, 3, D_MODEL)).astype("float32")
    logits = embedding(ops.cast(x, embedding.compute_dtype), reverse=True)
    assert keras.backend.standardize_dtype(logits.dtype) == "float32"
    assert logits.shape == (2, 3, V)
    tolerance = 2 * POLICIES[policy]
    np.testing.assert_allclose(to_numpy(logits), x @ matrix.T, tolerance, tolerance)


@every_policy
def test_a_kernel_at_hand_gives_the_same_logits(policy):
    embedding, matrix = make(policy)
    kernel = embedding.output_kernel()
    assert keras.backend.standardize_dtype(kernel.dtype) == embedding.compute_dtype
    np.testing.assert_allclose(to_numpy(kernel), matrix.T, *2 * [POLICIES[policy]])
    x = ops.cast(np.random.default_rng(0).normal(size=(2, 3, D_MODEL)), embedding.compute_dtype)
    found = embedding.logits(x, kernel)
    assert keras.backend.standardize_dtype(found.dtype) == "float32"
    np.testing.assert_array_equal(to_numpy(found), to_numpy(embedding(x, reverse=True)))


def test_both_directions_read_the_one_matrix():
    embedding, matrix = make()
    assert len(embedding.trainable_variables) == 1
    embedding.embeddings.assign(2.0 * matrix)
    np.testing.assert_allclose(to_numpy(embedding(IDS)), matrix[IDS] * 8.0, rtol=1e-6)
    ones = np.ones((1, 1, D_MODEL), "float32")
    logits = to_numpy(embedding(ones, reverse=True))[0, 0]
    np.testing.assert_allclose(logits, 2.0 * matrix.sum(-1), rtol=1e-5, atol=1e-6)


def test_scaled_vectors_start_with_unit_variance():
    embedding, matrix = make(vocab_size=4000)
    vectors = to_numpy(embedding(np.arange(4000)[None]))
    assert vectors.std() == pytest.approx(1.0, rel=0.02)
    assert matrix.std() == pytest.approx(D_MODEL**-0.5, rel=0.02)


@every_policy
def test_the_bias_of_the_logits_is_not_rounded(policy):
    """Neither in a call nor with a kernel at hand, so that both give the same."""
    embedding = TokenEmbedding(V, D_MODEL, output_bias=True, dtype=policy)
    embedding.build()
    bias = np.linspace(1.0, 1.1, V, dtype="float32")
    embedding.bias.assign(bias)
    logits = embedding(ops.zeros((1, 1, D_MODEL), embedding.compute_dtype), reverse=True)
    np.testing.assert_array_equal(to_numpy(logits)[0, 0], bias)
