"""Several trainings in a row, as one that can be interrupted anywhere.

What there is of a recipe's trainings and translations is where a second call goes on. All of it is
in the folder `stages` of the run, which is that of the last training.
"""

import dataclasses
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from keras_transformer.config import RunConfig, RunSections, Strategy
from keras_transformer.config.choices import ALL_GIVEN, Choices
from keras_transformer.console import say
from keras_transformer.files import require_local
from keras_transformer.runs.lock import run_lock
from keras_transformer.runs.run import Run
from keras_transformer.tasks.start import train
from keras_transformer.tasks.translation.inputs import open_of
from keras_transformer.translation.opening import open_runs
from keras_transformer.translation.synthetic import write_synthetic_corpus


def train_low_resource(
    output: str | os.PathLike[str],
    config: RunSections,
    strategy: Strategy = "auto",
    init_from: str | os.PathLike[str] | None = None,
    choices: Choices = ALL_GIVEN,
    started: float | None = None,
) -> Run:
    """Trains on little data: both directions, then one, then with translations of the corpus.

    The three trainings have the same options, but for what they are trained on:

    1. `stages/both` learns both directions in one model; the text tells which is asked for, or its
       tag with `data.tags`.
    2. `stages/one` goes on from there in the direction that is wanted.
    3. `output` goes on with as many translations of the sources, by the second model, and of the
       targets, by the first, as there are pairs.

    Args:
        output: As of `train`.
        config: As of `train`; of a translation.
        strategy: As of `train`, but for several workers.
        init_from: What the first training begins with.
        choices: As of `train`, for each of the trainings.
        started: As of `train`, for the first of them.

    Returns:
        The run of the last training.

    Raises:
        ValueError: As `train` raises it; or if the configuration is not that of a translation with
            one corpus by its name and one vocabulary, or there are several workers.

    Example:
        >>> from keras_transformer.tasks.recipes import RECIPES
        >>> RECIPES["low-resource"] is train_low_resource
        True

    Reference:
        "Improving Neural Machine Translation by Bidirectional Training", arXiv 2109.07780; "Data
        Diversification: A Simple Strategy For Neural Machine Translation", arXiv 1911.01986.
    """
    config = _require_fit(config, strategy)
    data = config.data
    stages = Path(output) / "stages"
    require_local(output, "output")
    if Path(output).exists() and not stages.exists():
        raise ValueError(
            "`output` must be new, or hold a run of this recipe; choose another directory. "
            f"Received: {os.fspath(output)}"
        )

    def stage(path: Path, mix: Iterable[str], start: Any, started: float | None = None) -> Run:
        mixed = dataclasses.replace(data, mix={**data.mix, **dict.fromkeys(mix, 1.0)})
        say(f"Recipe low-resource: {path.name}, trained on {', '.join([str(data.train), *mix])}")
        return train(
            path, dataclasses.replace(config, data=mixed), strategy, start, choices, started
        )

    with run_lock(stages):
        both = stage(stages / "both", [f"reversed:{data.train}"], init_from, started)
        one = stage(stages / "one", [], both.path)
        forward, backward = stages / "forward", stages / "backward"
        _translate(one, forward, data.source_language)
        _translate(both, backward, data.target_language)
        return stage(Path(output), [os.fspath(forward), os.fspath(backward)], one.path)


def _require_fit(config: RunSections, strategy: Strategy) -> RunConfig:
    """Returns a configuration that the recipe is for."""
    if not isinstance(config, RunConfig):
        raise ValueError(
            f"`recipe` must be left out but for translation. Received: the task {config.task!r}"
        )
    if not isinstance(config.data.train, str):
        raise ValueError(
            "`train` must be one name of a corpus for this recipe: a prefix, a .tsv, or another. "
            f"Received: {config.data.train}"
        )
    if config.model.source_vocab_size is not None:
        raise ValueError(
            "`source_vocab_size` must be None for this recipe, whose first model reads and writes "
            f"both languages. Received: {config.model.source_vocab_size}"
        )
    if strategy == "multi_worker" or (strategy == "auto" and "TF_CONFIG" in os.environ):
        raise ValueError(
            "`strategy` must be that of one process for this recipe, which translates between its "
            f"trainings. Received: {strategy!r}, with several workers"
        )
    return config


def _translate(run: Run, prefix: Path, language: str) -> None:
    """Translates one side of the training corpus, if that is not done."""
    data = run.config.data
    sides = (data.source_language, data.target_language)
    other = sides[sides[0] == language]
    if prefix.with_name(f"{prefix.name}.{other}").exists():
        return
    say(f"Recipe low-resource: translating the training corpus from {language} into {other}")
    translator = open_runs(run, options={"target_language": other} if data.tags else None)
    lines = (pair[sides.index(language)] for pair in open_of(data, data.train))
    origin = [translator.origin, dataclasses.asdict(translator.config)]
    write_synthetic_corpus(translator, lines, prefix, (language, other), origin)


# What `--recipe` may name.
RECIPES = {"low-resource": train_low_resource}
