"""Greedy search against a loop in plain Python, and against a search that caches nothing."""

import numpy as np
import pytest
from keras import ops
from plain_search import (
    BACKEND,
    SOURCE,
    HistoryModel,
    as_arrays,
    beam_search_in_python,
    log_softmax,
    on,
    transformer_in_python,
)
from plain_search import assert_found as assert_hypotheses

from keras_transformer.decoding import greedy_search
from keras_transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID

pytestmark = pytest.mark.any_backend

BATCH, STEPS, VOCAB = 6, 9, 7
LIMITS = np.array([9, 4, 1, 9, 0, 7], "int32")


@pytest.fixture
def table():
    """Logits that depend on the sentence, the step and the newest token."""
    table = np.random.default_rng(3).normal(size=(BATCH, STEPS, VOCAB, VOCAB)).astype("float32")
    # Sentences 0 to 2 go on to their limits, 3 ends in the midst, and 5 at once.
    table[:3, ..., EOS_ID] = -9
    table[3, :4, ..., EOS_ID] = -9
    table[3, 4, :, EOS_ID] = table[5, 0, :, EOS_ID] = 9
    return table


def search_by_table(table, limits, max_length=STEPS, dtype="float32"):
    """`greedy_search` in a model that looks its logits up; the state counts the steps."""
    rows = ops.expand_dims(ops.arange(len(table), dtype="int32"), 1)

    def step(tokens, parents, state):
        at = (rows * STEPS + state["index"]) * VOCAB + tokens
        logits = ops.take(ops.reshape(state["table"], (-1, VOCAB)), at, axis=0)
        return ops.cast(logits, dtype), {"table": state["table"], "index": state["index"] + 1}

    state = {"table": ops.convert_to_tensor(table), "index": ops.zeros((), "int32")}
    return greedy_search(step, state, ops.convert_to_tensor(limits), max_length)


def search_in_python(table, limit):
    """One sentence, one step at a time, in Python's own floats."""
    token, ids, score = BOS_ID, [], 0.0
    while len(ids) < limit:
        log_probs = log_softmax(table[len(ids), token])
        token = max(set(range(VOCAB)) - {PAD_ID, BOS_ID}, key=log_probs.__getitem__)
        ids.append(token)
        score += log_probs[token]
        if token == EOS_ID:
            break
    return ids, score


def expected_of(table, limits):
    found = [search_in_python(*sentence) for sentence in zip(table, limits, strict=True)]
    ids = [row + [PAD_ID] * (STEPS - len(row)) for row, _ in found]
    return np.array(ids), np.array([score for _, score in found])


