"""Searches with small Transformers against ones in plain Python that decode all tokens again."""

import sys

import numpy as np
import pytest
from keras import ops
from plain_search import (
    BACKEND,
    SOURCE,
    anything,
    as_arrays,
    assert_found,
    beam_search_in_python,
    decoded_anew,
    mean_of,
    on,
    random_transformer,
    several,
    transformer_in_python,
    without_padding,
)

from keras_transformer.config import DecodingConfig
from keras_transformer.decoding import search_translations
from keras_transformer.text.vocabulary import BOS_ID, EOS_ID

pytestmark = [
    pytest.mark.any_backend,
    pytest.mark.filterwarnings("ignore:You are using a softmax over axis -1:UserWarning"),
]

LENGTHS = [6, 3, 1, 4]


def expected_of(plain, limits, config, **options):
    options = dict(alpha=config.length_penalty, n=config.num_hypotheses, **options)
    return [
        beam_search_in_python(one, limit, config.beam_size, **options)
        for one, limit in zip(plain, limits, strict=True)
    ]


@pytest.mark.parametrize(
    "config",
    several(
        [
            DecodingConfig(beam_size=1, length_penalty=1.0, max_extra_tokens=5),
            DecodingConfig(beam_size=4, num_hypotheses=3, max_extra_tokens=5),
            DecodingConfig(beam_size=3, length_penalty=0.0, max_extra_tokens=2),
        ]
    ),
    ids=several(["greedy", "beam_4", "beam_3"]),
)
def test_equals_a_search_without_a_cache(config):
    model, plain = transformer_in_python(seed=187)
    # Limits follow from the source, its eos included.
    limits = [length + config.max_extra_tokens for length in LENGTHS]
    expected = expected_of(plain, limits, config)
    assert_found(search_translations([model], SOURCE, config), expected, rtol=1e-4)


def test_an_ensemble_is_as_long_as_its_shortest_model():
    """Whichever comes first: behind the last position of the other there is nothing."""
    models = [random_transformer(seed=187), random_transformer(seed=187, max_length=7)]
    config = DecodingConfig(beam_size=1, max_extra_tokens=50, min_length=7)
    found = [as_arrays(search_translations(m, SOURCE, config)) for m in (models, models[::-1])]
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4)
    assert found[0][0].shape[-1] == 7


@pytest.mark.skipif(BACKEND != "tensorflow", reason="caches grow on TensorFlow alone")
def test_a_restricted_model_finds_the_same_in_a_graph_whose_cache_grows():
    """As with room for all from the start; translations are several times as long as the window."""
    import tensorflow as tf

    model = random_transformer(seed=187, window=3)
    config = DecodingConfig(beam_size=2, num_hypotheses=2, max_extra_tokens=6)

    @tf.function(input_signature=[tf.TensorSpec((None, None), tf.int32)])
    def found(source):
        return search_translations([model], source, config, banned_ids=[EOS_ID])

    fixed = search_translations([model], SOURCE, config, banned_ids=[EOS_ID], fixed_length=16)
    ids, log_probs, _ = as_arrays(found(SOURCE))
    expected_ids, expected_log_probs, _ = as_arrays(fixed)
    np.testing.assert_array_equal(ids, expected_ids[:, :, : ids.shape[2]])
    np.testing.assert_allclose(log_probs, expected_log_probs, rtol=1e-4)
    assert np.count_nonzero(ids[:, 0], axis=1).tolist() == [length + 6 for length in LENGTHS]


@pytest.mark.parametrize("window", several([None, 3]))
@pytest.mark.parametrize(
    "config",
    several(
        [
            DecodingConfig(beam_size=3, num_hypotheses=2, coverage_penalty=0.3),
            DecodingConfig(beam_size=1),
        ]
    ),
)
def test_rooms_change_nothing(config, window, monkeypatch):
    """Sources do not fit into the first of three, or do, and translations fill the others."""
    module = sys.modules[search_translations.__module__]
    model = random_transformer(seed=187, window=window)
    expected = as_arrays(search_translations([model], SOURCE, config, banned_ids=[EOS_ID]))
    monkeypatch.setattr(module, "_FIRST_ROOM", 2)
    for rows, length in (([0, 1, 2, 3], 6), ([2], 1)):
        source = SOURCE[rows, :length]
        found = search_translations([model], source, config, banned_ids=[EOS_ID], fixed_length=16)
        for one, whole in zip(as_arrays(found), expected, strict=True):
            np.testing.assert_allclose(one, whole[rows], rtol=1e-4)


def test_limits():
    """No translation ends, so all go to their limits."""
    model = random_transformer(seed=187)
    for extra, longest in several([(0, [6, 3, 1, 4]), (12, [16, 15, 13, 16])]):
        # The longest that the model takes is 16.
        config = DecodingConfig(beam_size=1, max_extra_tokens=extra)
        ids, _, _ = as_arrays(search_translations([model], SOURCE, config, banned_ids=[EOS_ID]))
        assert np.count_nonzero(ids[:, 0], axis=1).tolist() == longest
        assert ids.shape[2] == max(longest)


def test_constraints_and_a_prefix():
    model, plain = transformer_in_python(seed=187)
    prefix = np.array([[7, 4], [9, 0], [10, 5], [4, 5]], "int32")
    config = DecodingConfig(beam_size=3, min_length=3, no_repeat_ngram=1, max_extra_tokens=1)
    found = search_translations([model], SOURCE, config, banned_ids=[1, 4], prefix=prefix)
    expected = []
    for i, length in enumerate(LENGTHS):

        def allowed(ids, vocab, i=i):
            if len(ids) < 2 and prefix[i, len(ids)]:
                return {int(prefix[i, len(ids)])}
            too_short = {EOS_ID} if len(ids) < 3 else set()
            return anything(ids, vocab) - {1, 4} - set(ids) - too_short

        # There is room for a prefix and an eos, whatever the source's length allows.
        limit = max(length + 1, np.count_nonzero(prefix[i]) + 1)
        expected += expected_of([plain[i]], [limit], config, allowed=allowed)
    assert_found(found, expected, rtol=1e-4)


