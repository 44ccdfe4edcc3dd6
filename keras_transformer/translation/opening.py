"""Trained runs become a translator."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any

from keras_transformer.config.search_shapes import SearchShape, one_sentence
from keras_transformer.models.families import family_of
from keras_transformer.runs.checkpoints import Checkpoint
from keras_transformer.runs.run import Run, open_run
from keras_transformer.translation.translator import Translator


def open_runs(
    runs: Run | str | os.PathLike[str] | Sequence[Run | str | os.PathLike[str]],
    checkpoint: str = "best",
    options: Mapping[str, Any] | None = None,
    shapes: Sequence[SearchShape] | None = None,
) -> Translator:
    """Makes the translator of trained runs.

    Args:
        runs: A run or its directory, or several that decide together, with the tokenizers of the
            first.
        checkpoint: "best", "latest" or "average".
        options: Fields of `DecodingConfig` that differ from those of the first run.
        shapes: For which shapes XLA compiles the search; none at all for those of `one_sentence`.
            None to compile nothing.

    Raises:
        FileNotFoundError: If a path is no run, or a run has no such checkpoint.
        ValueError: If an option is out of its range or has no effect, or the runs differ in their
            vocabularies.

    Example:
        >>> translator = open_runs("runs/demo", options={"beam_size": 8})
    """
    runs = list(runs) if isinstance(runs, Sequence) and not isinstance(runs, str) else [runs]
    opened = [open_run(run) if isinstance(run, str | os.PathLike) else run for run in runs]
    if not opened:
        raise ValueError("`runs` must be one run or several. Received: none")
    first = opened[0]
    require_translation(first)
    checkpoints = [find_checkpoint(run, checkpoint) for run in opened]
    for run in opened[1:]:
        _require_same_vocabularies(first, run)
    data, decoding = first.config.data, first.config.decoding
    if options:
        decoding = decoding.with_options(options)
    max_length = min(run.config.model.max_length for run in opened)
    origin = {
        "languages": {"source": data.source_language, "target": data.target_language},
        "training": [
            {
                "run": run.path.name,
                "family": family_of(run.config.model).name,
                "task": run.config.task,
                "model": dataclasses.asdict(run.config.model),
                "epoch": found.epoch,
                "metrics": dict(found.metrics),
            }
            for run, found in zip(opened, checkpoints, strict=True)
        ],
    }
    return Translator(
        [found.load() for found in checkpoints],
        first.source_tokenizer,
        first.target_tokenizer,
        decoding,
        origin,
        shapes=() if shapes is None else shapes or one_sentence(max_length),
    )


def require_translation(run: Run) -> None:
    """Refuses a run of another task.

    Raises:
        ValueError: If the run does not translate.

    Example:
        >>> require_translation(open_run("runs/demo"))
    """
    if not hasattr(run.config, "decoding"):
        raise ValueError(
            "`run` must be one that translates; for labels, answers or tags, of one that was "
            "fine-tuned for them, there is `keras-transformer predict`. "
            f"Received: {run.path}, of the task {run.config.task!r}"
        )


def find_checkpoint(run: Run, name: str) -> Checkpoint:
    """Returns a checkpoint of a run.

    Args:
        run: The run.
        name: "best", "latest" or "average".

    Raises:
        FileNotFoundError: If there is none.
    """
    found = getattr(run.checkpoints, name)()
    if found is not None:
        return found
    if name == "average":
        raise FileNotFoundError(
            "`run` must have an average; make it with `python -m keras_transformer average`. "
            f"Received: {run.path}"
        )
    raise FileNotFoundError(
        f"`run` must have a checkpoint; train it for an epoch first. Received: {run.path}"
    )


def _require_same_vocabularies(first: Run, run: Run) -> None:
    for side in ("source", "target"):
        tokenizers = (getattr(one, f"{side}_tokenizer") for one in (first, run))
        if len({(tokenizer.model, tokenizer.segmentation) for tokenizer in tokenizers}) > 1:
            raise ValueError(
                f"Runs that translate together must have one {side} vocabulary; train the "
                f"others from the first one's. Received: {first.path}, {run.path}"
            )
