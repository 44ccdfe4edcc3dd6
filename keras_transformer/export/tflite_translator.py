"""Runs an export to TFLite, as an app does: one sentence after the other."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from keras_transformer.export.tflite import TEXT_MODEL
from keras_transformer.export.translator import Translation


class LiteTranslator:
    """Translates with `translator.tflite`.

    Args:
        path: Folder of an export, or the file itself.
        num_threads: Threads of TFLite's kernels.

    Raises:
        ImportError: If ai-edge-litert is not installed.

    Example:
        >>> translator = LiteTranslator("exports/app/1")
        >>> [[best]] = translator.nbest([b"a small dog"])
    """

    def __init__(self, path: str | os.PathLike, num_threads: int | None = None):
        path = Path(path)
        self._interpreter = _open(
            path if path.is_file() else path / TEXT_MODEL, num_threads or os.cpu_count()
        )
        self._translate = self._interpreter.get_signature_runner()

    def nbest(self, lines: Sequence[bytes], progress: bool = False) -> list[list[Translation]]:
        """Translates lines; there is one translation of each.

        Args:
            lines: The strings.
            progress: Show a progress bar, on standard error.
        """
        return [
            [self._translate_one(line)] for line in tqdm(lines, unit=" lines", disable=not progress)
        ]

    def _translate_one(self, line: bytes) -> Translation:
        outputs = self._translate(text=np.array([line], dtype=object))
        text = outputs["translation"][0].decode("utf-8", "replace")
        return Translation(text, float(outputs["score"][0]))


def _open(path: Path, num_threads: int | None) -> Any:
    """Opens a model that has TF Text's operations."""
    try:
        from ai_edge_litert.interpreter import InterpreterWithCustomOps
    except ImportError as error:
        raise ImportError(
            "Running TFLite needs the ai-edge-litert package: "
            "pip install 'keras_transformer[tflite]'"
        ) from error
    from tensorflow_text import tflite_registrar

    return InterpreterWithCustomOps(
        model_path=str(path),
        custom_op_registerers=tflite_registrar.SELECT_TFTEXT_OPS,
        num_threads=num_threads,
    )
