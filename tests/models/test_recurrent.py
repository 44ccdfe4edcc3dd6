"""The recurrent models against the papers' formulas in NumPy, and what their options must keep."""

import dataclasses

import keras
import numpy as np
import pytest
import references
from keras import ops
from random_models import vary
from references import to_numpy, weights_by_name

from keras_transformer import (
    RECURRENT_PRESETS,
    DecodingConfig,
    RecurrentConfig,
    RecurrentEncoderDecoder,
    TrainingConfig,
    Transformer,
    TransformerConfig,
    compile_model,
)
from keras_transformer.decoding import search_translations
from keras_transformer.decoding.scoring import shift_right
from keras_transformer.layers.alignments import ALIGNMENTS, best
from keras_transformer.layers.scores import SCORES

# On JAX each loop is compiled anew, so one model of each paper is enough there.
any_backend = pytest.mark.any_backend

SMALL = dict(
    vocab_size=13,
    embedding_dim=4,
    encoder_units=3,
    decoder_units=6,
    attention_units=5,
    half_width=2,
    max_length=16,
)
# Lengths differ, and each side has padding.
SOURCE = np.array([[4, 7, 5, 9, 6, 3], [8, 6, 3, 0, 0, 0], [3, 0, 0, 0, 0, 0]], "int32")
TARGET = np.array([[2, 5, 11, 7], [2, 12, 4, 6], [2, 4, 6, 0]], "int32")
INPUTS = {"source": SOURCE, "target": TARGET}
LUONG = dict(attention="luong", score="general")


def make_model(dtype=None, seed=3, **overrides):
    config = RecurrentConfig(**{**SMALL, **overrides})
    return vary(RecurrentEncoderDecoder(config, dtype=dtype), seed)


@pytest.mark.parametrize(
    "overrides",
    [
        pytest.param({}, marks=any_backend),
        {"attention": "none", "cell": "lstm", "num_layers": 2},
        pytest.param({**LUONG, "cell": "lstm"}, marks=any_backend),
        {
            **LUONG,
            "input_feeding": False,
            "num_layers": 2,
            "residual": True,
            "tie_embeddings": False,
            "source_vocab_size": 17,
        },
    ],
    ids=str,
)
def test_logits_and_weights_are_those_of_the_papers_formulas(overrides):
    model = make_model(**overrides)
    tables = {
        "source": model.source_embedding.embeddings,
        "target": model.target_embedding.embeddings,
        "output": model.output_embedding.embeddings,
    }
    tables = {name: to_numpy(table).astype("float64") for name, table in tables.items()}
    logits, weights = references.recurrent(
        SOURCE, TARGET, weights_by_name(model), model.config, tables
    )
    np.testing.assert_allclose(to_numpy(model(INPUTS)), logits, rtol=1e-4, atol=1e-4)
    found = to_numpy(model.alignment(INPUTS))[:, 0]
    np.testing.assert_allclose(found, weights, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "option",
    [
        *({"score": name} for name in SCORES),
        *({"alignment": name, **LUONG} for name in ALIGNMENTS if name != "soft"),
    ],
    ids=str,
)
def test_a_step_gives_the_logits_of_a_call(option):
    """With what a source's end and a step's position have to do with it."""
    model = make_model(**option)
    expected = to_numpy(model(INPUTS, training=False))
    begun = model.start_decoding(SOURCE, 4)
    state = model.fix_decoding(begun, begun, 9)
    for position in range(4):
        tokens = TARGET[:, position : position + 1]
        logits, state = model.decode_step(tokens, np.zeros((3, 1), "int32"), state)
        np.testing.assert_allclose(
            to_numpy(logits)[:, 0], expected[:, position], rtol=1e-3, atol=1e-4
        )


