"""A killed export leaves what was there, or the finished version; the next one cleans up.

The process kills itself at a chosen moment: no handler runs and no buffer is written.
"""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tensorflow as tf
import thorough
from untrained_run import untrained_run

ROOT = Path(__file__).parents[2]

KILLED = """
import os, runpy, shutil, signal, sys
from pathlib import Path

script, moment, *arguments = sys.argv[1:]
sys.argv = [script, *arguments]

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def before(owner, name):
    setattr(owner, name, lambda *args, **kwargs: die())

def after(owner, name):
    function = getattr(owner, name)
    def call(*args, **kwargs):
        function(*args, **kwargs)
        die()
    setattr(owner, name, call)

import tensorflow as tf
if moment == "within the SavedModel":
    # TensorFlow writes the variables first and the graph last.
    from tensorflow.python.saved_model import save
    before(save.file_io, "atomic_write_string_to_file")
elif moment == "after the SavedModel":
    after(tf.saved_model, "save")
elif moment == "before the rename":
    before(os, "rename")
elif moment == "after the rename":
    after(os, "rename")
runpy.run_path(script, run_name="__main__")
"""
MOMENTS = [
    "within the SavedModel",
    "after the SavedModel",
    "before the rename",
    "after the rename",
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return untrained_run(tmp_path_factory.mktemp("runs") / "run").path


@pytest.fixture(scope="module")
def first(run, tmp_path_factory):
    """A folder with one version."""
    folder = tmp_path_factory.mktemp("exports")
    export(run, folder)
    return folder


def export(run, folder, *program):
    return subprocess.run(
        [sys.executable, *(program or [ROOT / "export.py"]), run, "--output", folder],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )


def content_of(folder):
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("moment", thorough.number(MOMENTS[1:2], MOMENTS))
def test_a_killed_export(run, first, tmp_path, moment):
    folder = tmp_path / "exports"
    shutil.copytree(first, folder)
    done = export(run, folder, "-c", KILLED, ROOT / "export.py", moment)
    assert done.returncode == -9, done.stderr
    versions = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    if moment == "after the rename":
        assert versions == ["1", "2"]
        translate = tf.saved_model.load(folder / "2").signatures["serving_default"]
        assert translate(text=tf.constant(["the dog"]))["translation"].shape == (1,)
        assert content_of(folder / "2").keys() == content_of(folder / "1").keys()
    else:
        assert versions == ["1"]
        left = [path for path in folder.iterdir() if path.name.startswith(".")]
        assert len(left) == 1, "it was killed within the export"
    assert content_of(folder / "1") == content_of(first / "1")
    if moment == "after the SavedModel":
        done = export(run, folder)
        assert done.returncode == 0, done.stderr
        assert sorted(path.name for path in folder.iterdir()) == ["1", "2"], "it cleaned up"
