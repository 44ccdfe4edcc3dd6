"""`keras-transformer train`: a parallel corpus becomes a run.

A value comes from the command line, else from the YAML file of `--config`, else from the preset
that `--preset` names, else from the dataclass's default. The preset tells the model's family, and
`--task` which sections there are.
"""

import argparse
import dataclasses
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

import yaml
from jsonargparse import Namespace

from keras_transformer.commands.parser import Command, Parser
from keras_transformer.commands.quiet import load_tensorflow
from keras_transformer.commands.recipe_loader import load_recipe
from keras_transformer.config import TRAINING_PRESETS, RunConfig, RunSections, Strategy
from keras_transformer.config.run import RUN_CONFIGS
from keras_transformer.console import say


class TrainingCommand(NamedTuple):
    """What the command line says."""

    output: Path
    config: Any
    strategy: Strategy
    init_from: Path | None


def parse_training_command(arguments: Sequence[str] | None = None) -> TrainingCommand:
    """Parses the command line of `train.py`.

    Args:
        arguments: The arguments; None for those of the process.

    Returns:
        The run directory, the configuration, and what to train on and to begin with.

    Raises:
        SystemExit: If an argument is unknown or a value is not allowed; the message says which.

    Example:
        >>> command = parse_training_command(["--output", "runs/a", "--model.dropout", "0.3"])
        >>> command.config.model.dropout
        0.3
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    return COMMAND.parsed(arguments, "train.py").command


def _parse(parser: Parser, arguments: Sequence[str]) -> Namespace:
    recipes, others = _recipes_apart(parser, arguments)
    chosen = _Choices(**{k: v for text in recipes for k, v in _choices_of_recipe(text).items()})
    chosen = _choices_of_arguments(parser, others, chosen)
    sections = RUN_CONFIGS.get(chosen.task, RunConfig)
    _add_options(parser, sections, chosen.preset)
    # Of two values, the parser takes the one that comes later.
    namespace = parser.parse_args([*(f"--config={recipe}" for recipe in recipes), *others])
    try:
        values = parser.instantiate(namespace)
        config = sections(**{name: values[name] for name in _names(sections)})
    except ValueError as error:
        parser.error(str(error))
    init_from = None if namespace.init_from is None else Path(namespace.init_from)
    command = TrainingCommand(Path(namespace.output), config, namespace.strategy, init_from)
    return Namespace(command=command)


class _Choices(NamedTuple):
    """What decides which options there are."""

    preset: str = "base"
    task: str = RunConfig.task


def _recipes_apart(parser: Parser, arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Returns the values of `--config`, and the other arguments."""
    reader = _reader()
    reader.add_argument("--config", action="append", default=[])
    try:
        recipes, others = reader.parse_known_args(arguments)
    except argparse.ArgumentError as error:
        parser.error(str(error))
    return recipes.config, others


def _choices_of_recipe(recipe: str) -> dict[str, str]:
    """Reads what a recipe chooses; what is wrong with it, the parser finds again and tells."""
    try:
        content = load_recipe(Path(recipe).read_text() if Path(recipe).exists() else recipe)
    except (OSError, yaml.YAMLError):
        return {}
    values = content if isinstance(content, dict) else {}
    return {k: v for k, v in values.items() if k in _Choices._fields and isinstance(v, str)}


def _choices_of_arguments(parser: Parser, arguments: list[str], chosen: _Choices) -> _Choices:
    reader = _reader()
    for name, value in chosen._asdict().items():
        reader.add_argument(f"--{name}", default=value)
    try:
        return _Choices(**vars(reader.parse_known_args(arguments)[0]))
    except argparse.ArgumentError as error:
        parser.error(str(error))


def _reader() -> argparse.ArgumentParser:
    """Makes a parser for a few options among others."""
    return argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)


def _names(sections: type[RunSections]) -> list[str]:
    return [section.name for section in dataclasses.fields(sections)]


def _add_options(parser: Parser, sections: type[RunSections], preset: str) -> None:
    load_tensorflow()  # Families have models, and so Keras.
    from keras_transformer.models.families import FAMILIES, family_of_preset

    presets = [name for family in FAMILIES.values() for name in family.presets]
    _add_general_options(parser, presets)
    try:
        family = family_of_preset(preset)
    except ValueError as error:
        parser.error(str(error))
    for section in dataclasses.fields(sections):
        kind: Any = family.config if section.name == "model" else section.type
        parser.add_section(kind, section.name)
    changed = {"model": family.presets[preset], "training": TRAINING_PRESETS.get(preset, {})}
    for name, values in changed.items():
        parser.set_defaults({f"{name}.{field}": value for field, value in values.items()})


def _add_general_options(parser: Parser, presets: Sequence[str]) -> None:
    parser.add_argument(
        "--config",
        action="config",
        metavar="FILE",
        help="A YAML recipe, as under configs/. Options of the command line have precedence; of "
        "several recipes the later ones.",
    )
    parser.add_argument("--output", required=True, metavar="DIR", help="The run directory.")
    parser.add_argument(
        "--preset",
        choices=presets,
        default=_Choices().preset,
        metavar="NAME",
        help=f"A row of the paper's table of variations, or another model: {', '.join(presets)}.",
    )
    parser.add_argument(
        "--task",
        choices=list(RUN_CONFIGS),
        default=_Choices().task,
        help="What to train for, which decides the sections of options below.",
    )
    parser.add_argument(
        "--strategy",
        choices=get_args(Strategy),
        default="auto",
        help="What to train on: one device, all devices of this machine, the workers that "
        "TF_CONFIG lists, a TPU, or what there is.",
    )
    parser.add_argument(
        "--init-from",
        metavar="RUN",
        help="A run whose vocabulary and best weights to begin with; a larger model.vocab_size "
        "adds pieces for the new corpus.",
    )


def _run(arguments: Namespace) -> None:
    from keras_transformer.tasks import train
    from keras_transformer.training.interruption import Interrupted
    from keras_transformer.training.strategy import WorkerLostError

    try:
        run = train(*arguments.command)
    except WorkerLostError as error:
        say(f"{error}\nThis one starts again from the last checkpoint, when all are there.")
        time.sleep(5.0)
        os.execv(sys.executable, sys.orig_argv)
    except Interrupted as interrupted:
        say(f"\n{interrupted} The same command continues from it.")
        sys.exit(interrupted.exit_code)
    except KeyboardInterrupt:
        say("\nInterrupted. The same command continues from the last checkpoint there is.")
        raise
    say(f"Trained: {run.path}. Next: python export.py {run.path} --output exports/{run.path.name}")


COMMAND = Command(
    "train",
    summary="Train a model on a corpus, or continue to.",
    details="A second call with the same arguments continues where the first one stopped.",
    usage="--output DIR [--config FILE] [options]",
    example="--config my.yaml --output runs/mine",
    parse=_parse,
    run=_run,
)
