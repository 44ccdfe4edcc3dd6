"""Versions of an export: numbered folders side by side, as TF Serving watches them."""

import os
from pathlib import Path


def version_path(directory: str | os.PathLike[str], version: int | None = None) -> Path:
    """Returns the folder of a version that is to be written.

    Args:
        directory: Folder of the versions.
        version: Its number; None for the next free one.

    Raises:
        FileExistsError: If the version exists.
        ValueError: If `version` is not positive.

    Example:
        >>> version_path("exports/new").name
        '1'
    """
    numbers = _numbers(directory)
    if version is None:
        version = max(numbers, default=0) + 1
    if version < 1:
        raise ValueError(f"`version` must be positive. Received: version={version}")
    path = Path(directory) / str(version)
    if path.exists():
        raise FileExistsError(f"`version` must not exist yet. Received: {path}")
    return path


def find_version(path: str | os.PathLike[str], file_name: str) -> Path | None:
    """Finds an export.

    Args:
        path: An export, or a folder of versions, of which the highest is meant.
        file_name: A file that every such export has.

    Returns:
        The folder of the export; None if there is none.

    Example:
        >>> find_version("exports/none", "saved_model.pb") is None
        True
    """
    path = Path(path)
    versions = [path / str(number) for number in sorted(_numbers(path), reverse=True)]
    return next((found for found in (path, *versions) if (found / file_name).is_file()), None)


def _numbers(directory: str | os.PathLike[str]) -> list[int]:
    return [int(path.name) for path in Path(directory).glob("*") if path.name.isdecimal()]
