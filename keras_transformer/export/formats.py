"""The formats of exports, told apart by a file that each of them has."""

import os
import re
from pathlib import Path

# One for TF Serving is a SavedModel.
MARKS = {
    "saved_model": "saved_model.pb",
    "tflite": "translator_ids.tflite",
    "tflite_predictor": "predictor.tflite",
    "ctranslate2": "model.bin",
    "huggingface": "model.safetensors",
}

# What a SavedModel can do beside `serving_default`, which is in each of them.
FURTHER_SIGNATURES = ("translate", "nbest", "score", "attention")

# What TensorFlow, which takes the path of a SavedModel for a pattern, does not find under its name.
_PATTERN = re.compile(r"\[[^/]+\]|\\")


def format_of(folder: Path) -> str | None:
    """Returns the format of an export; None if the folder is none.

    Args:
        folder: Folder of a version.

    Example:
        >>> format_of(Path("runs/demo")) is None
        True
    """
    return next((name for name, mark in MARKS.items() if (folder / mark).is_file()), None)


def require_loadable(path: str | os.PathLike[str]) -> None:
    """Checks that TensorFlow can load a SavedModel from a path.

    Args:
        path: Folder of the SavedModel.

    Raises:
        ValueError: If it cannot.

    Example:
        >>> require_loadable("exports/demo/1")
    """
    if _PATTERN.search(os.fspath(path)):
        raise ValueError(
            "The path of a SavedModel must hold no [...] and no backslash, with which TensorFlow "
            f"finds no weights; choose another folder, or rename it. Received: {os.fspath(path)}"
        )
