"""`keras-transformer export`: a run becomes a SavedModel or another format."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonargparse import Namespace

from keras_transformer.commands.options import (
    add_checkpoint_option,
    add_compile_option,
    add_decoding_options,
    add_run_argument,
    given_decoding_options,
)
from keras_transformer.commands.parser import Command, Parser
from keras_transformer.commands.quiet import load_tensorflow
from keras_transformer.config import DecodingConfig
from keras_transformer.config.limits import OF_AN_EXPORT
from keras_transformer.config.search_shapes import one_sentence, parse_shapes
from keras_transformer.console import say
from keras_transformer.export.formats import FURTHER_SIGNATURES
from keras_transformer.files import require_local

if TYPE_CHECKING:
    from keras_transformer.runs.run import Run

# Types of weights, by format.
_QUANTIZATIONS = {
    "saved_model": "float16, bfloat16",
    "serving": "float16, bfloat16",
    "tflite": "float16, int8, int4",
    "ctranslate2": "int8, int16, float16, bfloat16 and their mixtures",
    "huggingface": "none",
}

# Options that some formats have.
_SAVED_MODEL = ("saved_model", "serving")
_OF_FORMAT = {
    "name": ("serving",),
    "max_length": ("tflite",),
    "strings": ("tflite",),
    "nbest": ("tflite",),
    "max_input_pieces": _SAVED_MODEL,
    "max_input_bytes": _SAVED_MODEL,
    "compile": _SAVED_MODEL,
    "signatures": _SAVED_MODEL,
}

_DECODING = {field.name for field in dataclasses.fields(DecodingConfig)}

# Decoding options that a format leaves behind, and why.
_WITHOUT_EFFECT = {
    **dict.fromkeys(("saved_model", "serving"), ({"batch_size"}, "a call has a batch of its own")),
    "tflite": (
        {"batch_size", "num_hypotheses", "split_sentences"},
        "it gives one translation of one sentence",
    ),
    "ctranslate2": (
        _DECODING - {"target_language"},
        "the engine takes such options with each call",
    ),
    "huggingface": (
        _DECODING
        - {"beam_size", "length_penalty", "early_stopping", "min_length", "no_repeat_ngram"}
        - {"banned_pieces", "target_language", "sampling", "temperature", "top_k", "top_p"},
        "`generate` has no such option",
    ),
}


def _add_options(parser: Parser) -> None:
    add_run_argument(parser)
    parser.add_argument(
        "--output", required=True, metavar="DIR", help="Folder that the version goes into."
    )
    parser.add_argument(
        "--format",
        choices=list(_QUANTIZATIONS),
        default="saved_model",
        help="A TensorFlow SavedModel; the same with the files that TF Serving reads; TFLite, for "
        "apps; a model for the CTranslate2 engine; or a MarianMTModel for Hugging Face's "
        "transformers.",
    )
    parser.add_argument(
        "--version", type=int, metavar="N", help="Its number; by default the next free one."
    )
    parser.add_argument(
        "--quantization",
        metavar="TYPE",
        help="Type of the weights; float32 by default. "
        + "; ".join(f"{name}: {types}" for name, types in _QUANTIZATIONS.items())
        + ".",
    )
    parser.add_argument(
        "--name",
        help="The model's name in TF Serving; by default that of the output folder.",
    )
    parser.add_argument(
        "--max_length",
        type=int,
        metavar="N",
        help="Most tokens of a sentence in TFLite, where less is faster; by default the model's.",
    )
    parser.add_argument(
        "--strings",
        action="store_true",
        default=None,
        help="Write a TFLite model of strings as well, which needs TF Text's operations.",
    )
    parser.add_argument(
        "--nbest",
        action="store_true",
        default=None,
        help="Give the TFLite model of bytes a second signature, of all translations of the beam.",
    )
    _add_saved_model_options(parser)
    add_checkpoint_option(parser)
    add_decoding_options(parser)


def _add_saved_model_options(parser: Parser) -> None:
    parser.add_argument(
        "--signatures",
        nargs="*",
        metavar="NAME",
        choices=FURTHER_SIGNATURES,
        help="Signatures of a SavedModel beside serving_default: each takes its time to load. By "
        f"default all: {' '.join(FURTHER_SIGNATURES)}.",
    )
    for option, what in (("pieces", "lines, or sentences,"), ("bytes", "bytes")):
        parser.add_argument(
            f"--max_input_{option}",
            type=int,
            metavar="N",
            help=f"Most {what} of a text that a SavedModel translates; what is beyond is left out "
            f"and called truncated. By default {getattr(OF_AN_EXPORT, f'max_{option}')}.",
        )
    add_compile_option(
        parser,
        "Add a signature `compiled` to a SavedModel, whose search XLA compiles at its first call: "
        "for sentences that come one by one.",
    )


def _parse(parser: Parser, arguments: Sequence[str]) -> Namespace:
    _add_options(parser)
    parsed = parser.parse_args(arguments)
    for option, formats in _OF_FORMAT.items():
        if parsed[option] is not None and parsed.format not in formats:
            parser.error(
                f"--{option} goes with --format {' or '.join(formats)}. Received: --format "
                f"{parsed.format}"
            )
    without_effect, reason = _WITHOUT_EFFECT[parsed.format]
    for option, value in given_decoding_options(parsed).items():
        if option in without_effect:
            parser.error(
                f"--{option} has no effect with --format {parsed.format}: {reason}; leave it out. "
                f"Received: {value}"
            )
    return parsed


def _run(arguments: Namespace) -> None:
    require_local(arguments.output, "output")  # Before anything is loaded, which takes a while.
    load_tensorflow()
    from keras_transformer.runs.run import open_run
    from keras_transformer.tasks.labelled.predicting import predicts

    run = open_run(arguments.run)
    path = _export_predictions(arguments, run) if predicts(run) else _export(arguments)
    say(f"Exported {arguments.run} ({arguments.checkpoint} checkpoint) to {path}")


def _export(arguments: Namespace) -> Path:
    from keras_transformer.translation.opening import open_runs

    translator = open_runs([arguments.run], arguments.checkpoint, given_decoding_options(arguments))
    destination = arguments.output, arguments.version, arguments.quantization
    of_saved_model = _saved_model_options(arguments, translator.graph.max_length)
    match arguments.format:
        case "serving":
            from keras_transformer.export.serving import export_serving

            return export_serving(translator, *destination, name=arguments.name, **of_saved_model)
        case "tflite":
            from keras_transformer.export.tflite import export_tflite

            return export_tflite(
                translator,
                *destination,
                max_length=arguments.max_length,
                strings=bool(arguments.strings),
                nbest=bool(arguments.nbest),
            )
        case "ctranslate2":
            from keras_transformer.export.ctranslate2 import export_ctranslate2

            return export_ctranslate2(translator, *destination)
        case "huggingface":
            from keras_transformer.export.huggingface import export_huggingface

            path = export_huggingface(translator, *destination)
            if tags := list(translator.source_tokenizer.tags):
                language = translator.config.target_language
                say(
                    "transformers puts no language tag before a text, whatever --target_language: "
                    f"begin each with one, as in {f'>>{language or tags[0]}<< A dog.'!r}"
                )
            return path
        case _:
            from keras_transformer.export.saved_model import export_saved_model

            return export_saved_model(translator, *destination, **of_saved_model)


def _export_predictions(arguments: Namespace, run: "Run") -> Path:
    from keras_transformer.export.predictions import export_predictions
    from keras_transformer.export.tflite.predictions import export_tflite_predictions

    exports = {"saved_model": export_predictions, "tflite": export_tflite_predictions}
    given = [*given_decoding_options(arguments)]
    given += [name for name in _OF_FORMAT if arguments[name] is not None]
    if arguments.format not in exports or given:
        raise ValueError(
            f"A run of the task {run.config.task!r} is exported with --format saved_model, or of "
            "texts' labels with tflite, and takes no options of translating. Received: --format "
            f"{arguments.format}" + "".join(f", --{name}" for name in given)
        )
    return exports[arguments.format](
        run, arguments.output, arguments.version, arguments.quantization, arguments.checkpoint
    )


def _saved_model_options(arguments: Namespace, max_length: int) -> dict[str, Any]:
    """Returns the options of `export_saved_model` that the command line gave."""
    limits = {"max_pieces": arguments.max_input_pieces, "max_bytes": arguments.max_input_bytes}
    given = {name: value for name, value in limits.items() if value is not None}
    options: dict[str, Any] = {"limits": dataclasses.replace(OF_AN_EXPORT, **given)}
    if arguments.compile is not None:
        options["shapes"] = parse_shapes(arguments.compile) or one_sentence(max_length)
    if arguments.signatures is not None:
        options["signatures"] = arguments.signatures
    return options


COMMAND = Command(
    "export",
    summary="Export a trained run to a SavedModel or another format.",
    details="A SavedModel takes strings and gives strings. What is written is a numbered version "
    "in the output folder, whole or not at all.",
    usage="RUN --output DIR [options]",
    example="runs/demo --output exports/demo",
    parse=_parse,
    run=_run,
)
