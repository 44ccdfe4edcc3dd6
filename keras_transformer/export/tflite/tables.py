"""Look-ups by gathers: TFLite's own hash tables know strings alone."""

from collections.abc import Mapping

import numpy as np
import tensorflow as tf

_PAGE = 256
# Shifts that are tried at once.
_STRETCH = 4096
# Beyond the last code point; stands for the end of a text.
END = 0x110000


class CodePointTable:
    """A number for each code point, in pages of which equal ones are there once.

    Args:
        numbers: Of some code points.
        default: The number of all others, and of `END`.

    Example:
        >>> table = CodePointTable({0x61: 7}, default=-1)
        >>> table.lookup(tf.constant([0x61, 0x62, END])).numpy().tolist()
        [7, -1, -1]
    """

    def __init__(self, numbers: Mapping[int, int], default: int):
        every = np.full((END // _PAGE + 1) * _PAGE, default, np.int32)
        every[[*numbers]] = [*numbers.values()]
        pages: dict[bytes, int] = {}
        page_of = [
            pages.setdefault(page.tobytes(), len(pages)) for page in every.reshape(-1, _PAGE)
        ]
        self._page_of = np.array(page_of, np.int32)
        self._numbers = np.frombuffer(b"".join(pages), np.int32)

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
        slots = _Slots()
        # Full rows first: entries that are alone in theirs then fill what is left.
        for row, filled in sorted(by_row.items(), key=lambda item: -len(item[1])):
            self._shifts[row] = slots.lay(np.array(filled))
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


class _Slots:
    """Where entries are laid; beyond what is taken, all are free."""

    def __init__(self) -> None:
        self._free, self._first = np.ones(_STRETCH, bool), 0

    def lay(self, columns: np.ndarray) -> int:
        """Takes the first free slots that the entries of a row fall on.

        Args:
            columns: Of the entries.

        Returns:
            How far the row is shifted.
        """
        shift = self._first_fit(columns)
        self._free[shift + columns] = False
        self._first += int(self._free[self._first :].argmax())
        return shift

    def _first_fit(self, columns: np.ndarray) -> int:
        # Before, one of them falls on a slot that is taken.
        shift = max(0, self._first - int(columns.min()))
        while True:
            # One more stretch than is looked at, of which a slot is still free when all are taken.
            self._reserve(shift + int(columns.max()) + 2 * _STRETCH)
            fits = np.ones(_STRETCH, bool)
            for slot in (shift + columns).tolist():
                fits &= self._free[slot : slot + _STRETCH]
            if fits.any():
                return shift + int(fits.argmax())
            shift += _STRETCH

    def _reserve(self, size: int) -> None:
        if size > len(self._free):
            self._free = np.pad(self._free, (0, size), constant_values=True)
