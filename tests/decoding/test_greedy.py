"""Greedy search against a loop in plain Python, and against a search that caches nothing."""

import keras
import numpy as np
import pytest
from keras import ops
from random_models import vary

from keras_transformer import Transformer, TransformerConfig
from keras_transformer.decoding import greedy_search
from keras_transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID

pytestmark = pytest.mark.any_backend

BACKEND = keras.backend.backend()
BATCH, STEPS, VOCAB = 6, 9, 7
LIMITS = np.array([9, 4, 1, 9, 0, 7], "int32")


def on(name):
    return pytest.mark.skipif(name != BACKEND, reason=f"is about the {name} backend")


@pytest.fixture
def table():
    """Logits that depend on the sentence, the step and the newest token."""
    table = np.random.default_rng(3).normal(size=(BATCH, STEPS, VOCAB, VOCAB)).astype("float32")
    # Sentences 0 to 2 go on to their limits, 3 ends in the midst, and 5 at once.
    table[:3, ..., EOS_ID] = -9
    table[3, :4, ..., EOS_ID] = -9
    table[3, 4, :, EOS_ID] = table[5, 0, :, EOS_ID] = 9
    return table


def search_by_table(table, limits, max_length=STEPS):
    """`greedy_search` in a model that looks its logits up; the state counts the steps."""
    rows = ops.arange(len(table), dtype="int32")

    def step(tokens, state):
        at = (rows * STEPS + state["index"]) * VOCAB + tokens
        logits = ops.take(ops.reshape(state["table"], (-1, VOCAB)), at, axis=0)
        return logits, {"table": state["table"], "index": state["index"] + 1}

    state = {"table": ops.convert_to_tensor(table), "index": ops.zeros((), "int32")}
    return greedy_search(step, state, ops.convert_to_tensor(limits), max_length)


def best_of(logits):
    """The best token that may be part of a translation."""
    return max(set(range(len(logits))) - {PAD_ID, BOS_ID}, key=logits.__getitem__)


def search_in_python(table, limit):
    """One sentence, one step at a time, in Python's own floats."""
    token, ids, score = BOS_ID, [], 0.0
    while len(ids) < limit:
        logits = table[len(ids), token].astype("float64")
        token = best_of(logits)
        ids.append(token)
        score += logits[token] - np.log(np.exp(logits).sum())
        if token == EOS_ID:
            break
    return ids, score


def expected_of(table, limits):
    found = [search_in_python(*sentence) for sentence in zip(table, limits, strict=True)]
    ids = [row + [PAD_ID] * (STEPS - len(row)) for row, _ in found]
    return np.array(ids), np.array([score for _, score in found])


def as_arrays(found):
    return [ops.convert_to_numpy(part) for part in found]


def assert_found(found, expected):
    ids, scores = as_arrays(found)
    assert (ids.dtype, scores.dtype) == ("int32", "float32")
    np.testing.assert_array_equal(ids, expected[0])
    np.testing.assert_allclose(scores, expected[1], rtol=1e-5, atol=1e-6)


def test_equals_a_loop_in_plain_python(table):
    expected = expected_of(table, LIMITS)
    lengths = np.count_nonzero(expected[0], axis=1)
    ended = (expected[0] == EOS_ID).any(axis=1)
    # The table has each kind of sentence: cut at a limit, without a step, and ended early.
    assert list(ended) == [False, False, False, True, False, True]
    assert lengths.tolist() == [9, 4, 1, 5, 0, 1]
    assert_found(search_by_table(table, LIMITS), expected)


def test_a_sentence_does_not_depend_on_its_batch(table):
    ids, scores = as_arrays(search_by_table(table, LIMITS))
    for i in range(BATCH):
        alone = as_arrays(search_by_table(table[i : i + 1], LIMITS[i : i + 1]))
        np.testing.assert_array_equal(alone[0][0], ids[i])
        np.testing.assert_allclose(alone[1][0], scores[i], rtol=1e-6)


def test_only_padding_follows_eos(table):
    table[..., EOS_ID] += 2
    ids, _ = as_arrays(search_by_table(table, np.full(BATCH, STEPS, "int32")))
    after = np.cumsum(ids == EOS_ID, axis=1) - (ids == EOS_ID) > 0
    assert after.sum() > STEPS
    assert (ids[after] == PAD_ID).all()
    assert (ids[~after] != PAD_ID).all()


