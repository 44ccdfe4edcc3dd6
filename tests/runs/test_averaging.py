"""The mean of checkpoints against NumPy, and the command that makes it."""

import dataclasses
import sys

import numpy as np
import pytest
from random_models import vary
from untrained_run import untrained_run

from keras_transformer import Transformer, TransformerConfig
from keras_transformer.__main__ import main
from keras_transformer.runs.averaging import average, average_run
from keras_transformer.runs.checkpoints import Checkpoints
from keras_transformer.runs.progress import Progress
from keras_transformer.tasks import task_of
from keras_transformer.training.scoring import score_model
from keras_transformer.translation.opening import open_runs


def test_the_mean_against_numpy(tmp_path):
    """In float64: in float32 one weight of 1e8 would swallow the others."""
    config = TransformerConfig(20, None, 1, 8, 16, 2, max_length=8)
    models = [vary(Transformer(config), seed) for seed in range(3)]
    for model, value in zip(models, (1e8, 3.0, -1e8), strict=True):
        weight = model.trainable_variables[0]
        weight.assign(np.full(weight.shape, value, "float32"))
    checkpoints = Checkpoints(tmp_path)
    for step, model in enumerate(models, 1):
        checkpoints.save(model, Progress(step=step), {"val_bleu": step})
    found = average(checkpoints.all())
    for variable, *weights in zip(found.weights, *(m.get_weights() for m in models), strict=True):
        expected = np.mean(np.stack(weights), axis=0, dtype="float64").astype("float32")
        np.testing.assert_array_equal(variable, expected)
    assert float(found.trainable_variables[0][0, 0]) == 1.0
    # That of one is that one, bit for bit.
    for one, same in zip(average(checkpoints.all()[:1]).weights, models[0].weights, strict=True):
        np.testing.assert_array_equal(one, same)
    with pytest.raises(ValueError, match="at least one"):
        average([])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return untrained_run(tmp_path_factory.mktemp("runs") / "run", bleu=(30.0, 10.0, 20.0))


@pytest.mark.parametrize(
    ("arguments", "steps"),
    [
        ([], (1, 2, 3)),
        (["--last", "2"], (2, 3)),
        (["--best", "2"], (1, 3)),
        (["--last=9"], (1, 2, 3)),
    ],
    ids=str,
)
def test_the_command(run, arguments, steps, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["keras_transformer", "average", str(run.path), *arguments])
    main()
    output = capsys.readouterr().out
    assert f"Averaging {len(steps)} checkpoints: steps {', '.join(map(str, steps))}" in output
    assert f"{run.path}/checkpoints/average: not scored" in output
    assert run.checkpoints.average().averaged == steps
    [model] = open_runs([run.path], "average", {}).models
    by_step = {checkpoint.step: checkpoint for checkpoint in run.checkpoints.all()}
    weights = [by_step[step].load().get_weights()[0] for step in steps]
    expected = np.mean(weights, axis=0, dtype="float64").astype("float32")
    np.testing.assert_array_equal(model.get_weights()[0], expected)


def test_a_run_whose_number_of_parts_is_to_be_found(run, monkeypatch):
    """`micro_batches` 0 stays in run.json; measuring the mean takes no step."""
    training = dataclasses.replace(run.config.training, micro_batches=0)
    config = dataclasses.replace(run.config, training=training)
    task = task_of(config)
    data = dataclasses.replace(config.data, valid="phrasebook:valid:5")
    run = dataclasses.replace(run, config=dataclasses.replace(config, data=data))
    found = score_model(task, run, run.checkpoints.best().load())
    assert found["val_loss"] > 0


def test_an_average_that_is_there_is_left_as_it_is(run, capsys):
    average_run(run, 3)
    before = (run.checkpoints.average().path / "state.json").stat()
    capsys.readouterr()
    average_run(run, 3)
    after = (run.checkpoints.average().path / "state.json").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("arguments", [["--last", "0"], ["--last", "1", "--best", "1"]], ids=str)
def test_wrong_counts(run, arguments, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["keras_transformer", "average", str(run.path), *arguments])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert "--last" in capsys.readouterr().err


def test_a_run_without_checkpoints(tmp_path):
    run = untrained_run(tmp_path / "run", bleu=())
    with pytest.raises(ValueError, match=f"must have a checkpoint to average.*{run.path}"):
        average_run(run, 2)
    with pytest.raises(FileNotFoundError, match=f"must have an average.*{run.path}"):
        open_runs([run.path], "average", {})
