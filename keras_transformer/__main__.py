"""`python -m keras_transformer evaluate RUN CORPUS ...`: scores a run's translations."""

import argparse
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def main() -> None:
    """Parses the command line and runs the command."""
    parser = argparse.ArgumentParser(prog="python -m keras_transformer", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    evaluate = commands.add_parser("evaluate", help="BLEU and chrF of a run on parallel corpora.")
    evaluate.add_argument("run", help="The run directory that train.py wrote.")
    evaluate.add_argument(
        "corpus",
        nargs="+",
        help="phrasebook:SPLIT, tfds:NAME:SPLIT, FILE.tsv or the prefix of two parallel files.",
    )
    evaluate.add_argument(
        "--checkpoint",
        choices=["best", "latest"],
        default="best",
        help="Which checkpoint: the best by validation BLEU, or the latest.",
    )
    evaluate.add_argument(
        "--tokenize",
        default="13a",
        help='sacreBLEU\'s tokenizer; "none" for text that is tokenised already.',
    )
    evaluate.set_defaults(command=_evaluate)
    arguments = parser.parse_args()
    try:
        arguments.command(arguments)
    except (OSError, ValueError) as error:
        sys.exit(f"keras_transformer: error: {error}")


def _evaluate(arguments: argparse.Namespace) -> None:
    from keras_transformer.data.corpora import open_corpus
    from keras_transformer.evaluation import score_corpus
    from keras_transformer.export.translator import Translator
    from keras_transformer.training.run import open_run

    run = open_run(arguments.run)
    translator = Translator.of_run(run, arguments.checkpoint)
    data = run.config.data
    for spec in arguments.corpus:
        corpus = open_corpus(spec, data.source_language, data.target_language)
        sources, references = zip(*corpus, strict=True)
        translations = translator(sources, progress=True)
        print(f"{spec}: {score_corpus(translations, references, arguments.tokenize)}")


if __name__ == "__main__":
    main()
