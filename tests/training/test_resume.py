"""Training that was stopped at any moment goes on as if it had not been.

With dropout and a moving average, compared bit for bit: weights, optimizer, random states, the
place in the data, and the rows of the history.
"""

import csv
import dataclasses
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import thorough

from keras_transformer import (
    DataConfig,
    DecodingConfig,
    RunConfig,
    TrainingConfig,
    TransformerConfig,
    ValidationConfig,
)
from keras_transformer.tasks import train
from keras_transformer.tasks.translation.bleu_callback import ValidationBleu
from keras_transformer.training import callbacks
from keras_transformer.training.interruption import Interrupted

ROOT = Path(__file__).parents[2]
STEPS = 20
KILLS = thorough.number(1, 3)

# Trains in forked children, so that TensorFlow is imported once. It has not run anything when the
# process forks, and so has no threads that would be missing in the child.
FORKS = """
import os, random, signal, sys, time
from pathlib import Path
import numpy as np
sys.argv = ["train.py", "--output", *sys.argv[1:]]
sys.path.insert(0, str(Path(os.environ["ROOT"])))
from keras_transformer.commands.main import run as run_command
from keras_transformer.training import callbacks, loop

run, write, draws = Path(sys.argv[2]), np.savez, random.Random(1706)
# Whatever the tests were started with.
signal.signal(signal.SIGINT, signal.default_int_handler)

def start(slow=0.0, signal_at=None, number=None):
    sys.stdout.flush()
    if (child := os.fork()) != 0:
        return child
    def slow_write(*arguments, **arrays):
        time.sleep(slow / 2)
        write(*arguments, **arrays)
        time.sleep(slow / 2)
    np.savez = slow_write
    step = callbacks.TrackProgress.on_train_batch_end
    def step_and_signal(self, batch, logs=None):
        step(self, batch, logs)
        if self.state.progress.step == signal_at:
            os.kill(os.getpid(), number)
    callbacks.TrackProgress.on_train_batch_end = step_and_signal
    code = 1
    try:
        run_command("train", prog="train.py")
        code = 0
    except SystemExit as exit:
        code = exit.code
    finally:
        sys.stdout.flush()
        os._exit(code)

def names():
    return {path.name for path in run.glob("checkpoints/*step-*")}

def kill_at_random():
    child, before = start(slow=0.05), names()
    deadline = time.monotonic() + 120
    while not names() - before and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(draws.uniform(0, 0.2))
    os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    newest = max(run.glob("checkpoints/step-*"), key=lambda path: path.name)
    with np.load(newest / "training.npz") as arrays:
        assert all(np.isfinite(arrays[name]).all() for name in arrays)
    print("RESULT killed", status, int(newest.name[5:]), any("tmp" in name for name in names()))

for number, step in ((signal.SIGTERM, 2), (signal.SIGINT, 4)):
    child = start(signal_at=step, number=number)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    [newest, *_] = sorted(run.glob("checkpoints/step-*"), reverse=True)
    print("RESULT signal", status, int(newest.name[5:]))
for _ in range(int(os.environ["KILLS"])):
    kill_at_random()
print("RESULT finished", os.waitstatus_to_exitcode(os.waitpid(start(), 0)[1]))
"""

# What takes the place of a training where only the writing matters: a state that is a function of
# the step, saved at every step, by a write that is slow.
STAND_IN = """
import os, random, signal, sys, time
from pathlib import Path
from keras_transformer.runs.checkpoints import Checkpoints
from keras_transformer.runs.progress import Progress
import numpy as np

STEPS = 120

class Model:
    def save(self, path):
        with open(path, "wb") as file:
            for byte in self.state:
                file.write(bytes([byte]))
                file.flush()
                time.sleep(0.002)

def state_after(state):
    return bytes((7 * byte + 1) % 256 for byte in state)

def work(folder):
    checkpoints, model = Checkpoints(folder, keep=2), Model()
    latest = checkpoints.latest()
    step, model.state = 0, bytes(range(8))
    if latest is not None:
        step, model.state = latest.step, (latest.path / "model.keras").read_bytes()
        assert latest.arrays()["step"] == step
    while step < STEPS:
        step, model.state = step + 1, state_after(model.state)
        metrics = {"val_bleu": step % 5} if step % 3 == 0 else None
        checkpoints.save(model, Progress(step=step), metrics, {"step": np.array(step)})

folder, draws, inside = Path(sys.argv[1]), random.Random(1706), 0
for _ in range(10):
    if (child := os.fork()) == 0:
        work(folder)
        os._exit(0)
    time.sleep(draws.uniform(0.0, 0.12))
    os.kill(child, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    inside += any(folder.glob(".step-*.tmp"))
    expected = bytes(range(8))
    latest = Checkpoints(folder).latest()
    for _ in range(latest.step if latest else 0):
        expected = state_after(expected)
    assert latest is None or (latest.path / "model.keras").read_bytes() == expected
    assert latest is None or latest.step < STEPS
work(folder)
assert Checkpoints(folder).latest().step == STEPS
print(inside, sorted(path.name for path in folder.iterdir()))
"""


