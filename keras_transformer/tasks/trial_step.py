"""The memory that a training step takes, tried in a process of its own.

A process that runs out of memory is killed, on a CPU at least.
"""

import dataclasses
import json
import math
import os
import subprocess
import sys
from pathlib import Path

from keras_transformer.config.run import RUN_CONFIGS
from keras_transformer.config.sections import RunSections
from keras_transformer.data.bucketing import Shape
from keras_transformer.models.families import FAMILIES, family_of
from keras_transformer.tasks.table import task_of
from keras_transformer.training.freezing import freeze
from keras_transformer.training.memory import status_fields
from keras_transformer.training.optimizer import compile_model


def measure_peak(config: RunSections, parts: int, shape: Shape) -> float:
    """Trains two steps in a process of its own.

    Args:
        config: The run's configuration.
        parts: Parts that each batch is cut into.
        shape: The shape of the batches.

    Returns:
        The most bytes that model, optimizer and step took together; infinity if they were too many.

    Raises:
        RuntimeError: If the process failed in another way.
    """
    trial = {
        "task": config.task,
        "family": family_of(config.model).name,
        "config": config.to_dict(),
        "parts": parts,
        "shape": shape,
    }
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-m", __name__],
        input=json.dumps(trial),
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )
    if done.returncode < 0:
        # By a signal: of the kernel, or of its own when an allocation failed.
        return math.inf
    if done.returncode:
        raise RuntimeError(f"The trial of a training step failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def _train_two_steps(config: RunSections, parts: int, shape: Shape) -> float:
    """Returns the most bytes that model, optimizer and steps took; infinity if too many."""
    import tensorflow as tf

    before = status_fields(Path("/proc/self/status"))["VmRSS"]
    training = dataclasses.replace(config.training, micro_batches=parts)
    task = task_of(config)
    model = task.model(config)
    freeze(model, training.freeze)
    compile_model(model, training, task.loss(config), task.metrics(config))
    batch = task.example_batch(config, shape)
    try:
        model.fit(tf.data.Dataset.from_tensors(batch).repeat(2), verbose=0)
    except tf.errors.ResourceExhaustedError:
        return math.inf
    if tf.config.list_physical_devices("GPU"):
        return tf.config.experimental.get_memory_info("GPU:0")["peak"]
    # Of this program: the maximum that `getrusage` gives includes the process that it came from.
    return (status_fields(Path("/proc/self/status"))["VmHWM"] - before) * 1024


def _main() -> None:
    # If memory runs out, this process is the one to end.
    Path("/proc/self/oom_score_adj").write_text("1000", "utf-8")
    trial = json.load(sys.stdin)
    sections, family = RUN_CONFIGS[trial["task"]], FAMILIES[trial["family"]]
    config = sections.from_dict(trial["config"], family.config)
    print(json.dumps(_train_two_steps(config, trial["parts"], Shape(*trial["shape"]))))


if __name__ == "__main__":
    _main()
