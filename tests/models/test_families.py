"""What every family that translates promises, for each in the table and for the toy."""

import dataclasses

import keras
import numpy as np
import pytest
from keras import ops
from random_models import vary
from toy_family import FAMILY, ToyConfig

from keras_transformer import TRAINING_PRESETS, BertConfig, RecurrentConfig, TransformerConfig
from keras_transformer.models.families import (
    FAMILIES,
    Family,
    family_of,
    family_of_preset,
    make_model,
    require_architecture,
)

pytestmark = pytest.mark.any_backend

SMALL = {
    "transformer": TransformerConfig(
        vocab_size=40, num_layers=2, d_model=16, d_ff=32, num_heads=2, max_length=16
    ),
    "recurrent": RecurrentConfig(
        vocab_size=40,
        embedding_dim=8,
        encoder_units=6,
        decoder_units=10,
        attention_units=5,
        max_length=16,
    ),
    "toy": ToyConfig(vocab_size=40, max_length=16),
}
SOURCE = np.array([[5, 6, 7, 8, 3], [9, 10, 3, 0, 0]], "int32")
TARGET = np.array([[2, 11, 12, 13], [2, 14, 15, 16]], "int32")


TRANSLATING = [f.name for f in FAMILIES.values() if f.architecture == "encoder_decoder"]


@pytest.fixture(params=[*TRANSLATING, "toy"])
def model(request, monkeypatch):
    monkeypatch.setitem(FAMILIES, "toy", FAMILY)
    return vary(make_model(SMALL[request.param]), seed=3)


def logits_of(model, source, target):
    return ops.convert_to_numpy(model({"source": source, "target": target}, training=False))


@pytest.mark.parametrize("beam_size", [1, 2])
def test_a_step_gives_the_logits_of_a_call(model, beam_size):
    """Hypotheses that change places at each step, each against a call with its own past."""
    steps = TARGET.shape[1]
    state = model.start_decoding(SOURCE, steps, beam_size)
    past = np.full((2, beam_size, 0), 0, "int32")
    for index in range(steps):
        order = np.arange(beam_size, dtype="int32")[::-1] if index else np.arange(beam_size)
        parents = np.tile(order.astype("int32"), (2, 1))
        tokens = TARGET[:, index : index + 1] + np.arange(beam_size, dtype="int32") * (index > 0)
        past = np.concatenate(
            [np.take_along_axis(past, parents[:, :, None], axis=1), tokens[:, :, None]], axis=2
        )
        logits, state = model.decode_step(tokens, parents, state)
        for hypothesis in range(beam_size):
            expected = logits_of(model, SOURCE, past[:, hypothesis])[:, -1]
            np.testing.assert_allclose(
                ops.convert_to_numpy(logits)[:, hypothesis], expected, rtol=1e-4, atol=1e-4
            )


def test_padding_changes_nothing(model):
    longer = np.pad(SOURCE, [(0, 0), (0, 3)])
    padded = np.pad(TARGET, [(0, 0), (0, 2)])
    np.testing.assert_allclose(
        logits_of(model, longer, padded)[:, : TARGET.shape[1]],
        logits_of(model, SOURCE, TARGET),
        rtol=1e-4,
        atol=1e-5,
    )


def test_a_memory_that_is_filled_up_changes_nothing(model):
    tokens, parents = TARGET[:, :1], np.zeros((2, 1), "int32")
    plain, _ = model.decode_step(tokens, parents, model.start_decoding(SOURCE, 4))
    begun = model.start_decoding(SOURCE, 4)
    state = model.fix_decoding(begun, begun, 9)
    filled, _ = model.decode_step(tokens, parents, state)
    np.testing.assert_allclose(
        ops.convert_to_numpy(filled), ops.convert_to_numpy(plain), rtol=1e-4, atol=1e-5
    )


def test_attention_goes_to_real_tokens_alone_and_sums_to_one(model):
    weights = model.alignment({"source": SOURCE, "target": TARGET})
    weights = ops.convert_to_numpy(weights)
    assert (weights.shape[0], *weights.shape[2:]) == (2, 4, 5)
    assert weights.dtype == np.float32
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0, rtol=1e-5)
    assert np.abs(weights[1, :, :, 3:]).max() < 1e-6