def config_of(**training):
    return RunConfig(
        model=TransformerConfig(
            vocab_size=200, num_layers=1, d_model=16, d_ff=32, num_heads=2, max_length=48
        ),
        data=DataConfig("phrasebook:train:200", "phrasebook:valid:20", batch_tokens=512),
        training=TrainingConfig(
            **{
                "epochs": 2,
                "max_steps": STEPS,
                "warmup_steps": 50,
                "ema_momentum": 0.9,
                **training,
            }
        ),
        decoding=DecodingConfig(max_extra_tokens=5),
        validation=ValidationConfig(bleu_sentences=3, samples=0),
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run without a break, which ends in the midst of its second epoch."""
    return train(tmp_path_factory.mktemp("runs") / "whole", config_of())


def history_of(run):
    with open(run.path / "history.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    return [{name: row[name] for name in row if name != "tokens_per_second"} for row in rows]


def assert_same_end(run, whole):
    """The newest checkpoints agree in everything, and the histories row by row."""
    one, other = run.checkpoints.latest(), whole.checkpoints.latest()
    assert one.progress == other.progress
    arrays = one.arrays()
    assert arrays.keys() == other.arrays().keys()
    for name, array in other.arrays().items():
        np.testing.assert_array_equal(arrays[name], array, err_msg=name)
    for weight, same in zip(one.load().get_weights(), other.load().get_weights(), strict=True):
        np.testing.assert_array_equal(weight, same)
    assert history_of(run) == history_of(whole)


def test_ten_steps_and_ten_more(whole, tmp_path):
    """Stopped in the midst of an epoch, and once more just before it ends."""
    stopped = train(tmp_path / "run", config_of(max_steps=10))
    progress = stopped.checkpoints.latest().progress
    assert (progress.step, progress.epoch, progress.batch) == (10, 0, 10)
    [row] = history_of(stopped)
    assert row["loss"] != history_of(whole)[0]["loss"]
    resumed = train(tmp_path / "run", config_of())
    assert [row["epoch"] for row in history_of(resumed)] == ["0", "1"]
    assert_same_end(resumed, whole)
    # Nothing is left to do.
    assert_same_end(train(tmp_path / "run", config_of()), whole)


def test_the_optimizer_counts_the_steps(whole):
    """And nothing happens in the call that finds an epoch's data at their end."""
    arrays = whole.checkpoints.latest().arrays()
    assert whole.checkpoints.latest().step == STEPS
    assert arrays["optimizer/0"] == STEPS


def test_signals_when_all_batches_of_an_epoch_are_done(whole, tmp_path, monkeypatch):
    """Nothing is left of the epoch but its validation, of which the model has the average."""

    def signal_first(original):
        def run(self, *arguments, **options):
            os.kill(os.getpid(), signal.SIGTERM)
            return original(self, *arguments, **options)

        return run

    for part, method in (
        (callbacks.TrackProgress, "on_test_batch_end"),
        (ValidationBleu, "score"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(part, method, signal_first(getattr(part, method)))
            with pytest.raises(Interrupted, match="SIGTERM"):
                train(tmp_path / "run", config_of())
        assert not (tmp_path / "run" / "history.csv").read_text()
    assert_same_end(train(tmp_path / "run", config_of()), whole)


def in_a_process(code, *arguments):
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "ROOT": str(ROOT),
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "KILLS": str(KILLS),
    }
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_signals_and_kills_of_a_process(whole, tmp_path):
    """SIGTERM and SIGINT write first; kills at random lose the steps since the last checkpoint."""
    config = config_of(checkpoint_minutes=1e-9)
    options = [
        f"--{section}.{name}={value if value is not None else 'null'}"
        for section in ("model", "data", "training", "decoding", "validation")
        for name, value in dataclasses.asdict(getattr(config, section)).items()
        if value != getattr(type(getattr(config, section))(), name)
    ]
    output = in_a_process(FORKS, tmp_path / "run", "--preset=base", *options)
    results = [line.split()[1:] for line in output.splitlines() if line.startswith("RESULT")]
    *_, last = results
    assert results[:2] == [["signal", "143", "2"], ["signal", "130", "4"]]
    assert output.count("The same command continues from it.") == 2
    kills = results[2:-1]
    assert [kill[:2] for kill in kills] == [["killed", "-9"]] * KILLS
    steps = [int(kill[2]) for kill in kills]
    # The first write that a killed process began may be the one that was cut short.
    assert steps == sorted(steps)
    assert 4 <= steps[0] <= steps[-1] <= STEPS
    assert last == ["finished", "0"]
    run = dataclasses.replace(whole, path=tmp_path / "run")
    assert_same_end(run, whole)


def test_ten_kills_of_what_writes(tmp_path):
    """The newest checkpoint is whole after each, and nothing is left of the broken ones."""
    output = in_a_process(STAND_IN, tmp_path)
    inside, names = output.split(" ", 1)
    assert int(inside) >= 3, "kills that fell in the midst of a write"
    assert "tmp" not in names
    assert "removed" not in names
