"""What was asked for stays, and what is open is filled."""

import dataclasses

import pytest

from keras_transformer import DataConfig, RunConfig, TrainingConfig, TransformerConfig
from keras_transformer.config.choices import ALL_GIVEN, Choices
from keras_transformer.config.recurrent import RecurrentConfig

pytestmark = pytest.mark.any_backend

GIVEN = frozenset({"model.dropout", "data.train", "output"})
RULES, PRESET = Choices(GIVEN, automatic=True), Choices(GIVEN)
ASKED = RunConfig(TransformerConfig(dropout=0.3), data=DataConfig("a"))
OTHER = RunConfig(
    TransformerConfig(vocab_size=50, dropout=0.1, d_model=8, d_ff=9),
    data=DataConfig("b", batch_tokens=7),
    training=TrainingConfig(epochs=3),
)


def test_what_is_open():
    names = ["model.dropout", "model.vocab_size", "model.d_ff", "data.train", "training.epochs"]
    for choices, expected in ((RULES, [0, 1, 1, 0, 1]), (PRESET, [0, 1, 0, 0, 0])):
        assert [choices.leaves_open(name) for name in names] == [bool(x) for x in expected]
    assert not any(ALL_GIVEN.leaves_open(name) for name in names)
    assert not Choices(frozenset({"model.vocab_size"})).leaves_open("model.vocab_size")


def test_what_is_open_is_taken_from_another_configuration():
    expected = dataclasses.replace(
        OTHER,
        model=dataclasses.replace(OTHER.model, dropout=0.3),
        data=dataclasses.replace(OTHER.data, train="a"),
    )
    assert RULES.filled(ASKED, OTHER) == expected
    model = dataclasses.replace(ASKED.model, vocab_size=50)
    assert PRESET.filled(ASKED, OTHER) == dataclasses.replace(ASKED, model=model)
    assert ALL_GIVEN.filled(ASKED, OTHER) == ASKED
    # Another family has other options.
    found = RULES.filled(ASKED, dataclasses.replace(OTHER, model=RecurrentConfig()))
    assert (found.model, found.training) == (ASKED.model, OTHER.training)


def test_values_for_what_is_open():
    values = {"model.dropout": 0.7, "model.d_ff": 11, "training.epochs": None}
    values |= {"training.max_steps": 5, "model.vocab_size": 60}
    found = RULES.chosen(ASKED, values)
    assert found.model == dataclasses.replace(ASKED.model, d_ff=11, vocab_size=60)
    # Of one section at once, since each alone may be refused.
    assert (found.training.epochs, found.training.max_steps) == (None, 5)
    assert PRESET.chosen(ASKED, values).model == dataclasses.replace(ASKED.model, vocab_size=60)
    assert ALL_GIVEN.chosen(ASKED, values) == ASKED
