"""Each constraint against searches in plain Python that allow the same tokens."""

import math

import numpy as np
import pytest
from keras import ops
from plain_search import (
    HistoryModel,
    anything,
    as_arrays,
    assert_found,
    beam_search_in_python,
    on,
    several,
)

from keras_transformer.decoding import beam_search, greedy_search, sample
from keras_transformer.decoding.constraints import (
    at_least,
    ban_tokens,
    forced_prefix,
    no_repeated_ngram,
)
from keras_transformer.text.vocabulary import EOS_ID, PAD_ID, UNK_ID

pytestmark = pytest.mark.any_backend

LIMITS = np.array([12, 12, 9, 2, 0, 12], "int32")
BATCH, LENGTH, BEAM = len(LIMITS), 12, 3


def search_histories(model, constraints, inputs=None, limits=LIMITS):
    state, limits = model.start(BEAM), ops.convert_to_tensor(limits)
    options = dict(constraints=constraints, inputs=inputs, num_hypotheses=BEAM, beam_size=BEAM)
    return beam_search(model.step, state, limits, LENGTH, **options)


def assert_constrained(model, constraints, allowed, inputs=None, limits=LIMITS):
    """Compares a beam with one in Python; `allowed` takes the sentence, tokens and vocab_size.

    That one sums the model's own log-probabilities up, so they are proved to be the scores.
    """
    found = search_histories(model, constraints, inputs, limits)
    expected = []
    for i, limit in enumerate(limits):
        options = dict(allowed=lambda ids, vocab, i=i: allowed(i, ids, vocab), alpha=0.6, n=BEAM)
        model_of_it = model.next_log_probs(i)
        expected.append(beam_search_in_python(model_of_it, limit, BEAM, **options))
    assert_found(found, expected)
    # The constraint made a difference.
    free = as_arrays(search_histories(model, (), limits=limits))[0]
    assert (as_arrays(found)[0] != free).any()
    return [[ids for ids, _, _ in best] for best in expected]


@pytest.mark.parametrize("ids", several([[4], np.array([5]), [UNK_ID, 5, 4]]), ids=str)
def test_banned_tokens(ids):
    model = HistoryModel.random(seed=31, batch=BATCH, vocab=8)
    banned = set(map(int, ids))
    found = assert_constrained(
        model, [ban_tokens(ids)], lambda i, ids, vocab: anything(ids, vocab) - banned
    )
    assert not any(banned & set(ids) for best in found for ids in best)


@pytest.mark.parametrize("length", several([1, 3, 8]))
def test_least_length(length):
    model = HistoryModel.random(seed=32, batch=BATCH, eos=2.0)

    def allowed(i, ids, vocab):
        return anything(ids, vocab) - ({EOS_ID} if len(ids) < length else set())

    found = assert_constrained(model, [at_least(length)], allowed)
    for best, limit in zip(found, LIMITS, strict=True):
        # With eos not counted; the limit of a sentence goes before it.
        assert min(len(ids) - (EOS_ID in ids) for ids in best) >= min(length, limit)
    assert any(len(ids) == length + 1 for ids in found[0])


def ngrams(ids, n):
    return [ids[start : start + n] for start in range(len(ids) - n + 1)]


@pytest.mark.parametrize("n", several([1, 2, 3]))
def test_no_repeated_ngram(n):
    # Few tokens that are likely, so that there would be repetitions.
    model = HistoryModel.random(seed=34, batch=BATCH, vocab=17, eos=-3.0)
    model.table[..., 4:7] += 3

    def allowed(i, ids, vocab):
        return {
            token
            for token in anything(ids, vocab)
            if len(set(ngrams((*ids, token), n))) == len(ngrams((*ids, token), n))
        }

    free = as_arrays(search_histories(model, ()))[0][0, 0].tolist()
    assert len(set(ngrams(tuple(free), n))) < len(ngrams(free, n))
    found = assert_constrained(model, [no_repeated_ngram(n)], allowed)
    assert max(len(ids) for best in found for ids in best) > 8


def test_ngrams_longer_than_any_translation():
    model = HistoryModel.random(seed=35, batch=BATCH)
    free = as_arrays(search_histories(model, ()))
    found = as_arrays(search_histories(model, [no_repeated_ngram(20)]))
    np.testing.assert_array_equal(free[0], found[0])
    np.testing.assert_allclose(free[1], found[1], rtol=1e-6)


PREFIX = np.array(
    [[5, 4, 4, 7], [6, 6, 0, 0], [0, 0, 0, 0], [7, 5, 6, 4], [5, 0, 0, 0], [4, 3, 0, 0]], "int32"
)


def prefix_first(allowed):
    def allowed_with_prefix(i, ids, vocab):
        if len(ids) < PREFIX.shape[1] and PREFIX[i, len(ids)] != PAD_ID:
            return {int(PREFIX[i, len(ids)])}
        return allowed(i, ids, vocab)

    return allowed_with_prefix


def test_forced_prefix():
    """Of different lengths, none at all, beyond the limit, and one with eos."""
    model = HistoryModel.random(seed=36, batch=BATCH, vocab=8)
    allowed = prefix_first(lambda i, ids, vocab: anything(ids, vocab))
    found = assert_constrained(model, [forced_prefix], allowed, {"prefix": PREFIX})
    assert {ids[:4] for ids in found[0]} == {(5, 4, 4, 7)}
    assert {ids[:2] for ids in found[1]} == {(6, 6)}
    # Cut at the limit, nothing, and ended by its own eos: one hypothesis each.
    assert found[3:] == [[(7, 5)], [()], [(4, EOS_ID)]]