def assert_found(found, expected):
    ids, log_probs, scores = as_arrays(found)
    assert (ids.dtype, log_probs.dtype, scores.dtype) == ("int32", "float32", "float32")
    np.testing.assert_array_equal(ids, expected[0][:, None])
    np.testing.assert_allclose(log_probs, expected[1][:, None], rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(scores, log_probs)


def test_equals_a_loop_in_plain_python(table):
    expected = expected_of(table, LIMITS)
    lengths = np.count_nonzero(expected[0], axis=1)
    ended = (expected[0] == EOS_ID).any(axis=1)
    # The table has each kind of sentence: cut at a limit, without a step, and ended early.
    assert list(ended) == [False, False, False, True, False, True]
    assert lengths.tolist() == [9, 4, 1, 5, 0, 1]
    assert_found(search_by_table(table, LIMITS), expected)


def test_a_sentence_does_not_depend_on_its_batch(table):
    ids, scores, _ = as_arrays(search_by_table(table, LIMITS))
    # JAX compiles each search anew.
    for i in range(BATCH) if BACKEND == "tensorflow" else (0, 3):
        alone = as_arrays(search_by_table(table[i : i + 1], LIMITS[i : i + 1]))
        np.testing.assert_array_equal(alone[0][0], ids[i])
        np.testing.assert_allclose(alone[1][0], scores[i], rtol=1e-6)


def test_only_padding_follows_eos(table):
    table[..., EOS_ID] += 2
    ids = as_arrays(search_by_table(table, np.full(BATCH, STEPS, "int32")))[0][:, 0]
    after = np.cumsum(ids == EOS_ID, axis=1) - (ids == EOS_ID) > 0
    assert after.sum() > STEPS
    assert (ids[after] == PAD_ID).all()
    assert (ids[~after] != PAD_ID).all()


def test_no_steps_at_all(table):
    found = as_arrays(search_by_table(table, np.zeros(BATCH, "int32"), max_length=1))
    assert found[0].tolist() == [[[PAD_ID]]] * BATCH
    assert found[1].tolist() == found[2].tolist() == [[0.0]] * BATCH


def test_limit_beyond_the_maximum(table):
    limits = np.full(BATCH, 1000, "int32")
    ids, *_ = as_arrays(search_by_table(table, limits, max_length=5))
    assert ids.shape == (BATCH, 1, 5)
    np.testing.assert_array_equal(ids[:, 0], expected_of(table, np.full(BATCH, 5))[0][:, :5])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_scores_of_half_precision_logits_are_summed_in_float32(table, dtype):
    rounded = ops.convert_to_numpy(ops.cast(ops.cast(table, dtype), "float32"))
    assert_found(search_by_table(table, LIMITS, dtype=dtype), expected_of(rounded, LIMITS))


@on("tensorflow")
def test_one_graph_for_any_batch(table):
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32), tf.TensorSpec([], tf.int32)])
    def search(limits, max_length):
        # The tables of the first sentences: `limits` alone tells how many there are.
        chosen = tf.constant(table)[: tf.shape(limits)[0]]
        rows = tf.range(tf.shape(limits)[0])[:, None]

        def step(tokens, parents, index):
            return tf.gather_nd(chosen[:, index], tf.stack([rows, tokens], 2)), index + 1

        return greedy_search(step, tf.zeros([], tf.int32), limits, max_length)

    for size in (BATCH, 1, 3):
        expected = expected_of(table[:size], LIMITS[:size])
        assert_found(search(LIMITS[:size], STEPS), expected)
    ids, log_probs, scores = search(np.zeros(0, "int32"), STEPS)
    assert (ids.shape, log_probs.shape, scores.shape) == ((0, 1, STEPS), (0, 1), (0, 1))
    assert search.experimental_get_tracing_count() == 1


@on("tensorflow")
@pytest.mark.parametrize("limits", [[40, 0, 1, 17, 16, 40], [0] * 6, [16] * 6])
def test_sentences_that_leave_and_a_state_that_grows_change_nothing(limits):
    model = HistoryModel.random(seed=2, batch=6, eos=-1.5)
    limits = np.array(limits, "int32")
    expected = [
        beam_search_in_python(model.next_log_probs(i), limit, beam_size=1)
        for i, limit in enumerate(limits)
    ]
    found = greedy_search(model.step, model.start(room=0), limits, 40, resize=model.resize)
    assert_hypotheses(found, expected)


@on("jax")
def test_compiled_by_jax(table):
    import jax

    found = jax.jit(search_by_table)(table, LIMITS)
    assert_found(found, expected_of(table, LIMITS))


@pytest.mark.filterwarnings("ignore:You are using a softmax over axis -1:UserWarning")
def test_equals_a_search_without_a_cache():
    """Each next token of a real model by decoding the whole prefix again, unpadded and alone."""
    model, plain = transformer_in_python(seed=187)
    limits, max_length = np.array([8, 8, 8, 5], "int32"), 8
    state = model.start_decoding(SOURCE, max_length)
    found = greedy_search(model.decode_step, state, ops.convert_to_tensor(limits), max_length)
    # Different sentences, of which some end by themselves.
    ids = as_arrays(found)[0][:, 0]
    assert [EOS_ID in row for row in ids] == [True, True, False, True]
    assert len(np.unique(ids)) > 4
    expected = [
        beam_search_in_python(one, limit, beam_size=1)
        for one, limit in zip(plain, limits, strict=True)
    ]
    assert_hypotheses(found, expected, rtol=1e-4)
