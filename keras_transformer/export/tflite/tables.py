"""Look-ups by gathers: TFLite's own hash tables know strings alone."""

from collections.abc import Mapping

import numpy as np
import tensorflow as tf

_PAGE = 256
# Beyond the last code point; stands for the end of a text.
END = 0x110000


class CodePointTable:
    """A number for each code point, in pages of which the empty ones are the same.

    Args:
        numbers: Of some code points.
        default: The number of all others, and of `END`.

    Example:
        >>> table = CodePointTable({0x61: 7}, default=-1)
        >>> table.lookup(tf.constant([0x61, 0x62, END])).numpy().tolist()
        [7, -1, -1]
    """

    def __init__(self, numbers: Mapping[int, int], default: int):
        used = sorted({code // _PAGE for code in numbers})
        self._page_of = np.zeros(END // _PAGE + 1, np.int32)
        self._page_of[used] = 1 + np.arange(len(used))
        self._numbers = np.full((1 + len(used)) * _PAGE, default, np.int32)
        for code, number in numbers.items():
            self._numbers[self._page_of[code // _PAGE] * _PAGE + code % _PAGE] = number

    def lookup(self, codes: tf.Tensor) -> tf.Tensor:
        """Returns the number of each code point, int32."""
        page = tf.gather(self._page_of, codes // _PAGE)
        return tf.gather(self._numbers, page * _PAGE + codes % _PAGE)


class PairTable:
    """A number for each of some pairs of numbers: a sparse matrix, its rows laid over each other.

    Args:
        numbers: Of each pair (row, column) that has one.
        rows: How many rows there are.
        columns: How many columns there are.
        default: The number of all other pairs.

    Example:
        >>> table = PairTable({(0, 1): 7, (2, 1): 8}, rows=3, columns=2, default=-1)
        >>> table.lookup(tf.constant([0, 1, 2]), tf.constant([1, 1, 1])).numpy().tolist()
        [7, -1, 8]

    Reference:
        "Storing a Sparse Table", Tarjan and Yao, Communications of the ACM 22 (1979).
    """

    def __init__(
        self, numbers: Mapping[tuple[int, int], int], rows: int, columns: int, default: int
    ):
        self._default = default
        by_row: dict[int, list[int]] = {}
        for row, column in numbers:
            by_row.setdefault(row, []).append(column)
        self._shifts = np.zeros(rows, np.int32)
        free = np.ones(0, bool)
        # Full rows first: entries that are alone in theirs then fill what is left.
        for row, filled in sorted(by_row.items(), key=lambda item: -len(item[1])):
            self._shifts[row], free = _lay(np.array(filled), free)
        size = int(self._shifts.max(initial=0)) + columns
        self._rows, self._numbers = np.full(size, -1, np.int32), np.full(size, default, np.int32)
        for (row, column), number in numbers.items():
            slot = self._shifts[row] + column
            self._rows[slot], self._numbers[slot] = row, number

    def lookup(self, rows: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
        """Returns the number of each pair, int32 of the shape of both."""
        slots = tf.gather(self._shifts, rows) + columns
        is_own = tf.gather(self._rows, slots) == rows
        return tf.where(is_own, tf.gather(self._numbers, slots), self._default)


def _lay(columns: np.ndarray, free: np.ndarray) -> tuple[int, np.ndarray]:
    """Finds the first shift by which entries of a row fall on free slots, and takes these.

    Args:
        columns: Of the entries.
        free: bool, which slots are free; beyond, all are.

    Returns:
        The shift, and `free` without what was taken.
    """
    most = len(free)  # By this shift, all fall beyond.
    free = np.pad(free, (0, most + columns.max() + 1 - len(free)), constant_values=True)
    fits = np.ones(most + 1, bool)
    for column in columns:
        fits &= free[column : column + most + 1]
    shift = int(fits.argmax())
    free[shift + columns] = False
    return shift, free[: np.flatnonzero(~free)[-1] + 1]
