"""Beam search against all hypotheses that there are, and against a beam in plain Python."""

import math

import numpy as np
import pytest
from keras import ops
from plain_search import (
    BACKEND,
    SOURCE,
    HistoryModel,
    as_arrays,
    assert_found,
    beam_search_in_python,
    best_of_all,
    on,
    penalty,
    random_transformer,
    several,
    transformer_in_python,
)

from keras_transformer.decoding import beam_search, greedy_search
from keras_transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID

pytestmark = pytest.mark.any_backend

LIMITS = np.array([9, 5, 1, 12, 0, 7, 2], "int32")


def search_histories(model, limits, max_length=12, beam_size=4, **options):
    limits = ops.convert_to_tensor(limits)
    state = model.start(beam_size)
    return beam_search(model.step, state, limits, max_length, beam_size=beam_size, **options)


def expected_of(model, limits, beam_size, alpha, n=1):
    return [
        beam_search_in_python(model.next_log_probs(i), limit, beam_size, alpha, n)
        for i, limit in enumerate(limits)
    ]


@pytest.mark.parametrize("alpha", several([0.0, 0.6, 1.2]))
def test_a_beam_that_holds_everything_finds_the_best_there_is(alpha):
    model, n = HistoryModel.random(seed=1, batch=5, eos=-1.5), 7
    limits = np.array([6, 5, 6, 1, 3], "int32")
    # Three tokens go on and eos ends: 3^5 * 4 candidates at the last of six steps.
    found = search_histories(model, limits, 6, beam_size=972, alpha=alpha, num_hypotheses=n)
    expected = [
        best_of_all(model.next_log_probs(i), limit, alpha, n) for i, limit in enumerate(limits)
    ]
    assert len(expected[3]) == 4
    assert_found(found, expected)


@pytest.mark.parametrize(
    ("beam_size", "alpha"), several([(2, 0.0), (2, 0.6), (3, 0.6), (3, 1.2), (4, 0.0), (4, 1.2)])
)
def test_equals_a_beam_in_plain_python(beam_size, alpha):
    model = HistoryModel.random(seed=4, batch=7, vocab=9)
    options = dict(alpha=alpha, num_hypotheses=beam_size)
    found = search_histories(model, LIMITS, beam_size=beam_size, **options)
    assert_found(found, expected_of(model, LIMITS, beam_size, alpha, beam_size))


def test_sentences_with_penalties_of_their_own():
    model = HistoryModel.random(seed=4, batch=7, vocab=9)
    alphas = np.array([0.0, 1.2, 0.6, -0.5, 1.2, 0.0, 2.5], "float32")
    found = search_histories(model, LIMITS, alpha=ops.convert_to_tensor(alphas))
    expected = [
        beam_search_in_python(model.next_log_probs(i), limit, 4, float(alpha))
        for i, (limit, alpha) in enumerate(zip(LIMITS, alphas, strict=True))
    ]
    assert_found(found, expected)


def test_the_beams_differ_from_greedy_search_and_from_each_other():
    """What the test above compares is not all the same."""
    model = HistoryModel.random(seed=4, batch=7, vocab=9)
    best = {
        (beam_size, alpha): [one[0][0] for one in expected_of(model, LIMITS, beam_size, alpha)]
        for beam_size in (1, 2, 4)
        for alpha in (0.0, 1.2)
    }
    assert best[1, 0.0] != best[2, 0.0] != best[4, 0.0]
    assert best[4, 0.0] != best[4, 1.2]
    assert any(EOS_ID not in ids for ids in best[4, 1.2])
    assert any(EOS_ID in ids and len(ids) > 2 for ids in best[4, 1.2])


@pytest.mark.parametrize("alpha", several([2.5, -0.5]))
def test_unusual_penalties(alpha):
    model = HistoryModel.random(seed=5, batch=4, eos=-1.5)
    limits = np.array([5, 5, 4, 2], "int32")
    found = search_histories(model, limits, 5, beam_size=324, alpha=alpha)
    expected = [
        best_of_all(model.next_log_probs(i), limit, alpha, 1) for i, limit in enumerate(limits)
    ]
    assert_found(found, expected)


