"""Batches of like lengths, in few static shapes.

A batch holds at most a number of tokens on either side, not a number of sentences (Section 5.1 of
the paper). Each distinct shape is compiled by XLA once, so a plan fixes the shapes beforehand:
target lengths are cut into buckets, and the source lengths of every bucket again, both where an
exact dynamic programme finds the least padding.
"""

import dataclasses
import functools
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

Item = TypeVar("Item")


class Shape(NamedTuple):
    """A static batch shape: at most `batch` rows, of `source` and `target` ids each."""

    batch: int
    source: int
    target: int


class Batch(NamedTuple):
    """At most `shape.batch` pairs that fit in `shape`; or what stands for pairs."""

    pairs: list[Any]
    shape: Shape


@dataclasses.dataclass(frozen=True)
class BucketPlan:
    """The shapes that every batch of a run has.

    Args:
        shapes: The shapes, of which one must cover all others.

    Example:
        >>> plan = BucketPlan.fit([(3, 3), (3, 4), (9, 8)], tokens=64, max_length=16)
        >>> plan.shape_of(4, 4)
        Shape(batch=7, source=9, target=8)
        >>> plan.shape_of(16, 2)
        Shape(batch=4, source=16, target=16)
    """

    shapes: tuple[Shape, ...]

    def __post_init__(self) -> None:
        # The smallest first, which makes the first shape that covers a pair the cheapest.
        shapes = sorted(
            (Shape(*shape) for shape in self.shapes), key=lambda shape: (_row_size(shape), shape)
        )
        object.__setattr__(self, "shapes", tuple(shapes))

    @classmethod
    def fit(
        cls,
        lengths: Iterable[tuple[int, int]],
        *,
        tokens: int,
        max_length: int,
        target_buckets: int = 10,
        source_buckets: int = 3,
    ) -> "BucketPlan":
        """Fits the shapes to a sample of a corpus.

        The defaults keep padding on Multi30k, a hard case for its size, below 8 percent.

        Args:
            lengths: Source and target length of each pair, eos included.
            tokens: Most source tokens, and most target tokens, in a batch.
            max_length: Longest side; one shape of this size takes what no other covers.
            target_buckets: Buckets of target length.
            source_buckets: Buckets of source length in each of those.

        Returns:
            A plan of at most `target_buckets * source_buckets + 1` shapes.
        """
        source, target = np.array(list(lengths), int).reshape(-1, 2).T
        sizes, lower = {(max_length, max_length)}, 0
        for upper in _best_bounds(target, target_buckets):
            bucket = source[(lower < target) & (target <= upper)]
            sizes.update((bound, upper) for bound in _best_bounds(bucket, source_buckets))
            lower = upper

        def rows(size: tuple[int, int]) -> int:
            # Section 5.1: so many source and so many target tokens.
            return max(1, tokens // max(size))

        return cls(tuple(Shape(rows(size), *size) for size in sizes))

    def shared(self, parts: int, multiple: int = 1) -> "BucketPlan":
        """Returns the shapes of one of several processes that share each batch.

        Args:
            parts: Processes.
            multiple: Round the rows down to a multiple of this, but not below it.
        """

        def rows(shape: Shape) -> int:
            return max(1, max(1, shape.batch // parts) // multiple) * multiple

        return BucketPlan(tuple(shape._replace(batch=rows(shape)) for shape in self.shapes))

    def shape_of(self, source_length: int, target_length: int) -> Shape:
        """Returns the smallest shape that covers a pair of these lengths."""
        for shape in self.shapes:
            if source_length <= shape.source and target_length <= shape.target:
                return shape
        raise ValueError(
            f"No shape covers the pair; the largest is {self.shapes[-1]}. Received: "
            f"source_length={source_length}, target_length={target_length}"
        )


def lengths_of(pair: tuple[Sized, Sized]) -> tuple[int, int]:
    """Returns the lengths of source and target.

    Example:
        >>> lengths_of(([5, 3], [6, 6, 3]))
        (2, 3)
    """
    return len(pair[0]), len(pair[1])


def bucketed(
    pairs: Iterable[Item],
    plan: BucketPlan,
    lengths: Callable[[Any], tuple[int, int]] = lengths_of,
) -> Iterator[Batch]:
    """Groups pairs by shape.

    The number of batches and their shapes depend on the pairs only, not on their order.

    Args:
        pairs: Token ids of source and target, eos included; or anything that stands for pairs.
        plan: The shapes.
        lengths: Tells the lengths of source and target.

    Yields:
        Full batches as the stream fills them, then what is left over, packed into few batches.

    Example:
        >>> plan = BucketPlan(((2, 4, 4), (1, 8, 8)))
        >>> [len(batch.pairs) for batch in bucketed([([5, 3], [6, 3])] * 5, plan)]
        [2, 2, 1]
    """
    groups: dict[Shape, list[Item]] = defaultdict(list)
    # Few pairs have lengths that none before had.
    shape_of = functools.cache(plan.shape_of)
    for pair in pairs:
        shape = shape_of(*lengths(pair))
        group = groups[shape]
        group.append(pair)
        if len(group) == shape.batch:
            yield Batch(groups.pop(shape), shape)
    yield from _packed([Batch(group, shape) for shape, group in groups.items()], plan)


def _packed(batches: list[Batch], plan: BucketPlan) -> list[Batch]:
    """Joins short batches, always the two that cost the least padding, while any two fit."""

    def positions(batch: Batch) -> int:
        return len(batch.pairs) * _row_size(batch.shape)

    def joined(one: Batch, other: Batch) -> Batch:
        shape = plan.shape_of(
            max(one.shape.source, other.shape.source), max(one.shape.target, other.shape.target)
        )
        return Batch(one.pairs + other.pairs, shape)

    # Ties are broken by shape, which keeps the result independent of the order of the pairs.
    batches = sorted(batches, key=lambda batch: batch.shape)
    while True:
        joins = []
        for one, other in itertools.combinations(range(len(batches)), 2):
            batch = joined(batches[one], batches[other])
            if len(batch.pairs) <= batch.shape.batch:
                cost = positions(batch) - positions(batches[one]) - positions(batches[other])
                joins.append((cost, one, other, batch))
        if not joins:
            return batches
        _, one, other, batch = min(joins, key=lambda join: join[:3])
        batches = [*batches[:one], batch, *batches[one + 1 : other], *batches[other + 1 :]]


def _best_bounds(lengths: npt.NDArray[np.int_], buckets: int) -> list[int]:
    """Cuts lengths into buckets where padding each to its bucket's longest costs least.

    Args:
        lengths: Lengths, shape [n].
        buckets: Number of buckets; fewer distinct lengths get one each.

    Returns:
        The longest length of each bucket, ascending.
    """
    longest, counts = np.unique(lengths, return_counts=True)
    n = len(longest)
    seen = np.concatenate([[0], np.cumsum(counts)])
    # cost[i, j]: positions of a bucket that holds the distinct lengths i to j.
    cost = np.where(np.tri(n, dtype=bool).T, longest * (seen[None, 1:] - seen[:-1, None]), np.inf)
    # best[j]: fewest positions for the first j distinct lengths, in as many buckets as `starts`.
    best = np.array([0.0] + [np.inf] * n)
    starts = []
    for _ in range(min(buckets, n)):
        totals = best[:-1, None] + cost
        starts.append(totals.argmin(axis=0))
        best = np.concatenate([[np.inf], totals.min(axis=0)])
    bounds, end = [], n
    for start in reversed(starts):
        bounds.append(int(longest[end - 1]))
        end = start[end - 1]
    return bounds[::-1]


def _row_size(shape: Shape) -> int:
    return shape.source + shape.target
