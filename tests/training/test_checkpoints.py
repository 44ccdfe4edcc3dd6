"""Checkpoints: training goes on as if it had not stopped, and the last good one survives."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_transformer import TrainingConfig, Transformer, TransformerConfig, compile_model
from keras_transformer.training.checkpoints import Checkpoints

ROOT = Path(__file__).parents[2]

# Saves a checkpoint, and is in the midst of the second one for ever.
CHILD = """
import sys, time
from pathlib import Path
from keras_transformer.training.checkpoints import Checkpoints

class Model:
    content, variables = b"first", ()
    def save(self, path):
        Path(path).write_bytes(self.content)
        if self.content != b"first":
            print("in the midst", flush=True)
            time.sleep(60)

model, checkpoints = Model(), Checkpoints(sys.argv[1])
checkpoints.save(model, 1, {"val_bleu": 1.0})
model.content = b"half"
checkpoints.save(model, 2, {"val_bleu": 2.0})
"""


class FakeModel:
    """Writes bytes instead of weights, and fails when it is told to."""

    variables = ()

    def __init__(self, content=b"", error=None):
        self.content, self.error = content, error

    def save(self, path):
        Path(path).write_bytes(self.content)
        if self.error is not None:
            raise self.error


def save_all(checkpoints, bleus, first=1):
    for epoch, bleu in enumerate(bleus, first):
        checkpoints.save(FakeModel(str(epoch).encode()), epoch, {"val_bleu": bleu})


def epochs_in(checkpoints):
    return [checkpoint.epoch for checkpoint in checkpoints.all()]


def names_in(folder):
    return sorted(path.name for path in Path(folder).iterdir())


def batch(seed):
    ids = np.random.default_rng(seed).integers(4, 20, (6, 8), "int32")
    return {"source": ids, "target": ids[:, :-1]}, ids[:, 1:]


@pytest.fixture
def model():
    config = TransformerConfig(20, None, 1, 8, 16, 2, dropout=0.3, max_length=8)
    training = TrainingConfig(warmup_steps=2, clip_norm=1.0)
    return compile_model(Transformer(config), training)


def assert_same_state(one, other):
    """Weights, and the iterations and moments of the optimizer."""
    for part in (lambda model: model.weights, lambda model: model.optimizer.variables):
        assert len(part(one)) == len(part(other)) > 0
        for variable, same in zip(part(one), part(other), strict=True):
            np.testing.assert_array_equal(variable, same)


def test_training_goes_on_from_a_checkpoint(model, tmp_path):
    """Bit for bit, with dropout: its seeds are saved as well."""
    for step in range(3):
        model.train_on_batch(*batch(step))
    checkpoint = Checkpoints(tmp_path).save(model, 3, {"loss": 2.5})
    loaded = checkpoint.load()
    assert loaded is not model
    assert loaded.optimizer.iterations == 3
    assert len(loaded.optimizer.variables) > 2 * len(model.trainable_variables)
    assert any(np.any(np.asarray(moment) != 0) for moment in loaded.optimizer.variables[2:])
    assert_same_state(loaded, model)
    for each in (model, loaded):
        each.reset_metrics()
        for step in (10, 11):
            each.train_on_batch(*batch(step))
    assert loaded.optimizer.iterations == 5
    assert_same_state(loaded, model)


def test_load_for_inference(model, tmp_path):
    loaded = Checkpoints(tmp_path).save(model, 1, {}).load(compile=False)
    assert not loaded.compiled
    inputs, _ = batch(0)
    np.testing.assert_array_equal(loaded(inputs), model(inputs))


def test_what_is_written(tmp_path):
    checkpoints = Checkpoints(tmp_path / "run" / "checkpoints")
    assert checkpoints.all() == []
    assert checkpoints.latest() is checkpoints.best() is None
    metrics = {"loss": np.float32(0.5), "val_bleu": 30}
    saved = checkpoints.save(FakeModel(b"weights"), 12, metrics)
    assert saved.path == tmp_path / "run" / "checkpoints" / "epoch-0012"
    assert names_in(saved.path) == ["model.keras", "state.json"]
    state = json.loads((saved.path / "state.json").read_text())
    assert state == {"epoch": 12, "metrics": {"loss": 0.5, "val_bleu": 30.0}, "random": []}
    assert checkpoints.latest() == checkpoints.best() == saved


def test_keeps_the_newest_and_the_best(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=2)
    kept = []
    for epoch, bleu in enumerate([10, 30, 20, 25, 30, 40, 5], 1):
        save_all(checkpoints, [bleu], epoch)
        kept.append(epochs_in(checkpoints))
    # Of two that are as good, the earlier one is the best.
    assert kept == [[1], [1, 2], [2, 3], [2, 3, 4], [2, 4, 5], [5, 6], [6, 7]]
    assert checkpoints.best().epoch == 6
    assert checkpoints.latest().epoch == 7
    assert names_in(tmp_path) == ["epoch-0006", "epoch-0007"]
    assert (checkpoints.best().path / "model.keras").read_bytes() == b"6"


def test_keeps_the_best_alone(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=1)
    save_all(checkpoints, [10, 50, 20, 30])
    assert epochs_in(checkpoints) == [2, 4]


def test_epochs_are_numbers_not_names(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=2)
    save_all(checkpoints, [1, 2, 3, 4], first=9998)
    assert epochs_in(checkpoints) == [10000, 10001]
    assert checkpoints.latest().epoch == 10001


@pytest.mark.parametrize(
    ("metrics", "best"),
    [
        ([{"val_bleu": 1, "val_loss": 9}, {"val_bleu": 2, "val_loss": 10}], 2),
        ([{"val_loss": 2.0, "loss": 3}, {"val_loss": 2.5, "loss": 1}], 1),
        ([{"loss": 2.0}, {"loss": 1.5}, {"loss": 1.6}], 2),
    ],
)
def test_what_the_best_is(tmp_path, metrics, best):
    checkpoints = Checkpoints(tmp_path)
    for epoch, values in enumerate(metrics, 1):
        checkpoints.save(FakeModel(), epoch, values)
    assert checkpoints.best().epoch == best


def test_a_loss_that_is_not_a_number_is_not_the_best(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=3)
    for epoch, loss in enumerate([float("nan"), 3.0, float("nan")], 1):
        checkpoints.save(FakeModel(), epoch, {"val_loss": loss})
    assert checkpoints.best().epoch == 2


@pytest.mark.parametrize("error", [OSError("no space left on device"), KeyboardInterrupt()])
def test_a_failed_save_leaves_the_last_good_one(model, tmp_path, monkeypatch, error):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(model, 1, {"val_bleu": 10})
    weights = model.get_weights()
    model.set_weights([weight + 1 for weight in weights])

    def fail(_, path, **options):
        Path(path).write_bytes(b"half")
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(keras.Model, "save", fail)
        with pytest.raises(type(error)):
            checkpoints.save(model, 2, {"val_bleu": 20})
    assert names_in(tmp_path) == ["epoch-0001"]
    assert checkpoints.latest().epoch == checkpoints.best().epoch == 1
    for one, other in zip(checkpoints.latest().load().get_weights(), weights, strict=True):
        np.testing.assert_array_equal(one, other)
    checkpoints.save(model, 2, {"val_bleu": 20})
    assert checkpoints.latest().epoch == 2


def test_what_killed_processes_left_is_ignored_and_removed(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    save_all(checkpoints, [10])
    # In the midst of a save, and of one before its folder held anything.
    (tmp_path / ".epoch-0002.4711.tmp").mkdir()
    (tmp_path / ".epoch-0002.4711.tmp" / "model.keras").write_bytes(b"half")
    (tmp_path / ".epoch-0003.4712.tmp").mkdir()
    assert checkpoints.latest().epoch == checkpoints.best().epoch == 1
    save_all(checkpoints, [20], first=2)
    assert names_in(tmp_path) == ["epoch-0001", "epoch-0002"]


def test_a_process_killed_while_it_saves(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", CHILD, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
        try:
            assert child.stdout.readline() == "in the midst\n"
        finally:
            child.kill()
    assert child.returncode == -signal.SIGKILL
    checkpoints = Checkpoints(tmp_path)
    assert len(names_in(tmp_path)) == 2, "the killed one left its temporary"
    assert checkpoints.latest().epoch == checkpoints.best().epoch == 1
    assert (checkpoints.latest().path / "model.keras").read_bytes() == b"first"
    save_all(checkpoints, [5], first=2)
    assert names_in(tmp_path) == ["epoch-0001", "epoch-0002"]
