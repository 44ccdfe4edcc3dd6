"""Bucketing: optimal bounds, full coverage, every pair once, a count that order cannot change."""

import itertools
import json
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.data.bucketing import BucketPlan, Shape, _best_bounds, bucketed

LENGTHS = st.lists(st.tuples(st.integers(1, 24), st.integers(1, 24)), max_size=120)


def pair_of(number, source_length, target_length):
    """Returns a pair that can be told from all others by its ids."""
    return ((number,) * source_length, (number,) * target_length)


def padded_positions(lengths, bounds):
    return sum(min(bound for bound in bounds if bound >= length) for length in lengths)


@given(st.lists(st.integers(1, 12), min_size=1, max_size=30), st.integers(1, 5))
def test_bounds_are_optimal(lengths, buckets):
    bounds = _best_bounds(np.array(lengths), buckets)
    distinct = sorted(set(lengths))
    assert bounds == sorted(set(bounds))
    assert len(bounds) == min(buckets, len(distinct))
    assert bounds[-1] == distinct[-1]
    brute_force = min(
        padded_positions(lengths, [*inner, distinct[-1]])
        for inner in itertools.combinations(distinct[:-1], len(bounds) - 1)
    )
    assert padded_positions(lengths, bounds) == brute_force


@given(LENGTHS, st.integers(1, 100), st.integers(1, 5), st.integers(1, 4))
def test_a_plan_is_small_and_covers_everything(lengths, tokens, target_buckets, source_buckets):
    plan = BucketPlan.fit(
        lengths,
        tokens=tokens,
        max_length=24,
        target_buckets=target_buckets,
        source_buckets=source_buckets,
    )
    assert len(plan.shapes) <= target_buckets * source_buckets + 1
    for batch, source, target in plan.shapes:
        assert batch == 1 or batch * max(source, target) <= tokens
    for source, target in itertools.product(range(1, 25), repeat=2):
        shape = plan.shape_of(source, target)
        covering = [s for s in plan.shapes if s.source >= source and s.target >= target]
        assert shape in covering
        assert shape.source + shape.target == min(s.source + s.target for s in covering)


@settings(max_examples=50)
@given(LENGTHS, st.integers(1, 100), st.randoms(use_true_random=False))
def test_every_pair_comes_out_once_whatever_the_order(lengths, tokens, rng):
    plan = BucketPlan.fit(lengths, tokens=tokens, max_length=24)
    pairs = [pair_of(number, *length) for number, length in enumerate(lengths)]
    batches = list(bucketed(pairs, plan))
    assert Counter(pair for batch in batches for pair in batch.pairs) == Counter(pairs)
    for batch in batches:
        assert batch.shape in plan.shapes
        assert 1 <= len(batch.pairs) <= batch.shape.batch
        assert all(len(source) <= batch.shape.source for source, _ in batch.pairs)
        assert all(len(target) <= batch.shape.target for _, target in batch.pairs)

    rng.shuffle(pairs)
    again = Counter((batch.shape, len(batch.pairs)) for batch in bucketed(pairs, plan))
    assert again == Counter((batch.shape, len(batch.pairs)) for batch in batches)


def test_batches_come_as_soon_as_they_are_full():
    plan = BucketPlan(((2, 4, 4), (1, 8, 8)))
    stream = bucketed((pair_of(number, 3, 3) for number in itertools.count()), plan)
    assert [source[0] for source, _ in next(stream).pairs] == [0, 1]


def test_left_over_pairs_are_packed_into_few_batches():
    plan = BucketPlan(((16, 4, 4), (8, 8, 8), (4, 16, 16)))
    lengths = [(4, 4)] * 3 + [(8, 8)] * 2 + [(16, 16)] * 4
    pairs = [pair_of(number, *length) for number, length in enumerate(lengths)]
    batches = [(len(batch.pairs), batch.shape) for batch in bucketed(pairs, plan)]
    assert batches == [(4, Shape(4, 16, 16)), (5, Shape(8, 8, 8))]


def test_few_batches_are_short():
    rng = random.Random(0)
    lengths = [(rng.randint(2, 40), rng.randint(2, 40)) for _ in range(5000)]
    plan = BucketPlan.fit(lengths, tokens=512, max_length=40)
    pairs = [pair_of(number, *length) for number, length in enumerate(lengths)]
    short = [b for b in bucketed(pairs, plan) if len(b.pairs) < b.shape.batch]
    assert len(short) < len(plan.shapes)


def test_a_plan_survives_json():
    plan = BucketPlan.fit([(3, 4), (9, 9)], tokens=64, max_length=16)
    assert BucketPlan(json.loads(json.dumps(plan.shapes))) == plan


def test_no_lengths_leave_the_largest_shape():
    plan = BucketPlan.fit([], tokens=64, max_length=16)
    assert plan.shapes == (Shape(4, 16, 16),)


def test_a_pair_beyond_the_plan():
    plan = BucketPlan(((2, 4, 4),))
    with pytest.raises(ValueError, match=r"Shape\(batch=2, source=4.*source_length=5, target_le"):
        list(bucketed([pair_of(0, 5, 2)], plan))
