"""A run of which little is said: what is chosen, what it keeps, and how it goes on."""

import dataclasses
import json
from types import SimpleNamespace

import pytest

from keras_transformer import RunConfig, TransformerConfig
from keras_transformer.commands.train import parse_training_command
from keras_transformer.config.choices import Choices
from keras_transformer.runs.run import open_run
from keras_transformer.tasks import task_of
from keras_transformer.tasks.translation.choosing import choose_options
from keras_transformer.tasks.translation.inputs import training_batches
from keras_transformer.training.preparation import open_or_prepare
from keras_transformer.training.strategy import ONE_DEVICE

CORPUS = "--data.train=phrasebook:train:300"


@pytest.fixture
def start(tmp_path):
    """What a command does before there is a model."""

    def run(*arguments):
        output, config, _, init_from, choices = parse_training_command(
            [f"--output={tmp_path / 'run'}", *arguments]
        )
        return open_or_prepare(task_of(config), output, config, ONE_DEVICE, init_from, choices)

    return run


def test_nothing_but_the_corpus(start, capsys):
    run = start(CORPUS)
    said, config = capsys.readouterr().out, run.config
    assert config.model.d_model == 128
    assert config.model.vocab_size == run.target_tokenizer.vocab_size == 500
    assert config.data.holds_out
    # The end: as many steps as the epochs have, counted here batch by batch.
    steps = sum(1 for _ in training_batches(run, ONE_DEVICE).epoch(0))
    training = config.training
    assert (training.schedule, training.max_steps) == ("trapezoid", training.epochs * steps)
    content = json.loads((run.path / "run.json").read_text())
    for name, reason in content["chosen"].items():
        assert f" {name}: {reason}\n" in said
    names = {name.split()[0] for name in content["chosen"]}
    assert {"preset", "model.dropout", "training.schedule", "data.batch_tokens"} <= names
    assert open_run(run.path).chosen == content["chosen"]


def test_the_same_command_goes_on_with_what_was_chosen(start, monkeypatch):
    run = start(CORPUS, "--model.dropout=0.15")
    assert run.config.model.dropout == 0.15
    assert not [name for name in run.chosen if name.startswith("model.dropout")]

    def other_rules(*arguments, **options):
        raise AssertionError("rules are for runs that are not there")

    monkeypatch.setattr("keras_transformer.tasks.translation.choosing.choose", other_rules)
    assert start(CORPUS, "--model.dropout=0.15").config == run.config
    assert start().config == run.config  # Even that is enough.
    # What may change may still be asked for, and what may not is refused.
    longer = dataclasses.replace(run.config.training, max_steps=9)
    assert start("--training.max_steps=9").config.training == longer
    with pytest.raises(ValueError, match=r"dropout: 0\.15 there, 0\.4 now"):
        start("--model.dropout=0.4")


def test_what_is_asked_for_is_not_chosen(start):
    given = {
        "model.num_layers": 1,
        "model.vocab_size": 150,
        "data.batch_tokens": 300,
        "training.epochs": 7,
        "training.schedule": "inverse_sqrt",
    }
    run = start(CORPUS, *(f"--{name}={value}" for name, value in given.items()))
    for name, value in given.items():
        section, _, field = name.partition(".")
        assert getattr(getattr(run.config, section), field) == value
    assert run.config.model.d_model == 128
    assert run.config.training.max_steps is None


def test_a_preset_is_as_it_is_but_for_the_vocabulary(start, capsys):
    """One of 37,000 pieces that was not asked for is fitted to the text."""
    run = start(CORPUS, "--preset=tiny")
    expected = TransformerConfig.preset("tiny", vocab_size=run.target_tokenizer.vocab_size)
    config = RunConfig(expected, data=run.config.data)
    assert run.config == config
    assert not run.chosen
    assert " in place of 37,000: the text supports " in capsys.readouterr().out
    assert start(CORPUS, "--preset=tiny").config == config
    with pytest.raises(ValueError, match=r"vocab_size: .* there, 37000 now"):
        start(CORPUS, "--preset=tiny", "--model.vocab_size=37000")


def test_time(start):
    """With a recipe the time ends the training, whatever the recipe says of that."""
    run = start("--time=90s", CORPUS)
    training = run.config.training
    assert (training.minutes, training.epochs, training.max_steps) == (1.5, None, None)
    assert training.schedule == "trapezoid"
    assert start("--time=90s", CORPUS).config == run.config
    assert start("--time=1h").config.training.minutes == 60.0


def test_a_run_that_begins_with_another_has_its_model():
    """Nothing of it has to be repeated."""
    model = TransformerConfig(vocab_size=500, d_model=64, num_heads=4, dropout=0.4)
    other = SimpleNamespace(config=RunConfig(model))
    choices = Choices(frozenset(), automatic=True)
    config, chosen = choose_options(RunConfig(), choices, 29_000, other)
    assert config.model == dataclasses.replace(model, dropout=0.2)
    assert "model.dropout 0.2" in chosen
    # By a preset, the vocabulary alone is taken over.
    config, chosen = choose_options(RunConfig(), Choices(frozenset()), 29_000, other)
    assert (config.model, chosen) == (TransformerConfig(vocab_size=500), {})
