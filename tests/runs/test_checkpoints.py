"""Checkpoints: which are kept, which is the best, and that the last good one survives."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_transformer import (
    RunConfig,
    TrainingConfig,
    Transformer,
    TransformerConfig,
    compile_model,
)
from keras_transformer.runs.checkpoints import Checkpoints
from keras_transformer.runs.progress import Progress

ROOT = Path(__file__).parents[2]

# Saves a checkpoint, and is in the midst of the second one for ever.
CHILD = """
import sys, time
from pathlib import Path
from keras_transformer.runs.checkpoints import Checkpoints
from keras_transformer.runs.progress import Progress

class Model:
    content = b"first"
    def save(self, path):
        Path(path).write_bytes(self.content)
        if self.content != b"first":
            print("in the midst", flush=True)
            time.sleep(60)

model, checkpoints = Model(), Checkpoints(sys.argv[1])
checkpoints.save(model, Progress(step=1), {"val_bleu": 1.0})
model.content = b"half"
checkpoints.save(model, Progress(step=2), {"val_bleu": 2.0})
"""


class FakeModel:
    """Writes bytes instead of weights, and fails when it is told to."""

    def __init__(self, content=b"", error=None):
        self.content, self.error = content, error

    def save(self, path):
        Path(path).write_bytes(self.content)
        if self.error is not None:
            raise self.error


ARRAYS = {"sums/0": np.float32([1.5, 2.0])}


def save_all(checkpoints, bleus, first=1):
    """Saves a checkpoint for each BLEU; an unscored one for None."""
    for step, bleu in enumerate(bleus, first):
        metrics = None if bleu is None else {"val_bleu": bleu}
        checkpoints.save(FakeModel(str(step).encode()), Progress(step=step), metrics, ARRAYS)


def steps_in(checkpoints):
    return [checkpoint.step for checkpoint in checkpoints.all()]


def names_in(folder):
    return sorted(path.name for path in Path(folder).iterdir())


@pytest.fixture(scope="module")
def model():
    config = TransformerConfig(20, None, 1, 8, 16, 2, dropout=0.3, max_length=8)
    return compile_model(Transformer(config), TrainingConfig(warmup_steps=2))


def test_the_model_file_has_no_optimizer(model, tmp_path):
    optimizer, checkpoints = model.optimizer, Checkpoints(tmp_path)
    checkpoints.save(model, Progress(step=1))
    assert model.optimizer is optimizer
    inputs = {name: np.array([[5, 6, 3]]) for name in ("source", "target")}
    loaded = checkpoints.latest().load()
    assert not loaded.compiled
    np.testing.assert_array_equal(loaded(inputs), model(inputs))
    # float32 weights, and little beside them.
    size = (checkpoints.latest().path / "model.keras").stat().st_size
    model.save(tmp_path / "whole.keras")
    assert (tmp_path / "whole.keras").stat().st_size - size > 2 * 4 * model.count_params()


def test_what_is_written(tmp_path):
    checkpoints = Checkpoints(tmp_path / "run" / "checkpoints")
    assert checkpoints.all() == []
    assert checkpoints.latest() is checkpoints.best() is checkpoints.average() is None
    progress = Progress(1234, epoch=3, batch=17, best_score=29.5, waited=2, scored_by="loss")
    metrics = {"loss": np.float32(0.5), "val_bleu": 30}
    checkpoints.save(FakeModel(b"weights"), progress, metrics, ARRAYS)
    [saved] = checkpoints.all()
    assert saved.path == tmp_path / "run" / "checkpoints" / "step-00001234"
    assert names_in(saved.path) == ["model.keras", "state.json", "training.npz"]
    state = json.loads((saved.path / "state.json").read_text())
    assert state == {
        "progress": {
            **{"step": 1234, "epoch": 3, "batch": 17},
            **{"best_score": 29.5, "waited": 2, "scored_by": "loss"},
        },
        "metrics": {"loss": 0.5, "val_bleu": 30.0},
        "averaged": [],
    }
    assert (saved.step, saved.epoch, saved.progress) == (1234, 3, progress)
    assert saved.arrays().keys() == ARRAYS.keys()
    np.testing.assert_array_equal(saved.arrays()["sums/0"], ARRAYS["sums/0"])
    assert checkpoints.latest() == checkpoints.best() == saved


def test_a_checkpoint_that_a_training_removes_meanwhile(tmp_path, monkeypatch):
    checkpoints = Checkpoints(tmp_path)
    for step in (1, 2):
        checkpoints.save(FakeModel(b"weights"), Progress(step), {"loss": 1.0}, ARRAYS)
    listed = sorted(tmp_path.glob("step-*"))
    monkeypatch.setattr(Path, "glob", lambda path, pattern: iter(listed))
    shutil.rmtree(listed[0])
    assert [checkpoint.step for checkpoint in checkpoints.all()] == [2]


def test_a_step_is_saved_once_and_may_be_scored_later(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(FakeModel(b"first"), Progress(5, 0, 5), {"val_bleu": 3.0}, ARRAYS)
    checkpoints.save(FakeModel(b"again"), Progress(5, 1, 0), {"val_loss": 2.0}, ARRAYS)
    [saved] = checkpoints.all()
    assert saved.progress == Progress(5, 1, 0)
    assert saved.metrics == {"val_bleu": 3.0, "val_loss": 2.0}
    assert (saved.path / "model.keras").read_bytes() == b"first"
    assert names_in(saved.path) == ["model.keras", "state.json", "training.npz"]


def expected_steps(bleus, keep, keep_best):
    """The rule in other words: a step stays if it is the last, or few are newer or better."""
    scored = {step: bleu for step, bleu in enumerate(bleus, 1) if bleu is not None}

    def stays(step):
        if step == len(bleus):
            return True
        if step not in scored:
            return False
        newer = sum(other > step for other in scored)
        better = sum((-bleu, other) < (-scored[step], step) for other, bleu in scored.items())
        return newer < keep or better < keep_best

    return [step for step in range(1, len(bleus) + 1) if stays(step)]


@pytest.mark.parametrize(("keep", "keep_best"), [(1, 0), (1, 1), (3, 1), (2, 3)])
def test_what_is_kept(tmp_path, keep, keep_best):
    """By brute force, with ties and with unscored ones; what was removed does not come back."""
    rng = np.random.default_rng([keep, keep_best])
    bleus = [None if rng.random() < 0.3 else int(rng.integers(0, 6)) for _ in range(25)]
    checkpoints = Checkpoints(tmp_path, keep, keep_best)
    for step in range(1, len(bleus) + 1):
        save_all(checkpoints, bleus[step - 1 : step], step)
        assert steps_in(checkpoints) == expected_steps(bleus[:step], keep, keep_best)
        with_arrays = [c.step for c in checkpoints.all() if (c.path / "training.npz").exists()]
        assert with_arrays == [step]
    assert {path.name for path in tmp_path.iterdir()} == {c.path.name for c in checkpoints.all()}


def test_steps_are_numbers_not_names(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=2, keep_best=0)
    save_all(checkpoints, [1, 2, 3, 4], first=99_999_998)
    assert steps_in(checkpoints) == [100_000_000, 100_000_001]
    assert checkpoints.latest().step == 100_000_001


@pytest.mark.parametrize(
    ("metrics", "best"),
    [
        ([{"val_bleu": 1, "val_loss": 9}, {"val_bleu": 2, "val_loss": 10}], 2),
        ([{"val_loss": 2.0, "loss": 3}, {"val_loss": 2.5, "loss": 1}], 1),
        ([{"loss": 2.0}, {"loss": 1.5}, {"loss": 1.6}], 2),
        # Of the training loss within an epoch, and validation at its end.
        ([{"loss": 1.0}, {"loss": 1.1, "val_loss": 3.0}, {"loss": 0.9}], 2),
        ([{"val_loss": 1.0}, {"val_bleu": 0.0, "val_loss": 3.0}, {}], 2),
        ([{"val_loss": math.nan}, {"val_loss": 3.0}, {"val_loss": math.nan}], 2),
        # BLEU is 0 for all, as in a long warm-up.
        ([{"val_bleu": 0.0, "val_loss": loss} for loss in (9.0, 7.0, 8.0)], 2),
        ([{"val_bleu": 20.0, "val_loss": loss} for loss in (math.nan, 7.0, 7.0)], 2),
        ([{"val_bleu": 20.1, "val_loss": 9.0}, {"val_bleu": 20.0, "val_loss": 7.0}], 1),
    ],
)
def test_what_the_best_is(tmp_path, metrics, best):
    checkpoints = Checkpoints(tmp_path)
    for step, values in enumerate(metrics, 1):
        checkpoints.save(FakeModel(), Progress(step=step), values)
    assert checkpoints.best().step == best
    assert checkpoints.ranked(1)[0].step == best


@pytest.mark.parametrize(("bleus", "best"), [((0.04, 0.01), 2), ((0.04, 1.5), 2), ((1.5, 1.4), 1)])
def test_differences_below_the_floor(tmp_path, bleus, best):
    """Of a BLEU of nearly 0 the loss decides, though it falls throughout."""
    checkpoints = Checkpoints(tmp_path, floors=RunConfig.floors)
    for step, bleu in enumerate(bleus, 1):
        metrics = {"val_bleu": bleu, "val_loss": 9.0 - step}
        checkpoints.save(FakeModel(), Progress(step=step), metrics)
    assert checkpoints.best().step == best


@pytest.mark.parametrize(("bleu", "is_best"), [(31.0, True), (30.0, False), (None, False)])
def test_the_average_is_the_best_where_its_bleu_is_the_highest(tmp_path, bleu, is_best):
    checkpoints = Checkpoints(tmp_path, keep=2)
    save_all(checkpoints, [30, 20, 10])
    metrics = {} if bleu is None else {"val_bleu": bleu}
    average = checkpoints.save_average(FakeModel(b"mean"), checkpoints.newest(2), metrics)
    assert average.averaged == (2, 3)
    assert average.progress == Progress(step=3)
    assert checkpoints.average() == average
    assert names_in(average.path) == ["model.keras", "state.json"]
    assert checkpoints.best().step == (3 if is_best else 1)
    assert (checkpoints.best() == average) is is_best
    assert checkpoints.latest().path.name == "step-00000003"
    # It stays, whatever comes, until another takes its place.
    save_all(checkpoints, [5, 5, None, 5], first=4)
    assert checkpoints.average() == average
    checkpoints.save_average(FakeModel(b"other"), checkpoints.newest(2), {})
    assert checkpoints.average().averaged == (5, 7)
    assert (checkpoints.average().path / "model.keras").read_bytes() == b"other"


@pytest.mark.parametrize("error", [OSError("no space left on device"), KeyboardInterrupt()])
def test_a_failed_save_leaves_the_last_good_one(model, tmp_path, monkeypatch, error):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(model, Progress(step=1), {"val_bleu": 10}, ARRAYS)
    weights, optimizer = model.get_weights(), model.optimizer

    def fail(_, path, **options):
        Path(path).write_bytes(b"half")
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(keras.Model, "save", fail)
        with pytest.raises(type(error)):
            checkpoints.save(model, Progress(step=2), {"val_bleu": 20}, ARRAYS)
    assert model.optimizer is optimizer
    assert names_in(tmp_path) == ["step-00000001"]
    assert checkpoints.latest().step == checkpoints.best().step == 1
    assert checkpoints.latest().arrays().keys() == ARRAYS.keys()
    for one, other in zip(checkpoints.latest().load().get_weights(), weights, strict=True):
        np.testing.assert_array_equal(one, other)
    checkpoints.save(model, Progress(step=2), {"val_bleu": 20}, ARRAYS)
    assert checkpoints.latest().step == 2


def test_a_process_killed_while_it_removes(tmp_path, monkeypatch):
    """A folder loses its name before it loses its files."""
    checkpoints = Checkpoints(tmp_path, keep=1, keep_best=0)
    save_all(checkpoints, [1])

    def killed(path, **options):
        if Path(path).exists():
            (Path(path) / "state.json").unlink()
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            save_all(checkpoints, [2], first=2)
    assert steps_in(checkpoints) == [2]
    save_all(checkpoints, [3], first=3)
    assert names_in(tmp_path) == ["step-00000003"]


def test_what_killed_processes_left_is_ignored_and_removed(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    save_all(checkpoints, [10])
    # In the midst of a save, and of one before its folder held anything.
    (tmp_path / ".step-00000002.4711.tmp").mkdir()
    (tmp_path / ".step-00000002.4711.tmp" / "model.keras").write_bytes(b"half")
    (tmp_path / ".step-00000003.4712.tmp").mkdir()
    assert checkpoints.latest().step == checkpoints.best().step == 1
    save_all(checkpoints, [20], first=2)
    assert names_in(tmp_path) == ["step-00000001", "step-00000002"]


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
    assert checkpoints.latest().step == checkpoints.best().step == 1
    assert (checkpoints.latest().path / "model.keras").read_bytes() == b"first"
    save_all(checkpoints, [5], first=2)
    assert names_in(tmp_path) == ["step-00000001", "step-00000002"]
