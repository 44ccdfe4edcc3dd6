"""Files and folders that appear whole or not at all, also when the process is killed."""

import os
import platform
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from keras_transformer import files
from keras_transformer.files import atomic_directory, write_atomically

# The module alone, since the package takes seconds to import. The process says when it is in the
# midst of writing, and waits to be killed.
CHILD = """
import os, runpy, sys, time
module = runpy.run_path(sys.argv[1])
path = sys.argv[2]

def stay(*arguments):
    print("in the midst", flush=True)
    time.sleep(60)

"""
WRITE_FILE = CHILD + "os.fsync = stay\nmodule['write_atomically'](path, b'new')"
REPLACE_FILE = CHILD + "os.replace = stay\nmodule['write_atomically'](path, b'new')"
FILL_FOLDER = CHILD + (
    "with module['atomic_directory'](path) as folder:\n"
    "    (folder / 'part').write_bytes(b'half')\n"
    "    stay()"
)
NAME_FOLDER = CHILD + (
    "os.rename = stay\n"
    "with module['atomic_directory'](path) as folder:\n"
    "    (folder / 'part').write_bytes(b'whole')"
)


def kill_in_the_midst(code, path):
    """Runs code in a process and kills it once it says that it is in the midst."""
    command = [sys.executable, "-c", code, files.__file__, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "in the midst\n"
        finally:
            child.kill()
    assert child.returncode == -signal.SIGKILL


def names_in(folder):
    return sorted(path.name for path in Path(folder).iterdir())


def test_a_file_is_written(tmp_path):
    path = tmp_path / "run.json"
    write_atomically(path, b"first")
    assert path.read_bytes() == b"first"
    write_atomically(str(path), b"")
    assert path.read_bytes() == b""
    assert names_in(tmp_path) == ["run.json"]


@pytest.mark.parametrize("function", ["open", "fsync", "replace"])
@pytest.mark.parametrize("error", [OSError("no space left on device"), KeyboardInterrupt()])
def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch, function, error):
    path = tmp_path / "run.json"
    path.write_bytes(b"old")

    def fail(*arguments, **options):
        raise error

    if function == "open":
        monkeypatch.setattr("builtins.open", fail)
    else:
        monkeypatch.setattr(os, function, fail)
    with pytest.raises(type(error)):
        write_atomically(path, b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["run.json"]


def test_the_folder_of_a_file_must_exist(tmp_path):
    with pytest.raises(FileNotFoundError, match="missing"):
        write_atomically(tmp_path / "missing" / "run.json", b"new")
    assert not names_in(tmp_path)


def test_content_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    calls = []
    fsync, replace, rename = os.fsync, os.replace, os.rename
    monkeypatch.setattr(os, "fsync", lambda file: (calls.append("fsync"), fsync(file)))
    monkeypatch.setattr(os, "replace", lambda *paths: (calls.append("name"), replace(*paths)))
    monkeypatch.setattr(os, "rename", lambda *paths: (calls.append("name"), rename(*paths)))
    write_atomically(tmp_path / "run.json", b"new")
    assert calls[:2] == ["fsync", "name"]
    calls.clear()
    with atomic_directory(tmp_path / "1") as folder:
        for name in ("a", "b"):
            (folder / name).mkdir()
            (folder / name / "file").write_bytes(b"")
    # Of a folder it is which names are in it.
    assert calls == [*["fsync"] * 5, "name", "fsync"]


def test_a_folder_is_filled(tmp_path):
    path = tmp_path / "exports" / "demo" / "1"
    with atomic_directory(str(path)) as folder:
        (folder / "variables").mkdir()
        (folder / "variables" / "data").write_bytes(b"weights")
        assert not path.exists()
        assert folder.parent == path.parent, "a rename must not leave the file system"
    assert (path / "variables" / "data").read_bytes() == b"weights"
    assert names_in(path.parent) == ["1"]


@pytest.mark.parametrize("error", [OSError("no space left on device"), KeyboardInterrupt()])
def test_a_folder_that_fails_leaves_nothing(tmp_path, error):
    def fill():
        with atomic_directory(tmp_path / "1") as folder:
            (folder / "part").write_bytes(b"half")
            raise error

    with pytest.raises(type(error)):
        fill()
    assert not names_in(tmp_path)


def test_a_folder_that_cannot_be_named_leaves_nothing(tmp_path):
    """Another process may have made it meanwhile."""
    path = tmp_path / "1"

    def fill():
        with atomic_directory(path) as folder:
            (folder / "part").write_bytes(b"ours")
            path.mkdir()
            (path / "part").write_bytes(b"theirs")

    with pytest.raises(OSError, match="not empty"):
        fill()
    assert names_in(tmp_path) == ["1"]
    assert (path / "part").read_bytes() == b"theirs"


@pytest.mark.parametrize("make", [Path.mkdir, Path.touch])
def test_an_existing_path_stays(tmp_path, make):
    make(tmp_path / "1")
    with (
        pytest.raises(FileExistsError, match=rf"`path` must not exist yet.*{tmp_path}/1"),
        atomic_directory(tmp_path / "1"),
    ):
        pytest.fail("the block must not be entered")
    assert names_in(tmp_path) == ["1"]


@pytest.mark.parametrize("code", [WRITE_FILE, REPLACE_FILE], ids=["writing", "replacing"])
def test_a_killed_write_leaves_the_old_file(tmp_path, code):
    path = tmp_path / "run.json"
    path.write_bytes(b"old")
    kill_in_the_midst(code, path)
    assert path.read_bytes() == b"old"
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("code", [FILL_FOLDER, NAME_FOLDER], ids=["filling", "naming"])
def test_a_killed_folder_does_not_appear(tmp_path, code):
    path = tmp_path / "1"
    kill_in_the_midst(code, path)
    assert not path.exists()
    with atomic_directory(path) as folder:
        (folder / "part").write_bytes(b"whole")
    assert names_in(path) == ["part"]
    assert (path / "part").read_bytes() == b"whole"


def test_what_a_killed_process_left_is_removed(tmp_path):
    """And what a process that lives is writing is not."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    path = tmp_path / "run[1]"
    for process in (ended.pid, os.getppid()):
        (tmp_path / f".run[1].{platform.node()}.{process}.tmp" / "variables").mkdir(parents=True)
    with atomic_directory(path) as folder:
        (folder / "weights").write_bytes(b"new")
    assert names_in(tmp_path) == [f".run[1].{platform.node()}.{os.getppid()}.tmp", "run[1]"]


@pytest.mark.parametrize(
    "path", ["gs://bucket/run", "s3://bucket/run", Path("gs://bucket/run"), "file:///tmp/run"]
)
def test_an_address_is_no_place_to_write(path):
    with pytest.raises(ValueError, match=r"`output` must be a folder.*Received: (gs|s3|file):/"):
        files.require_local(path, "output")


@pytest.mark.parametrize("path", ["runs/a", "/runs/a:b/c", "a:b", "./gs:/a", "1:/a", Path("..")])
def test_a_path_is(path):
    files.require_local(path, "output")