def test_the_alignment_is_that_of_a_layer(model):
    inputs = {"source": SOURCE, "target": TARGET}
    alignment = ops.convert_to_numpy(model.alignment(inputs))
    layers = [ops.convert_to_numpy(x) for x in model.attention_weights(inputs)["cross"]]
    assert any(np.allclose(layer, alignment, atol=1e-6) for layer in layers)


def test_coverage_adds_up_what_each_hypothesis_attended_to(model):
    """Over the steps a sum of one for each, and nothing at padding."""
    state = model.start_decoding(SOURCE, 4, beam_size=2, coverage=True)
    for index in range(3):
        tokens = np.repeat(TARGET[:, index : index + 1], 2, axis=1)
        _, state = model.decode_step(tokens, np.array([[0, 0], [1, 0]], "int32"), state)
    coverage, real = (ops.convert_to_numpy(x) for x in model.coverage(state))
    assert coverage.shape == (2, 2, 5)
    np.testing.assert_allclose(coverage.sum(axis=-1), 3.0, rtol=1e-5)
    np.testing.assert_array_equal(
        np.broadcast_to(real, coverage.shape), np.broadcast_to((SOURCE > 0)[:, None], (2, 2, 5))
    )
    assert np.abs(coverage[1, :, 3:]).max() < 1e-6


def test_sentences_that_leave_change_nothing_for_the_others(model):
    state = model.start_decoding(SOURCE, 1)
    parents = np.zeros((2, 1), "int32")
    _, state = model.decode_step(TARGET[:, :1], parents, state)
    rows = np.array([1], "int32")
    state = model.resize_decoding(state, rows, 4)
    logits, _ = model.decode_step(TARGET[1:, 1:2], parents[:1], state)
    expected = logits_of(model, SOURCE[1:], TARGET[1:, :2])[:, -1]
    np.testing.assert_allclose(ops.convert_to_numpy(logits)[:, 0], expected, rtol=1e-4, atol=1e-4)


def test_matrices_of_the_vocabularies_have_a_row_a_piece(model):
    matrices = model.vocabulary_matrices()
    assert sorted(matrices) == ["source", "target"]
    weights = {id(weight) for weight in model.weights}
    for matrix in [*matrices["source"], *matrices["target"]]:
        assert matrix.shape[0] == 40
        assert id(matrix) in weights


def test_a_saved_model_is_the_same(model, tmp_path):
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras", compile=False)
    assert type(loaded) is type(model)
    assert loaded.config == model.config
    np.testing.assert_array_equal(
        logits_of(loaded, SOURCE, TARGET), logits_of(model, SOURCE, TARGET)
    )


@pytest.mark.parametrize("name", FAMILIES)
def test_the_table(name):
    family = FAMILIES[name]
    assert isinstance(family, Family)
    assert family.name == name
    assert dataclasses.is_dataclass(family.config)
    assert family_of(family.config()) is family
    for preset, fields in family.presets.items():
        assert family_of_preset(preset) is family
        family.config(**fields)


def test_no_preset_is_in_two_families():
    presets = [preset for family in FAMILIES.values() for preset in family.presets]
    assert len(presets) == len({*presets})


def test_what_presets_change_in_the_training_is_of_presets_that_there_are():
    assert {*TRAINING_PRESETS} <= {name for family in FAMILIES.values() for name in family.presets}


def test_what_is_in_no_table():
    with pytest.raises(ValueError, match=r"one of the families transformer.*Received: ToyConfig"):
        make_model(ToyConfig())
    with pytest.raises(ValueError, match=r"`preset` must be one of tiny, base.*Received: 'huge'"):
        family_of_preset("huge")


def test_a_task_takes_models_of_its_kind():
    require_architecture(BertConfig(), "encoder")
    with pytest.raises(ValueError, match=r"an encoder-decoder, of the families transformer, rec"):
        require_architecture(BertConfig(), "encoder_decoder")
    with pytest.raises(ValueError, match=r"an encoder, of the families bert, .*'recurrent'"):
        require_architecture(RecurrentConfig(), "encoder")
