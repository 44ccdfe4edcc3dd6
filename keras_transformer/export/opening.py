"""What translates, found by its path: run directories, or an export to SavedModel or TFLite."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_transformer.export.saved_translator import SavedTranslator
from keras_transformer.export.tflite import TEXT_MODEL
from keras_transformer.export.tflite_translator import LiteTranslator
from keras_transformer.export.versions import find_version
from keras_transformer.runs.run import open_run
from keras_transformer.translation.opening import open_runs
from keras_transformer.translation.results import AnyTranslator


def open_translator(
    paths: Sequence[str | os.PathLike[str]],
    checkpoint: str = "best",
    options: Mapping[str, Any] | None = None,
) -> AnyTranslator:
    """Opens run directories, or an export to SavedModel or TFLite.

    Args:
        paths: Run directories, or one export.
        checkpoint: "best", "latest" or "average", of runs.
        options: Fields of `DecodingConfig`; for an export `batch_size` alone.

    Returns:
        What translates, with `nbest`, `score`, `attend` and `batch_size`.

    Raises:
        FileNotFoundError: If a path is neither.
        ValueError: If an option is out of its range, or cannot be chosen any more.

    Example:
        >>> translator = open_translator(["runs/demo"])
        >>> [[best]] = translator.nbest(["a small dog"])
    """
    options = options or {}
    export = find_export(paths[0])
    if export is None:
        return open_runs(paths, checkpoint, options)
    fixed = sorted({*options} - {"batch_size"})
    if fixed or len(paths) > 1:
        raise ValueError(
            "An exported model translates as it was exported: alone and with its own options; "
            f"give run directories to choose others. Received: {', '.join(map(str, paths))} with "
            f"options: {', '.join(fixed) or 'none'}"
        )
    if (export / TEXT_MODEL).is_file():
        return LiteTranslator(export, **options)
    return SavedTranslator(export, **options)


def find_export(path: str | os.PathLike[str]) -> Path | None:
    """Returns the folder of an export that can translate here; None if there is none.

    Args:
        path: An export, or a folder of versions, of which the highest is meant.

    Example:
        >>> find_export("exports/none") is None
        True
    """
    found = (find_version(path, name) for name in ("saved_model.pb", TEXT_MODEL))
    return next(filter(None, found), None)


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
    languages = json.loads((export / "metadata.json").read_text()).get("languages")
    if languages is None:
        raise ValueError(
            "An export must say in its metadata.json which `languages` it translates; export it "
            f"from a run. Received: {export}"
        )
    return languages["source"], languages["target"]
