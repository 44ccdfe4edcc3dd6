"""Trains a translation model.

Example: `python train.py --config configs/phrasebook.yaml --output runs/demo`.

See `python train.py --help` for every option.
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from keras_transformer.cli import parse_training_command


def main() -> None:
    """Parses the command line and trains."""
    command = parse_training_command()
    from keras_transformer.training.loop import train

    try:
        run = train(command.output, command.config)
    except (OSError, ValueError) as error:
        sys.exit(f"train.py: error: {error}")
    except KeyboardInterrupt:
        print("\nInterrupted. The same command continues after the last complete epoch.")
        sys.exit(130)
    print(
        f"Trained: {run.path}. Next: python export.py {run.path} --output exports/{run.path.name}"
    )


if __name__ == "__main__":
    main()
