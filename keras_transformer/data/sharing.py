"""Who shares a batch: the workers that train together, and the replicas of each of them."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator
from typing import TypeVar

from keras_transformer.config.checks import require
from keras_transformer.data.bucketing import BucketPlan

Item = TypeVar("Item")


@dataclasses.dataclass(frozen=True)
class Sharing:
    """The share of a batch that one worker makes.

    The union of the workers' batches is the global batch. A worker's own batch is cut by rows for
    its replicas.

    Args:
        worker: Index of this worker, from 0.
        workers: Workers that train together.
        replicas: Replicas of this worker.
        static_shapes: Whether short batches are filled up with rows of padding, so that each has as
            many as its shape in `plan`.

    Example:
        >>> list(Sharing(worker=1, workers=2).part("abcde"))
        ['b', 'd']
    """

    worker: int = 0
    workers: int = 1
    replicas: int = 1
    static_shapes: bool = False

    def __post_init__(self) -> None:
        index = f"at least 0 and below `workers`, {self.workers}"
        require(0 <= self.worker < self.workers, "worker", index, self.worker)
        require(self.replicas >= 1, "replicas", "at least 1", self.replicas)

    def part(self, items: Iterable[Item]) -> Iterator[Item]:
        """Returns the items of this worker: of n workers, worker i takes items i, i + n, ..."""
        return itertools.islice(items, self.worker, None, self.workers)

    def plan(self, whole: BucketPlan) -> BucketPlan:
        """Returns the shapes of this worker's batches.

        Args:
            whole: The shapes of the global batch.

        Returns:
            The same lengths, with the rows divided by the workers. With static shapes they are
            rounded down to a multiple of `replicas`, but not below it: so the replicas have the
            same number of rows, without any to fill them up.

        Example:
            >>> Sharing(workers=2, replicas=4, static_shapes=True).plan(BucketPlan(((30, 8, 8),)))
            BucketPlan(shapes=(Shape(batch=12, source=8, target=8),))
        """
        return whole.shared(self.workers, self.replicas if self.static_shapes else 1)
