"""Requests that wait at the same time are computed together.

While one batch is computed, requests gather for the next one. So a request that comes alone waits
for nobody, and the more come, the larger the batches: there is no delay to be chosen.

Nobody waits for long because of another's long texts. A batch is bounded by what it takes, in
pieces of text; a request that takes more is computed in parts, and whoever waits comes between
them; and a single text that takes more goes to a lane of its own. A lane is one thread, as a batch
has work for all cores.
"""

import asyncio
import collections
import concurrent.futures
import dataclasses
from collections.abc import Callable, Iterator
from http import HTTPStatus

from keras_transformer.endpoint.errors import RequestError
from keras_transformer.endpoint.limits import Limits
from keras_transformer.endpoint.pieces import estimate_pieces
from keras_transformer.endpoint.signature import Columns, Signature, join_columns


@dataclasses.dataclass(frozen=True, eq=False)
class _Task:
    signature: Signature
    columns: Columns
    pieces: int
    outputs: asyncio.Future[Columns]

    @property
    def rows(self) -> int:
        return _count_rows(self.columns)


class Batcher:
    """Computes signatures for requests, in batches that it joins of them.

    Args:
        limits: `rows` of a request, as many pieces of a batch, and `waiting_rows` that wait.
        on_batch: Takes the number of rows of each batch.

    Example:
        >>> async def both():
        ...     batcher = Batcher(Limits())
        ...     one, other = (
        ...         batcher.run(lengths, {"text": np.array([text], object)}) for text in (b"a", b"")
        ...     )
        ...     return [outputs["length"].item() for outputs in await asyncio.gather(one, other)]
        >>> lengths = Signature(
        ...     "lengths",
        ...     {"text": tf.TensorSpec([None], tf.string)},
        ...     {"length": tf.TensorSpec([None], tf.int32)},
        ...     lambda text: {"length": tf.strings.length(text)},
        ... )
        >>> asyncio.run(both())
        [1, 0]
    """

    def __init__(self, limits: Limits, on_batch: Callable[[int], object] = lambda rows: None):
        self._limits = limits
        self._lane, self._lane_of_long_texts = (_Lane(limits.rows, on_batch) for _ in range(2))
        # Rows of parts that come after the one of their request that is computed or waits.
        self._later_rows = 0

    @property
    def waiting_rows(self) -> int:
        """Rows that wait to be computed."""
        in_lanes = self._lane.waiting_rows + self._lane_of_long_texts.waiting_rows
        return in_lanes + self._later_rows

    async def run(self, signature: Signature, columns: Columns) -> Columns:
        """Computes a signature; a caller that is cancelled while it waits costs nothing more.

        Args:
            signature: The signature.
            columns: Its inputs.

        Returns:
            The outputs for these inputs. What is padded has the lengths of the whole batch.

        Raises:
            RequestError: If there are too many rows, in this request or in those that wait.
        """
        rows = _count_rows(columns)
        most = min(self._limits.rows, self._limits.waiting_rows)
        if rows > most:
            raise RequestError(f"Task size {rows} is larger than maximum input batch size {most}")
        if self.waiting_rows + rows > self._limits.waiting_rows:
            raise RequestError(
                "The queue of requests that wait is full; try again later",
                HTTPStatus.SERVICE_UNAVAILABLE,
            )
        found, later = [], rows
        self._later_rows += later
        try:
            for part, pieces in _parts(columns, self._limits.rows):
                later -= _count_rows(part)
                self._later_rows -= _count_rows(part)
                is_long = pieces > self._limits.rows
                lane = self._lane_of_long_texts if is_long else self._lane
                found.append(await lane.run(signature, part, pieces))
        finally:
            self._later_rows -= later
        return join_columns(found)


class _Lane:
    """Computes one batch after another.

    Args:
        most: Pieces of a batch, unless the first that waits has more.
        on_batch: As of `Batcher`.
    """

    def __init__(self, most: int, on_batch: Callable[[int], object]) -> None:
        self._most = most
        self._on_batch = on_batch
        self._waiting: collections.deque[_Task] = collections.deque()
        self._thread = concurrent.futures.ThreadPoolExecutor(1, "batches")
        self._work: asyncio.Task[None] | None = None

    @property
    def waiting_rows(self) -> int:
        return sum(task.rows for task in self._waiting if not task.outputs.done())

    async def run(self, signature: Signature, columns: Columns, pieces: int) -> Columns:
        """Computes a signature, of inputs that take about so many pieces."""
        outputs = asyncio.get_running_loop().create_future()
        self._waiting.append(_Task(signature, columns, pieces, outputs))
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._compute_all())
        return await outputs

    async def _compute_all(self) -> None:
        while batch := self._next_batch():
            self._on_batch(sum(task.rows for task in batch))
            await self._compute(batch)

    def _next_batch(self) -> list[_Task]:
        """Takes the first that waits, and of the others what is joined with it, in their order."""
        waiting = [task for task in self._waiting if not task.outputs.done()]
        batch: list[_Task] = []
        room = self._most
        for task in waiting:
            if task.signature is waiting[0].signature and (task.pieces <= room or not batch):
                batch.append(task)
                room -= task.pieces
        self._waiting = collections.deque(task for task in waiting if task not in batch)
        return batch

    async def _compute(self, batch: list[_Task]) -> None:
        """Computes a batch; after an error one by one, so that it is told to who made it alone."""
        loop = asyncio.get_running_loop()
        try:
            columns = join_columns([task.columns for task in batch])
            found = await loop.run_in_executor(self._thread, batch[0].signature, columns)
            _require_rows(found, sum(task.rows for task in batch))
        except Exception as error:
            if len(batch) > 1:
                for task in (one for one in batch if not one.outputs.done()):
                    await self._compute([task])
            elif not batch[0].outputs.done():
                batch[0].outputs.set_exception(error)
            return
        start = 0
        for task in batch:
            if not task.outputs.done():
                part = slice(start, start + task.rows)
                task.outputs.set_result({name: value[part] for name, value in found.items()})
            start += task.rows


def _count_rows(columns: Columns) -> int:
    [rows] = {len(column) for column in columns.values()}
    return rows


def _parts(columns: Columns, most: int) -> Iterator[tuple[Columns, int]]:
    """Cuts inputs into the longest parts of so many pieces at most, or of one row that has more.

    Yields:
        Parts, one at least, and about how many pieces each of them takes.
    """
    start, taken = 0, 0
    for row, pieces in enumerate(estimate_pieces(columns)):
        if row > start and taken + pieces > most:
            yield {name: column[start:row] for name, column in columns.items()}, taken
            start, taken = row, 0
        taken += pieces
    yield {name: column[start:] for name, column in columns.items()}, taken


def _require_rows(outputs: Columns, rows: int) -> None:
    """Makes sure that what was joined can be divided again."""
    for name, value in outputs.items():
        if value.shape[:1] != (rows,):
            raise ValueError(
                f"`{name}` must have a row for each string, as outputs that are batched do. "
                f"Received: {value.shape} for {rows}"
            )
