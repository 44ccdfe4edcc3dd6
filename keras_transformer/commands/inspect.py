"""`keras-transformer inspect`: what is in corpora, what is wrong with them, and what they share."""

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from jsonargparse import Namespace

from keras_transformer.commands.options import add_corpora_argument
from keras_transformer.commands.parser import Command, Parser
from keras_transformer.commands.quiet import load_tensorflow
from keras_transformer.config import DataConfig, RunConfig
from keras_transformer.console import write_result

if TYPE_CHECKING:
    from keras_transformer.data.inspection import Finding, Inspection

_ROLES = ("valid", "test")


def _parse(parser: Parser, arguments: Sequence[str]) -> Namespace:
    add_corpora_argument(parser)
    for role in _ROLES:
        parser.add_argument(
            f"--{role}",
            metavar="CORPUS",
            help="Another corpus, of which nothing should be in those before it.",
        )
    parser.add_argument(
        "--run",
        metavar="RUN",
        help="A run, whose languages, vocabulary and limits tell of tokens, of unknown characters "
        "and of what its training drops.",
    )
    for side in ("source", "target"):
        default = getattr(DataConfig, f"{side}_language")
        parser.add_argument(
            f"--{side}_language",
            metavar="CODE",
            help=f"Of the {side}s; by default that of the run, or {default}.",
        )
    parser.add_argument("--json", action="store_true", help="Write it for machines.")
    parser.add_argument("--plot", metavar="FILE", help="Draw it as well, a .png or an .svg.")
    return parser.parse_args(arguments)


class _Overlap(NamedTuple):
    """What of a corpus is in another one."""

    of: "Inspection"
    known: "Inspection"
    findings: "list[Finding]"


def _run(arguments: Namespace) -> None:
    from keras_transformer.data.inspection.report import as_dict, as_text, findings_as_text

    if arguments.plot:
        from keras_transformer.plotting import require_picture

        require_picture(arguments.plot)
    look = _looker(arguments)
    inspections = [look(spec) for spec in arguments.corpus]
    overlaps: list[_Overlap] = []
    for role in _ROLES:
        if spec := getattr(arguments, role):
            other = look(spec)
            overlaps += _overlaps(other, inspections)
            inspections.append(other)
    if arguments.plot:
        _draw(inspections, arguments.plot)
    if arguments.json:
        content = {
            "corpora": [as_dict(inspection) for inspection in inspections],
            "overlaps": [
                {
                    "of": overlap.of.corpus.name,
                    "in": overlap.known.corpus.name,
                    "findings": [as_dict(finding) for finding in overlap.findings],
                }
                for overlap in overlaps
            ],
        }
        write_result(json.dumps(content, indent=2, ensure_ascii=False))
        return
    parts = [as_text(inspection) for inspection in inspections]
    parts += [
        f"{overlap.of.corpus.name}, beside {overlap.known.corpus.name}:\n"
        + findings_as_text(overlap.findings)
        for overlap in overlaps
    ]
    write_result("\n\n".join(parts))


def _looker(arguments: Namespace) -> "Callable[[str], Inspection]":
    """Returns what opens a corpus and looks at it."""
    from keras_transformer.data.corpora import open_corpus
    from keras_transformer.data.inspection import inspect_corpus
    from keras_transformer.text.normalization import make_normalizer

    data, preprocess = DataConfig(), None
    if arguments.run is None:
        normalizers = [make_normalizer()] * 2
    else:
        load_tensorflow()
        from sentencepiece import SentencePieceProcessor

        from keras_transformer.runs.run import open_run
        from keras_transformer.tasks.translation.inputs import training_preprocessor

        run = open_run(arguments.run)
        if not isinstance(run.config, RunConfig):
            raise ValueError(
                "`run` must be a run for translation, which has a vocabulary for either side. "
                f"Received: {arguments.run}, for {run.config.task}"
            )
        data = run.config.data
        preprocess = training_preprocessor(run.tokenizers, data, run.config.model.max_length)
        normalizers = [SentencePieceProcessor(model_proto=one.model) for one in run.tokenizers]
    languages = (
        arguments.source_language or data.source_language,
        arguments.target_language or data.target_language,
    )

    def look(spec: str) -> "Inspection":
        # Whether a training will read the weights or not: here they are no part of the lines.
        corpus = open_corpus(spec, *languages, weights=True)
        return inspect_corpus(corpus, languages, normalizers, preprocess, progress=True)

    return look


def _overlaps(other: "Inspection", known: "Sequence[Inspection]") -> list[_Overlap]:
    from keras_transformer.data.inspection import find_overlaps

    return [_Overlap(other, one, find_overlaps(other, one)) for one in known]


def _draw(inspections: "Sequence[Inspection]", path: str) -> None:
    from keras_transformer.plotting import save_figure
    from keras_transformer.plotting.corpora import CorpusPicture, plot_corpora

    pictures = [
        CorpusPicture(
            one.corpus.name,
            (one.source.lines, one.target.lines),
            {finding.description: finding.share for finding in one.findings if finding.count},
        )
        for one in inspections
    ]
    save_figure(plot_corpora(pictures), path)


COMMAND = Command(
    "inspect",
    summary="Tell what is in corpora and what is wrong with them.",
    details="Lengths, empty and repeated pairs, sides that are the same, swapped or in another "
    "language, broken characters, HTML, what normalization changes, and what of a validation or "
    "test corpus is in the training.",
    usage="CORPUS [CORPUS ...] [options]",
    example="corpus/train --test corpus/test",
    parse=_parse,
    run=_run,
)
