"""What translates, found by its path: run directories, or an export to SavedModel or TFLite."""

import dataclasses
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from keras_transformer.config import DecodingConfig
from keras_transformer.export.in_batches import map_in_batches
from keras_transformer.export.tflite import TEXT_MODEL
from keras_transformer.export.tflite_translator import LiteTranslator
from keras_transformer.export.translator import Translation, Translator
from keras_transformer.export.versions import find_version
from keras_transformer.training.run import open_run

# Takes lines and whether to show progress; gives for each line its translations, the best first.
Nbest = Callable[..., list[list[Translation]]]


def open_runs(
    paths: Sequence[str | os.PathLike], checkpoint: str, options: Mapping[str, Any]
) -> Translator:
    """Makes the translator of trained runs.

    Args:
        paths: Run directories; several decide together.
        checkpoint: "best", "latest" or "average".
        options: Fields of `DecodingConfig` that differ from those of the first run.

    Raises:
        FileNotFoundError: If a path is no run, or a run has no checkpoint.
        ValueError: If an option is out of its range, or the runs do not fit together.

    Example:
        >>> translator = open_runs(["runs/demo"], "best", {"beam_size": 8})
    """
    runs = [open_run(path) for path in paths]
    for run in runs:
        if checkpoint == "average" and run.checkpoints.average() is None:
            raise FileNotFoundError(
                "`run` must have an average; make it with `python -m keras_transformer average`. "
                f"Received: {run.path}"
            )
    config = dataclasses.replace(runs[0].config.decoding, **options)
    return Translator.of_run(*runs, checkpoint=checkpoint, config=config)


def open_translator(
    paths: Sequence[str | os.PathLike], checkpoint: str, options: Mapping[str, Any]
) -> tuple[Nbest, int]:
    """Opens run directories, or an export to SavedModel or TFLite.

    Args:
        paths: Run directories, or one export.
        checkpoint: "best", "latest" or "average", of runs.
        options: Fields of `DecodingConfig`; for an export `batch_size` alone.

    Returns:
        A function that translates lines, and how many go into a batch.

    Raises:
        FileNotFoundError: If a path is neither.
        ValueError: If an option is out of its range, or cannot be chosen any more.

    Example:
        >>> nbest, batch_size = open_translator(["runs/demo"], "best", {})
    """
    export = find_export(paths[0])
    if export is None:
        translator = open_runs(paths, checkpoint, options)
        return translator.nbest, translator.config.batch_size
    fixed = sorted({*options} - {"batch_size"})
    if fixed or len(paths) > 1:
        raise ValueError(
            "An exported model translates as it was exported: alone and with its own options; "
            f"give run directories to choose others. Received: {', '.join(map(str, paths))} with "
            f"options: {', '.join(fixed) or 'none'}"
        )
    batch_size = options.get("batch_size", DecodingConfig().batch_size)
    if (export / TEXT_MODEL).is_file():
        return LiteTranslator(export).nbest, batch_size
    return _nbest_of_saved_model(export, batch_size), batch_size


def find_export(path: str | os.PathLike) -> Path | None:
    """Returns the folder of an export that can translate here; None if there is none.

    Args:
        path: An export, or a folder of versions, of which the highest is meant.

    Example:
        >>> find_export("exports/none") is None
        True
    """
    found = (find_version(path, name) for name in ("saved_model.pb", TEXT_MODEL))
    return next(filter(None, found), None)


def languages_of(path: str | os.PathLike) -> tuple[str, str]:
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


def _nbest_of_saved_model(path: Path, batch_size: int) -> Nbest:
    import tensorflow_text  # noqa: F401  registers the tokenizer's ops

    loaded = tf.saved_model.load(path)
    serve = loaded.signatures["serving_default"]

    def nbest(lines: Sequence[bytes], progress: bool = False) -> list[list[Translation]]:
        # `loaded` owns what the signature reads.
        assert loaded
        rows = map_in_batches(
            lambda text: serve(text=text), lines, size=batch_size, progress=progress
        )
        return [
            [Translation(row["translation"].decode("utf-8", "replace"), float(row["score"]))]
            for row in rows
        ]

    return nbest