@pytest.mark.filterwarnings("ignore:You are using a softmax over axis -1:UserWarning")
def test_equals_a_beam_in_plain_python_without_a_cache():
    model, plain = transformer_in_python(seed=187)
    limits, max_length = np.array([8, 6, 8, 5], "int32"), 8
    different = set()
    for beam_size, alpha in several([(4, 0.0), (3, 1.2)]):
        state = model.start_decoding(SOURCE, max_length, beam_size)
        found = beam_search(
            model.decode_step,
            state,
            ops.convert_to_tensor(limits),
            max_length,
            beam_size=beam_size,
            alpha=alpha,
            num_hypotheses=2,
        )
        expected = [
            beam_search_in_python(one, limit, beam_size, alpha, n=2)
            for one, limit in zip(plain, limits, strict=True)
        ]
        assert_found(found, expected, rtol=1e-4)
        different.update(ids for best in expected for ids, _, _ in best)
    assert len(different) > 6


@pytest.mark.parametrize("alpha", several([0.0, 0.6, 2.0]))
def test_a_beam_of_one_is_greedy_search(alpha):
    model = HistoryModel.random(seed=6, batch=7)
    found = as_arrays(search_histories(model, LIMITS, beam_size=1, alpha=alpha))
    greedy = as_arrays(greedy_search(model.step, model.start(), ops.convert_to_tensor(LIMITS), 12))
    np.testing.assert_array_equal(found[0], greedy[0])
    np.testing.assert_array_equal(found[1], greedy[1])
    lengths = np.count_nonzero(greedy[0], axis=2)
    np.testing.assert_allclose(found[2], greedy[1] / penalty(lengths, alpha), rtol=1e-6)


# A model of two hypotheses: eos at once, of log-probability -1, or token 4 until step 6 and then
# eos, -1.2 in all. What is missing to a probability of 1 has padding, which nobody chooses.
SHORT, LONG = (EOS_ID,), (4, 4, 4, 4, 4, 4, EOS_ID)
NEVER = -30.0


def short_or_long(counted, limit, beam_size=2, **options):
    first = np.full(6, NEVER, "float32")
    first[[EOS_ID, 4, PAD_ID]] = -1.0, -1.2, math.log(1 - math.exp(-1.0) - math.exp(-1.2))
    table = np.full((13, 6), NEVER, "float32")
    table[0], table[1:6, 4], table[6:, EOS_ID] = first, 0.0, 0.0

    def step(tokens, parents, index):
        counted.append(index)
        logits = ops.take(ops.convert_to_tensor(table), index, axis=0)
        return ops.zeros((1, beam_size, 1)) + logits, index + 1

    zero, limits = ops.zeros((), "int32"), ops.convert_to_tensor(np.array([limit], "int32"))
    return beam_search(step, zero, limits, 13, beam_size=beam_size, **options)


def assert_steps(counted, steps):
    # JAX compiles the loop, so that its steps cannot be counted from outside.
    if BACKEND == "tensorflow":
        assert len(counted) == steps


def test_the_length_penalty_decides_between_short_and_long():
    # |Y| is 1 and 7: penalties of 1 and 2^alpha, equal scores at 2^alpha = 1.2.
    even = math.log2(1.2)
    short, long = (SHORT, -1.0), (LONG, -1.2)
    for alpha, order in ((even - 0.01, [short, long]), (even + 0.01, [long, short])):
        found = short_or_long([], 13, alpha=alpha, num_hypotheses=2)
        expected = [(ids, value, value / 2 ** (alpha * (len(ids) > 1))) for ids, value in order]
        assert_found(found, [expected], rtol=1e-4)


@pytest.mark.parametrize(
    ("limit", "alpha", "steps", "best", "score"),
    [
        # -1.2 is less than -1 without a penalty, and it only falls.
        (13, 0.0, 1, SHORT, -1.0),
        # At length 13 the penalty would be 3; at length 7, where `LONG` ends, it is 2. After it no
        # hypothesis has more than about -30.
        (13, 1.0, 7, LONG, -0.6),
        # At length 2 the penalty is 7 / 6: -1.2 would become -1.03.
        (2, 1.0, 1, SHORT, -1.0),
        # At length 3 it is 8 / 6, and the limit ends it there: -0.9.
        (3, 1.0, 3, (4, 4, 4), -0.9),
        (1, 1.0, 1, SHORT, -1.0),
        (0, 1.0, 0, (), 0.0),
    ],
)
def test_stops_as_soon_as_nothing_can_win_and_not_before(limit, alpha, steps, best, score):
    counted = []
    ids, _, scores = as_arrays(short_or_long(counted, limit, alpha=alpha))
    assert ids[0, 0].tolist() == [*best, *[PAD_ID] * (13 - len(best))]
    np.testing.assert_allclose(scores, [[score]], rtol=1e-5)
    assert_steps(counted, steps)


