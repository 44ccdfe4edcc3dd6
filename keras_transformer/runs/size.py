"""How many parameters a saved model has, read from its file without loading it."""

import io
import os
import zipfile
from typing import Any, BinaryIO

_WEIGHTS = "model.weights.h5"

# Parts that hold states and no parameters.
_NO_PARAMETERS = {"optimizer", "seed_generator"}


def count_parameters(path: str | os.PathLike[str]) -> int:
    """Counts the parameters of a `model.keras` as `keras.Model.count_params` does.

    The states of random numbers and of the optimizer are not among them. What is read is the table
    of contents alone.

    Args:
        path: The file.

    Raises:
        OSError: If it is not there, or no such file.

    Example:
        >>> model.save("model.keras")
        >>> count_parameters("model.keras") == model.count_params()
        True
    """
    import h5py

    count = 0

    def add(name: str, item: "h5py.Dataset | h5py.Group") -> None:
        nonlocal count
        if isinstance(item, h5py.Dataset) and not _NO_PARAMETERS & {*name.split("/")}:
            count += item.size

    with open(path, "rb") as file, h5py.File(_weights_in(file), "r") as weights:
        weights.visititems(add)
    return count


class _Part(io.RawIOBase):
    """A part of a file, as a file of its own: one of gigabytes is not to be copied."""

    def __init__(self, file: BinaryIO, start: int, size: int) -> None:
        self._file, self._start, self._size, self._position = file, start, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = base + offset
        return self._position

    def readinto(self, buffer: Any) -> int:
        self._file.seek(self._start + self._position)
        left = max(self._size - self._position, 0)
        data = self._file.read(min(len(buffer), left))
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)


def _weights_in(file: BinaryIO) -> io.BytesIO | _Part:
    """Returns the weights in a zip file, as a file."""
    try:
        with zipfile.ZipFile(file) as archive:
            entry = archive.getinfo(_WEIGHTS)
            if entry.compress_type != zipfile.ZIP_STORED:
                return io.BytesIO(archive.read(entry))
    except (KeyError, zipfile.BadZipFile) as error:
        raise OSError(f"`path` must be a model that Keras saved. Received: {file.name}") from error
    # Behind the entry's own header: 30 bytes, and two texts whose lengths end it.
    file.seek(entry.header_offset + 26)
    lengths = file.read(4)
    texts = int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little")
    return _Part(file, entry.header_offset + 30 + texts, entry.file_size)
