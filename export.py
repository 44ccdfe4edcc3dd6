"""Exports a trained run.

Example: `python export.py runs/demo --output exports/demo` writes the SavedModel `exports/demo/1/`,
which takes strings and gives strings.
"""

import argparse
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from keras_transformer.cli import (
    add_checkpoint_option,
    add_decoding_options,
    given_decoding_options,
)

# Types of weights, by format.
_QUANTIZATIONS = {
    "saved_model": "float16, bfloat16",
    "serving": "float16, bfloat16",
    "tflite": "float16, int8",
    "ctranslate2": "int8, int16, float16, bfloat16 and their mixtures",
}


def main() -> None:
    """Parses the command line and exports."""
    parser = argparse.ArgumentParser(prog="export.py", description=__doc__)
    parser.add_argument("run", help="The run directory that train.py wrote.")
    parser.add_argument("--output", required=True, help="Folder that the version goes into.")
    parser.add_argument(
        "--format",
        choices=list(_QUANTIZATIONS),
        default="saved_model",
        help="A TensorFlow SavedModel; the same with the files that TF Serving reads; TFLite, for "
        "apps; or a model for the CTranslate2 engine.",
    )
    parser.add_argument("--version", type=int, help="Its number; by default the next free one.")
    parser.add_argument(
        "--quantization",
        metavar="TYPE",
        help="Type of the weights; float32 by default. "
        + "; ".join(f"{name}: {types}" for name, types in _QUANTIZATIONS.items())
        + ".",
    )
    parser.add_argument(
        "--name", help="The model's name in TF Serving; by default that of the output folder."
    )
    parser.add_argument(
        "--max_length",
        type=int,
        metavar="N",
        help="Most tokens of a sentence in TFLite, where less is faster; by default the model's.",
    )
    add_checkpoint_option(parser)
    add_decoding_options(parser)
    arguments = parser.parse_args()
    for option, export_format in (("name", "serving"), ("max_length", "tflite")):
        if getattr(arguments, option) is not None and arguments.format != export_format:
            parser.error(
                f"--{option} goes with --format {export_format}. Received: --format "
                f"{arguments.format}"
            )
    try:
        path = _export(arguments)
    except (ImportError, OSError, ValueError) as error:
        sys.exit(f"export.py: error: {error}")
    print(f"Exported {arguments.run} ({arguments.checkpoint} checkpoint) to {path}")


def _export(arguments: argparse.Namespace) -> os.PathLike:
    from keras_transformer.export.open_translator import open_runs

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


if __name__ == "__main__":
    main()
