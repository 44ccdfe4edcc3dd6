"""Runs an export to TFLite, as an app does: one sentence after the other."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from keras_transformer.config import DecodingConfig
from keras_transformer.export.tflite import TEXT_MODEL
from keras_transformer.translation.in_batches import encode
from keras_transformer.translation.results import (
    Attention,
    Score,
    Translation,
    translation_of,
)

_ONLY_TRANSLATES = "A TFLite model translates and no more; use the run or a SavedModel of it"


class LiteTranslator:
    """Translates with `translator.tflite`.

    Args:
        path: Folder of an export, or the file itself.
        num_threads: Threads of TFLite's kernels.
        batch_size: Kept for those who read lines in windows of it; each is translated alone.

    Raises:
        ImportError: If ai-edge-litert is not installed.

    Example:
        >>> translator = LiteTranslator("exports/app/1")
        >>> [[best]] = translator.nbest([b"a small dog"])
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        num_threads: int | None = None,
        batch_size: int = DecodingConfig().batch_size,
    ) -> None:
        path = Path(path)
        self.batch_size = batch_size
        self._interpreter = _open(
            path if path.is_file() else path / TEXT_MODEL, num_threads or os.cpu_count()
        )
        # Now and not with the first line: TFLite then prints which kernels it has found.
        self._interpreter.allocate_tensors()
        self._translate = self._interpreter.get_signature_runner()

    def nbest(
        self, lines: Iterable[str | bytes], *, progress: bool = False
    ) -> list[list[Translation]]:
        """Translates lines; there is one translation of each.

        Args:
            lines: The strings.
            progress: Show a progress bar, on standard error.
        """
        bar = tqdm(encode(lines), unit=" lines", disable=None if progress else True)
        return [[self._translate_one(line)] for line in bar]

    def score(
        self,
        sources: Iterable[str | bytes],
        targets: Iterable[str | bytes],
        progress: bool = False,
    ) -> list[Score]:
        """Refused: the file has no scores of given translations.

        Raises:
            ValueError: Always.
        """
        raise ValueError(f"{_ONLY_TRANSLATES}. Received: a request for scores")

    def attend(self, lines: Iterable[str | bytes], progress: bool = False) -> list[Attention]:
        """Refused: the file does not tell what it attends to.

        Raises:
            ValueError: Always.
        """
        raise ValueError(f"{_ONLY_TRANSLATES}. Received: a request for attention weights")

    def _translate_one(self, line: bytes) -> Translation:
        outputs = self._translate(text=np.array([line], dtype=object))
        return translation_of(outputs["translation"][0], outputs["score"][0])


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
