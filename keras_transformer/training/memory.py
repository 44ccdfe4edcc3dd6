"""How many micro-batches a batch needs for a training step to fit into memory.

1, 2, 4, ... parts are tried in turn, each with the batch shape that takes the most memory.
"""

import math
from collections.abc import Callable, Iterator
from pathlib import Path

from keras_transformer.console import say
from keras_transformer.data.bucketing import BucketPlan, Shape

_GIB = 2**30


def fewest_micro_batches(
    floats_of: Callable[[Shape], int],
    plan: BucketPlan,
    peak_of: Callable[[int, Shape], float],
    share: float = 0.8,
    available: float | None = None,
) -> int:
    """Finds the fewest parts, of 1, 2, 4, ..., with which a training step fits into memory.

    Call it before the model is made. What this process has taken is no longer available, and on a
    GPU TensorFlow takes everything.

    Args:
        floats_of: Takes a shape, gives about how many floats a step keeps for one of its rows. The
            most expensive shape is found by it.
        plan: The batch shapes.
        peak_of: Takes a number of parts and a shape, gives the bytes that a step takes.
        share: Share of the available memory that a step may take. The rest is for validation and
            for other processes.
        available: Bytes; None for what `available_memory` finds.

    Returns:
        `micro_batches`.

    Raises:
        ValueError: If not even single rows fit.

    Example:
        >>> def half_a_gib_in_two(parts, shape):
        ...     return 2**30 / parts
        >>> parts = fewest_micro_batches(math.prod, plan, half_a_gib_in_two, 0.8, 2**30)
        >>> parts
        2
    """
    available = available_memory() if available is None else available
    parts = 1
    while True:
        shape = _most_expensive(floats_of, plan, parts)
        peak = peak_of(parts, shape)
        rows = math.ceil(shape.batch / parts)
        say(
            f"Memory with batches in {parts} parts, the largest {rows} x {shape.source} + "
            f"{shape.target} tokens: {_gib(peak)} of {_gib(share * available)}"
        )
        # On a GPU both are infinite where the trial found too little memory.
        if math.isfinite(peak) and peak <= share * available:
            return parts
        if rows == 1:
            raise ValueError(
                "Not even one sentence pair at a time fits into memory; take a smaller model, "
                f"vocabulary or `max_length`. Received: a pair of {shape.source} + {shape.target} "
                f"tokens takes {_gib(peak)} of {_gib(share * available)}"
            )
        parts *= 2


def available_memory(root: Path = Path("/")) -> float:
    """Returns the bytes that this process can still take.

    On a GPU it returns infinity: whether a step fits there is seen by trying it.

    Args:
        root: Where `/proc` and `/sys` are.

    Raises:
        ValueError: If the system does not say.
    """
    import tensorflow as tf

    if tf.config.list_physical_devices("GPU"):
        return math.inf
    try:
        machine = status_fields(root / "proc/meminfo")["MemAvailable"] * 1024
    except FileNotFoundError as error:
        raise ValueError(
            "`micro_batches=0` needs to know the memory at hand, which Linux tells in "
            f"/proc/meminfo; choose a number of parts yourself. Received: {error}"
        ) from error
    return min(machine, *_left_to_groups(root), math.inf)


def _left_to_groups(root: Path) -> Iterator[int]:
    """Yields what is left to each control group of this process and to each group around it."""
    for line in (root / "proc/self/cgroup").read_text("utf-8").splitlines():
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
                    yield int(most) - used + status_fields(folder / "memory.stat")[cache]


def status_fields(path: Path) -> dict[str, int]:
    """Reads the numbers of a file of lines such as `MemAvailable:  123 kB`."""
    lines = (line.replace(":", " ").split() for line in path.read_text("utf-8").splitlines())
    return {line[0]: int(line[1]) for line in lines if len(line) > 1 and line[1].isdecimal()}


def _most_expensive(floats_of: Callable[[Shape], int], plan: BucketPlan, parts: int) -> Shape:
    """Returns the shape of which a part takes the most memory."""
    return max(plan.shapes, key=lambda shape: math.ceil(shape.batch / parts) * floats_of(shape))


def _gib(size: float) -> str:
    return "more than there is" if math.isinf(size) else f"{size / _GIB:.2f} GiB"
