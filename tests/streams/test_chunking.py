"""Chunks against slices of a list, and no reading ahead."""

import itertools

import pytest

from keras_transformer.streams.chunking import chunked


@pytest.mark.parametrize("count", [0, 1, 5, 6, 7])
def test_chunks(count):
    items = list(range(count))
    assert list(chunked(items, 3)) == [items[start : start + 3] for start in range(0, count, 3)]


def test_reads_one_chunk_at_a_time():
    numbers = itertools.count()
    assert next(chunked(numbers, 3)) == [0, 1, 2]
    assert next(numbers) == 3
