"""Look-ups and vectors of TFLite's operations against dictionaries and loops."""

import numpy as np
import tensorflow as tf

from keras_transformer.export.tflite.tables import END, CodePointTable, PairTable
from keras_transformer.export.tflite.vectors import ranges, shifted, walk, walk_to_end


def test_pairs():
    """Rows of any fill, of which some are empty, and of which most fall between others."""
    rng = np.random.default_rng(0)
    rows, columns = 60, 50
    filled = zip(rng.integers(0, 40, 500) ** 2 // 40, rng.integers(0, columns, 500), strict=True)
    numbers = {(int(row), int(column)): i for i, (row, column) in enumerate(filled)}
    table = PairTable(numbers, rows, columns, default=-1)
    every = np.indices((rows, columns), np.int32).reshape(2, -1)
    found = table.lookup(tf.constant(every[0]), tf.constant(every[1])).numpy()
    assert found.tolist() == [numbers.get((row, column), -1) for row, column in every.T.tolist()]
    assert len(table._numbers) < rows * columns / 3


def test_code_points():
    numbers = {0: 5, 255: 6, 256: 7, 0x1F600: 8, 0x10FFFF: 9}
    table = CodePointTable(numbers, default=-1)
    codes = [*numbers, 1, 257, 0x1F601, 0x10FFFE, END]
    assert table.lookup(tf.constant(codes)).numpy().tolist() == [5, 6, 7, 8, 9, *[-1] * 5]


def test_walks_and_ranges():
    rng = np.random.default_rng(1)
    for size in range(1, 40):
        following = np.minimum(np.arange(size) + rng.integers(1, 5, size), size - 1).astype(
            np.int32
        )
        met, expected = walk(tf.constant(following), 0, size).numpy().tolist(), [0]
        while len(expected) < len(met):
            expected.append(int(following[expected[-1]]))
        assert met == expected
        assert len(met) >= size
        once = [place for place in expected if place < size - 1]
        assert walk_to_end(tf.constant(following)).numpy().tolist() == [*once, size - 1]
        starts, lengths = rng.integers(0, 9, size), rng.integers(0, 4, size)
        lengths[rng.integers(size)] = 2
        numbers, owners = ranges(tf.constant(starts, tf.int32), tf.constant(lengths, tf.int32))
        parts = [np.arange(start, start + n) for start, n in zip(starts, lengths, strict=True)]
        assert numbers.numpy().tolist() == np.concatenate(parts).tolist()
        assert owners.numpy().tolist() == np.repeat(np.arange(size), lengths).tolist()


def test_shifts():
    for by in range(-4, 5):
        expected = [[9, 9, 9, 9, 1, 2, 3, 9, 9, 9, 9][4 - by + i] for i in range(3)]
        assert shifted(tf.constant([1, 2, 3]), by, 9).numpy().tolist() == expected
