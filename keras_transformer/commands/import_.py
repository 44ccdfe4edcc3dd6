"""`keras-transformer import`: another toolkit's model becomes a run."""

from collections.abc import Sequence

from jsonargparse import Namespace

from keras_transformer.commands.parser import Command, Parser
from keras_transformer.commands.quiet import load_tensorflow
from keras_transformer.console import say


def _parse(parser: Parser, arguments: Sequence[str]) -> Namespace:
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="A folder of a Hugging Face MarianMTModel or BERT, a folder or zip of Marian's own "
        "files or of Google's BERT, or `keras_hub:NAME`, a preset of BERT that is downloaded.",
    )
    parser.add_argument("--output", required=True, metavar="RUN", help="The run directory.")
    parser.add_argument(
        "--source_language",
        metavar="CODE",
        help="Code of the source's language; by default what the source says.",
    )
    parser.add_argument(
        "--target_language",
        metavar="CODE",
        help="Code of the target's language, likewise. Of a model with language tags, the one that "
        "is meant where a text has no tag.",
    )
    parser.add_argument(
        "--task",
        choices=["pairs"],
        help="Of a BERT that tells labels: it reads pairs of texts, which the source does not say. "
        "By default single texts.",
    )
    parser.add_argument(
        "--verify",
        metavar="FILE",
        help="Compare tokens, logits and translations of the lines of FILE with those of the "
        "transformers package, which must be installed, as must PyTorch.",
    )
    return parser.parse_args(arguments)


def _run(arguments: Namespace) -> None:
    load_tensorflow()
    from keras_transformer.importing.runs import import_run

    if arguments.verify is not None:
        from keras_transformer.importing.verification import require_verifiable

        require_verifiable(arguments.source, arguments.verify)
    languages = arguments.source_language, arguments.target_language
    run = import_run(arguments.source, arguments.output, *languages, task=arguments.task)
    say(f"Imported {arguments.source} to {run.path}")
    if arguments.verify is not None:
        from keras_transformer.importing.verification import verify

        say(verify(run, arguments.source, arguments.verify))


COMMAND = Command(
    "import",
    summary="Make a run of a Marian, OPUS-MT or BERT model.",
    details="The run translates, is evaluated, fine-tuned and exported as one that was trained "
    "here; that of BERT is one of --task masked_lm, or of the task that it was fine-tuned for. It "
    "is written whole or not at all.",
    usage="SOURCE --output RUN [options]",
    example="opus-mt-en-de --output runs/en-de",
    parse=_parse,
    run=_run,
)
