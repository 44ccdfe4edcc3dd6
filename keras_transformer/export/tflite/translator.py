"""Runs an export to TFLite, as an app does: one sentence after the other."""

import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.config import DecodingConfig
from keras_transformer.console import progress_bar
from keras_transformer.export.tflite.exporting import IDS_MODEL, TEXT_MODEL
from keras_transformer.extras import needed
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.translation.in_batches import encode
from keras_transformer.translation.lines import translate_by_lines
from keras_transformer.translation.results import (
    Attention,
    Score,
    Translation,
    translation_of,
)

_ONLY_TRANSLATES = "A TFLite model translates and no more; use the run or a SavedModel of it"


class LiteTranslator:
    """Translates with `translator.tflite`, or with `translator_ids.tflite` where it is alone.

    Several threads may share it: they take turns, sentence by sentence.

    Args:
        path: Folder of an export, or one of its models.
        num_threads: Threads of TFLite's kernels.
        batch_size: Kept for those who read lines in windows of it; each is translated alone.

    Raises:
        ImportError: If ai-edge-litert is not installed.

    Example:
        >>> from keras_transformer.export.tflite import export_tflite
        >>> path = export_tflite(translator, "exports/app")
        >>> [[best]] = LiteTranslator(path).nbest([b"a small dog"])
    """

    has_scores = False

    def __init__(
        self,
        path: str | os.PathLike[str],
        num_threads: int | None = None,
        batch_size: int = DecodingConfig().batch_size,
    ) -> None:
        self.batch_size = batch_size
        model = _find_model(Path(path))
        self._interpreter = _open(model, num_threads or os.cpu_count())
        # Now and not with the first line: TFLite then prints which kernels it has found.
        self._interpreter.allocate_tensors()
        signature = self._interpreter.get_signature_runner("serving_default")
        self._translate = _of_strings(signature, model.parent)
        # An interpreter has one set of tensors, and two threads in it end the process. One for each
        # thread would hold the weights as often, for threads that the kernels already have at work.
        self._turn = threading.Lock()

    def nbest(
        self, lines: Iterable[str | bytes], *, progress: bool = False, start: int = 0
    ) -> list[list[Translation]]:
        """Translates lines; there is one translation of each.

        Args:
            lines: The strings.
            progress: Show a progress bar, on standard error.
            start: Without a meaning here; see `Translator.nbest`.
        """
        lines = encode(lines)
        translations = []
        with progress_bar(len(lines), " lines", shown=progress) as bar:
            for line in lines:
                translations.append([translate_by_lines(self._translate_one, line)])
                bar.update()
        return translations

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
        with self._turn:
            outputs = self._translate(text=np.array([line], dtype=object))
        return translation_of(outputs["translation"][0], outputs["score"][0])


def _find_model(path: Path) -> Path:
    """Returns a model's file; where the text could not be followed in graph, that of ids."""
    if path.is_file():
        return path
    return path / (TEXT_MODEL if (path / TEXT_MODEL).is_file() else IDS_MODEL)


def _of_strings(translate: Any, folder: Path) -> Callable[..., Any]:
    """Gives a model of bytes or ids what a model of strings has; earlier exports are of strings."""
    inputs = translate.get_input_details()
    if "source" in inputs:
        return _of_ids(translate, folder)
    return _of_bytes(translate, inputs["text"]["shape"]) if "length" in inputs else translate


def _of_bytes(translate: Any, shape: np.ndarray) -> Callable[..., Any]:
    room = np.zeros(shape, np.uint8)

    def translate_strings(text: np.ndarray) -> dict[str, Any]:
        [line] = text
        read = np.frombuffer(line, np.uint8)[: room.size]
        room[: read.size] = read
        outputs = translate(text=room, length=np.array([len(line)], np.int32))
        translation = outputs["translation"][: outputs["length"][0]].tobytes()
        return {**outputs, "translation": [translation]}

    return translate_strings


def _of_ids(translate: Any, folder: Path) -> Callable[..., Any]:
    """Puts the tokenizers beside a model of ids to work."""
    source, target = (
        SubwordTokenizer.load(folder / f"{side}.model") for side in ("source", "target")
    )

    def translate_strings(text: np.ndarray) -> dict[str, Any]:
        outputs = translate(source=source.tokenize(text).to_tensor())
        return {**outputs, "translation": target.detokenize(outputs["target"][None]).numpy()}

    return translate_strings


def _open(path: Path, num_threads: int | None) -> Any:
    """Opens a model that has TF Text's operations."""
    with needed("Running TFLite", "ai-edge-litert", "tflite"):
        from ai_edge_litert.interpreter import InterpreterWithCustomOps
    from tensorflow_text import tflite_registrar

    return InterpreterWithCustomOps(
        model_path=str(path),
        custom_op_registerers=tflite_registrar.SELECT_TFTEXT_OPS,
        num_threads=num_threads,
    )
