"""The command line of `train.py`, made from the configuration's dataclasses.

A value comes from the command line, else from the YAML file of `--config`, else from the row of
Table 3 that `--preset` names, else from the dataclass's default.
"""

import argparse
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from jsonargparse import ArgumentParser

from keras_transformer.config import PRESETS, RunConfig


class TrainingCommand(NamedTuple):
    """What the command line of `train.py` says."""

    output: Path
    config: RunConfig


def parse_training_command(arguments: Sequence[str] | None = None) -> TrainingCommand:
    """Parses the command line of `train.py`.

    Args:
        arguments: The arguments; None for those of the process.

    Returns:
        The run directory and the configuration.

    Raises:
        SystemExit: If an argument is unknown or a value is not allowed; the message says which.

    Example:
        >>> command = parse_training_command(["--output", "runs/a", "--model.dropout", "0.3"])
        >>> command.config.model.dropout
        0.3
    """
    arguments = _recipes_first(arguments)
    parser = _training_parser()
    # Parsed twice, because a preset changes the defaults of what is parsed.
    preset = parser.parse_args(arguments).preset
    parser.set_defaults({f"model.{name}": value for name, value in PRESETS[preset].items()})
    namespace = parser.parse_args(arguments)
    try:
        values = parser.instantiate(namespace)
    except ValueError as error:
        parser.error(str(error))
    sections = {section.name: values[section.name] for section in dataclasses.fields(RunConfig)}
    return TrainingCommand(Path(namespace.output), RunConfig(**sections))


def _recipes_first(arguments: Sequence[str] | None) -> list[str]:
    """Moves `--config` to the front: of two values, the parser takes the one that comes later."""
    reader = argparse.ArgumentParser(prog="train.py", add_help=False, allow_abbrev=False)
    reader.add_argument("--config", action="append", default=[])
    recipes, others = reader.parse_known_args(arguments)
    return [f"--config={path}" for path in recipes.config] + others


def _training_parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="train.py",
        description="Trains a translation model on a parallel corpus. A second call with the same "
        "arguments continues where the first one stopped.",
    )
    parser.add_argument("--config", action="config", help="A YAML recipe, as under configs/.")
    parser.add_argument("--output", required=True, help="The run directory.")
    parser.add_argument(
        "--preset",
        choices=list(PRESETS),
        default="base",
        metavar="NAME",
        help=f"A row of the paper's Table 3, or tiny: {', '.join(PRESETS)}.",
    )
    for section in dataclasses.fields(RunConfig):
        parser.add_class_arguments(section.type, section.name)
    return parser
