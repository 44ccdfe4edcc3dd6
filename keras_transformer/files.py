"""Files and folders that appear whole or not at all, and files that one process has for itself."""

import contextlib
import errno
import fcntl
import glob
import os
import platform
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

# What a file system without locks answers.
_WITHOUT_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Writes a file that replaces an older one only once it is whole.

    Args:
        path: The file.
        content: Its bytes.

    Raises:
        OSError: If it cannot be written; the older file stays.

    Example:
        >>> write_atomically("run.json", b"{}")
    """
    with atomic_file(path) as file:
        file.write(content)


@contextlib.contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Gives a file to write, in binary, that gets its name once the block has ended without error.

    Args:
        path: The file; an older one is replaced.

    Yields:
        The file under a temporary name beside it.

    Raises:
        OSError: If it cannot be written; the older file stays.

    Example:
        >>> with atomic_file("lines.txt") as file:
        ...     _ = file.write(b"a dog\\n")
    """
    path = Path(path)
    temporary = _temporary(path)
    try:
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_directory(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Gives a folder to fill that gets its name only once the block has ended without an error.

    What a killed process left of an earlier attempt is removed.

    Args:
        path: The folder; it must not exist.

    Yields:
        A temporary folder beside it.

    Raises:
        FileExistsError: If `path` exists.

    Example:
        >>> with atomic_directory("export/1") as folder:
        ...     (folder / "weights").write_bytes(b"...")
    """
    path = Path(path)
    if path.exists():
        raise FileExistsError(f"`path` must not exist yet. Received: {path}")
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(path)
    temporary = _temporary(path)
    temporary.mkdir()
    try:
        yield temporary
        for part in [*temporary.rglob("*"), temporary]:
            if part.is_file() or part.is_dir():
                _flush(part)
        os.rename(temporary, path)
        _flush(path.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextlib.contextmanager
def written_once(path: str | os.PathLike[str]) -> Iterator[None]:
    """Passes over what goes wrong in writing a file or folder that another process has written.

    Of use where several write the same, and it is no matter who comes first.

    Args:
        path: What is written in the block.

    Raises:
        OSError: The block's own, if there is no `path` after it.

    Example:
        >>> with written_once("shard"), atomic_directory("shard") as folder:
        ...     (folder / "ids").write_bytes(b"...")
    """
    try:
        yield
    except OSError:
        if not Path(path).exists():
            raise


def require_local(path: str | os.PathLike[str], argument: str) -> None:
    """Checks that what is to be written has its place in a file system of this machine.

    Elsewhere nothing can be renamed once it is whole, which is how all is written here. As a local
    path an address would be a folder of the scheme's name.

    Args:
        path: Where to write.
        argument: What the caller calls it.

    Raises:
        ValueError: If it is an address such as "gs://bucket/run".

    Example:
        >>> require_local("exports/demo", "directory")
    """
    # A `pathlib.Path` has lost one of the slashes.
    if re.match(r"[A-Za-z][\w+.-]+:/", os.fspath(path)):
        raise ValueError(
            f"`{argument}` must be a folder of this machine, not an address; mount the remote "
            f"storage, or write to a folder and copy it. Received: {os.fspath(path)}"
        )


def lock(descriptor: int) -> bool:
    """Takes the operating system's lock of an open file, which ends with the process at the latest.

    Args:
        descriptor: Of the file.

    Returns:
        Whether the lock is held; False in a file system without locks.

    Raises:
        BlockingIOError: If another process holds it.

    Example:
        >>> with open("lines.txt", "ab") as file:
        ...     lock(file.fileno())
        True
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError as error:
        if error.errno not in _WITHOUT_LOCKS:
            raise
        return False
    return True


def is_alive(process: int) -> bool:
    """Returns whether a process of this machine is there, whoever owns it.

    Args:
        process: Its id.

    Example:
        >>> is_alive(os.getpid())
        True
    """
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        # It is somebody else's.
        return True
    return True


def _temporary(path: Path) -> Path:
    # Beside the path, because a rename is atomic only within one file system.
    return path.with_name(f".{path.name}.{platform.node()}.{os.getpid()}.tmp")


def _remove_abandoned(path: Path) -> None:
    """Removes temporary folders for `path` of processes on this machine that have ended."""
    pattern = glob.escape(f".{path.name}.{platform.node()}.") + "*.tmp"
    for folder in path.parent.glob(pattern):
        process = int(folder.name.split(".")[-2])
        if process == os.getpid() or not is_alive(process):
            shutil.rmtree(folder, ignore_errors=True)


def _flush(path: Path) -> None:
    """Brings a file or a folder to the disk, before its name promises that it is there."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
