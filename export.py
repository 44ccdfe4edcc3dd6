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


def main() -> None:
    """Parses the command line and exports."""
    parser = argparse.ArgumentParser(prog="export.py", description=__doc__)
    parser.add_argument("run", help="The run directory that train.py wrote.")
    parser.add_argument("--output", required=True, help="Folder that the version goes into.")
    parser.add_argument(
        "--format",
        choices=["saved_model", "ctranslate2"],
        default="saved_model",
        help="A TensorFlow SavedModel, or a model for the CTranslate2 engine.",
    )
    parser.add_argument("--version", type=int, help="Its number; by default the next free one.")
    parser.add_argument(
        "--quantization", help="Type of CTranslate2's weights, as int8; float32 by default."
    )
    add_checkpoint_option(parser)
    add_decoding_options(parser)
    arguments = parser.parse_args()
    if arguments.quantization and arguments.format != "ctranslate2":
        parser.error("--quantization goes with --format ctranslate2")
    try:
        path = _export(arguments)
    except (ImportError, OSError, ValueError) as error:
        sys.exit(f"export.py: error: {error}")
    print(f"Exported {arguments.run} ({arguments.checkpoint} checkpoint) to {path}")


def _export(arguments: argparse.Namespace) -> os.PathLike:
    from keras_transformer.export.open_translator import open_runs

    translator = open_runs([arguments.run], arguments.checkpoint, given_decoding_options(arguments))
    if arguments.format == "ctranslate2":
        from keras_transformer.export.ctranslate2 import export_ctranslate2

        return export_ctranslate2(
            translator, arguments.output, arguments.version, arguments.quantization
        )
    from keras_transformer.export.saved_model import export_saved_model

    return export_saved_model(translator, arguments.output, arguments.version)


if __name__ == "__main__":
    main()
