"""`keras-transformer export`: a run becomes a SavedModel or another format."""

from collections.abc import Sequence
from pathlib import Path

from jsonargparse import Namespace

from keras_transformer.commands.options import (
    add_checkpoint_option,
    add_decoding_options,
    add_run_argument,
    given_decoding_options,
)
from keras_transformer.commands.parser import Command, Parser
from keras_transformer.commands.quiet import load_tensorflow

# Types of weights, by format.
_QUANTIZATIONS = {
    "saved_model": "float16, bfloat16",
    "serving": "float16, bfloat16",
    "tflite": "float16, int8",
    "ctranslate2": "int8, int16, float16, bfloat16 and their mixtures",
}

# Options that one format has.
_OF_FORMAT = {"name": "serving", "max_length": "tflite"}


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
        "apps; or a model for the CTranslate2 engine.",
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
    add_checkpoint_option(parser)
    add_decoding_options(parser)


def _parse(parser: Parser, arguments: Sequence[str]) -> Namespace:
    _add_options(parser)
    parsed = parser.parse_args(arguments)
    for option, export_format in _OF_FORMAT.items():
        if parsed[option] is not None and parsed.format != export_format:
            parser.error(
                f"--{option} goes with --format {export_format}. Received: --format {parsed.format}"
            )
    return parsed


def _run(arguments: Namespace) -> None:
    load_tensorflow()
    path = _export(arguments)
    print(f"Exported {arguments.run} ({arguments.checkpoint} checkpoint) to {path}")


def _export(arguments: Namespace) -> Path:
    from keras_transformer.translation.opening import open_runs

    translator = open_runs([arguments.run], arguments.checkpoint, given_decoding_options(arguments))
    destination = arguments.output, arguments.version, arguments.quantization
    match arguments.format:
        case "serving":
            from keras_transformer.export.serving import export_serving

            return export_serving(translator, *destination, name=arguments.name)
        case "tflite":
            from keras_transformer.export.tflite import export_tflite

            return export_tflite(translator, *destination, max_length=arguments.max_length)
        case "ctranslate2":
            from keras_transformer.export.ctranslate2 import export_ctranslate2

            return export_ctranslate2(translator, *destination)
        case _:
            from keras_transformer.export.saved_model import export_saved_model

            return export_saved_model(translator, *destination)


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
