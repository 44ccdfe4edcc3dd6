"""Trains a translation model.

Example: `python train.py --config configs/phrasebook.yaml --output runs/demo`.

See `python train.py --help` for every option.
"""

import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from keras_transformer.cli import parse_training_command


def main() -> None:
    """Parses the command line and trains."""
    command = parse_training_command()
    from keras_transformer.training.interruption import Interrupted
    from keras_transformer.training.loop import train
    from keras_transformer.training.strategy import WorkerLostError

    try:
        run = train(*command)
    except (OSError, ValueError) as error:
        sys.exit(f"train.py: error: {error}")
    except WorkerLostError as error:
        print(f"{error}\nThis one starts again from the last checkpoint, when all are there.")
        time.sleep(5.0)
        os.execv(sys.executable, sys.orig_argv)
    except Interrupted as interrupted:
        print(f"\n{interrupted} The same command continues from it.")
        sys.exit(interrupted.exit_code)
    except KeyboardInterrupt:
        print("\nInterrupted. The same command continues from the last checkpoint there is.")
        sys.exit(130)
    print(
        f"Trained: {run.path}. Next: python export.py {run.path} --output exports/{run.path.name}"
    )


if __name__ == "__main__":
    main()
