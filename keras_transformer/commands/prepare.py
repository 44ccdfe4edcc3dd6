"""`keras-transformer prepare`: what comes before the first step, ahead of it and without a GPU."""

from collections.abc import Sequence

from jsonargparse import Namespace

from keras_transformer.commands import train
from keras_transformer.commands.parser import Command, Parser
from keras_transformer.console import say


def _parse(parser: Parser, arguments: Sequence[str]) -> Namespace:
    parsed = train.COMMAND.parse(parser, arguments)
    if not _has_cache(parsed.command):
        parser.error("argument --data.cache: must be a folder for the token ids. Received: none")
    if parsed.command.recipe is not None:
        parser.error(
            "argument --recipe: must be left out, as each of its trainings prepares what it reads. "
            f"Received: {parsed.command.recipe}"
        )
    return parsed


def _has_cache(command: train.TrainingCommand) -> bool:
    from keras_transformer.runs.run import exists, open_run

    config = command.config
    if exists(command.output):
        config = command.choices.filled(config, open_run(command.output).config)
    return getattr(getattr(config, "data", None), "cache", None) is not None


def _run(arguments: Namespace) -> None:
    from keras_transformer.tasks import prepare

    command = arguments.command
    run = prepare(command.output, command.config, command.init_from, command.choices)
    say(f"Prepared: {run.path}. Next: train with the same options.")


COMMAND = Command(
    "prepare",
    summary="Write the token ids of a training's corpora once, ahead of it.",
    details="Takes the options of train, and does what comes before the first step. What was "
    "finished before an interruption is kept.",
    usage="--output DIR --data.cache DIR [options]",
    example="--output runs/mine --data.cache cache",
    parse=_parse,
    run=_run,
)