def attention_in_full(model, source, ids):
    """The attention that each source token gets while `ids` are decoded, from the whole model."""
    target = np.zeros((1, model.config.max_length), "int32")
    target[0, : len(ids)] = (BOS_ID, *ids[:-1])
    inputs = {"source": source[None], "target": without_padding(target)}
    weights = model(inputs, return_attention_weights=True)[1]["cross"][-1]
    return ops.convert_to_numpy(weights)[0, :, : len(ids), : np.count_nonzero(source)]


def test_coverage_penalty():
    model, plain = transformer_in_python(seed=187)
    beta = 0.5
    config = DecodingConfig(
        beam_size=4, num_hypotheses=4, coverage_penalty=beta, max_extra_tokens=3
    )
    expected = []
    for i, length in enumerate(LENGTHS):

        def bonus(ids, i=i):
            coverage = attention_in_full(model, SOURCE[i], ids).mean(axis=0).sum(axis=0)
            return beta * np.log(np.minimum(coverage, 1.0)).sum()

        expected += expected_of([plain[i]], [length + 3], config, bonus=bonus)
    found = search_translations([model], SOURCE, config)
    assert_found(found, expected, rtol=2e-4)
    # The penalty changes the order.
    without = expected_of(plain, [length + 3 for length in LENGTHS], config)
    assert [[ids for ids, *_ in best] for best in without] != [
        [ids for ids, *_ in best] for best in expected
    ]


def test_two_models_decide_together():
    first, plain_first = transformer_in_python(seed=187)
    # Of another shape, with the same vocabulary.
    second = random_transformer(seed=5, num_layers=1, d_model=8)
    plain_second = decoded_anew(second, SOURCE)
    plain = [mean_of(pair) for pair in zip(plain_first, plain_second, strict=True)]
    config = DecodingConfig(beam_size=3, num_hypotheses=2, max_extra_tokens=3)
    limits = [length + 3 for length in LENGTHS]
    expected = expected_of(plain, limits, config)
    assert_found(search_translations([first, second], SOURCE, config), expected, rtol=1e-4)
    best = [one[0][0] for one in expected]
    for alone in (plain_first, plain_second):
        assert best != [one[0][0] for one in expected_of(alone, limits, config)]


def test_samples_are_scored_by_the_model():
    model, plain = transformer_in_python(seed=187)
    options = dict(sampling=True, num_hypotheses=5, temperature=0.8, top_k=6, max_extra_tokens=2)
    config = DecodingConfig(seed=4, **options)
    ids, log_probs, _ = as_arrays(search_translations([model], SOURCE, config))
    again = as_arrays(search_translations([model], SOURCE, config))[0]
    np.testing.assert_array_equal(ids, again)
    assert len({tuple(row) for row in ids[0]}) > 1
    for i in range(len(SOURCE)):
        for row, log_prob in zip(ids[i], log_probs[i], strict=True):
            tokens, total = tuple(row[: np.count_nonzero(row)].tolist()), 0.0
            for k, token in enumerate(tokens):
                parts = plain[i](tokens[:k])
                # Of the six likeliest.
                assert sum(parts[t] > parts[token] for t in anything((), 11)) < 6
                total += parts[token]
            np.testing.assert_allclose(log_prob, total, rtol=1e-4)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_half_precision(policy):
    model = random_transformer(seed=187, dtype=policy)
    config = DecodingConfig(beam_size=3, num_hypotheses=2, max_extra_tokens=3, coverage_penalty=0.5)
    ids, log_probs, scores = as_arrays(search_translations([model], SOURCE, config))
    assert (log_probs.dtype, scores.dtype) == ("float32", "float32")
    assert np.isfinite(scores).all()
    assert (scores[:, 0] >= scores[:, 1]).all()
    # Scores of the same tokens in full precision are near.
    _, plain = transformer_in_python(seed=187)
    for i in range(len(SOURCE)):
        tokens = tuple(ids[i, 0, : np.count_nonzero(ids[i, 0])].tolist())
        exact = sum(plain[i](tokens[:k])[token] for k, token in enumerate(tokens))
        np.testing.assert_allclose(log_probs[i, 0], exact, rtol=0.1, atol=0.1)


@on("tensorflow")
def test_one_graph_for_any_source():
    import tensorflow as tf

    model, _ = transformer_in_python(seed=187)
    config = DecodingConfig(beam_size=3, num_hypotheses=3, max_extra_tokens=4, no_repeat_ngram=2)

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32)])
    def translate(source):
        return search_translations([model], source, config)

    batch = as_arrays(translate(SOURCE))
    for i, length in ((1, 3), (3, 4)):
        alone = as_arrays(translate(SOURCE[i : i + 1, :length]))
        assert not batch[0][i, :, length + 4 :].any()
        np.testing.assert_array_equal(alone[0][0], batch[0][i, :, : length + 4])
        np.testing.assert_allclose(alone[1][0], batch[1][i], rtol=1e-4)
    none = translate(np.zeros((0, 5), "int32"))
    assert [tuple(part.shape) for part in none] == [(0, 3, 9), (0, 3), (0, 3)]
    assert translate.experimental_get_tracing_count() == 1
