"""Options that several commands have, made from the configuration's dataclasses.

Commands that decode take what the command line says, else what the run says.
"""

import argparse
import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from docstring_parser import parse as parse_docstring

from keras_transformer.commands.quiet import load_tensorflow, without_start_up_lines
from keras_transformer.config import DecodingConfig
from keras_transformer.config.decoding import LengthNormalization
from keras_transformer.config.search_shapes import one_sentence, parse_shapes

if TYPE_CHECKING:
    from keras_transformer.translation.results import AnyTranslator


def add_model_argument(parser: argparse.ArgumentParser, several: str = "", **options: Any) -> None:
    """Adds what is used: a run or an export.

    Args:
        parser: Gets it.
        several: What several of them are for.
        **options: Of `add_argument`.
    """
    parser.add_argument(
        "model",
        metavar="MODEL",
        help=f"A run directory{several}; or an export, which translates as it was exported and "
        "takes no decoding options but --batch_size; of CTranslate2, those that the engine has.",
        **options,
    )


def add_run_argument(parser: argparse.ArgumentParser) -> None:
    """Adds the run directory."""
    parser.add_argument("run", metavar="RUN", help="The run directory that train.py wrote.")


def add_corpora_argument(parser: argparse.ArgumentParser, more: str = "") -> None:
    """Adds one or more corpora.

    Args:
        parser: Gets them.
        more: What else is said of them.
    """
    parser.add_argument(
        "corpus",
        metavar="CORPUS",
        nargs="+",
        help="phrasebook:SPLIT, tfds:NAME:SPLIT, FILE.tsv or the prefix of two parallel files."
        + more,
    )


def add_checkpoint_option(parser: argparse.ArgumentParser) -> None:
    """Adds `--checkpoint`: which checkpoint of a run to use."""
    parser.add_argument(
        "--checkpoint",
        choices=["best", "latest", "average"],
        default="best",
        help="Which checkpoint: the best by validation BLEU, the latest, or the mean of several, "
        "which the best is as well where its BLEU is the highest.",
    )


def add_decoding_options(parser: argparse.ArgumentParser) -> None:
    """Adds an option for each field of `DecodingConfig`, of which none has a default."""
    group = parser.add_argument_group("decoding", "By default as the run says.")
    described = {
        parameter.arg_name: parameter.description
        for parameter in parse_docstring(DecodingConfig.__doc__ or "").params
    }
    kinds: dict[Any, dict[str, Any]] = {
        bool: {"action": argparse.BooleanOptionalAction},
        int: {"type": int, "metavar": "N"},
        int | None: {"type": int, "metavar": "N"},
        float: {"type": float, "metavar": "X"},
        str | None: {"metavar": "NAME"},
        LengthNormalization: {"choices": get_args(LengthNormalization)},
    }
    for field in dataclasses.fields(DecodingConfig):
        kind = kinds.get(field.type, {"nargs": "*", "metavar": "PIECE"})
        # argparse formats help with %.
        text = (described[field.name] or "").replace("%", "%%")
        group.add_argument(f"--{field.name}", default=argparse.SUPPRESS, help=text, **kind)


def add_compile_option(parser: argparse.ArgumentParser, what: str) -> None:
    """Adds `--compile`: for which shapes XLA compiles the search.

    Args:
        parser: Gets it.
        what: What it does, in a sentence.
    """
    parser.add_argument(
        "--compile",
        nargs="*",
        metavar="SHAPE",
        help=f"{what} A shape is most sentences x most tokens, as in 1x32; without one, those of a "
        f"single sentence: {' '.join(map(str, one_sentence(64)))}.",
    )


def add_batches_option(parser: argparse.ArgumentParser) -> None:
    """Adds `--batches_at_once`: how many batches share the cores."""
    parser.add_argument(
        "--batches_at_once",
        type=int,
        default=1,
        metavar="N",
        help="Compute so many batches at the same time, each with its share of the cores: faster "
        "for files, and takes the memory of as many batches. Of a run or a SavedModel.",
    )


def given_decoding_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns the decoding options that the command line gave."""
    names = (field.name for field in dataclasses.fields(DecodingConfig))
    return {name: getattr(arguments, name) for name in names if hasattr(arguments, name)}


def open_quietly(
    models: Sequence[str],
    checkpoint: str,
    options: Mapping[str, Any],
    shapes: Sequence[str] | None = None,
    batches_at_once: int = 1,
) -> "AnyTranslator":
    """Opens what translates, without the lines that TensorFlow and TFLite print as they start.

    Args:
        models: Run directories, or one export.
        checkpoint: "best", "latest" or "average", of runs.
        options: Fields of `DecodingConfig`.
        shapes: What `--compile` was given; None without it.
        batches_at_once: What `--batches_at_once` was given.

    Raises:
        ValueError: If `batches_at_once` is less than 1, or more for what computes one batch.
    """
    if batches_at_once < 1:
        raise ValueError(
            f"`batches_at_once` must be at least 1. Received: batches_at_once={batches_at_once}"
        )
    compiled = None if shapes is None else parse_shapes(shapes)
    if batches_at_once > 1:
        # TensorFlow reads it when it starts; what the user has set counts.
        threads = max(1, (os.cpu_count() or 1) // batches_at_once)
        os.environ.setdefault("TF_NUM_INTRAOP_THREADS", str(threads))
    load_tensorflow()
    from keras_transformer.export.opening import open_translator

    with without_start_up_lines():
        translator = open_translator(models, checkpoint, options, compiled)
    if hasattr(translator, "batches_at_once"):
        translator.batches_at_once = batches_at_once
    elif batches_at_once > 1:
        raise ValueError(
            "`batches_at_once` must be 1 with an export to TFLite or CTranslate2, which computes "
            f"one batch at a time; leave it out. Received: {batches_at_once}"
        )
    return translator


def short_names(paths: Sequence[str]) -> list[str]:
    """Returns the last parts of paths where these tell them apart, else the paths.

    Example:
        >>> short_names(["runs/a", "runs/b"]), short_names(["x/a", "y/a"])
        (['a', 'b'], ['x/a', 'y/a'])
    """
    names = [Path(path).name for path in paths]
    return names if len({*names}) == len(names) else list(paths)


def read_corpora(
    languages: tuple[str, str], specs: Sequence[str]
) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Gives each corpus of a command line: its name, its sources and its targets.

    All are opened at once, so that a missing one is told before there is work on the others.

    Args:
        languages: Codes of the sources' and the targets' language.
        specs: The corpora.
    """
    from keras_transformer.data.corpora import open_corpus

    opened = [(spec, open_corpus(spec, *languages)) for spec in specs]

    def read() -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
        for spec, corpus in opened:
            sources, targets = zip(*corpus, strict=True)
            yield spec, sources, targets

    return read()


def read_targets(languages: tuple[str, str], spec: str) -> Iterator[str]:
    """Gives the targets of a corpus one by one, as a training corpus need not fit in memory.

    Args:
        languages: As of `read_corpora`.
        spec: The corpus.
    """
    from keras_transformer.data.corpora import open_corpus

    return (target for _, target in open_corpus(spec, *languages))
