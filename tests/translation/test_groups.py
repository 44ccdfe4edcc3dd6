"""Searches in groups against one search of all pieces."""

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.decoding import Hypotheses
from keras_transformer.translation.groups import search_in_groups

GENERATOR = np.random.default_rng(0)


def search_of(seen):
    """Makes a search of two hypotheses: what is told of a row and its column, and nothing else."""

    def search(source, factor):
        seen.append(tuple(source.shape))
        real = tf.cast(source != 0, tf.int32)
        ids = tf.stack([source * factor[:, None], source + real], axis=1)
        sums = tf.cast(tf.reduce_sum(ids, 2), tf.float32)
        return Hypotheses(ids, sums, -sums)

    return search


@pytest.mark.parametrize("count", [0, 1, 3, 4, 7, 50])
@pytest.mark.parametrize("size", [1, 3, 64])
def test_equals_one_search(count, size):
    lengths = GENERATOR.integers(1, 6, count)
    rows = [GENERATOR.integers(4, 9, length).tolist() for length in lengths]
    pieces = tf.ragged.constant(rows, ragged_rank=1, dtype=tf.int32)
    factor = tf.constant(GENERATOR.integers(1, 4, count), tf.int32)
    seen = []
    found = search_in_groups(search_of(seen), pieces, size, length=6, factor=factor)
    expected = np.zeros((count, 2, 6), np.int32)
    for i, row in enumerate(rows):
        expected[i, 0, : len(row)] = np.multiply(row, factor[i])
        expected[i, 1, : len(row)] = np.add(row, 1)
    np.testing.assert_array_equal(found.ids, expected)
    np.testing.assert_array_equal(found.log_probs, expected.sum(2))
    np.testing.assert_array_equal(found.scores, -expected.sum(2))
    # The fewest groups, alike in size, and each as wide as its own longest row.
    assert len(seen) == max(-(-count // size), 1)
    assert max(rows for rows, _ in seen) - min(rows for rows, _ in seen[:-1] or seen) <= 0
    assert all(rows <= size for rows, _ in seen)
    first = lengths[: seen[0][0]]
    assert seen[0][1] == max([1, *first])
