"""Exports a trained run as a SavedModel that takes strings and gives strings.

Example: `python export.py runs/demo --output exports/demo` writes `exports/demo/1/`.
"""

import argparse
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def main() -> None:
    """Parses the command line and exports."""
    parser = argparse.ArgumentParser(prog="export.py", description=__doc__)
    parser.add_argument("run", help="The run directory that train.py wrote.")
    parser.add_argument("--output", required=True, help="Folder that the version goes into.")
    parser.add_argument("--version", type=int, help="Its number; by default the next free one.")
    parser.add_argument(
        "--checkpoint",
        choices=["best", "latest"],
        default="best",
        help="Which checkpoint: the best by validation BLEU, or the latest.",
    )
    arguments = parser.parse_args()
    from keras_transformer.export.saved_model import export_saved_model
    from keras_transformer.export.translator import Translator
    from keras_transformer.training.run import open_run

    try:
        run = open_run(arguments.run)
        translator = Translator.of_run(run, arguments.checkpoint)
        path = export_saved_model(translator, arguments.output, arguments.version)
    except (OSError, ValueError) as error:
        sys.exit(f"export.py: error: {error}")
    print(f"Exported {run.path} ({arguments.checkpoint} checkpoint) to {path}")


if __name__ == "__main__":
    main()
