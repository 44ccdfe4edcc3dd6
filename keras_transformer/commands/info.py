"""`keras-transformer info`: what a run or an export is."""

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jsonargparse import Namespace

from keras_transformer.commands.parser import Command, Parser
from keras_transformer.console import write_result

_WIDTH, _INDENT = 79, 16

# A space at which no line ends.
_UNBROKEN = "\xa0"


def _parse(parser: Parser, arguments: Sequence[str]) -> Namespace:
    parser.add_argument(
        "model",
        metavar="RUN_OR_EXPORT",
        help="A run directory, an export, or a folder of exported versions, of which the highest "
        "is meant.",
    )
    parser.add_argument("--json", action="store_true", help="Write it for machines.")
    return parser.parse_args(arguments)


def _run(arguments: Namespace) -> None:
    from keras_transformer.commands.facts import facts_of

    facts = facts_of(arguments.model)
    write_result(json.dumps(facts, indent=2) if arguments.json else as_text(facts))


def as_text(facts: Mapping[str, Any]) -> str:
    """Returns what `facts_of` gave for people to read, in lines of at most 79 characters.

    Args:
        facts: What a run or an export is.

    Example:
        >>> print(as_text({"kind": "export", "path": "exports/a/1", "format": "ctranslate2"}))
        exports/a/1: an export to ctranslate2
    """
    head, rows = {"run": _rows_of_run, "export": _rows_of_export}[facts["kind"]](facts)
    lines = [f"{facts['path']}: {head}"]
    for name, text in rows:
        if text:
            first, later = f"  {name:<{_INDENT - 2}}", " " * _INDENT
            lines += textwrap.wrap(
                text,
                _WIDTH,
                initial_indent=first,
                subsequent_indent=later,
                break_on_hyphens=False,
                break_long_words=False,
            )
    return "\n".join(lines).replace(_UNBROKEN, " ")


def _rows_of_run(facts: Mapping[str, Any]) -> tuple[str, Iterator[tuple[str, str]]]:
    def rows() -> Iterator[tuple[str, str]]:
        yield "languages", _languages(facts["languages"])
        yield "parameters", _number(facts["parameters"])
        yield "model", _listed(facts["model"])
        yield "vocabulary", _listed(facts["vocabulary"])
        wanted = facts["epochs_wanted"]
        of = f" of {wanted}" if wanted is not None and facts["epochs"] < wanted else ""
        yield "trained", f"{facts['epochs']}{of} epochs, {facts['steps']:,} steps"
        for checkpoint in facts["checkpoints"] or [None]:
            yield "checkpoint", _checkpoint(checkpoint, facts["ranking"])
        for name, corpus in facts["corpora"].items():
            yield f"{name} corpus", _listed({**corpus, "sha256": corpus.get("sha256", "")[:12]})
        yield "began with", facts["init_from"] or ""
        yield "made with", _listed(facts["versions"])
        yield "on", facts["machine"]

    return f"a run of the family {facts['family']}, for {facts['task']}", rows()


def _rows_of_export(facts: Mapping[str, Any]) -> tuple[str, Iterator[tuple[str, str]]]:
    def rows() -> Iterator[tuple[str, str]]:
        yield "exported", facts.get("exported", "")
        for origin in facts.get("training", []):
            yield (
                "from run",
                f"{origin['run']}, epoch {origin['epoch']}; {_scores(origin['metrics'])}",
            )
            # Exports that were made before there were families do not tell.
            if "family" in origin:
                yield "family", f"{origin['family']}, for {origin['task']}"
                yield "model", _listed(origin["model"])
        yield "languages", _languages(facts.get("languages"))
        yield "parameters", _number(facts.get("parameters"))
        yield "vocabulary", _listed(facts.get("vocabulary"))
        yield "quantization", facts.get("quantization", "")
        yield "limits", _listed(facts.get("limits"))
        yield "decoding", _listed(facts.get("decoding"))
        yield "config", _listed(facts.get("config"))
        for name, signature in facts.get("signatures", {}).items():
            yield "signature", f"{name}: {_listed(signature['inputs'])}"
            yield "", f"gives {_listed(signature['outputs'])}"
        for name, size in facts.get("files", {}).items():
            yield "file", f"{name}, {size:,} bytes"
        yield "made with", _listed(facts.get("versions"))

    serving = ", for TensorFlow Serving" if facts.get("for_serving") else ""
    return f"an export to {facts['format']}{serving}", rows()


def _checkpoint(checkpoint: Mapping[str, Any] | None, ranking: Sequence[str]) -> str:
    if checkpoint is None:
        return "none"
    best = ", the best" if checkpoint["best"] else ""
    mean = ", the mean of steps " + ", ".join(map(str, checkpoint["averaged"]))
    place = f"{checkpoint['name']}{best}{mean if checkpoint['averaged'] else ''}"
    metrics = checkpoint["metrics"]
    first = [name.removeprefix("-") for name in ranking]
    ordered = {name: metrics[name] for name in [*first, *metrics] if name in metrics}
    return f"{place}: epoch {checkpoint['epoch']}; {_scores(ordered) or 'not scored'}"


def _scores(metrics: Mapping[str, float]) -> str:
    """Tells what was measured on the validation corpus, else on the training corpus."""
    validated = {name: value for name, value in metrics.items() if name.startswith("val_")}
    return _listed({name: f"{value:.4g}" for name, value in (validated or metrics).items()})


def _languages(languages: Mapping[str, str] | None) -> str:
    return f"{languages['source']} to {languages['target']}" if languages else ""


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _listed(values: Mapping[str, Any] | None) -> str:
    """Lists names with their values, without those that have none."""
    given = {name: value for name, value in (values or {}).items() if value not in (None, "")}
    return ", ".join(f"{name}{_UNBROKEN}{value}" for name, value in given.items())


COMMAND = Command(
    "info",
    summary="Say what a run or an export is.",
    details="Its model, vocabulary, languages, scores, versions and signatures; no model is "
    "loaded.",
    usage="RUN_OR_EXPORT [--json]",
    example="runs/demo",
    parse=_parse,
    run=_run,
)
