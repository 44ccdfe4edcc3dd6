"""`keras-transformer score`: log-probabilities of given translations."""

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


def _parse(parser: Parser, arguments: Sequence[str]) -> Namespace:
    add_model_argument(parser)
    add_corpora_argument(parser)
    parser.add_argument("--per_token", action="store_true", help="Show each token with its own.")
    add_checkpoint_option(parser)
    return parser.parse_args(arguments)


def _run(arguments: Namespace) -> None:

    translator = open_quietly([arguments.model], arguments.checkpoint, {})
    for _, sources, targets in read_corpora(arguments.model, arguments.corpus):
        for score in translator.score(sources, targets, progress=True):
            line = f"{score.log_prob:.4f}"
            if arguments.per_token:
                tokens = zip(score.pieces, score.piece_log_probs, strict=True)
                line += "\t" + " ".join(f"{piece} {value:.4f}" for piece, value in tokens)
            print(line)


COMMAND = Command(
    "score",
    summary="Show the log-probability of each translation of a corpus.",
    details="A line for each pair. An export to SavedModel scores the first tokens of what is "
    "longer than its maximum, where a run gives an error.",
    usage="MODEL CORPUS [CORPUS ...] [options]",
    example="runs/demo corpus/test --per_token",
    parse=_parse,
    run=_run,
)
