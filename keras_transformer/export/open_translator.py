"""What translates, found by its path: run directories or an exported SavedModel."""

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from keras_transformer.config import DecodingConfig
from keras_transformer.export.in_batches import map_in_batches
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
        checkpoint: "best" or "latest".
        options: Fields of `DecodingConfig` that differ from those of the first run.

    Raises:
        FileNotFoundError: If a path is no run, or a run has no checkpoint.
        ValueError: If an option is out of its range, or the runs do not fit together.

    Example:
        >>> translator = open_runs(["runs/demo"], "best", {"beam_size": 8})
    """
    runs = [open_run(path) for path in paths]
    config = dataclasses.replace(runs[0].config.decoding, **options)
    return Translator.of_run(*runs, checkpoint=checkpoint, config=config)


def open_translator(
    paths: Sequence[str | os.PathLike], checkpoint: str, options: Mapping[str, Any]
) -> tuple[Nbest, int]:
    """Opens run directories or an exported SavedModel.

    Args:
        paths: Run directories, or one export.
        checkpoint: "best" or "latest", of runs.
        options: Fields of `DecodingConfig`; for an export `batch_size` alone.

    Returns:
        A function that translates lines, and how many go into a batch.

    Raises:
        FileNotFoundError: If a path is neither.
        ValueError: If an option is out of its range, or cannot be chosen any more.

    Example:
        >>> nbest, batch_size = open_translator(["runs/demo"], "best", {})
    """
    export = find_version(paths[0], "saved_model.pb")
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
    return _nbest_of_export(export, batch_size), batch_size


def _nbest_of_export(path: Path, batch_size: int) -> Nbest:
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
