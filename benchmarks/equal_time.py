"""What single choices bring at equal time: one training of `train.py --time` for each, by seeds.

`python benchmarks/equal_time.py DIR/train --valid DIR/val --time 30m --output runs/equal
"" training.ema_momentum=0.998 "data.batch_tokens=2048 training.warmup_steps=500"` compares two
changes with what the rules choose. Trainings take turns, so that a machine that gets slower is so
for all of them; one that was interrupted goes on. The score is that of the last checkpoint, not of
the best.
"""

import argparse
import itertools
import statistics
import subprocess
import sys
from pathlib import Path

from keras_transformer.runs.checkpoints import Checkpoints

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Trains, and prints a row for each choice."""
    arguments = _parse()
    scores: dict[str, list[float]] = {change: [] for change in arguments.changes}
    for seed, (number, change) in itertools.product(arguments.seeds, enumerate(arguments.changes)):
        run = arguments.output / f"{number}-seed{seed}"
        options = [f"--{option}" for option in (*change.split(), f"training.seed={seed}")]
        command = _command(arguments, run, options)
        subprocess.run(command, check=True)
        latest = Checkpoints(run / "checkpoints").latest()
        scores[change].append(latest.metrics[arguments.metric])
    print(f"| change | {arguments.metric}, mean | by seed |\n|---|---|---|")
    for change, found in scores.items():
        each = ", ".join(f"{score:.2f}" for score in found)
        print(f"| {f'`{change}`' if change else 'none'} | {statistics.mean(found):.2f} | {each} |")


def _command(arguments: argparse.Namespace, run: Path, options: list[str]) -> list[str]:
    given = {"--data.train": arguments.train, "--data.valid": arguments.valid}
    given |= {"--time": arguments.time, "--output": run}
    pairs = [f"{name}={value}" for name, value in given.items()]
    return [sys.executable, str(ROOT / "train.py"), *pairs, *options]


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("train", help="training corpus")
    parser.add_argument(
        "changes", nargs="+", help="OPTION=VALUE of a training, or several; '' for none"
    )
    parser.add_argument("--valid", default="held_out", help="validation corpus")
    parser.add_argument("--time", default="30m", help="of each training")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--metric", default="val_bleu", help="by which they are compared")
    parser.add_argument("--output", type=Path, required=True, help="folder of the runs")
    return parser.parse_args()


if __name__ == "__main__":
    main()
