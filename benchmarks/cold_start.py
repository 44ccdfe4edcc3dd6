"""What a fresh process waits for before an exported SavedModel has answered once.

    python benchmarks/cold_start.py EXPORT/1 [EXPORT/1 ...] [--rounds 5] [--no_optimizer]

In Python, after TensorFlow is imported: the load, the first answer, the second one. In C, a whole
process of `examples/c` with one sentence, TensorFlow's own start included (a C compiler and `make`
are needed; without them it is left out). The models take turns in each round; medians are printed.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tqdm import tqdm

SENTENCE = "A man sleeps."
C_EXAMPLE = Path(__file__).parents[1] / "examples" / "c"
PYTHON = """
import json, sys, time
import tensorflow as tf, tensorflow_text

model, sentence, optimizes = sys.argv[1:]
if optimizes == "False":
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
times = [time.perf_counter()]
translate = tf.saved_model.load(model).signatures["serving_default"]
times.append(time.perf_counter())
for _ in range(2):
    translate(text=tf.constant([sentence]))["translation"].numpy()
    times.append(time.perf_counter())
print(json.dumps([after - before for before, after in zip(times, times[1:])]))
"""


def in_python(model: str, optimizes: bool) -> list[float]:
    """Returns the seconds of load, first and second answer."""
    command = [sys.executable, "-c", PYTHON, model, SENTENCE, str(optimizes)]
    return json.loads(subprocess.check_output(command, text=True).splitlines()[-1])


def in_c(program: Path, model: str) -> float:
    """Returns the seconds of a process that translates one sentence."""
    start = time.perf_counter()
    subprocess.run([program, model, SENTENCE], check=True, capture_output=True)
    return time.perf_counter() - start


def build(folder: Path) -> Path | None:
    """Returns the program in C, or nothing where it cannot be built."""
    if not (shutil.which("make") and shutil.which("cc")):
        return None
    command = ["make", "-C", C_EXAMPLE, f"PYTHON={sys.executable}", f"BUILD={folder}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder / "translate"


def main() -> None:
    """Measures and prints a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", metavar="EXPORT", help="Folder of a version.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--no_optimizer", action="store_true", help="Without TensorFlow's graph optimizer."
    )
    arguments = parser.parse_args()
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

    found: dict[str, list[list[float]]] = {model: [] for model in arguments.models}
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        for _ in tqdm(range(arguments.rounds), leave=False):
            for model in arguments.models:
                seconds = in_python(model, not arguments.no_optimizer)
                if program is not None:
                    seconds.append(in_c(program, model))
                found[model].append(seconds)

    print("| | load | first answer | second | in C, from start to end |")
    print("|---|---|---|---|---|")
    for model, rounds in found.items():
        medians = [f"{statistics.median(times):.2f} s" for times in zip(*rounds, strict=True)]
        print(f"| {model} | {' | '.join(medians)} |")


if __name__ == "__main__":
    main()
