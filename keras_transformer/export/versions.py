"""Versions of an export: numbered folders side by side, as TF Serving watches them.

Those of one folder have one format: a server that watches it takes the highest for its own.
"""

import os
from pathlib import Path

from keras_transformer.export.formats import MARKS, format_of, require_loadable
from keras_transformer.files import require_local


def version_path(
    directory: str | os.PathLike[str], version: int | None = None, export_format: str | None = None
) -> Path:
    """Returns the folder of a version that is to be written.

    Args:
        directory: Folder of the versions.
        version: Its number; None for the next free one.
        export_format: What it is to hold; None for anything.

    Raises:
        FileExistsError: If the version exists.
        ValueError: If `version` is not positive, or if `directory` is an address, holds versions of
            another format, or is no place for this one.

    Example:
        >>> version_path("exports/new", export_format="tflite").name
        '1'
    """
    require_local(directory, "directory")
    found = _versions(directory)
    numbers = {number for number, _ in found}
    if version is None:
        version = max(numbers, default=0) + 1
    if version < 1:
        raise ValueError(f"`version` must be positive. Received: version={version}")
    path = Path(directory) / str(version)
    if version in numbers:
        [path, *_] = [path for number, path in found if number == version]
        raise FileExistsError(f"`version` must not exist yet. Received: {path}")
    if export_format == "saved_model":
        require_loadable(path.absolute())
    for _, other in found:
        if export_format is not None and format_of(other) not in (None, export_format):
            raise ValueError(
                "`directory` must hold versions of one format, since a server takes the highest "
                f"for its own; choose another folder for {export_format}. Received: {other}, which "
                f"is {format_of(other)}"
            )
    return path


def find_export(path: str | os.PathLike[str]) -> tuple[Path, str] | None:
    """Finds an export and its format, by its files alone.

    Args:
        path: An export, or a folder of versions, of which the highest is meant.

    Returns:
        The folder of the export and its format; None if there is none.

    Example:
        >>> find_export("exports/none") is None
        True
    """
    found = ((find_version(path, mark), name) for name, mark in MARKS.items())
    return next(((folder, name) for folder, name in found if folder is not None), None)


def find_version(path: str | os.PathLike[str], file_name: str) -> Path | None:
    """Finds a version.

    Args:
        path: An export, or a folder of versions, of which the highest is meant.
        file_name: A file that every such export has.

    Returns:
        The folder of the export; None if there is none.

    Example:
        >>> find_version("exports/none", "saved_model.pb") is None
        True
    """
    versions = (version for _, version in _versions(path))
    found = (folder for folder in (Path(path), *versions) if (folder / file_name).is_file())
    return next(found, None)


def _versions(directory: str | os.PathLike[str]) -> list[tuple[int, Path]]:
    """Returns the numbered folders, the highest first; to servers "00000001" is number 1."""
    names = (path for path in Path(directory).glob("*") if path.name.isascii())
    found = [(int(path.name), path) for path in names if path.name.isdecimal()]
    return sorted(found, reverse=True)
