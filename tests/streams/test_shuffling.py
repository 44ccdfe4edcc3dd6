"""Shuffling keeps every item, follows the generator and holds no more than its buffer."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.streams.shuffling import sampled, shuffled


def generator(seed=0):
    return np.random.default_rng(seed)


@given(st.lists(st.integers()), st.integers(0, 20), st.integers(0, 3))
def test_every_item_comes_out_once(items, buffer_size, seed):
    assert Counter(shuffled(items, buffer_size, generator(seed))) == Counter(items)


@pytest.mark.parametrize("buffer_size", [10, 100, 20_000])
def test_the_generator_decides_the_order(buffer_size):
    orders = [list(shuffled(range(10_000), buffer_size, generator(seed))) for seed in (0, 0, 1)]
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]


def test_no_buffer_keeps_the_order():
    assert list(shuffled(range(5), 0, generator())) == [0, 1, 2, 3, 4]


def test_a_corpus_that_fits_is_shuffled_uniformly():
    orders = Counter(tuple(shuffled(range(3), 10, generator(seed))) for seed in range(6000))
    assert len(orders) == 6
    assert all(850 < count < 1150 for count in orders.values()), orders


def test_no_more_than_the_buffer_is_read_ahead():
    read = 0

    def endless():
        nonlocal read
        for item in itertools.count(1):
            read = item
            yield item

    for emitted, _ in enumerate(itertools.islice(shuffled(endless(), 50, generator()), 200), 1):
        assert read == emitted + 50


def test_a_sample_is_uniform():
    counts = Counter(i for seed in range(3000) for i in sampled(range(20), 5, generator(seed)))
    assert all(650 < counts[i] < 850 for i in range(20)), counts


def test_a_short_stream_is_its_own_sample():
    assert sampled(iter("abc"), 3, generator()) == ["a", "b", "c"]
    assert sampled([], 3, generator()) == []