def test_a_beam_of_an_ensemble_with_a_transformer():
    """Of what is found, the score is that of a call of each model on the whole."""
    size = dict(vocab_size=13, num_layers=1, d_model=8, d_ff=8, num_heads=2, max_length=16)
    models = [make_model(), vary(Transformer(TransformerConfig(**size)), seed=4)]
    prefix = np.array([[5, 4], [7, 0], [0, 0]], "int32")
    config = DecodingConfig(beam_size=3, num_hypotheses=2, max_extra_tokens=3, length_penalty=1.0)
    found = search_translations(models, SOURCE, config, prefix=prefix)
    ids, scores = to_numpy(found.ids), to_numpy(found.log_probs)
    assert (ids[0, :, :2] == [5, 4]).all()
    assert (ids[1, :, 0] == 7).all()
    for rank in range(2):
        inputs = {"source": SOURCE, "target": shift_right(ids[:, rank])}
        probabilities = [references.softmax(to_numpy(model(inputs))) for model in models]
        log_probs = np.log(np.mean(probabilities, axis=0, dtype="float64"))
        of_tokens = np.take_along_axis(log_probs, ids[:, rank, :, None], -1)[..., 0]
        expected = np.sum(of_tokens * (ids[:, rank] != 0), axis=1)
        np.testing.assert_allclose(scores[:, rank], expected, rtol=1e-3)


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_logits_are_float32_and_close_in_mixed_precision(policy):
    config = RecurrentConfig(**{**SMALL, **LUONG, "cell": "lstm", "alignment": "local_m"})
    model, mixed = RecurrentEncoderDecoder(config), RecurrentEncoderDecoder(config, dtype=policy)
    mixed.set_weights(model.get_weights())
    logits = mixed(INPUTS)
    assert keras.backend.standardize_dtype(logits.dtype) == "float32"
    tolerance = {"mixed_bfloat16": 0.1, "mixed_float16": 0.02}[policy]
    np.testing.assert_allclose(to_numpy(logits), to_numpy(model(INPUTS)), atol=tolerance)


@pytest.mark.parametrize(
    "overrides",
    [
        pytest.param({}, marks=any_backend),
        {**LUONG, "cell": "lstm", "alignment": "local_p", "num_layers": 2},
        {"attention": "none"},
    ],
    ids=str,
)
def test_gradient_reaches_every_variable(gradients, overrides):
    model = make_model(**overrides)
    factors = np.random.default_rng(0).normal(size=(3, 4, 13)).astype("float32")
    found = gradients(model, lambda logits: ops.sum(logits * factors), INPUTS)
    for path, gradient in found.items():
        assert np.isfinite(gradient).all(), path
        assert np.any(gradient), path


def test_a_row_of_padding_alone_is_finite_and_changes_nothing():
    """As a batch is filled up with."""
    model = make_model()
    filled = {name: np.pad(ids, [(0, 1), (0, 0)]) for name, ids in INPUTS.items()}
    logits = to_numpy(model(filled))
    assert np.isfinite(logits).all()
    np.testing.assert_allclose(logits[:3], to_numpy(model(INPUTS)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_parameters_are_as_many_as_the_formulas_have(cell):
    model = make_model(cell=cell, attention="luong", score="concat", num_layers=2)
    config, gates = model.config, {"gru": 3, "lstm": 4}[cell]
    m, n, d, a = (getattr(config, f"{name}") for name in ("embedding_dim", *_UNITS))

    def cell_of(units, width):
        biases = 2 if cell == "gru" else 1
        return gates * units * (width + units + biases)

    encoder = 2 * (cell_of(n, m) + cell_of(n, 2 * n))
    decoder = cell_of(d, 2 * m) + cell_of(d, d)
    start = (n + 1) * d * 2 * (2 if cell == "lstm" else 1)
    score = a * (d + 2 * n + 1)
    attentional = (2 * n + d + 1) * m
    expected = config.vocab_size * m + encoder + decoder + start + score + attentional
    assert model.count_params() == expected


_UNITS = ("encoder_units", "decoder_units", "attention_units")


def test_presets():
    """Which state attends, and what the papers compare it with."""
    found = {name: RecurrentConfig.preset(name) for name in RECURRENT_PRESETS}
    assert {name: (c.attention, c.score, c.cell) for name, c in found.items()} == {
        "rnn_no_attention": ("none", "additive", "gru"),
        "rnn_bahdanau": ("bahdanau", "additive", "gru"),
        "rnn_luong": ("luong", "general", "lstm"),
    }
    with pytest.raises(ValueError, match=r"`preset` must be one of rnn_no.*Received: 'rnn'"):
        RecurrentConfig.preset("rnn")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"score": "cosine similarity"}, "`score` must be one of additive, dot"),
        ({"alignment": "sharp"}, "`alignment` must be one of soft, global"),
        ({"attention": "self"}, "`attention` must be one of bahdanau, luong, none"),
        ({"cell": "rnn"}, "`cell` must be one of gru, lstm"),
        ({"score": "dot", "decoder_units": 5}, "`decoder_units` must be 2 . encoder_units = 6"),
        ({"num_layers": 0}, "`num_layers` must be positive"),
        ({"dropout": 1.0}, "`dropout` must be in"),
        ({"max_length": 1}, "`max_length` must be at least 2"),
        ({"source_vocab_size": 0}, "`source_vocab_size` must be positive or None"),
    ],
    ids=str,
)
def test_errors_of_the_configuration(wrong, message):
    with pytest.raises(ValueError, match=message):
        RecurrentConfig(**{**SMALL, **wrong})


