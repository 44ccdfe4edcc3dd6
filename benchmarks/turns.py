"""Several programs in one process, which take turns, so that load hits all of them."""

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

Batch = TypeVar("Batch")


def measure(
    trains: Mapping[str, Callable[[Sequence[Batch]], float]],
    batches: Sequence[Batch],
    rounds: int,
) -> dict[str, list[float]]:
    """Lets each take its turn in each round; returns seconds. The first turn, untimed, compiles."""
    for name, train in trains.items():
        start = time.perf_counter()
        loss = train(batches)
        print(
            f"{name}: first {len(batches)} steps {time.perf_counter() - start:.1f} s, loss "
            f"{loss:.3f}",
            flush=True,
        )
    seconds: dict[str, list[float]] = {name: [] for name in trains}
    for _, (name, train) in itertools.product(range(rounds), trains.items()):
        start = time.perf_counter()
        train(batches)
        seconds[name].append(time.perf_counter() - start)
    return seconds
