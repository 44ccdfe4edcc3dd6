"""A run of which little is said: what is chosen, what it keeps, and how it goes on."""

import dataclasses
import json
from types import SimpleNamespace

import pytest

from keras_transformer import RunConfig, TransformerConfig
from keras_transformer.commands import prepare
from keras_transformer.commands.train import parse_training_command
from keras_transformer.config.choices import Choices
from keras_transformer.runs.run import open_run
from keras_transformer.tasks import task_of
from keras_transformer.tasks.translation.choosing import choose_options
from keras_transformer.tasks.translation.inputs import training_batches
from keras_transformer.training.preparation import open_or_prepare
from keras_transformer.training.strategy import ONE_DEVICE, Replicas

CORPUS = "--data.train=phrasebook:train:300"


def ends(run):
    training = run.config.training
    return training.schedule, training.epochs, training.max_steps, training.minutes


def steps_of(run, replicas=ONE_DEVICE):
    """The steps of an epoch, counted."""
    return sum(1 for _ in training_batches(run, replicas).epoch(0))


@pytest.fixture
def start(tmp_path):
    """What a command does before there is a model."""

    def run(*arguments, replicas=ONE_DEVICE):
        output, config, _, init_from, choices, _ = parse_training_command(
            [f"--output={tmp_path / 'run'}", *arguments]
        )
        return open_or_prepare(task_of(config), output, config, replicas, init_from, choices)

    return run


def test_nothing_but_the_corpus(start, capsys):
    run = start(CORPUS)
    said, config = capsys.readouterr().out, run.config
    assert config.model.d_model == 128
    assert config.model.vocab_size == run.target_tokenizer.vocab_size == 500
    assert config.data.holds_out
    # The end: as many steps as the epochs have, counted here batch by batch.
    assert ends(run) == ("trapezoid", 100, 100 * steps_of(run), None)
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
    longer = dataclasses.replace(run.config.training, epochs=None, max_steps=900)
    assert start("--training.max_steps=900").config.training == longer
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


def test_steps_that_are_asked_for_are_taken(start, capsys):
    """However many epochs that makes."""
    run = start(CORPUS, "--training.max_steps=5000")
    assert ends(run) == ("trapezoid", None, 5000, None)
    assert "falls to zero to its end after 5,000 steps\n" in capsys.readouterr().out
    assert start(CORPUS, "--training.max_steps=5000").config == run.config
    assert ends(start("--training.epochs=2")) == ("trapezoid", 2, 2 * steps_of(run), None)


def test_of_two_ends_the_rate_falls_to_the_first(start, capsys):
    both = [CORPUS, "--training.epochs=2", "--training.max_steps=5000"]
    run = start(*both)
    steps = 2 * steps_of(run)
    assert ends(run) == ("trapezoid", 2, steps, None)
    said = f"falls to zero to its end after {steps} steps\n"
    assert capsys.readouterr().out.count(said) == 1
    assert start(*both).config == run.config
    assert said not in capsys.readouterr().out
    # Epochs that were asked for stay, when so many steps are.
    assert ends(start("--training.max_steps=3")) == ("trapezoid", 2, 3, None)
    assert ends(start("--training.max_steps=5000")) == ends(run)


def test_epochs_and_time(start, capsys):
    both = [CORPUS, "--training.epochs=2", "--training.minutes=60"]
    run = start(*both)
    steps = 2 * steps_of(run)
    assert ends(run) == ("trapezoid", 2, steps, 60.0)
    assert f"the end of the time, or after {steps} steps if" in capsys.readouterr().out
    assert start(*both).config == run.config
    with pytest.raises(SystemExit):
        start("--time=1h", "--training.epochs=2")
    said = capsys.readouterr().err
    assert "argument --training.epochs: must be left out with --time" in said
    assert "Received: 2, with --time 1h" in said


def test_other_epochs_than_the_rules_are_planned_anew(start, capsys):
    run = start(CORPUS)
    capsys.readouterr()
    steps = 160 * steps_of(run)
    assert ends(start(CORPUS, "--training.epochs=160")) == ("trapezoid", 160, steps, None)
    assert (
        f"Planned anew: training.schedule trapezoid: falls to zero to its end after {steps:,}"
        in (capsys.readouterr().out)
    )
    assert ends(start(CORPUS)) == ends(run)


def test_no_steps_are_chosen_where_none_are_asked_for(start):
    """Without them a trapezoid would not know its end, and the same command would not go on."""
    run = start(CORPUS, "--training.max_steps=null")
    assert ends(run) == ("inverse_sqrt", 100, None, None)
    assert start(CORPUS, "--training.max_steps=null").config == run.config


def test_steps_are_counted_as_they_are_shared(start):
    """Each of the workers fills batches of its own."""
    workers = Replicas("a worker", workers=4)
    run = start(CORPUS, "--training.epochs=2", replicas=workers)
    steps = steps_of(run, workers)
    assert steps != steps_of(run)
    assert run.config.training.max_steps == 2 * steps
    # All plan the same, whatever their own parts are.
    other = dataclasses.replace(workers, worker=3)
    assert (
        start(CORPUS, "--training.epochs=3", replicas=other).config.training.max_steps == 3 * steps
    )


def test_what_is_open_is_checked_when_it_is_known(start):
    """It is the run that has no validation corpus, not the command."""
    start(CORPUS, "--data.valid=null")
    with pytest.raises(ValueError, match=r"patience=5, early_stopping='score', valid=None"):
        start("--training.patience=5")


def test_a_cache_that_the_run_has_need_not_be_repeated(start, tmp_path, capsys):
    start(CORPUS, f"--data.cache={tmp_path / 'cache'}")
    parsed = prepare.COMMAND.parsed([f"--output={tmp_path / 'run'}"], "prepare")
    assert parsed.command.output == tmp_path / "run"
    with pytest.raises(SystemExit):
        prepare.COMMAND.parsed([f"--output={tmp_path / 'none'}"], "prepare")
    assert "argument --data.cache: must be a folder" in capsys.readouterr().err


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
