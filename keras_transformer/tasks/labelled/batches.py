"""Padded batches of rows that are in memory, epoch by epoch.

An epoch's order is a function of seed and index, so a run that was killed finds its place again.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from keras_transformer.data.batches import dataset_of
from keras_transformer.data.bucketing import BucketPlan, Shape
from keras_transformer.data.sharing import Sharing
from keras_transformer.tasks.labelled.kind import Row
from keras_transformer.text.vocabulary import PAD_ID

if TYPE_CHECKING:
    import tensorflow as tf

Arrays = tuple[dict[str, npt.NDArray[Any]], npt.NDArray[Any]]

# Lengths are rounded up to a multiple of this, so that there are few shapes.
_STEP = 16
_ALONE = Sharing()


def plan_of(
    rows: Sequence[Row], batch_size: int, max_length: int, label_count: int | None = 1
) -> BucketPlan:
    """Returns the shapes of batches of some rows; one takes what is longer than all of them.

    Args:
        rows: The rows.
        batch_size: Rows of a batch.
        max_length: Longest row there may be.
        label_count: Labels of a row; None for one of each token.

    Example:
        >>> row = Row(np.arange(1, 20), np.zeros(19, int), np.array([1]))
        >>> [shape.source for shape in plan_of([row], batch_size=4, max_length=128).shapes]
        [16, 32, 128]
    """
    longest = max(len(row.ids) for row in rows)
    lengths = {*range(_STEP, min(longest + _STEP, max_length), _STEP), max_length}
    return BucketPlan(tuple(Shape(batch_size, length, label_count or length) for length in lengths))


class ExampleBatches:
    """Batches for `model.fit`; see `keras_transformer.training.task.Batches`.

    A batch is `({"ids", "segments"}, labels)`, `[batch, length]` and `[batch, labels]`, padded with
    0. Of several workers each takes its part of every batch.

    Args:
        rows: The rows.
        plan: The shapes of the global batch, from `plan_of`.
        tokenizer: Names the pieces of a batch that is described.
        label_type: Of the labels.
        seed: Seed of every epoch's order; None to keep that of the rows.
        sharing: Who shares a batch.

    Example:
        >>> rows = [Row(np.array([2, 5, 3]), np.zeros(3, int), np.array([1]))] * 3
        >>> batches = ExampleBatches(rows, plan_of(rows, 2, max_length=16), wordpiece)
        >>> [labels.shape for _, labels in batches.epoch(0)]
        [(2, 1), (1, 1)]
    """

    def __init__(
        self,
        rows: Sequence[Row],
        plan: BucketPlan,
        tokenizer: Any,
        *,
        label_type: Any = np.int32,
        seed: int | None = None,
        sharing: Sharing = _ALONE,
    ) -> None:
        self.rows, self.plan, self.tokenizer = rows, plan, tokenizer
        self.label_type, self.seed, self.sharing = label_type, seed, sharing

    @property
    def filter_summary(self) -> str:
        """How many rows there are; all are kept."""
        return f"{len(self.rows):,} rows"

    @property
    def epoch_length(self) -> int:
        """Batches of an epoch."""
        return -(-len(self.rows) // self._size)

    @property
    def _size(self) -> int:
        return self.plan.shapes[0].batch

    def epoch(self, index: int, first_batch: int = 0) -> Iterator[Arrays]:
        """Yields this worker's part of the batches of one epoch.

        Args:
            index: The epoch.
            first_batch: Batches to pass over.
        """
        order = np.arange(len(self.rows))
        if self.seed is not None:
            order = np.random.default_rng([self.seed, index]).permutation(len(self.rows))
        for start in range(first_batch * self._size, len(order), self._size):
            batch = [self.rows[place] for place in order[start : start + self._size]]
            part = list(self.sharing.part(batch))
            if part:
                yield self._arrays(part)

    def _arrays(self, rows: Sequence[Row]) -> Arrays:
        longest = max(len(row.ids) for row in rows)
        shapes = self.sharing.plan(self.plan).shapes
        shape = next(one for one in shapes if longest <= one.source)
        count = max(shape.batch, len(rows)) if self.sharing.static_shapes else len(rows)

        def padded(name: str, length: int, dtype: Any) -> npt.NDArray[Any]:
            array = np.full((count, length), PAD_ID, dtype)
            for place, row in enumerate(rows):
                values = getattr(row, name)
                array[place, : len(values)] = values
            return array

        inputs = {name: padded(name, shape.source, np.int32) for name in ("ids", "segments")}
        return inputs, padded("labels", shape.target, self.label_type)

    def described(self, epoch: int, index: int) -> dict[str, Any]:
        """Returns one batch of an epoch as plain values, with its text, to be looked at."""
        inputs, labels = next(self.epoch(epoch, index))
        return {
            "batch": index,
            "text": self.tokenizer.detokenize(inputs["ids"]),
            "ids": inputs["ids"].tolist(),
            "labels": labels.tolist(),
        }

    def dataset(self, first_epoch: int = 0, first_batch: int = 0) -> "tf.data.Dataset":
        """Returns a dataset that gives an epoch each time it is iterated; see `dataset_of`."""
        import tensorflow as tf

        ids = tf.TensorSpec([None, None], tf.int32)
        labels = tf.TensorSpec([None, None], tf.as_dtype(self.label_type))
        signature = ({"ids": ids, "segments": ids}, labels)
        return dataset_of(self.epoch, self.sharing.replicas, signature, first_epoch, first_batch)
