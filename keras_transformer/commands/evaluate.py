"""`keras-transformer evaluate`: BLEU and chrF on parallel corpora."""

from collections.abc import Sequence

from jsonargparse import Namespace

from keras_transformer.commands.options import (
    add_checkpoint_option,
    add_corpora_argument,
    add_decoding_options,
    add_model_argument,
    given_decoding_options,
    open_quietly,
    read_corpora,
)
from keras_transformer.commands.parser import Command, Parser
from keras_transformer.console import write_result


def _parse(parser: Parser, arguments: Sequence[str]) -> Namespace:
    add_model_argument(parser)
    add_corpora_argument(parser)
    parser.add_argument(
        "--tokenize",
        default="13a",
        help='sacreBLEU\'s tokenizer; "none" for text that is tokenised already.',
    )
    add_checkpoint_option(parser)
    add_decoding_options(parser)
    return parser.parse_args(arguments)


def _run(arguments: Namespace) -> None:
    from keras_transformer.evaluation import require_tokenizer, score_corpus

    require_tokenizer(arguments.tokenize)
    translator = open_quietly(
        [arguments.model], arguments.checkpoint, given_decoding_options(arguments)
    )
    for spec, sources, references in read_corpora(arguments.model, arguments.corpus):
        translations = [best.text for best, *_ in translator.nbest(sources, progress=True)]
        write_result(f"{spec}: {score_corpus(translations, references, arguments.tokenize)}")


COMMAND = Command(
    "evaluate",
    summary="Measure BLEU and chrF of a run or an export on parallel corpora.",
    usage="MODEL CORPUS [CORPUS ...] [options]",
    example="runs/demo phrasebook:test",
    parse=_parse,
    run=_run,
)
