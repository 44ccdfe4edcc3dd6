"""Commands beside train.py and export.py: `python -m keras_transformer COMMAND --help`."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from keras_transformer.cli import (
    add_checkpoint_option,
    add_decoding_options,
    given_decoding_options,
)


def main() -> None:
    """Parses the command line and runs the command."""
    parser = argparse.ArgumentParser(prog="python -m keras_transformer", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_evaluate(commands)
    _add_translate(commands)
    _add_score(commands)
    _add_average(commands)
    arguments = parser.parse_args()
    try:
        arguments.command(arguments)
    except (ImportError, OSError, ValueError) as error:
        sys.exit(f"keras_transformer: error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


def _add_evaluate(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser(
        "evaluate", help="BLEU and chrF of a run or an export on parallel corpora."
    )
    _add_model(parser)
    _add_corpora(parser)
    parser.add_argument(
        "--tokenize",
        default="13a",
        help='sacreBLEU\'s tokenizer; "none" for text that is tokenised already.',
    )
    add_checkpoint_option(parser)
    add_decoding_options(parser)
    parser.set_defaults(command=_evaluate)


def _add_translate(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser(
        "translate",
        help="Translate standard input to standard output, a line for each line.",
        description="Translates standard input to standard output, a line for each line. With "
        "--num_hypotheses, a line holds several translations, the best first, between tabs.",
    )
    _add_model(parser, nargs="+", several=", or several that decide together")
    parser.add_argument(
        "--scores",
        action="store_true",
        help="Put the log-probability and a tab before each translation.",
    )
    add_checkpoint_option(parser)
    add_decoding_options(parser)
    parser.set_defaults(command=_translate)


def _add_score(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser(
        "score", help="Log-probability of each translation of a corpus, a line for each pair."
    )
    _add_run(parser)
    _add_corpora(parser)
    parser.add_argument("--per_token", action="store_true", help="Show each token with its own.")
    add_checkpoint_option(parser)
    parser.set_defaults(command=_score)


def _add_average(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser(
        "average",
        help="Save the mean of a run's checkpoints, for --checkpoint average.",
        description="Saves the mean of the weights of a run's checkpoints beside them, with its "
        "scores on the run's validation corpus, for --checkpoint average; the best checkpoint is "
        "the mean if its BLEU is higher. By default of as many as the run says, else of all.",
    )
    _add_run(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--last", type=_count, metavar="K", help="Of the newest K.")
    which.add_argument("--best", type=_count, metavar="K", help="Of the best K by validation BLEU.")
    parser.set_defaults(command=_average)


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1. Received: {text}")
    return value


def _add_model(parser: argparse.ArgumentParser, several: str = "", **options: str) -> None:
    parser.add_argument(
        "model",
        help=f"A run directory{several}; or an export to SavedModel or TFLite, which translates as "
        "it was exported and takes no decoding options but --batch_size.",
        **options,
    )


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", help="The run directory that train.py wrote.")


def _add_corpora(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "corpus",
        nargs="+",
        help="phrasebook:SPLIT, tfds:NAME:SPLIT, FILE.tsv or the prefix of two parallel files.",
    )


def _evaluate(arguments: argparse.Namespace) -> None:
    from keras_transformer.evaluation import require_tokenizer, score_corpus
    from keras_transformer.export.in_batches import encode
    from keras_transformer.export.open_translator import open_translator

    require_tokenizer(arguments.tokenize)
    nbest, _ = open_translator(
        [arguments.model], arguments.checkpoint, given_decoding_options(arguments)
    )
    for spec, sources, references in _read_corpora(arguments.model, arguments.corpus):
        translations = [best.text for best, *_ in nbest(encode(sources), progress=True)]
        print(f"{spec}: {score_corpus(translations, references, arguments.tokenize)}")


def _translate(arguments: argparse.Namespace) -> None:
    from keras_transformer.export.open_translator import open_translator
    from keras_transformer.export.stream import translate_stream

    nbest, batch_size = open_translator(
        arguments.model, arguments.checkpoint, given_decoding_options(arguments)
    )
    # A person who types wants each answer at once; a file is read in windows, of which each is
    # translated in batches of like lengths.
    window = 1 if sys.stdin.isatty() else 20 * batch_size
    translate_stream(nbest, sys.stdin.buffer, sys.stdout.buffer, window, arguments.scores)


def _score(arguments: argparse.Namespace) -> None:
    from keras_transformer.export.open_translator import open_runs

    translator = open_runs([arguments.run], arguments.checkpoint, {})
    for _, sources, targets in _read_corpora(arguments.run, arguments.corpus):
        for score in translator.score(sources, targets, progress=True):
            line = f"{score.log_prob:.4f}"
            if arguments.per_token:
                tokens = zip(score.pieces, score.piece_log_probs, strict=True)
                line += "\t" + " ".join(f"{piece} {value:.4f}" for piece, value in tokens)
            print(line)


def _average(arguments: argparse.Namespace) -> None:
    from keras_transformer.training.averaging import average_run
    from keras_transformer.training.run import open_run

    run = open_run(arguments.run)
    training = run.config.training
    if arguments.last or arguments.best:
        count, best = arguments.last or arguments.best, arguments.best is not None
    else:
        count = training.average_checkpoints or training.keep_checkpoints
        best = training.average_best
    saved = average_run(run, count, best)
    metrics = ", ".join(f"{name} {value:.4g}" for name, value in saved.metrics.items())
    print(f"{saved.path}: {metrics or 'not scored: the run has no validation corpus'}")


def _read_corpora(model: str, specs: Sequence[str]) -> Iterator[tuple[str, Sequence, Sequence]]:
    """Gives each corpus of the command line: its name, its sources and its targets."""
    from keras_transformer.data.corpora import open_corpus
    from keras_transformer.export.open_translator import languages_of

    languages = languages_of(model)
    for spec in specs:
        corpus = open_corpus(spec, *languages)
        yield spec, *zip(*corpus, strict=True)


if __name__ == "__main__":
    main()
