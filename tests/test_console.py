"""What is shown fails nothing; what a program reads arrives or is an error."""

import errno
import io
import os
import sys

import pytest

from keras_transformer.console import (
    drop_unwritten,
    is_terminal,
    open_missing_streams,
    progress_bar,
    say,
    write_result,
    write_unbuffered,
)


def full():
    return open("/dev/full", "w")


def unread():
    """A pipe that nobody reads any more."""
    reader, writer = os.pipe()
    os.close(reader)
    return open(writer, "w")


def closed():
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.fixture
def streams(monkeypatch):
    """Standard output as given, and a standard error in memory."""

    def put(output):
        errors = io.StringIO()
        monkeypatch.setattr(sys, "stdout", output)
        monkeypatch.setattr(sys, "stderr", errors)
        return errors

    return put


@pytest.mark.parametrize("output", [full, unread, closed])
def test_what_is_lost_is_told_once(streams, output):
    errors = streams(output())
    for _ in range(3):
        say("talk")
    # Others, such as Keras, write there as well.
    print("more", file=sys.stdout, flush=True)
    [line] = errors.getvalue().splitlines()
    assert line.startswith("Standard output is lost (")
    drop_unwritten()
    sys.stdout.close()


def test_both_streams_are_lost(streams, monkeypatch):
    streams(unread())
    monkeypatch.setattr(sys, "stderr", full())
    say("talk")
    say("talk", to="stderr")
    for stream in (sys.stdout, sys.stderr):
        stream.close()


def test_without_streams(monkeypatch):
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    say("talk")
    write_unbuffered(b"talk")
    assert not is_terminal()
    with progress_bar(1, " lines") as bar:
        bar.update()


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [("ascii", b"ein Hund schl?ft ?\n"), ("latin-1", b"ein Hund schl\xe4ft ?\n")],
)
def test_characters_that_an_encoding_lacks(streams, encoding, shown):
    output = io.BytesIO()
    streams(io.TextIOWrapper(output, encoding))
    say("ein Hund schläft \u6c34")
    assert output.getvalue() == shown


def test_a_path_that_is_no_text(streams):
    """A file name of bytes that are not UTF-8, as Python reads it from the command line."""
    path = os.fsdecode(b"\xfc/test")
    output = io.BytesIO()
    streams(io.TextIOWrapper(output, "ascii"))
    say(path)
    write_result(f"{path}: schläft")
    assert output.getvalue() == b"?/test\n\xfc/test: schl\xc3\xa4ft\n"


@pytest.mark.parametrize(("output", "number"), [(full, errno.ENOSPC), (unread, errno.EPIPE)])
def test_a_result_that_cannot_be_written_is_an_error(streams, output, number):
    errors = streams(output())
    with pytest.raises(OSError, match=os.strerror(number)):
        write_result("-1.2500")
    drop_unwritten()
    sys.stdout.close()
    assert errors.getvalue() == ""


def test_a_progress_bar_may_be_lost(streams, monkeypatch):
    stream = unread()
    streams(io.StringIO())
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    with progress_bar(2, " lines") as bar:
        bar.update(2)
    assert bar.n == 2
    stream.close()


MISSING = """
import os, sys
for descriptor in range(3):
    os.close(descriptor)
sys.stdin = sys.stdout = sys.stderr = None  # As in a process that was started so.
from keras_transformer.console import open_missing_streams, say, write_result
open_missing_streams()
with open(sys.argv[1], "w") as file:
    assert file.fileno() > 2
    for work in (sys.stdin.read, lambda: write_result("a")):
        try:
            work()
        except OSError as error:
            file.write(error.strerror + ",")
    say("talk")
    say("talk", to="stderr")
    os.system("echo of a child; echo of a child >&2")
"""


def test_missing_streams(fresh_process, tmp_path):
    """No file gets their numbers; reading and writing are errors, and talk is not."""
    fresh_process(MISSING, tmp_path / "file")
    assert (tmp_path / "file").read_text() == f"{os.strerror(errno.EBADF)}," * 2


def test_streams_that_are_there_stay():
    before = sys.stdin, sys.stdout, sys.stderr
    open_missing_streams()
    assert (sys.stdin, sys.stdout, sys.stderr) == before
