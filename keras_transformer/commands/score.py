"""`keras-transformer score`: log-probabilities of given translations."""

import math
from collections.abc import Sequence

from jsonargparse import Namespace

from keras_transformer.commands.options import (
    add_checkpoint_option,
    add_corpora_argument,
    add_model_argument,
    open_quietly,
    read_corpora,
)
from keras_transformer.commands.parser import Command, Parser
from keras_transformer.console import write_result


def _parse(parser: Parser, arguments: Sequence[str]) -> Namespace:
    add_model_argument(parser)
    add_corpora_argument(parser)
    parser.add_argument("--per_token", action="store_true", help="Show each token with its own.")
    add_checkpoint_option(parser)
    return parser.parse_args(arguments)


def _run(arguments: Namespace) -> None:
    translator = open_quietly([arguments.model], arguments.checkpoint, {})
    from keras_transformer.export.opening import languages_of

    languages = languages_of(arguments.model)
    for _, sources, targets in read_corpora(languages, arguments.corpus):
        for score in translator.score(sources, targets, progress=True):
            line = "too long" if math.isnan(score.log_prob) else f"{score.log_prob:.4f}"
            if arguments.per_token and score.pieces:
                tokens = zip(score.pieces, score.piece_log_probs, strict=True)
                line += "\t" + " ".join(f"{piece} {value:.4f}" for piece, value in tokens)
            write_result(line)


COMMAND = Command(
    "score",
    summary="Show the log-probability of each translation of a corpus.",
    details='A line for each pair; "too long" for one of which a side is longer than the model\'s '
    "maximum.",
    usage="MODEL CORPUS [CORPUS ...] [options]",
    example="runs/demo corpus/test --per_token",
    parse=_parse,
    run=_run,
)
