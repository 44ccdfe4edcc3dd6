"""Files and folders that appear whole or not at all."""

import contextlib
import glob
import os
import platform
import shutil
from collections.abc import Iterator
from pathlib import Path


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
    path = Path(path)
    temporary = _temporary(path)
    try:
        with open(temporary, "wb") as file:
            file.write(content)
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
        for file in temporary.rglob("*"):
            if file.is_file():
                _flush(file)
        os.rename(temporary, path)
        _flush(path.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _temporary(path: Path) -> Path:
    # Beside the path, because a rename is atomic only within one file system.
    return path.with_name(f".{path.name}.{platform.node()}.{os.getpid()}.tmp")


def _remove_abandoned(path: Path) -> None:
    """Removes temporary folders for `path` of processes on this machine that have ended."""
    pattern = glob.escape(f".{path.name}.{platform.node()}.") + "*.tmp"
    for folder in path.parent.glob(pattern):
        process = int(folder.name.split(".")[-2])
        if process == os.getpid() or not _is_alive(process):
            shutil.rmtree(folder, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        # It is somebody else's.
        return True
    return True


def _flush(path: Path) -> None:
    """Brings a file or a folder to the disk, before its name promises that it is there."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
