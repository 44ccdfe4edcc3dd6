"""What one request of very long text costs a SavedModel, in time and in memory of the process.

`python benchmarks/decode_long.py EXPORT KIND [--lines N]`, with the folder of the version and a
kind of text: "letters", 100,000 of them at random without a space, or "text", a million characters
of words. An ordinary sentence is in the same batch, and its answer is compared with the one that it
gets alone. One kind a process, because memory is that of the whole process at its peak.
"""

import argparse
import os
import random
import resource
import string
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf
import tensorflow_text  # noqa: F401  registers the tokenizer's ops

ORDINARY = "The dog sleeps."
KINDS = {
    "letters": lambda: "".join(random.choices(string.ascii_lowercase, k=100_000)),
    "text": lambda: (f"{ORDINARY[:-1]} in the garden and " * 40_000)[:1_000_000],
}


def peak():
    """Returns the most memory that the process took so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("export")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--lines", type=int, default=1, help="Such texts in the request.")
    arguments = parser.parse_args()
    random.seed(0)
    lines = [KINDS[arguments.kind]() for _ in range(arguments.lines)]
    loaded = tf.saved_model.load(arguments.export)
    translate = loaded.signatures["serving_default"]
    # Twice, because the first call optimizes the graph.
    alone = [translate(text=tf.constant([ORDINARY])) for _ in range(2)][1]
    before, wall, cpu = peak(), time.perf_counter(), time.process_time()
    together = translate(text=tf.constant([*lines, ORDINARY]))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    same = alone["translation"].numpy()[0] == together["translation"].numpy()[-1]
    print(f"{wall:.1f} s, {cpu:.1f} s of processors; peak {peak():.0f} MiB, {before:.0f} before")
    print(f"pieces: {together['pieces'].numpy().tolist()}")
    print(f"truncated: {together['truncated'].numpy().tolist()}")
    print(f"the ordinary sentence as alone: {same}")


if __name__ == "__main__":
    main()