def test_goes_on_for_the_second_best():
    counted = []
    found = short_or_long(counted, 13, alpha=0.0, num_hypotheses=2)
    assert_found(found, [[(SHORT, -1.0, -1.0), (LONG, -1.2, -1.2)]])
    assert_steps(counted, 7)


def test_eos_beyond_the_beam_does_not_count():
    """Third of the candidates at the first step, eos would have won by the score of its length."""
    first = np.full(6, NEVER, "float32")
    first[[4, 5, EOS_ID]] = np.log([0.4, 0.35, 0.25])
    # Then many tokens are equally probable, and the limit is far away.
    table = np.stack([first] + [np.full(6, -math.log(6), "float32")] * 4)

    def step(tokens, parents, index):
        return ops.zeros((1, 2, 1)) + ops.take(
            ops.convert_to_tensor(table), index, axis=0
        ), index + 1

    limits = ops.convert_to_tensor(np.array([5], "int32"))
    found = beam_search(step, ops.zeros((), "int32"), limits, 5, beam_size=2, alpha=0.0)
    ids, log_probs, _ = as_arrays(found)
    assert ids[0, 0, 0] == 4
    assert log_probs[0, 0] < math.log(0.25)


def test_a_batch_is_its_sentences_one_by_one():
    model = HistoryModel.random(seed=8, batch=7)
    options = dict(beam_size=3, alpha=0.6, num_hypotheses=2)
    found = as_arrays(search_histories(model, LIMITS, **options))
    # JAX compiles each search anew.
    for i in range(7) if BACKEND == "tensorflow" else (0, 3):
        alone = HistoryModel(model.table[i : i + 1])
        for one, batch in zip(
            as_arrays(search_histories(alone, LIMITS[i : i + 1], **options)), found, strict=True
        ):
            np.testing.assert_allclose(one[0], batch[i], rtol=1e-6)


def test_best_first_and_all_different():
    model = HistoryModel.random(seed=9, batch=7)
    ids, log_probs, scores = as_arrays(
        search_histories(model, np.full(7, 8, "int32"), beam_size=6, num_hypotheses=6)
    )
    assert (log_probs > -math.inf).all()
    assert (np.diff(scores) < 0).all()
    # The penalty makes an order that is not that of the log-probabilities.
    assert (np.diff(log_probs) > 0).any()
    for sentence in ids:
        assert len({tuple(row) for row in sentence}) == 6


def test_fewer_hypotheses_than_asked_for():
    model = HistoryModel.random(seed=10, batch=3)
    limits = np.array([1, 0, 2], "int32")
    ids, log_probs, scores = as_arrays(
        search_histories(model, limits, beam_size=20, num_hypotheses=20)
    )
    # Any of four tokens; nothing at all; eos, or one of three and then any of four.
    for i, count in enumerate((4, 1, 13)):
        assert (log_probs[i] > -math.inf).tolist() == [True] * count + [False] * (20 - count)
        assert (scores[i, count:] == -math.inf).all()
        assert (ids[i, count:] == PAD_ID).all()
    assert not ids[1].any()
    # They are all that there are.
    np.testing.assert_array_equal(len({tuple(row) for row in ids[2, :13]}), 13)


def test_neither_padding_nor_bos_is_chosen():
    model = HistoryModel.random(seed=11, batch=4)
    model.table[..., [PAD_ID, BOS_ID]] += 5
    limits = np.array([6, 6, 2, 1], "int32")
    found = search_histories(model, limits, num_hypotheses=3)
    assert_found(found, expected_of(model, limits, 4, 0.6, n=3))
    assert not (as_arrays(found)[0] == BOS_ID).any()


