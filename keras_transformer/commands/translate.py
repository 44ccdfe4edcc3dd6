"""`keras-transformer translate`: standard input to standard output."""

import sys
from collections.abc import Sequence

from jsonargparse import Namespace

from keras_transformer.commands.options import (
    add_batches_option,
    add_checkpoint_option,
    add_compile_option,
    add_decoding_options,
    add_model_argument,
    given_decoding_options,
    open_quietly,
)
from keras_transformer.commands.parser import Command, Parser


def _parse(parser: Parser, arguments: Sequence[str]) -> Namespace:
    add_model_argument(parser, nargs="+", several=", or several that decide together")
    parser.add_argument(
        "--scores",
        action="store_true",
        help="Put the log-probability and a tab before each translation.",
    )
    add_compile_option(
        parser,
        "Have XLA compile the search, of a run or of an export that was made so: worth its seconds "
        "where sentences come one by one.",
    )
    add_batches_option(parser)
    add_checkpoint_option(parser)
    add_decoding_options(parser)
    return parser.parse_args(arguments)


def _run(arguments: Namespace) -> None:
    translator = open_quietly(
        arguments.model,
        arguments.checkpoint,
        given_decoding_options(arguments),
        arguments.compile,
        arguments.batches_at_once,
    )
    from keras_transformer.translation.stream import lines_as_they_come, translate_stream

    # A person who types wants each answer at once; a file is read in windows, of which each is
    # translated in batches of like lengths, and a pipe in what there is when it pauses.
    window = 1 if sys.stdin.isatty() else 20 * translator.batch_size
    lines = lines_as_they_come(sys.stdin.buffer)
    translate_stream(translator.nbest, lines, sys.stdout.buffer, window, arguments.scores)


COMMAND = Command(
    "translate",
    summary="Translate standard input, a line for each line.",
    details="With --num_hypotheses, a line holds several translations, the best first, between "
    "tabs.",
    usage="MODEL [MODEL ...] [options]",
    example="runs/demo < in.txt > out.txt",
    parse=_parse,
    run=_run,
)
