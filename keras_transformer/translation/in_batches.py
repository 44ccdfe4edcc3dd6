"""A corpus through a graph: in batches of like lengths, back in its own order."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tqdm import tqdm


def encode(lines: Iterable[str | bytes]) -> list[bytes]:
    """Encodes strings in UTF-8.

    A lone surrogate cannot be encoded and becomes "?"; as bytes it would be input like any other.

    Example:
        >>> encode(["f\u00fcr", b"dog"])
        [b'f\\xc3\\xbcr', b'dog']
    """
    return [line.encode("utf-8", "replace") if isinstance(line, str) else line for line in lines]


def map_in_batches(
    function: Callable[..., Mapping[str, tf.Tensor]],
    *columns: Sequence[bytes],
    size: int,
    progress: bool = False,
) -> list[dict[str, Any]]:
    """Calls a function with batches of strings of like lengths.

    Args:
        function: Takes a string tensor `[batch]` for each column; gives a dict of tensors
            `[batch, ...]`.
        *columns: Strings, as many in each column.
        size: Strings of a batch.
        progress: Show a progress bar, where standard error is a terminal.

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
    rows: list[dict[str, Any]] = [{}] * len(order)
    with tqdm(total=len(order), unit=" lines", disable=None if progress else True) as bar:
        for start in range(0, len(order), size):
            batch = order[start : start + size]
            outputs = function(*(tf.constant([column[i] for i in batch]) for column in columns))
            arrays = {name: output.numpy() for name, output in outputs.items()}
            for position, row in enumerate(batch):
                rows[row] = {name: array[position] for name, array in arrays.items()}
            bar.update(len(batch))
    return rows
