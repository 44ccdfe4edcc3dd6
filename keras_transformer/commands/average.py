"""`keras-transformer average`: the mean of a run's checkpoints."""

import functools
from collections.abc import Sequence

from jsonargparse import Namespace

from keras_transformer.commands.options import add_run_argument
from keras_transformer.commands.parser import Command, Parser
from keras_transformer.commands.quiet import load_tensorflow
from keras_transformer.console import say


def _parse(parser: Parser, arguments: Sequence[str]) -> Namespace:
    add_run_argument(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--last", type=int, metavar="K", help="Of the newest K.")
    which.add_argument("--best", type=int, metavar="K", help="Of the best K by validation BLEU.")
    parsed = parser.parse_args(arguments)
    for option in ("last", "best"):
        if parsed[option] is not None and parsed[option] < 1:
            parser.error(f"argument --{option}: must be at least 1. Received: {parsed[option]}")
    return parsed


def _run(arguments: Namespace) -> None:
    load_tensorflow()
    from keras_transformer.runs.averaging import average_run
    from keras_transformer.runs.run import open_run
    from keras_transformer.tasks import task_of
    from keras_transformer.training.reporting import listed
    from keras_transformer.training.scoring import score_model

    run = open_run(arguments.run)
    training = run.config.training
    if arguments.last or arguments.best:
        count, best = arguments.last or arguments.best, arguments.best is not None
    else:
        count = training.average_checkpoints or training.keep_checkpoints
        best = training.average_best
    saved = average_run(run, count, best, functools.partial(score_model, task_of(run.config), run))
    say(f"{saved.path}: {listed(saved.metrics) or 'not scored: the run has no validation corpus'}")


COMMAND = Command(
    "average",
    summary="Save the mean of a run's checkpoints, for --checkpoint average.",
    details="It is saved beside them, with its scores on the run's validation corpus; the best "
    "checkpoint is the mean if its BLEU is higher. By default of as many as the run says, else of "
    "all.",
    usage="RUN [--last K | --best K]",
    example="runs/demo --last 10",
    parse=_parse,
    run=_run,
)
