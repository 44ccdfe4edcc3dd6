"""Ensembles against mean probabilities in NumPy, and against all hypotheses that there are."""

import numpy as np
import pytest
from keras import ops
from plain_search import (
    HistoryModel,
    as_arrays,
    assert_found,
    beam_search_in_python,
    best_of_all,
    log_softmax,
    mean_of,
    on,
    several,
)

from keras_transformer.decoding import beam_search, greedy_search
from keras_transformer.decoding.ensemble import ensemble_resize, ensemble_step, mean_log_probs

pytestmark = pytest.mark.any_backend


@pytest.mark.parametrize("scale", [1, 100])
@pytest.mark.parametrize("count", [2, 3])
def test_mean_of_probabilities(count, scale):
    logits = np.random.default_rng(0).normal(size=(count, 2, 3, 7)).astype("float32") * scale
    # Models may differ by constants, which change no probability.
    logits[1] += 50
    found = mean_log_probs([ops.convert_to_tensor(one) for one in logits])
    expected = np.exp(log_softmax(logits)).mean(axis=0)
    np.testing.assert_allclose(np.exp(ops.convert_to_numpy(found)), expected, rtol=2e-5, atol=1e-7)


@pytest.mark.parametrize("dtype", several(["float16", "bfloat16"]))
def test_half_precision_is_averaged_in_float32(dtype):
    logits = np.random.default_rng(0).normal(size=(2, 4, 7)).astype("float32")
    half = [ops.cast(one, dtype) for one in logits]
    found = ops.convert_to_numpy(mean_log_probs(half))
    assert found.dtype == "float32"
    exact = [np.exp(log_softmax(ops.convert_to_numpy(ops.cast(one, "float32")))) for one in half]
    np.testing.assert_allclose(np.exp(found), np.mean(exact, axis=0), rtol=1e-5)


def test_a_single_model_keeps_its_logits():
    logits = np.random.default_rng(0).normal(size=(2, 3, 7)).astype("float32")
    np.testing.assert_array_equal(ops.convert_to_numpy(mean_log_probs([logits])), logits)


def search_together(models, limits, beam_size, **options):
    step = ensemble_step([model.step for model in models])
    states = [model.start(beam_size) for model in models]
    limits = ops.convert_to_tensor(np.array(limits, "int32"))
    return beam_search(step, states, limits, 6, beam_size=beam_size, **options)


LIMITS = [6, 4, 6, 1]


def test_a_model_and_itself_is_the_model():
    model = HistoryModel.random(seed=1, batch=4)
    options = dict(beam_size=3, num_hypotheses=3)
    alone = as_arrays(search_together([model], LIMITS, **options))
    twice = as_arrays(search_together([model, model], LIMITS, **options))
    np.testing.assert_array_equal(alone[0], twice[0])
    np.testing.assert_allclose(alone[1], twice[1], rtol=1e-5)
    np.testing.assert_allclose(alone[2], twice[2], rtol=1e-5)


def test_finds_the_best_under_mean_probabilities():
    models = [HistoryModel.random(seed=seed, batch=4, eos=-2.0) for seed in (1, 2)]
    plain = [mean_of([model.next_log_probs(i) for model in models]) for i in range(4)]
    expected = [best_of_all(plain[i], LIMITS[i], 0.6, n=4) for i in range(4)]
    # A beam that holds all: 3^5 * 4.
    assert_found(search_together(models, LIMITS, beam_size=972, num_hypotheses=4), expected)
    for model in models:
        own = [best_of_all(model.next_log_probs(i), LIMITS[i], 0.6, n=4) for i in range(4)]
        for best, best_of_one in list(zip(expected, own, strict=True))[:3]:
            assert [ids for ids, *_ in best] != [ids for ids, *_ in best_of_one]


def test_greedily():
    models = [HistoryModel.random(seed=seed, batch=4) for seed in (3, 4, 5)]
    step = ensemble_step([model.step for model in models])
    limits = ops.convert_to_tensor(np.array(LIMITS, "int32"))
    found = greedy_search(step, [model.start() for model in models], limits, 6)
    plain = [mean_of([model.next_log_probs(i) for model in models]) for i in range(4)]
    assert_found(found, [beam_search_in_python(plain[i], LIMITS[i], 1) for i in range(4)])


@on("tensorflow")
def test_all_states_are_resized():
    models = [HistoryModel.random(seed=seed, batch=4, eos=-1.5) for seed in (1, 2)]
    limits = np.array([30, 0, 1, 17], "int32")
    found = beam_search(
        ensemble_step([model.step for model in models]),
        [model.start(beam_size=2, room=0) for model in models],
        limits,
        30,
        beam_size=2,
        resize=ensemble_resize([model.resize for model in models]),
    )
    plain = [mean_of([model.next_log_probs(i) for model in models]) for i in range(4)]
    expected = [beam_search_in_python(plain[i], limits[i], 2, alpha=0.6) for i in range(4)]
    assert_found(found, expected)


def test_as_many_states_as_models():
    model = HistoryModel.random(seed=1, batch=1)
    tokens = ops.zeros((1, 1), "int32")
    with pytest.raises(ValueError, match="zip"):
        ensemble_step([model.step, model.step])(tokens, tokens, [model.start()])
    with pytest.raises(ValueError, match="zip"):
        ensemble_resize([model.resize])([model.start()] * 2, np.array([0]), 5)
