"""`keras-transformer train`: a parallel corpus becomes a run.

A value comes from the command line, else from the YAML file of `--config`, else from the preset
that `--preset` names, else from the dataclass's default. The preset tells the model's family, and
`--task` which sections there are. With the preset `auto`, that of a command line without a recipe,
rules choose in place of defaults.
"""

import argparse
import dataclasses
import json
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

import yaml
from jsonargparse import Namespace

from keras_transformer.commands.parser import Command, Parser
from keras_transformer.commands.quiet import load_tensorflow
from keras_transformer.commands.recipe_loader import load_recipe
from keras_transformer.config import (
    TRAINING_PRESETS,
    RunConfig,
    RunSections,
    Strategy,
    TrainingConfig,
)
from keras_transformer.config.choices import Choices
from keras_transformer.config.run import RUN_CONFIGS
from keras_transformer.console import say

# About when the process began: before TensorFlow was loaded, which takes seconds.
STARTED = time.monotonic()


class TrainingCommand(NamedTuple):
    """What the command line says."""

    output: Path
    config: Any
    strategy: Strategy
    init_from: Path | None
    choices: Choices
    recipe: str | None = None


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
    contents = [_content_of(recipe) for recipe in recipes]
    chosen = _Choices(preset="" if recipes else _AUTO)
    for content in contents:
        chosen = chosen._replace(**_choices_of_recipe(content or {}))
    preset_of_recipes = chosen.preset
    chosen = _choices_of_arguments(parser, others, chosen)
    sections = RUN_CONFIGS.get(chosen.task, RunConfig)
    # That of the task where a recipe names none.
    chosen = chosen._replace(preset=chosen.preset or sections.preset)
    _add_options(parser, sections, chosen.preset)
    # In ASCII: the parser itself would read a file in the locale's encoding.
    given = [
        f"--config={recipe if content is None else json.dumps(content)}"
        for recipe, content in zip(recipes, contents, strict=True)
    ]
    # Of two values, the parser takes the one that comes later.
    arguments = [*given, *_meaning_of_time(parser, chosen.time), *others]
    namespace = parser.parse_args(arguments)
    try:
        values = parser.instantiate(namespace)
        config = sections(**{name: values[name] for name in _names(sections)})
    except ValueError as error:
        parser.error(str(error))
    epochs = config.training.epochs
    if chosen.time is not None and epochs is not None:  # From the command line, after `--time`.
        parser.error(
            "argument --training.epochs: must be left out with --time, by which the learning rate "
            "falls; --training.max_steps ends a training earlier, and the rate with it. Received: "
            f"{epochs}, with --time {chosen.time}"
        )
    init_from = None if namespace.init_from is None else Path(namespace.init_from)
    if chosen.preset not in (preset_of_recipes or sections.preset, _AUTO):
        _tell_what_a_preset_leaves(chosen.preset, config, contents)
    asked_for = frozenset(parser.parse_args(arguments, defaults=False).keys())
    choices = Choices(asked_for, automatic=chosen.preset == _AUTO)
    output, strategy = Path(namespace.output), namespace.strategy
    command = TrainingCommand(output, config, strategy, init_from, choices, namespace.recipe)
    return Namespace(command=command)


# The preset where none is named, without a recipe.
_AUTO = "auto"


class _Choices(NamedTuple):
    """What decides which options there are, and what stands for several of them."""

    preset: str
    task: str = RunConfig.task
    time: str | None = None


def _recipes_apart(parser: Parser, arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Returns the values of `--config`, and the other arguments."""
    reader = _reader()
    reader.add_argument("--config", action="append", default=[])
    try:
        recipes, others = reader.parse_known_args(arguments)
    except argparse.ArgumentError as error:
        parser.error(str(error))
    return recipes.config, others


def _content_of(recipe: str) -> dict[str, Any] | None:
    """Reads a recipe, a file or text; None if something is wrong, which the parser tells."""
    try:
        # `Path.exists` fails at a text that is too long for a name.
        text = Path(recipe).read_text("utf-8") if os.path.exists(recipe) else recipe
        content = load_recipe(text)
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return None
    return content if isinstance(content, dict) else None


def _choices_of_recipe(content: Mapping[str, Any]) -> dict[str, str]:
    return {k: v for k, v in content.items() if k in _Choices._fields and isinstance(v, str)}


def _choices_of_arguments(parser: Parser, arguments: list[str], chosen: _Choices) -> _Choices:
    reader = _reader()
    for name, value in chosen._asdict().items():
        reader.add_argument(f"--{name}", default=value)
    try:
        return _Choices(**vars(reader.parse_known_args(arguments)[0]))
    except argparse.ArgumentError as error:
        parser.error(str(error))


def _tell_what_a_preset_leaves(
    preset: str, config: RunSections, contents: Sequence[Mapping[str, Any] | None]
) -> None:
    """Says where a recipe has precedence over a preset that was asked for by name."""
    from keras_transformer.models.families import family_of_preset

    told = {name for content in contents for name in (content or {}).get("model") or {}}
    for name, value in family_of_preset(preset).presets[preset].items():
        kept = getattr(config.model, name)
        if name in told and kept != value:
            say(
                f"--preset {preset}: the recipe's model.{name} {kept} has precedence over {value}; "
                f"for that, --model.{name} {value}"
            )


def _meaning_of_time(parser: Parser, time_limit: str | None) -> list[str]:
    """Returns the options that `--time` stands for."""
    if time_limit is None:
        return []
    try:
        minutes = minutes_of(time_limit)
    except ValueError as error:
        parser.error(str(error))
    # The training and its learning rate end by the clock, and by nothing else.
    meaning = {"minutes": minutes, "schedule": "trapezoid", "epochs": "null", "max_steps": "null"}
    return [f"--training.{name}={value}" for name, value in meaning.items()]


def minutes_of(time_limit: str) -> float:
    """Returns the minutes of a time such as "90s", "60m" or "2h".

    Raises:
        ValueError: If it is none.

    Example:
        >>> minutes_of("90s"), minutes_of("1.5h")
        (1.5, 90.0)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", time_limit)
    if match is None or not float(match[1]):
        raise ValueError(f"`time` must be such as 90s, 60m or 2h. Received: {time_limit!r}")
    return float(match[1]) * {"s": 1 / 60, "m": 1.0, "h": 60.0}[match[2]]


def _reader() -> argparse.ArgumentParser:
    """Makes a parser for a few options among others."""
    return argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)


