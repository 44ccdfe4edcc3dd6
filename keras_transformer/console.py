"""What a person is shown, and what a program reads.

What is shown never fails the work: a closed terminal, a pipe whose reader has gone, a full disk or
an encoding without umlauts costs lines of talk and nothing else. All of it goes through `say` and
`progress_bar`. What a program reads is the work, and goes through `write_result`, which fails.
"""

import contextlib
import io
import os
import sys
from typing import Any, Literal, get_args

from tqdm import tqdm

StreamName = Literal["stdout", "stderr"]


def say(text: str = "", end: str = "\n", to: StreamName = "stdout") -> None:
    """Shows a text to a person.

    Characters that the stream's encoding lacks become "?". A stream that cannot be written to any
    more gets nothing from then on, which the other one tells once.

    Args:
        text: The text.
        end: What follows it.
        to: The standard stream.

    Example:
        >>> say("Model: 1,307,136 parameters")
        Model: 1,307,136 parameters
    """
    stream = getattr(sys, to)
    if stream is None:  # The process has none.
        return
    try:
        _write(stream, text + end)
    except (OSError, ValueError) as error:  # Gone or full; closed.
        _give_up(to)
        if to == "stdout":
            say(f"Standard output is lost ({error}); the work goes on without it.", to="stderr")


def write_unbuffered(text: bytes) -> None:
    """Writes to the descriptor of standard error, as a signal handler must; never fails.

    Args:
        text: As much of it is written as the stream takes.

    Example:
        >>> write_unbuffered(b"SIGTERM: a checkpoint follows\\n")
    """
    if sys.stderr is None:  # The process has none; another file may have its number.
        return
    with contextlib.suppress(OSError):
        while text:
            text = text[os.write(2, text) :]


def write_result(line: str) -> None:
    """Writes a line that a program may read to standard output: UTF-8, whatever the locale.

    Args:
        line: The line. A path of a command line, in whatever encoding, is written as it was given.

    Raises:
        OSError: If it cannot be written.

    Example:
        >>> write_result("phrasebook:test: BLEU 96.47")
        phrasebook:test: BLEU 96.47
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    print(line, flush=True)


def drop_unwritten() -> None:
    """Lets go of what the streams did not take; Python would fail over it once more as it ends."""
    for name in get_args(StreamName):
        try:
            getattr(sys, name).flush()
        except (OSError, ValueError):
            _give_up(name)


def is_terminal() -> bool:
    """Returns whether somebody may be watching standard output as it is written."""
    try:
        return sys.stdout is not None and sys.stdout.isatty()
    except ValueError:  # Closed.
        return False


def progress_bar(total: int | None, unit: str, shown: bool = True) -> tqdm:
    """Makes a progress bar on standard error.

    Args:
        total: How many there are; None if nobody knows.
        unit: What they are, with a space before it.
        shown: Show it, if standard error is a terminal.

    Example:
        >>> with progress_bar(2, " lines", shown=False) as bar:
        ...     bar.update(2)
    """
    disable = None if shown else True
    return tqdm(total=total, unit=unit, disable=disable, file=_Shown(), dynamic_ncols=True)


def open_missing_streams() -> None:
    """Opens a null device for each standard stream that the process was started without.

    Else the next file that is opened, perhaps a checkpoint, gets the number of the stream, and all
    that C++ prints. Input and output are opened the wrong way round, so that whoever needs them is
    told that they are closed; nobody needs standard error.

    Example:
        >>> open_missing_streams()
    """
    streams = [
        ("stdin", "r", os.O_WRONLY),
        ("stdout", "w", os.O_RDONLY),
        ("stderr", "w", os.O_RDWR),
    ]
    for name, mode, flags in streams:
        if getattr(sys, name) is None:
            # The lowest number that is free: its own, as those below it are open by now.
            descriptor = os.open(os.devnull, flags)
            os.set_inheritable(descriptor, True)
            setattr(sys, name, os.fdopen(descriptor, mode, errors="replace", closefd=False))


class _Shown:
    """Standard error as a file that takes whatever is written."""

    def write(self, text: str) -> None:
        say(text, end="", to="stderr")

    def flush(self) -> None:
        pass  # Done with each write.

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr, name)


def _write(stream: Any, text: str) -> None:
    try:
        stream.write(text)
    except UnicodeEncodeError:
        stream.write(text.encode(stream.encoding, "replace").decode(stream.encoding))
    stream.flush()


def _give_up(name: StreamName) -> None:
    """Leads a standard stream, and what its buffer holds, to the null device."""
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, getattr(sys, name).fileno())
        os.close(null)
    except (OSError, ValueError):  # Python's alone, or closed.
        setattr(sys, name, os.fdopen(null, "w"))
