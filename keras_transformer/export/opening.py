"""What translates, found by its path: run directories, or an export of any format."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_transformer.config.search_shapes import SearchShape
from keras_transformer.export.ctranslate2_translator import CTranslate2Translator
from keras_transformer.export.formats import require_loadable
from keras_transformer.export.metadata import read_metadata, require_translating
from keras_transformer.export.saved_translator import SavedTranslator
from keras_transformer.export.tflite.translator import LiteTranslator
from keras_transformer.export.versions import find_export
from keras_transformer.runs.run import open_run
from keras_transformer.translation.opening import open_runs
from keras_transformer.translation.results import AnyTranslator


def open_translator(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    checkpoint: str = "best",
    options: Mapping[str, Any] | None = None,
    shapes: Sequence[SearchShape] | None = None,
) -> AnyTranslator:
    """Opens run directories, or an export.

    Args:
        paths: A run directory, or several that decide together; or one export.
        checkpoint: "best", "latest" or "average", of runs.
        options: Fields of `DecodingConfig`; for an export `batch_size` alone, and for one to
            CTranslate2, which has no options of its own, `CTranslate2Translator.OPTIONS`.
        shapes: As of `open_runs`; of an export, those that it was made for, or none.

    Returns:
        What translates, with `nbest`, `score`, `attend` and `batch_size`.

    Raises:
        FileNotFoundError: If a path is neither.
        ImportError: If the package that runs such an export is not installed.
        ValueError: If an option is out of its range, or cannot be chosen any more, or if there is
            an export among several paths, or one that cannot be compiled.

    Example:
        >>> translator = open_translator("runs/demo")
        >>> [[best]] = translator.nbest(["a small dog"])
    """
    paths = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    options = dict(options or {})
    exports = {os.fspath(path): export for path in paths if (export := find_export(path))}
    if not exports:
        return open_runs(paths, checkpoint, options, shapes)
    [(folder, export_format), *_] = exports.values()
    chosen = {*options} if checkpoint == "best" else {*options, "checkpoint"}
    free = CTranslate2Translator.OPTIONS if export_format == "ctranslate2" else {"batch_size"}
    if len(paths) > 1 or not chosen <= free:
        raise ValueError(
            "An exported model translates as it was exported: alone and with its own options; "
            "give run directories to choose others. Received: "
            f"{', '.join(map(str, paths))}, of which exports: {', '.join(exports)}, with "
            f"options: {', '.join(sorted(chosen - free)) or 'none'}"
        )
    if shapes is not None:
        _require_compiled(folder, shapes)
    return _open_export(folder, export_format, options, compiled=shapes is not None)


def _require_compiled(folder: Path, shapes: Sequence[SearchShape]) -> None:
    made_for = read_metadata(folder).get("compiled_shapes")
    if not made_for:
        raise ValueError(
            "An export must have been made with --compile, as a SavedModel, to be compiled by XLA; "
            f"leave --compile out, or export its run so. Received: {folder}"
        )
    if shapes and {*map(str, shapes)} != {*made_for}:
        raise ValueError(
            f"This export is compiled for {' '.join(made_for)} and nothing else; give --compile no "
            f"shapes, or export its run for others. Received: {' '.join(map(str, shapes))}"
        )


def _open_export(
    folder: Path, export_format: str, options: Mapping[str, Any], compiled: bool
) -> AnyTranslator:
    match export_format:
        case "ctranslate2":
            return CTranslate2Translator(folder, **options)
        case "huggingface":
            raise ValueError(
                "A model of Hugging Face's is run by transformers, or becomes a run: "
                f"`keras-transformer import {folder} --output RUN`. Received: {folder}"
            )
        case "tflite":
            return LiteTranslator(folder, **options)
        case _:
            require_loadable(folder)
            require_translating(folder)
            return SavedTranslator(folder, **options, compiled=compiled)


def languages_of(path: str | os.PathLike[str]) -> tuple[str, str]:
    """Returns the codes of the source's and the target's language.

    Args:
        path: A run directory or an export.

    Raises:
        ValueError: If an export does not say.

    Example:
        >>> languages_of("runs/demo")
        ('en', 'de')
    """
    export = find_export(path)
    if export is None:
        data = open_run(path).config.data
        return data.source_language, data.target_language
    folder, _ = export
    languages = read_metadata(folder).get("languages")
    if languages is None:
        raise ValueError(
            "An export must say in its metadata.json which `languages` it translates; export it "
            f"from a run. Received: {folder}"
        )
    return languages["source"], languages["target"]