def _names(sections: type[RunSections]) -> list[str]:
    return [section.name for section in dataclasses.fields(sections)]


def _add_options(parser: Parser, sections: type[RunSections], preset: str) -> None:
    load_tensorflow()  # Families have models, and so Keras.
    from keras_transformer.models.families import (
        FAMILIES,
        family_of_preset,
        require_architecture,
    )
    from keras_transformer.tasks.recipes import RECIPES

    presets = [_AUTO, *(name for family in FAMILIES.values() for name in family.presets)]
    _add_general_options(parser, presets, preset)
    _add_ways_of_training(parser, list(RECIPES))
    preset = sections.preset if preset == _AUTO else preset
    try:
        family = family_of_preset(preset)
        require_architecture(family.config(), sections.architecture)
    except ValueError as error:
        parser.error(str(error))
    for section in dataclasses.fields(sections):
        kind: Any = family.config if section.name == "model" else section.type
        parser.add_section(kind, section.name)
    _set_defaults(parser, "training", _defaults_of_task(sections))
    _set_defaults(parser, "training", TRAINING_PRESETS.get(preset, {}))
    _set_defaults(parser, "model", family.presets[preset])


def _set_defaults(parser: Parser, section: str, values: Mapping[str, Any]) -> None:
    parser.set_defaults({f"{section}.{field}": value for field, value in values.items()})


def _defaults_of_task(sections: type[RunSections]) -> dict[str, Any]:
    """Returns what a task changes in the training."""
    usual = TrainingConfig()
    [default] = (f.default for f in dataclasses.fields(sections) if f.name == "training")
    changed = usual if default is dataclasses.MISSING else default
    values = dataclasses.asdict(changed)
    return {name: value for name, value in values.items() if value != getattr(usual, name)}


def _add_general_options(parser: Parser, presets: Sequence[str], preset: str) -> None:
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
        default=preset,
        metavar="NAME",
        help="A row of the paper's table of variations, or another model; or auto, the default "
        "without a recipe, which leaves to rules what is not said, by the corpus and the machine. "
        f"One of {', '.join(presets)}.",
    )
    parser.add_argument(
        "--time",
        metavar="TIME",
        help="End within this time, such as 90s, 60m or 2h, with a learning rate that has fallen "
        "to zero by then.",
    )
    parser.add_argument(
        "--task",
        choices=list(RUN_CONFIGS),
        default=RunConfig.task,
        help="What to train for, which decides the sections of options below.",
    )


def _add_ways_of_training(parser: Parser, recipes: Sequence[str]) -> None:
    parser.add_argument(
        "--strategy",
        choices=get_args(Strategy),
        default="auto",
        help="What to train on: one device, all devices of this machine, the workers that "
        "TF_CONFIG lists, a TPU, or what there is.",
    )
    parser.add_argument(
        "--recipe",
        choices=recipes,
        help="Several trainings in a row: low-resource, for little data, trains both directions "
        "first, then one, and then with the models' own translations of the corpus.",
    )
    parser.add_argument(
        "--init-from",
        metavar="RUN",
        help="A run whose vocabulary and best weights to begin with; a larger model.vocab_size "
        "adds pieces for the new corpus.",
    )


def _run(arguments: Namespace) -> None:
    from keras_transformer.tasks import train
    from keras_transformer.tasks.recipes import RECIPES
    from keras_transformer.training.interruption import Interrupted
    from keras_transformer.training.strategy import WorkerLostError

    options = arguments.command._asdict()
    recipe = options.pop("recipe")
    trained = train if recipe is None else RECIPES[recipe]
    try:
        run = trained(**options, started=STARTED)
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
