"""`keras-transformer evaluate`: systems measured on parallel corpora, and compared."""

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonargparse import Namespace

from keras_transformer.commands.options import (
    add_checkpoint_option,
    add_corpora_argument,
    add_decoding_options,
    add_model_argument,
    given_decoding_options,
    read_corpora,
    read_targets,
    short_names,
)
from keras_transformer.commands.parser import Command, Parser
from keras_transformer.commands.quiet import load_tensorflow
from keras_transformer.commands.systems import Translated, is_stored, split_systems
from keras_transformer.console import write_result

if TYPE_CHECKING:
    from keras_transformer.evaluation import Evaluation

_METRICS = ("bleu", "chrf")
_SAMPLES = 1000


def _parse(parser: Parser, arguments: Sequence[str]) -> Namespace:
    add_model_argument(parser, ", or a file of stored translations")
    add_corpora_argument(
        parser, " Systems that stand before the first corpus are compared with MODEL."
    )
    parser.add_argument(
        "--tokenize",
        default="13a",
        help='sacreBLEU\'s tokenizer; "none" for text that is tokenised already.',
    )
    parser.add_argument(
        "--metrics",
        nargs="+",
        metavar="METRIC",
        choices=[*_METRICS, "ter", "brackets", "well_formed"],
        default=list(_METRICS),
        help="sacreBLEU's bleu, chrf and ter; of parse trees brackets and well_formed.",
    )
    _add_report_options(parser)
    add_checkpoint_option(parser)
    add_decoding_options(parser)
    return parser.parse_args(arguments)


def _add_report_options(parser: Parser) -> None:
    group = parser.add_argument_group("report")
    group.add_argument(
        "--details",
        action="store_true",
        help="Tell confidence intervals, perplexity, speed, scores by length and by frequency of "
        "words, and sentences to look at.",
    )
    group.add_argument("--json", action="store_true", help="Write all of it for machines.")
    group.add_argument("--html", metavar="FILE", help="Write all of it as a page, too.")
    group.add_argument(
        "--samples",
        type=int,
        metavar="N",
        help=f"Resampled corpora of the bootstrap; by default {_SAMPLES}.",
    )
    group.add_argument(
        "--count_in",
        metavar="CORPUS",
        help="Where words are counted, such as the training corpus; by default the references. "
        "Asks for --details.",
    )
    group.add_argument(
        "--comet",
        nargs="?",
        const="comet-score",
        metavar="PROGRAM",
        help="Score with COMET, by its own program; give its path if it is elsewhere.",
    )
    group.add_argument(
        "--languages",
        nargs=2,
        metavar=("SOURCE", "TARGET"),
        help="Of the corpora, if no system is a run or an export that tells.",
    )


def _run(arguments: Namespace) -> None:
    load_tensorflow()
    from keras_transformer.evaluation import as_page, as_text, require_tokenizer, score_corpus
    from keras_transformer.evaluation.comet import require_comet
    from keras_transformer.files import write_atomically

    require_tokenizer(arguments.tokenize)
    if arguments.comet is not None:
        require_comet(arguments.comet)
    paths, corpora = split_systems([arguments.model, *arguments.corpus])
    options = given_decoding_options(arguments)
    _require_of_use(arguments, paths, options)
    systems = [Translated(path, arguments.checkpoint, options) for path in paths]
    if _is_plain(arguments, paths):
        for spec, sources, references in read_corpora(_languages(arguments, paths), corpora):
            translations, _ = systems[0].translate(sources)
            write_result(f"{spec}: {score_corpus(translations, references, arguments.tokenize)}")
        return
    evaluations = []
    for one in _evaluated(arguments, systems, _languages(arguments, paths), corpora):
        evaluations.append(one)
        if not arguments.json:
            write_result(as_text(one, _is_detailed(arguments)))
    if arguments.json:
        write_result(json.dumps([one.to_dict() for one in evaluations], indent=2))
    if arguments.html is not None:
        write_atomically(arguments.html, as_page(evaluations).encode("utf-8", "replace"))