def test_a_prefix_goes_before_other_constraints():
    model = HistoryModel.random(seed=37, batch=BATCH, vocab=8, eos=1.0)
    constraints = [ban_tokens([4, 7]), at_least(6), no_repeated_ngram(1), forced_prefix]

    def others(i, ids, vocab):
        allowed = anything(ids, vocab) - {4, 7} - set(ids)
        return allowed - ({EOS_ID} if len(ids) < 6 else set())

    # Of five tokens, no six are different: what has no way on is no hypothesis.
    found = assert_constrained(model, constraints, prefix_first(others), {"prefix": PREFIX})
    assert found[1] == []
    assert found[5] == [(4, EOS_ID)]
    # `4` is twice in the prefix of the first sentence, and 7 is banned.
    constraints = [ban_tokens([4, 7]), no_repeated_ngram(1), forced_prefix]

    def others(i, ids, vocab):
        return anything(ids, vocab) - {4, 7} - set(ids)

    found = assert_constrained(model, constraints, prefix_first(others), {"prefix": PREFIX})
    assert {ids[:4] for ids in found[0]} == {(5, 4, 4, 7)}


def test_constraints_together():
    model = HistoryModel.random(seed=38, batch=BATCH, vocab=9, eos=1.5)

    def allowed(i, ids, vocab):
        tokens = anything(ids, vocab) - {5}
        if len(ids) < 4:
            tokens -= {EOS_ID}
        return {token for token in tokens if len(ids) < 2 or (ids[-1], token) != ids[:2]}

    # A constraint as a user writes one: the first bigram may not come again.
    def not_the_first_bigram_again(allowed, logits, live, index):
        first, second = live.ids[:, :, :1], live.ids[:, :, 1:2]
        again = ops.logical_and(ops.equal(ops.expand_dims(live.tokens, 2), first), index >= 2)
        is_second = ops.equal(ops.arange(logits.shape[-1], dtype="int32"), second)
        return ops.where(ops.logical_and(again, is_second), -math.inf, allowed)

    constraints = [ban_tokens([5]), at_least(4), not_the_first_bigram_again]
    assert_constrained(model, constraints, allowed)


def test_nothing_is_allowed():
    model = HistoryModel.random(seed=39, batch=BATCH)
    found = as_arrays(search_histories(model, [ban_tokens(range(6))]))
    assert not found[0].any()
    # A sentence without a step still has its empty translation.
    expected = np.full((BATCH, BEAM), -math.inf)
    expected[4, 0] = 0.0
    np.testing.assert_array_equal(found[1], expected)
    np.testing.assert_array_equal(found[2], expected)


def test_of_greedy_search_and_of_samples():
    model = HistoryModel.random(seed=40, batch=BATCH, vocab=8, eos=1.0)
    limits = ops.convert_to_tensor(LIMITS)
    options = dict(constraints=[ban_tokens([6]), at_least(3), forced_prefix])
    options["inputs"] = {"prefix": PREFIX}

    def allowed(i, ids, vocab):
        return anything(ids, vocab) - {6} - ({EOS_ID} if len(ids) < 3 else set())

    expected = []
    for i, limit in enumerate(LIMITS):

        def of_sentence(ids, vocab, i=i):
            return prefix_first(allowed)(i, ids, vocab)

        plain = model.next_log_probs(i)
        expected.append(beam_search_in_python(plain, limit, 1, allowed=of_sentence))
    greedy = greedy_search(model.step, model.start(), limits, LENGTH, **options)
    assert_found(greedy, expected)

    state = model.start(beam_size=20)
    found = sample(model.step, state, limits, LENGTH, num_hypotheses=20, seed=3, **options)
    ids, log_probs, _ = as_arrays(found)
    for i in range(BATCH):
        for row, log_prob in zip(ids[i], log_probs[i], strict=True):
            tokens = tuple(int(token) for token in row[: np.count_nonzero(row)])
            parts = []
            for k, token in enumerate(tokens):
                assert token in prefix_first(allowed)(i, tokens[:k], 8)
                parts.append(model.next_log_probs(i)(tokens[:k])[token])
            if LIMITS[i]:
                np.testing.assert_allclose(log_prob, sum(parts), rtol=1e-5)


@on("tensorflow")
def test_inputs_leave_with_their_sentences():
    model = HistoryModel.random(seed=41, batch=BATCH, vocab=17, eos=-1.0)
    limits = np.array([1, 28, 0, 17, 28, 2], "int32")
    # A prefix that lasts into the second segment of the loop.
    prefix = np.random.default_rng(0).integers(4, 17, size=(BATCH, 20)).astype("int32")
    constraints = [no_repeated_ngram(2), forced_prefix]
    results = []
    for room, resize in ((1000, None), (0, model.resize)):
        options = dict(beam_size=BEAM, resize=resize, inputs={"prefix": prefix})
        state = model.start(BEAM, room=room)
        found = beam_search(model.step, state, limits, 28, constraints=constraints, **options)
        results.append(as_arrays(found))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-6)
    np.testing.assert_array_equal(results[0][0][1, 0, :20], prefix[1])
    bigrams = ngrams(tuple(results[0][0][1, 0, 19:].tolist()), 2)
    bigrams = [pair for pair in bigrams if PAD_ID not in pair]
    assert len(set(bigrams)) == len(bigrams)
