"""Samples against the exact distribution of all hypotheses, enumerated in plain Python."""

import collections
import math

import keras
import numpy as np
import pytest
from keras import ops
from plain_search import (
    HistoryModel,
    anything,
    as_arrays,
    log_softmax,
    on,
    several,
)

from keras_transformer.decoding import greedy_search, sample
from keras_transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID

pytestmark = pytest.mark.any_backend

LIMITS = np.array([3, 2], "int32")
SAMPLES = 2000


def sample_histories(model, n=SAMPLES, limits=LIMITS, seed=1, **options):
    limits = ops.convert_to_tensor(limits)
    state = model.start(n)
    return sample(model.step, state, limits, 3, num_hypotheses=n, seed=seed, **options)


def cut(log_probs, temperature, k, p):
    """The probabilities that tokens are drawn with, by the definition of each cut."""
    tokens = sorted(anything((), len(log_probs)), key=lambda token: -log_probs[token])[:k]
    probs = np.exp(log_softmax([log_probs[token] / temperature for token in tokens]))
    count = next((i + 1 for i in range(len(probs)) if probs[: i + 1].sum() >= p), len(probs))
    return dict(zip(tokens[:count], probs[:count] / probs[:count].sum(), strict=True))


def distribution(next_log_probs, limit, temperature=1.0, top_k=None, top_p=1.0, ids=()):
    if len(ids) == limit or EOS_ID in ids:
        return {ids: 1.0}
    cuts = temperature, top_k, top_p
    result = {}
    for token, prob in cut(next_log_probs(ids), *cuts).items():
        rest = distribution(next_log_probs, limit, *cuts, (*ids, token))
        result.update((one, prob * of_rest) for one, of_rest in rest.items())
    return result


def as_tuples(ids):
    return [tuple(int(token) for token in row[: np.count_nonzero(row)]) for row in ids]


def assert_distributed(ids, expected):
    """Pearson's chi-squared test at five standard deviations, rare outcomes taken together."""
    counts = collections.Counter(as_tuples(ids))
    assert set(counts) <= set(expected)
    observed, means = [0], [0.0]
    for one, prob in expected.items():
        if prob * len(ids) < 5:
            observed[0] += counts[one]
            means[0] += prob * len(ids)
        else:
            observed.append(counts[one])
            means.append(prob * len(ids))
    bins = [(o - m) ** 2 / m for o, m in zip(observed, means, strict=True) if m]
    degrees = len(bins) - 1
    assert sum(bins) < degrees + 5 * math.sqrt(2 * degrees) + 1e-9


@pytest.mark.parametrize(
    "options",
    several(
        [
            {},
            {"temperature": 3.0},
            {"top_k": 2},
            {"top_p": 0.85},
            {"temperature": 2.0, "top_k": 3, "top_p": 0.8},
        ]
    ),
    ids=str,
)
def test_frequencies_are_those_of_the_distribution(options):
    model = HistoryModel.random(seed=21, batch=2)
    ids, _, _ = as_arrays(sample_histories(model, **options))
    for i, limit in enumerate(LIMITS):
        expected = distribution(model.next_log_probs(i), limit, **options)
        assert_distributed(ids[i], expected)


def test_the_options_make_different_distributions():
    """What the test above compares is not all the same."""
    model = HistoryModel.random(seed=21, batch=2)
    full = distribution(model.next_log_probs(0), 3)
    assert len(full) == 1 + 3 + 9 * 4
    likeliest = max(full, key=full.get)
    for options in ({"temperature": 0.5}, {"temperature": 3.0}, {"top_k": 2}, {"top_p": 0.85}):
        other = distribution(model.next_log_probs(0), 3, **options)
        assert len(other) < len(full) or abs(other[likeliest] - full[likeliest]) > 0.05


def test_a_vocabulary_that_is_cut_into_chunks():
    """Tokens of one step from 1,024, of which few are likely."""
    table = np.random.default_rng(0).normal(size=(1, 1009, 1024)).astype("float32")
    table[..., 700:706] += 6
    model = HistoryModel(table)
    limits = np.array([1], "int32")
    for options in several([{"top_k": 8}, {"top_p": 0.5}]):
        ids, _, _ = as_arrays(sample_histories(model, limits=limits, **options))
        assert_distributed(ids[0], distribution(model.next_log_probs(0), 1, **options))


@pytest.mark.parametrize(
    "options", several([{}, {"temperature": 0.3, "top_k": 3}, {"top_p": 0.6}]), ids=str
)
def test_log_probs_are_the_models_own(options):
    model = HistoryModel.random(seed=22, batch=2)
    ids, log_probs, scores = as_arrays(sample_histories(model, n=20, **options))
    np.testing.assert_array_equal(log_probs, scores)
    # The most probable ones come first.
    assert (np.diff(log_probs) <= 0).all()
    for i in range(2):
        for tokens, log_prob in zip(as_tuples(ids[i]), log_probs[i], strict=True):
            parts = [model.next_log_probs(i)(tokens[:k])[token] for k, token in enumerate(tokens)]
            np.testing.assert_allclose(log_prob, sum(parts), rtol=1e-5)


