"""Named arrays of a file, read one by one and checked: what a file says is not to be trusted.

Nothing in a file is executed: pickles are read by PyTorch's weights-only loader or not at all.
"""

import contextlib
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_transformer.extras import needed
from keras_transformer.importing.archives import require_bounded

Floats = npt.NDArray[np.float32]


class Tensors:
    """The arrays of a file.

    Args:
        path: The file, for messages.
        names: What it holds.
        load: Reads an array by its name.

    Example:
        >>> tensors = Tensors("model.npz", ["Wemb"], lambda name: np.zeros((3, 2)))
        >>> tensors.read("Wemb", 3, 2).dtype.name, tensors.unread()
        ('float32', [])
    """

    def __init__(
        self, path: str | Path, names: Collection[str], load: Callable[[str], Any]
    ) -> None:
        self.path = Path(path)
        self.names = frozenset(names)
        self._load = load
        self._read: set[str] = set()

    def read(self, name: str, *shape: int) -> Floats:
        """Reads the weights of a name.

        Args:
            name: The name.
            *shape: The shape that they must have, axes of length 1 aside.

        Returns:
            float32, of that shape.

        Raises:
            ValueError: If they are not there, of another shape, or not all finite numbers.
        """
        array = self.raw(name)
        if [n for n in array.shape if n != 1] != [n for n in shape if n != 1]:
            raise ValueError(
                f"`source` must have the weights {name} in the shape {shape}, which follows from "
                "its configuration and vocabulary; these files do not belong together. Received: "
                f"{array.shape} in {self.path}"
            )
        array = array.astype(np.float32, copy=False).reshape(shape)
        if not np.isfinite(array).all():
            raise ValueError(
                f"`source` must have finite weights; take another checkpoint. Received: {name} "
                f"with {np.count_nonzero(~np.isfinite(array))} that are not, in {self.path}"
            )
        return array

    def raw(self, name: str) -> npt.NDArray[Any]:
        """Reads what stands under a name, unchecked.

        Raises:
            ValueError: If it is not there.
        """
        if name not in self.names:
            raise ValueError(
                f"`source` must hold the weights {name}; the file may be of another kind of model, "
                f"or incomplete. Received: {self.path}"
            )
        self._read.add(name)
        with _readable(self.path):
            return np.asarray(self._load(name))

    def first(self, *names: str) -> str:
        """Returns the first of some names that there is; the first of all if there is none."""
        return next((name for name in names if name in self.names), names[0])

    def ignore(self, *names: str) -> None:
        """Marks names as known and of no use."""
        self._read.update(names)

    def unread(self) -> list[str]:
        """Returns the names that were neither read nor ignored."""
        return sorted(self.names - self._read)


def open_npz(path: Path) -> Tensors:
    """Opens NumPy's format, without pickles in it.

    Example:
        >>> np.savez("model.npz", Wemb=np.zeros((3, 2)))
        >>> open_npz(Path("model.npz")).read("Wemb", 3, 2).shape
        (3, 2)
    """
    with _readable(path):
        file = np.load(path, allow_pickle=False)
        if not isinstance(file, np.lib.npyio.NpzFile):
            raise ValueError("no archive of arrays")
    require_bounded(path)  # Nothing but the names was read yet.
    return Tensors(path, file.files, file.__getitem__)


def open_safetensors(path: Path) -> Tensors:
    """Opens the format of the safetensors package.

    Raises:
        ImportError: If the package is not installed.
        ValueError: If the file is not of this format, or not whole.

    Example:
        >>> import safetensors.numpy
        >>> safetensors.numpy.save_file({"bias": np.zeros(3)}, "model.safetensors")
        >>> open_safetensors(Path("model.safetensors")).read("bias", 3).tolist()
        [0.0, 0.0, 0.0]
    """
    with needed(f"Reading {path.name}", "safetensors", "huggingface"):
        from safetensors import SafetensorError, safe_open
    with _readable(path, SafetensorError):
        file = safe_open(path, framework="numpy")
        return Tensors(path, file.keys(), file.get_tensor)


def open_torch(path: Path) -> Tensors:
    """Opens PyTorch's format by its weights-only loader, which runs no code of the file.

    Raises:
        ImportError: If PyTorch is not installed.
        ValueError: If the file is not of this format, not whole, or holds more than weights.
    """
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            f"Reading {path.name} needs PyTorch: pip install torch; or convert it once to "
            "model.safetensors"
        ) from error
    import pickle

    with _readable(path, RuntimeError, pickle.UnpicklingError, AttributeError):
        weights = torch.load(path, map_location="cpu", weights_only=True)
        if not isinstance(weights, dict):
            raise ValueError("no mapping of names to weights")
    return Tensors(path, weights.keys(), lambda name: weights[name].float().numpy())


def open_weights(folder: Path) -> Tensors:
    """Opens the weights of a folder of Hugging Face's, in whichever format they are.

    Raises:
        ImportError: If the package that reads them is not installed.
        ValueError: If there are none, or the file is not whole.
    """
    if (folder / "model.safetensors").is_file():
        return open_safetensors(folder / "model.safetensors")
    if (folder / "pytorch_model.bin").is_file():
        return open_torch(folder / "pytorch_model.bin")
    raise ValueError(
        "`source` must be a folder with model.safetensors or pytorch_model.bin, in one file; copy "
        f"the whole of it. Received: {folder}"
    )


@contextlib.contextmanager
def _readable(path: Path, *errors: type[Exception]) -> Iterator[None]:
    """Says which file is at fault when it cannot be read."""
    faults: tuple[type[Exception], ...] = (
        *(ValueError, EOFError, KeyError, TypeError, zipfile.BadZipFile, zlib.error),
        MemoryError,  # Of an array whose header says that it is larger than any memory.
        *errors,
    )
    try:
        yield
    except faults as error:
        raise ValueError(
            "`source` must hold whole files of weights and nothing else; copy it anew. Received: "
            f"{path}, {type(error).__name__}: {str(error)[:200]}"
        ) from error
