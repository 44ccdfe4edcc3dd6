"""The fewest parts that a batch must be cut into so that a training step fits into memory.

A process that runs out of memory is killed, on a CPU at least. So each number of parts is tried in
a process of its own, on the batch shape that takes the most.
"""

import functools
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from keras_transformer.config import RunConfig, TransformerConfig
from keras_transformer.data.bucketing import BucketPlan, Shape
from keras_transformer.text.vocabulary import EOS_ID

_GIB = 2**30


def fewest_micro_batches(
    config: RunConfig,
    plan: BucketPlan,
    share: float = 0.8,
    available: float | None = None,
    peak_of: Callable[[int, Shape], float] | None = None,
) -> int:
    """Finds the fewest parts of a batch, of 1, 2, 4, ..., with which a step fits into memory.

    Comes before the model is made: what this process has taken is no longer available, and on a
    GPU that is all there is.

    Args:
        config: The run's configuration.
        plan: Its batch shapes.
        share: Share of the available memory that a step may take. The rest is for validation, and
            for what else runs on the machine.
        available: Bytes; by default what the machine and its control groups leave, and on a GPU
            as much as the step is given there.
        peak_of: Takes a number of parts and a shape, gives the bytes that a step takes; by default
            measured by `measure_peak`.

    Returns:
        `micro_batches` for this configuration.

    Raises:
        ValueError: If not even single rows fit.

    Example:
        >>> def half_a_gib_in_two(parts, shape):
        ...     return 2**30 / parts
        >>> parts = fewest_micro_batches(config, plan, 0.8, 2**30, half_a_gib_in_two)
        >>> parts
        2
    """
    available = available_memory() if available is None else available
    peak_of = peak_of or functools.partial(measure_peak, config)
    parts = 1
    while True:
        shape = _most_expensive(config.model, plan, parts)
        peak = peak_of(parts, shape)
        rows = math.ceil(shape.batch / parts)
        print(
            f"Memory with batches in {parts} parts, the largest {rows} x {shape.source} + "
            f"{shape.target} tokens: {_gib(peak)} of {_gib(share * available)}"
        )
        if peak <= share * available:
            return parts
        if rows == 1:
            raise ValueError(
                "Not even one sentence pair at a time fits into memory; take a smaller model, "
                f"vocabulary or `max_length`. Received: a pair of {shape.source} + {shape.target} "
                f"tokens takes {_gib(peak)} of {_gib(share * available)}"
            )
        parts *= 2


def measure_peak(config: RunConfig, parts: int, shape: Shape) -> float:
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
    trial = {"config": config.to_dict(), "parts": parts, "shape": shape}
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-m", __name__],
        input=json.dumps(trial),
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    if done.returncode < 0:
        # By a signal: of the kernel, or of its own when an allocation failed.
        return math.inf
    if done.returncode:
        raise RuntimeError(f"The trial of a training step failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def available_memory(root: Path = Path("/")) -> float:
    """Returns the bytes that this process can still take; infinity on a GPU, which is asked by use.

    Args:
        root: Where `/proc` and `/sys` are.

    Raises:
        ValueError: If the system does not say.
    """
    import tensorflow as tf

    if tf.config.list_physical_devices("GPU"):
        return math.inf
    try:
        machine = _fields(root / "proc/meminfo")["MemAvailable"] * 1024
    except FileNotFoundError as error:
        raise ValueError(
            "`micro_batches=0` needs to know the memory at hand, which Linux tells in "
            f"/proc/meminfo; choose a number of parts yourself. Received: {error}"
        ) from error
    return min(machine, *_left_to_groups(root), math.inf)


def _left_to_groups(root: Path) -> Iterator[int]:
    """Yields what each control group of this process, and each that contains it, has left."""
    for line in (root / "proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        base = root / "sys/fs/cgroup" / controllers
        group = base / path.lstrip("/")
        for folder in [group, *group.parents][: len(group.parents) - len(base.parents) + 1]:
            # Version 2 of the interface, then version 1.
            for limit, usage, cache in (
                ("memory.max", "memory.current", "inactive_file"),
                ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
            ):
                if (folder / limit).exists() and (most := (folder / limit).read_text()) != "max\n":
                    used = int((folder / usage).read_text())
                    # The kernel gives up cached files when memory is short.
                    yield int(most) - used + _fields(folder / "memory.stat")[cache]


def _fields(path: Path) -> dict[str, int]:
    """Reads the numbers of a file of lines such as `MemAvailable:  123 kB`."""
    lines = (line.replace(":", " ").split() for line in path.read_text().splitlines())
    return {line[0]: int(line[1]) for line in lines if len(line) > 1 and line[1].isdecimal()}


def _most_expensive(model: TransformerConfig, plan: BucketPlan, parts: int) -> Shape:
    """Returns the shape of which a part takes the most memory."""

    def floats_of_a_row(shape: Shape) -> int:
        """About what the backward pass keeps: logits, activations and attention weights."""
        _, source, target = shape
        activations = (source + target) * (12 * model.d_model + 2 * model.d_ff)
        weights = 3 * model.num_heads * (source**2 + target**2 + source * target)
        return 3 * target * model.vocab_size + model.num_layers * (activations + weights)

    return max(
        plan.shapes, key=lambda shape: math.ceil(shape.batch / parts) * floats_of_a_row(shape)
    )


def _gib(size: float) -> str:
    return "more than there is" if math.isinf(size) else f"{size / _GIB:.2f} GiB"


def _train_two_steps(config: RunConfig, parts: int, shape: Shape) -> float:
    """Returns the most bytes that model, optimizer and steps took; infinity if too many."""
    import dataclasses

    import tensorflow as tf

    from keras_transformer import Transformer, compile_model
    from keras_transformer.training.freezing import freeze

    before = _fields(Path("/proc/self/status"))["VmRSS"]
    training = dataclasses.replace(config.training, micro_batches=parts)
    model = Transformer(config.model, dtype=training.precision)
    freeze(model, training.freeze)
    compile_model(model, training)
    rng = np.random.default_rng(0)

    def ids(length: int, vocab_size: int) -> np.ndarray:
        return rng.integers(EOS_ID, vocab_size, (shape.batch, length), np.int32)

    source = ids(shape.source, config.model.source_vocab_size or config.model.vocab_size)
    target = ids(shape.target, config.model.vocab_size)
    batch = {"source": source, "target": target}, target
    try:
        model.fit(tf.data.Dataset.from_tensors(batch).repeat(2), verbose=0)
    except tf.errors.ResourceExhaustedError:
        return math.inf
    if tf.config.list_physical_devices("GPU"):
        return tf.config.experimental.get_memory_info("GPU:0")["peak"]
    # Of this program: the maximum that `getrusage` gives includes the process that it came from.
    return (_fields(Path("/proc/self/status"))["VmHWM"] - before) * 1024


def _main() -> None:
    # If memory runs out, this process is the one to end.
    Path("/proc/self/oom_score_adj").write_text("1000")
    trial = json.load(sys.stdin)
    config = RunConfig.from_dict(trial["config"])
    print(json.dumps(_train_two_steps(config, trial["parts"], Shape(*trial["shape"]))))


if __name__ == "__main__":
    _main()