def test_no_steps_at_all(table):
    ids, scores = as_arrays(search_by_table(table, np.zeros(BATCH, "int32"), max_length=1))
    assert ids.tolist() == [[PAD_ID]] * BATCH
    assert scores.tolist() == [0.0] * BATCH


def test_limit_beyond_the_maximum(table):
    limits = np.full(BATCH, 1000, "int32")
    ids, _ = as_arrays(search_by_table(table, limits, max_length=5))
    assert ids.shape == (BATCH, 5)
    np.testing.assert_array_equal(ids, expected_of(table, np.full(BATCH, 5))[0][:, :5])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_scores_of_half_precision_logits_are_summed_in_float32(table, dtype):
    rounded = ops.convert_to_numpy(ops.cast(ops.cast(table, dtype), "float32"))
    rows = ops.arange(BATCH, dtype="int32")

    def step(tokens, index):
        at = (rows * STEPS + index) * VOCAB + tokens
        logits = ops.take(ops.reshape(ops.convert_to_tensor(table), (-1, VOCAB)), at, axis=0)
        return ops.cast(logits, dtype), index + 1

    found = greedy_search(step, ops.zeros((), "int32"), ops.convert_to_tensor(LIMITS), STEPS)
    np.testing.assert_allclose(as_arrays(found)[1], expected_of(rounded, LIMITS)[1], 1e-5, 1e-6)


@on("tensorflow")
def test_one_graph_for_any_batch(table):
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32), tf.TensorSpec([], tf.int32)])
    def search(limits, max_length):
        # The tables of the first sentences: `limits` alone tells how many there are.
        chosen = tf.constant(table)[: tf.shape(limits)[0]]
        rows = tf.range(tf.shape(limits)[0])

        def step(tokens, index):
            return tf.gather_nd(chosen[:, index], tf.stack([rows, tokens], 1)), index + 1

        return greedy_search(step, tf.zeros([], tf.int32), limits, max_length)

    for size in (BATCH, 1, 3):
        expected = expected_of(table[:size], LIMITS[:size])
        assert_found(search(LIMITS[:size], STEPS), expected)
    ids, scores = search(np.zeros(0, "int32"), STEPS)
    assert (ids.shape, scores.shape) == ((0, STEPS), (0,))
    assert search.experimental_get_tracing_count() == 1


@on("jax")
def test_compiled_by_jax(table):
    import jax

    found = jax.jit(search_by_table)(table, LIMITS)
    assert_found(found, expected_of(table, LIMITS))


@pytest.mark.filterwarnings("ignore:You are using a softmax over axis -1:UserWarning")
def test_equals_a_search_without_a_cache():
    """Each next token of a real model by decoding the whole prefix again, unpadded and alone."""
    size = dict(num_layers=2, d_model=16, d_ff=24, num_heads=2, max_length=16)
    config = TransformerConfig(vocab_size=11, **size, tie_embeddings=False, norm_first=True)
    model = vary(Transformer(config), seed=187)
    source = np.array(
        [[4, 9, 6, 7, 5, 3], [8, 6, 3, 0, 0, 0], [3, 0, 0, 0, 0, 0], [5, 5, 10, 3, 0, 0]], "int32"
    )
    limits, max_length = np.array([8, 8, 8, 5], "int32"), 8

    state = model.start_decoding(source, max_length)
    ids, scores = as_arrays(
        greedy_search(model.decode_step, state, ops.convert_to_tensor(limits), max_length)
    )
    # Different sentences, of which some end by themselves.
    assert [EOS_ID in row for row in ids] == [True, True, False, True]
    assert len(np.unique(ids)) > 4
    for i, limit in enumerate(limits):
        alone = source[i : i + 1, : np.count_nonzero(source[i])]
        memory = model.encode(alone)
        # JAX compiles every shape; there, padding, which cannot be seen from before, keeps it.
        prefix, expected, score = np.array([[BOS_ID] + [PAD_ID] * 8], "int32"), [], 0.0
        while len(expected) < limit and EOS_ID not in expected:
            seen = prefix[:, : len(expected) + 1] if BACKEND == "tensorflow" else prefix
            logits = ops.convert_to_numpy(model.decode(seen, memory, alone))[0, len(expected)]
            logits = logits.astype("float64")
            expected.append(best_of(logits))
            score += logits[expected[-1]] - np.log(np.exp(logits).sum())
            prefix[0, len(expected)] = expected[-1]
        assert ids[i].tolist() == expected + [PAD_ID] * (max_length - len(expected))
        np.testing.assert_allclose(scores[i], score, rtol=1e-4)
