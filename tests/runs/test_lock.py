"""The lock of a run directory: held by one, free when its holder is gone, however it ended."""

import errno
import fcntl
import json
import os
import platform
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from keras_transformer.runs.lock import RunInUseError, run_lock

ROOT = Path(__file__).parents[2]
HOLDER = """
import sys, time
from keras_transformer.runs.lock import run_lock
with run_lock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


def take(path):
    with run_lock(path):
        pass


@pytest.fixture
def holder(tmp_path):
    """A process that holds the lock of `tmp_path`."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


@pytest.fixture
def without_locks(monkeypatch):
    def refuse(*arguments):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)


def test_a_second_process_is_refused_until_the_first_is_killed(tmp_path, holder):
    who = f"process {holder.pid} on {platform.node()}"
    with pytest.raises(RunInUseError, match=f"wait until {who} has.*Received: {tmp_path}"):
        take(tmp_path)
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert (tmp_path / "training.lock").exists(), "nobody was there to remove it"
    with run_lock(tmp_path):
        assert json.loads((tmp_path / "training.lock").read_text())["pid"] == os.getpid()
    assert not any(tmp_path.iterdir())


def test_the_same_without_locks_in_the_file_system(tmp_path, holder, without_locks):
    with pytest.raises(RunInUseError, match=rf"process {holder.pid} on .*remove .*training\.lock"):
        take(tmp_path)
    holder.kill()
    holder.wait()
    take(tmp_path)
    # Of a process on another host nobody here knows whether it is there.
    (tmp_path / "training.lock").write_text(json.dumps({"host": "elsewhere", "pid": holder.pid}))
    with pytest.raises(RunInUseError, match=f"process {holder.pid} on elsewhere"):
        take(tmp_path)


def test_a_lock_on_another_host_that_was_killed(tmp_path):
    """Where there are locks, they count, and not what the file says."""
    (tmp_path / "training.lock").write_text(json.dumps({"host": "elsewhere", "pid": 1}))
    take(tmp_path)


def test_within_a_process(tmp_path):
    with run_lock(tmp_path), pytest.raises(RunInUseError, match=f"process {os.getpid()} on "):
        take(tmp_path)
    take(tmp_path)


def test_what_is_made_and_left_empty_is_removed(tmp_path):
    path = tmp_path / "runs" / "new"
    for _ in range(2):
        with pytest.raises(ValueError, match="malformed"), run_lock(path):
            raise ValueError("malformed")
        assert not path.exists()
    with run_lock(path):
        (path / "run.json").touch()
    assert [file.name for file in path.iterdir()] == ["run.json"]
    empty = tmp_path / "empty"
    empty.mkdir()
    take(empty)
    assert empty.exists(), "it was there before"


def test_no_place_for_a_run(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.touch()
    for path in (file, file / "below"):
        with pytest.raises(OSError, match=rf"`output` must be a directory.*Received: {path} \("):
            take(path)

    def refuse(*arguments):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(OSError, match=r"may write. Received: .*\(Permission denied\)"):
        take(tmp_path / "new")
