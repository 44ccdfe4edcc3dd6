"""Two workers on one machine train together, and one of them is killed."""

import csv
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import thorough

from keras_transformer.runs.run import open_run
from keras_transformer.tasks.translation.inputs import training_batches
from keras_transformer.training.strategy import Replicas

ROOT = Path(__file__).parents[2]
EPOCHS = thorough.number(2, 3)
OPTIONS = [
    "--preset=tiny",
    "--model.num_layers=1",
    "--model.d_model=16",
    "--model.d_ff=32",
    "--model.vocab_size=200",
    "--model.max_length=48",
    "--data.train=phrasebook:train:800",
    "--data.valid=phrasebook:valid:21",
    "--data.batch_tokens=512",
    f"--training.epochs={EPOCHS}",
    "--training.checkpoint_steps=5",
    "--training.ema_momentum=0.9",
    "--validation.bleu_sentences=3",
]


@pytest.fixture
def addresses():
    """Two free ports of this machine."""
    sockets = [socket.socket() for _ in range(2)]
    for one in sockets:
        one.bind(("localhost", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return [f"localhost:{port}" for port in ports]


@pytest.fixture
def start(addresses, tmp_path):
    """Starts a worker; its output goes to a file."""
    workers = []

    def run(index, *options):
        task = {"type": "worker", "index": index}
        config = {"cluster": {"worker": addresses}, "task": task}
        log = tmp_path / f"worker-{len(workers)}.log"
        with open(log, "wb") as output:
            worker = subprocess.Popen(
                [
                    sys.executable,
                    str(ROOT / "train.py"),
                    *OPTIONS,
                    *options,
                    f"--output={tmp_path / 'run'}",
                ],
                env={**os.environ, "TF_CONFIG": json.dumps(config), "PYTHONPATH": str(ROOT)},
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        workers.append(worker)
        return worker, log

    yield run
    for worker in workers:
        worker.kill()
        worker.wait()


def wait_for(found, seconds):
    end = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.1)


def steps_of(run, epoch):
    """Steps of an epoch: the batches of the worker that has the most."""

    def batches(worker):
        made = training_batches(run, Replicas("a worker", worker=worker, workers=2))
        return sum(1 for _ in made.epoch(epoch))

    return max(batches(0), batches(1))


def test_a_killed_worker_is_started_again(start, tmp_path):
    """The other one notices, starts itself anew, and both go on from the last checkpoint."""
    checkpoints = tmp_path / "run" / "checkpoints"
    (chief, chief_log), (killed, _) = start(0), start(1)
    wait_for(lambda: (checkpoints / "step-00000010").exists(), 180)
    killed.kill()
    killed.wait()
    wait_for(lambda: b"starts again from the last checkpoint" in chief_log.read_bytes(), 120)
    again, again_log = start(1)
    for worker, log in ((chief, chief_log), (again, again_log)):
        assert worker.wait(timeout=240) == 0, log.read_text()
    output = again_log.read_text()
    assert "worker 1 of 2, with 1 replica(s) each" in output
    assert f"Continuing {tmp_path / 'run'} after step " in output

    run = open_run(tmp_path / "run")
    latest = run.checkpoints.latest()
    assert latest.epoch == EPOCHS
    assert latest.step == sum(map(functools.partial(steps_of, run), range(EPOCHS)))
    assert latest.step in [int(value) for value in latest.arrays().values() if value.shape == ()]
    assert all(np.isfinite(weight).all() for weight in latest.load().get_weights())
    with open(run.path / "history.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["epoch"]) for row in rows] == list(range(EPOCHS))
    assert float(rows[-1]["loss"]) < float(rows[0]["loss"])


@thorough.only
def test_a_signal_to_one_worker_ends_both(start, tmp_path):
    """At once, though threads behind the datasets of both are at work."""
    corpus = "--data.train=phrasebook:train:2000"
    (chief, chief_log), (signalled, log) = start(0, corpus), start(1, corpus)
    wait_for(lambda: b"Training corpus, epoch 1" in log.read_bytes(), 180)
    latest = open_run(tmp_path / "run").checkpoints.latest()
    signalled.send_signal(signal.SIGTERM)
    for worker, output in ((signalled, log), (chief, chief_log)):
        assert worker.wait(timeout=25) == 128 + signal.SIGTERM, output.read_text()
        assert b"Stopped by SIGTERM after a checkpoint was written" in output.read_bytes()
    saved = open_run(tmp_path / "run").checkpoints.latest()
    assert saved.step > latest.step
    assert saved.arrays()
