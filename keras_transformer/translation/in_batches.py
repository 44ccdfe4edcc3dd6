"""A corpus through a graph: in batches of like lengths, back in its own order."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.console import progress_bar


def encode(lines: str | bytes | Iterable[str | bytes]) -> list[bytes]:
    """Encodes strings in UTF-8.

    A lone surrogate cannot be encoded and becomes "?"; as bytes it would be input like any other.

    Args:
        lines: The strings. One that is in no list is a list of one: it is a line, and its
            characters are none.

    Example:
        >>> encode(["f\u00fcr", b"dog"])
        [b'f\\xc3\\xbcr', b'dog']
        >>> encode("dog")
        [b'dog']
    """
    if isinstance(lines, str | bytes):
        lines = [lines]
    return [line.encode("utf-8", "replace") if isinstance(line, str) else line for line in lines]


def map_in_batches(
    function: Callable[..., Mapping[str, tf.Tensor]],
    *columns: Sequence[bytes],
    size: int,
    progress: bool = False,
    start: int | None = None,
    at_once: int = 1,
) -> list[dict[str, Any]]:
    """Calls a function with batches of strings of like lengths.

    Args:
        function: Takes a string tensor `[batch]` for each column; gives a dict of tensors
            `[batch, ...]`.
        *columns: Strings, as many in each column.
        size: Strings of a batch.
        progress: Show a progress bar, where standard error is a terminal.
        start: Place of the first row in the whole input: the function then takes the rows' places
            as well, int32 `[batch]`.
        at_once: Batches that are computed at the same time, each in a thread of its own.

    Returns:
        For each row of the columns what the function gave for it, in the order of the rows.

    Raises:
        ValueError: If the columns differ in length.

    Example:
        >>> lengths = lambda text: {"length": tf.strings.length(text)}
        >>> [int(row["length"]) for row in map_in_batches(lengths, [b"abc", b"a"], size=8)]
        [3, 1]
    """
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        raise ValueError(f"There must be as many strings in each list. Received: {lengths}")
    # The longest first: what memory it takes shows at once.
    order = np.argsort([-len(line) for line in columns[0]], kind="stable")
    batches = [order[first : first + size] for first in range(0, len(order), size)]
    rows: list[dict[str, Any]] = [{}] * len(order)

    def compute(batch: np.ndarray) -> dict[str, np.ndarray]:
        tensors = [tf.constant([column[i] for i in batch]) for column in columns]
        if start is not None:
            tensors.append(tf.constant(start + batch, tf.int32))
        return {name: output.numpy() for name, output in function(*tensors).items()}

    with progress_bar(len(order), " lines", shown=progress) as bar:
        for batch, arrays in zip(batches, _mapped(compute, batches, at_once), strict=True):
            for position, row in enumerate(batch):
                rows[row] = {name: array[position] for name, array in arrays.items()}
            bar.update(len(batch))
    return rows


def _mapped(
    compute: Callable[[np.ndarray], dict[str, np.ndarray]],
    batches: Sequence[np.ndarray],
    at_once: int,
) -> Iterator[dict[str, np.ndarray]]:
    if at_once == 1:
        yield from map(compute, batches)
        return
    with ThreadPoolExecutor(at_once) as pool:
        try:
            yield from pool.map(compute, batches)
        except BaseException:
            pool.shutdown(cancel_futures=True)  # Not first all that is still to come.
            raise