def test_log_probs_are_those_of_the_tokens():
    model = HistoryModel.random(seed=12, batch=7, vocab=9)
    ids, log_probs, scores = as_arrays(search_histories(model, LIMITS, num_hypotheses=4))
    for i in range(7):
        for row, log_prob, score in zip(ids[i], log_probs[i], scores[i], strict=True):
            if log_prob == -math.inf:
                continue
            tokens = tuple(int(token) for token in row[: np.count_nonzero(row)])
            parts = [model.next_log_probs(i)(tokens[:k])[token] for k, token in enumerate(tokens)]
            np.testing.assert_allclose(log_prob, sum(parts), rtol=1e-5, atol=1e-6)
            expected = sum(parts) / penalty(len(tokens), 0.6) if tokens else 0.0
            np.testing.assert_allclose(score, expected, rtol=1e-5, atol=1e-6)


def test_a_bonus_is_added_when_a_hypothesis_ends():
    """Here the penalty of a history depends on its hash, which only the state knows."""
    model = HistoryModel.random(seed=13, batch=4)
    limits = np.array([7, 4, 1, 6], "int32")

    def bonus(state):
        return -ops.cast(state["hash"] % 5, "float32") / 2

    def bonus_in_python(ids):
        code = 0
        for token in (BOS_ID, *ids[:-1]):
            code = (code * 31 + token) % 1009
        return -(code % 5) / 2

    found = search_histories(model, limits, beam_size=3, num_hypotheses=3, bonus=bonus)
    expected = [
        beam_search_in_python(model.next_log_probs(i), limit, 3, 0.6, 3, bonus=bonus_in_python)
        for i, limit in enumerate(limits)
    ]
    assert_found(found, expected)
    assert expected != expected_of(model, limits, 3, 0.6, 3)


@on("tensorflow")
def test_sentences_that_leave_and_a_state_that_grows_change_nothing():
    """Of one trace, for any batch."""
    import tensorflow as tf

    model = HistoryModel.random(seed=14, batch=9, vocab=8, eos=-1.5)
    limits = np.array([40, 1, 0, 40, 16, 17, 33, 40, 2], "int32")

    def search(grows):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.int32), tf.TensorSpec([], tf.int32)])
        def search(limits, max_length):
            state = model.start(beam_size=3, room=0 if grows else 1000)
            state = model.resize(state, tf.range(tf.shape(limits)[0]), state["room"])
            resize = model.resize if grows else None
            options = dict(beam_size=3, num_hypotheses=2, alpha=0.9, resize=resize)
            return beam_search(model.step, state, limits, max_length, **options)

        return search

    growing, fixed = search(grows=True), search(grows=False)
    expected = expected_of(model, limits, 3, 0.9, n=2)
    lengths = [len(best[0][0]) for best in expected]
    # Some end by themselves, in the first segment of the loop and later, and some at their limits.
    assert sum(EOS_ID in best[0][0] for best in expected) >= 3
    assert max(lengths) > 32
    for size in (9, 1, 0):
        assert_found(growing(limits[:size], 40), expected[:size])
    assert_found(fixed(limits, 40), expected)
    assert growing.experimental_get_tracing_count() == 1


@on("tensorflow")
def test_a_sentence_that_leaves_takes_nothing_with_it_of_a_transformer():
    model = random_transformer(seed=187, max_length=40)
    limits = np.array([18, 1, 17, 0], "int32")
    results = []
    for room, resize in ((18, None), (0, model.resize_decoding)):
        state = model.start_decoding(SOURCE, room, beam_size=3)
        options = dict(beam_size=3, num_hypotheses=3, resize=resize)
        results.append(as_arrays(beam_search(model.decode_step, state, limits, 18, **options)))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-4)
    np.testing.assert_allclose(results[0][2], results[1][2], rtol=1e-4)


@on("jax")
def test_compiled_by_jax():
    import jax

    model = HistoryModel.random(seed=4, batch=7, vocab=9)
    found = jax.jit(lambda limits: search_histories(model, limits, alpha=0.6))(LIMITS)
    assert_found(found, expected_of(model, LIMITS, 4, 0.6))


@pytest.mark.parametrize(("beam_size", "n"), [(4, 9), (1, 3), (4, 0), (4, -1), (0, 1), (0, 0)])
def test_bad_arguments(beam_size, n):
    model = HistoryModel.random(seed=0, batch=1)
    with pytest.raises(ValueError, match=rf"num_hypotheses={n}, beam_size={beam_size}"):
        search_histories(model, np.array([5], "int32"), beam_size=beam_size, num_hypotheses=n)