def test_a_seed_makes_the_samples():
    model = HistoryModel.random(seed=23, batch=2)

    def samples(**options):
        return as_arrays(sample_histories(model, n=30, **options))[0].tolist()

    assert samples(seed=5) == samples(seed=5)
    assert samples(seed=5) != samples(seed=6)
    generator = keras.random.SeedGenerator(5)
    assert samples(seed=generator) != samples(seed=generator)


def test_a_sentence_does_not_depend_on_when_others_end():
    model = HistoryModel.random(seed=24, batch=2)
    before = as_arrays(sample_histories(model, n=30, limits=np.array([3, 3], "int32")))
    after = as_arrays(sample_histories(model, n=30, limits=np.array([3, 1], "int32")))
    np.testing.assert_array_equal(before[0][0], after[0][0])
    # And that of the other one only ends sooner.
    assert {row[:1] for row in as_tuples(before[0][1])} == set(as_tuples(after[0][1]))


def test_a_sentence_depends_on_its_place_alone():
    """Not on its batch, nor on the room that others need."""
    model = HistoryModel(np.repeat(HistoryModel.random(seed=24, batch=1).table, 2, axis=0))
    places = np.array([[7, 0], [3, 1]], "int32")

    def samples(order):
        found = sample_histories(
            model,
            n=30,
            limits=np.array([3, 3], "int32"),
            places=ops.convert_to_tensor(places[order]),
        )
        return as_arrays(found)[0]

    first, second = samples([0, 1])
    np.testing.assert_array_equal(samples([1, 0])[1], first)
    np.testing.assert_array_equal(samples([1, 1]), [second, second])
    assert first.tolist() != second.tolist()


@pytest.mark.filterwarnings("ignore:You are using a softmax over axis -1:UserWarning")
def test_the_most_probable_token_alone_is_greedy_search():
    model = HistoryModel.random(seed=25, batch=2)
    limits = ops.convert_to_tensor(LIMITS)
    greedy = as_arrays(greedy_search(model.step, model.start(), limits, 3))
    for options in several([{"top_p": 1e-6}, {"temperature": 1e-3}, {"top_k": 1}]):
        ids, log_probs, _ = as_arrays(sample_histories(model, n=3, **options))
        np.testing.assert_array_equal(ids, np.repeat(greedy[0], 3, axis=1))
        np.testing.assert_allclose(log_probs, np.repeat(greedy[1], 3, axis=1), rtol=1e-5)


def test_neither_padding_nor_bos_is_drawn():
    model = HistoryModel.random(seed=26, batch=2)
    model.table[..., [PAD_ID, BOS_ID]] += 9
    ids, log_probs, _ = as_arrays(sample_histories(model, n=200))
    # Padding in the midst would be no difference of the counts of ids and of tokens.
    for row in ids.reshape(-1, 3):
        tokens = row[: np.count_nonzero(row)]
        assert len(tokens)
        assert not np.isin(tokens, [PAD_ID, BOS_ID]).any()
    # Their probability is not given to others: the log-probability stays the model's own.
    assert (log_probs < math.log(0.01)).all()


def test_an_empty_translation():
    model = HistoryModel.random(seed=27, batch=2)
    ids, log_probs, _ = as_arrays(sample_histories(model, n=4, limits=np.array([0, 2], "int32")))
    assert not ids[0].any()
    assert log_probs[0].tolist() == [0.0, -math.inf, -math.inf, -math.inf]
    assert (log_probs[1] > -math.inf).all()


@on("tensorflow")
def test_sentences_that_leave_and_a_state_that_grows_change_nothing():
    model = HistoryModel.random(seed=28, batch=5, eos=-1.0)
    limits = np.array([40, 1, 17, 40, 5], "int32")

    def samples(room, resize):
        options = dict(num_hypotheses=3, top_k=4, seed=9, resize=resize)
        state = model.start(beam_size=3, room=room)
        return as_arrays(sample(model.step, state, limits, 40, **options))

    fixed, growing = samples(1000, None), samples(0, model.resize)
    assert np.count_nonzero(fixed[0], axis=2).max() > 16
    np.testing.assert_array_equal(fixed[0], growing[0])
    np.testing.assert_allclose(fixed[1], growing[1], rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "value"),
    [("temperature", 0.0), ("temperature", -1.0), ("top_k", 0), ("top_p", 0.0), ("top_p", 1.5)],
)
def test_bad_arguments(name, value):
    model = HistoryModel.random(seed=0, batch=2)
    with pytest.raises(ValueError, match=f"`{name}` is out of its range.*{name}={value}"):
        sample_histories(model, n=1, **{name: value})
