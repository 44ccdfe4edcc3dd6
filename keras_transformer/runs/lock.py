"""The lock of a run directory: of two processes that would train one run, the second is refused.

The lock is the operating system's, on a file in the directory, so that a process that is gone holds
none, however it ended. Where a file system has no locks, the process that the file names counts.
"""

import contextlib
import json
import os
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from keras_transformer.files import is_alive, lock

_NAME = "training.lock"


class RunInUseError(OSError):
    """Another process trains this run."""


@contextlib.contextmanager
def run_lock(directory: str | os.PathLike[str]) -> Iterator[None]:
    """Holds the lock of a run directory, which is made if it is not there.

    A directory that was made and in which the block has left nothing is removed.

    Args:
        directory: The run directory.

    Raises:
        RunInUseError: If another process holds the lock.
        OSError: If the directory cannot be made or written in.

    Example:
        >>> with run_lock("runs/new"):
        ...     Path("runs/new/history.csv").touch()
        >>> sorted(path.name for path in Path("runs/new").iterdir())
        ['history.csv']
    """
    directory = Path(directory)
    is_new = not directory.exists()
    path = directory / _NAME
    try:
        directory.mkdir(parents=True, exist_ok=True)
        descriptor = _acquired(path)
    except RunInUseError:
        raise
    except OSError as error:
        raise OSError(
            "`output` must be a directory, or the place of one, in which this process may write. "
            f"Received: {directory} ({error.strerror})"
        ) from error
    try:
        yield
    finally:
        # Removed while it is held: later, it could be another's.
        path.unlink(missing_ok=True)
        os.close(descriptor)
        if is_new:
            with contextlib.suppress(OSError):  # It is not empty.
                directory.rmdir()


def _acquired(path: Path) -> int:
    """Opens the file of a lock and takes the lock; returns the descriptor that holds it."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(descriptor, path)
            if _is_at(path, descriptor):
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, json.dumps(_own()).encode(), 0)
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _lock(descriptor: int, path: Path) -> None:
    """Takes the lock; in a file system without locks, looks for whom the file names."""
    try:
        if lock(descriptor):
            return
    except BlockingIOError:
        raise _in_use(path, _holder(descriptor)) from None
    holder = _holder(descriptor)
    is_here = holder.get("host") == platform.node()
    if holder and not (is_here and not is_alive(holder["pid"])):
        raise _in_use(path, holder, f"remove {path} if there is no such process any more, ")


def _is_at(path: Path, descriptor: int) -> bool:
    """Tells whether a file is still there: who held its lock may have removed it since."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _own() -> dict[str, Any]:
    return {"host": platform.node(), "pid": os.getpid()}


def _holder(descriptor: int) -> dict[str, Any]:
    """Returns the host and the process that the file of a lock names; nothing if it names none."""
    try:
        return json.loads(os.pread(descriptor, 4096, 0))
    except ValueError:
        return {}


def _in_use(path: Path, holder: dict[str, Any], advice: str = "") -> RunInUseError:
    who = f"process {holder['pid']} on {holder['host']}" if holder else "another process"
    return RunInUseError(
        f"`output` must not be in training already; wait until {who} has ended, {advice}or choose "
        f"another directory. Received: {path.parent}"
    )
