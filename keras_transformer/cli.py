"""Command lines, made from the configuration's dataclasses.

In `train.py` a value comes from the command line, else from the YAML file of `--config`, else from
the row of Table 3 that `--preset` names, else from the dataclass's default. Commands that decode
take what the command line says, else what the run says.
"""

import argparse
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, get_args

from docstring_parser import parse as parse_docstring
from jsonargparse import ArgumentParser

from keras_transformer.config import PRESETS, DecodingConfig, RunConfig, Strategy


class TrainingCommand(NamedTuple):
    """What the command line of `train.py` says."""

    output: Path
    config: RunConfig
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
    init_from = None if namespace.init_from is None else Path(namespace.init_from)
    config = RunConfig(**sections)
    return TrainingCommand(Path(namespace.output), config, namespace.strategy, init_from)


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
    for section in dataclasses.fields(RunConfig):
        parser.add_class_arguments(section.type, section.name)
    return parser


def add_checkpoint_option(parser: argparse.ArgumentParser) -> None:
    """Adds `--checkpoint`: which checkpoint of a run to use."""
    parser.add_argument(
        "--checkpoint",
        choices=["best", "latest", "average"],
        default="best",
        help="Which checkpoint: the best by validation BLEU, the latest, or the mean of several, "
        "which the best is as well where its BLEU is the highest.",
    )


def add_decoding_options(parser: argparse.ArgumentParser) -> None:
    """Adds an option for each field of `DecodingConfig`, None where it is not given."""
    group = parser.add_argument_group("decoding", "By default as the run says.")
    described = {
        parameter.arg_name: parameter.description
        for parameter in parse_docstring(DecodingConfig.__doc__).params
    }
    for field in dataclasses.fields(DecodingConfig):
        kind = {
            bool: {"action": argparse.BooleanOptionalAction},
            int: {"type": int, "metavar": "N"},
            float: {"type": float, "metavar": "X"},
        }.get(field.type, {"nargs": "*", "metavar": "PIECE"})
        # argparse formats help with %.
        text = described[field.name].replace("%", "%%")
        group.add_argument(f"--{field.name}", default=None, help=text, **kind)


def given_decoding_options(arguments: argparse.Namespace) -> dict[str, object]:
    """Returns the decoding options that the command line gave."""
    values = {
        field.name: getattr(arguments, field.name) for field in dataclasses.fields(DecodingConfig)
    }
    return {name: value for name, value in values.items() if value is not None}