def _require_of_use(arguments: Namespace, paths: Sequence[str], options: Mapping[str, Any]) -> None:
    """Raises the errors that would else come after the work, or never."""
    if len({*paths}) < len(paths):
        raise ValueError(
            f"Systems must have a name each; give each of them once. Received: {', '.join(paths)}"
        )
    chosen = [*options] if arguments.checkpoint == "best" else ["checkpoint", *options]
    if chosen and all(map(is_stored, paths)):
        raise ValueError(
            "Options of models must be left out with stored translations alone, of which nothing "
            f"is decoded. Received: {', '.join(chosen)} for {', '.join(paths)}"
        )
    if arguments.samples is not None and arguments.samples < 1:
        raise ValueError(f"`samples` must be at least 1. Received: samples={arguments.samples}")
    if arguments.html is None:
        return
    page = Path(arguments.html)
    if page.is_dir() or not page.parent.is_dir():
        raise FileNotFoundError(
            f"`html` must be a file in a folder that is there; make the folder. Received: {page}"
        )


def _is_detailed(arguments: Namespace) -> bool:
    """Returns whether more than scores is told; what words are counted for is a part of it."""
    return arguments.details or arguments.count_in is not None


def _is_plain(arguments: Namespace, paths: Sequence[str]) -> bool:
    """Returns whether a line for each corpus is all that is asked for."""
    asked = arguments.json, arguments.html is not None, arguments.comet, arguments.samples
    plain = tuple(arguments.metrics) == _METRICS and not _is_detailed(arguments)
    return len(paths) == 1 and plain and not any(asked)


def _languages(arguments: Namespace, paths: Sequence[str]) -> tuple[str, str]:
    from keras_transformer.export.opening import languages_of

    if arguments.languages is not None:
        source, target = arguments.languages
        return source, target
    models = [path for path in paths if not is_stored(path)]
    if not models:
        raise ValueError(
            "`languages` must be given where no system tells them, as in `--languages en de`. "
            f"Received: {', '.join(paths)}"
        )
    return languages_of(models[0])


def _evaluated(
    arguments: Namespace,
    systems: Sequence[Translated],
    languages: tuple[str, str],
    corpora: Sequence[str],
) -> Iterator["Evaluation"]:
    from keras_transformer.evaluation import System, count_words, evaluate
    from keras_transformer.evaluation.comet import score_comet

    names = short_names([system.path for system in systems])
    thorough = _is_detailed(arguments) or arguments.json or arguments.html is not None
    pairs, counted = read_corpora(languages, corpora), None
    if arguments.count_in is not None:
        counted = count_words(read_targets(languages, arguments.count_in), arguments.tokenize)
    for spec, sources, references in pairs:
        found = []
        for name, system in zip(names, systems, strict=True):
            translations, seconds = system.translate(sources, timed=thorough)
            perplexity = system.perplexity(sources, references) if thorough else None
            found.append(System(name, translations, seconds if thorough else None, perplexity))
        if arguments.comet is not None:
            by_name = {one.name: one.translations for one in found}
            scores = score_comet(by_name, sources, references, arguments.comet)
            found = [
                dataclasses.replace(one, comet=score)
                for one, score in zip(found, scores, strict=True)
            ]
        yield evaluate(
            spec,
            sources,
            references,
            found,
            arguments.metrics,
            arguments.tokenize,
            _SAMPLES if arguments.samples is None else arguments.samples,
            counted,
        )


COMMAND = Command(
    "evaluate",
    summary="Measure runs, exports and stored translations on corpora.",
    details="One system gives a line with BLEU and chrF for each corpus. Several are compared with "
    "the first one, with confidence intervals and a paired bootstrap test.",
    usage="MODEL [SYSTEM ...] CORPUS ... [options]",
    example="runs/demo phrasebook:test",
    parse=_parse,
    run=_run,
)
