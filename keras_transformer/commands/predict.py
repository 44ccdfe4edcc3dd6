"""`keras-transformer predict`: standard input to standard output, for what does not translate."""

import itertools
import json
import sys
from collections.abc import Sequence

from jsonargparse import Namespace

from keras_transformer.commands.options import add_checkpoint_option
from keras_transformer.commands.parser import Command, Parser
from keras_transformer.commands.quiet import load_tensorflow, without_start_up_lines


def _parse(parser: Parser, arguments: Sequence[str]) -> Namespace:
    parser.add_argument(
        "model",
        metavar="MODEL",
        help="A run directory of classification, pairs, spans or tags, or an export of one.",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="Write all that is predicted, a JSON object a line.",
    )
    add_checkpoint_option(parser)
    return parser.parse_args(arguments)


def _run(arguments: Namespace) -> None:
    load_tensorflow()
    from keras_transformer.export.predictions import open_predictor
    from keras_transformer.prediction.predictor import line_of
    from keras_transformer.translation.stream import lines_as_they_come, windows

    with without_start_up_lines():
        predictor = open_predictor(arguments.model, arguments.checkpoint)
    # A person who types wants each answer at once.
    window = 1 if sys.stdin.isatty() else 20 * predictor.batch_size
    written = (lambda found: json.dumps(found, ensure_ascii=False)) if arguments.json else line_of
    for lines in windows(lines_as_they_come(sys.stdin.buffer), window):
        found = predictor.of_lines(lines, progress=len(lines) > 1)
        answers = itertools.chain.from_iterable((written(one), "\n") for one in found)
        sys.stdout.buffer.write("".join(answers).encode())
        sys.stdout.buffer.flush()


COMMAND = Command(
    "predict",
    summary="Predict labels, answers or tags, a line for each line.",
    details="A line of standard input is a text; for pairs it is two texts and for spans a "
    "question and a text, apart by a tab.",
    usage="MODEL [options]",
    example="runs/reviews < texts.txt",
    parse=_parse,
    run=_run,
)