def test_a_source_beyond_the_places_of_location_scores():
    model = make_model(score="location", max_length=5)
    with pytest.raises(ValueError, match=r"5 places of `max_length`.*Received: 6 tokens"):
        model(INPUTS)


def test_what_may_differ_between_runs_that_share_weights():
    config = RecurrentConfig(**SMALL)
    for name, other in (("dropout", 0.1), ("max_length", 20), ("score", "general")):
        changed = dataclasses.replace(config, **{name: other})
        assert (changed.meaning() == config.meaning()) == (name != "score")
    location = dataclasses.replace(config, score="location")
    assert dataclasses.replace(location, max_length=20).meaning() != location.meaning()


def test_hard_attention_is_rewarded_by_the_likelihood_of_what_follows(monkeypatch):
    """-(L log p + 0.01 H) of the places that were drawn, here the best ones, a token."""
    model = make_model(alignment="hard", dropout=0.0, embedding_dropout=0.0)
    monkeypatch.setattr(model.decoder.attention.alignment, "_draw", best)
    logits = to_numpy(model(INPUTS, training=True)).astype("float64")
    [loss] = model.losses
    memory, hidden = model._encode(SOURCE, training=False)
    x = model.target_embedding(TARGET)
    _, weights, scores = model.decoder(x, memory, hidden, return_attention=True)
    weights, scores = to_numpy(weights), to_numpy(scores).astype("float64")
    labels = [[5, 11, 7, 3], [12, 4, 6, 3], [4, 6, 3]]
    expected = 0.0
    for row, row_labels in enumerate(labels):
        probabilities = references.softmax(logits[row])
        likelihood = sum(
            np.log(p[label])
            for p, label in zip(probabilities[: len(row_labels)], row_labels, strict=True)
        )
        length = np.count_nonzero(SOURCE[row])
        for position in range(len(row_labels)):
            p = references.softmax(scores[row, position, :length])
            place = np.argmax(weights[row, position])
            expected -= likelihood * np.log(p[place]) - 0.01 * np.sum(p * np.log(p))
    np.testing.assert_allclose(float(loss), expected / 11, rtol=1e-4)


def test_hard_attention_trains_in_a_compiled_step():
    """Each position draws for itself, and the baseline follows the likelihood."""
    import tensorflow as tf

    model = make_model(alignment="hard")
    alignment = model.decoder.attention.alignment
    alignment.expectation_rate = 0.0
    memory, hidden = model._encode(np.repeat(SOURCE[:1], 300, axis=0), training=False)
    x = ops.zeros((300, 4, 4))

    @tf.function
    def draw():
        return model.decoder(x, memory, hidden, training=True, return_attention=True)[1:]

    weights, scores = (to_numpy(found) for found in draw())
    np.testing.assert_array_equal(np.sort(weights), [[[0.0] * 5 + [1.0]] * 4] * 300)
    p = references.softmax(scores[0, 0])
    error = np.sqrt(p * (1 - p) / 300)
    assert (np.abs(weights[:, 0].mean(axis=0) - p) < 5 * error).all()
    assert (weights[:, 0] != weights[:, 1]).any(axis=-1).mean() > 0.1
    compile_model(model, TrainingConfig())
    labels = np.array([[5, 11, 7, 3], [12, 4, 6, 3], [4, 6, 3, 0]], "int32")
    before = float(alignment.baseline)
    assert np.isfinite(model.train_on_batch(INPUTS, labels)).all()
    assert float(alignment.baseline) < before


@any_backend
@pytest.mark.skipif(keras.backend.backend() != "jax", reason="of JAX alone")
def test_draws_in_the_loop_are_tensorflows_alone():
    model = make_model(alignment="gumbel")
    with pytest.raises(ValueError, match=r"`alignment` must be one that draws nothing.*on jax"):
        model(INPUTS, training=True)
    assert np.isfinite(to_numpy(model(INPUTS, training=False))).all()
