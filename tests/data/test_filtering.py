"""Pairs are kept whole or dropped and counted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.data.filtering import PairFilter

EOS = 3


def ids(length):
    """Returns `length` ids, of which the last is eos."""
    return [5] * (length - 1) + [EOS]


@pytest.mark.parametrize(
    ("source", "target", "verdict"),
    [
        (1, 5, "empty"),
        (5, 1, "empty"),
        (1, 99, "empty"),
        (2, 2, "kept"),
        (10, 10, "kept"),
        (11, 10, "too_long"),
        (10, 11, "too_long"),
        (7, 3, "kept"),
        (8, 3, "ratio"),
        (3, 8, "ratio"),
    ],
)
def test_verdicts(source, target, verdict):
    keep = PairFilter(max_length=10, max_ratio=3)
    pair = (ids(source), ids(target))
    assert list(keep([pair])) == ([pair] if verdict == "kept" else [])
    assert +keep.counts == {verdict: 1}


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30))))
def test_every_pair_is_counted_and_none_is_cut(lengths):
    pairs = [(ids(source), ids(target)) for source, target in lengths]
    keep = PairFilter(max_length=20, max_ratio=2)
    kept = list(keep(pairs))
    assert keep.counts.total() == len(pairs)
    assert keep.counts["kept"] == len(kept)
    assert all(pair in pairs for pair in kept)


def test_summary():
    keep = PairFilter(max_length=256, max_ratio=1.5)
    list(keep([(ids(3), ids(3))] * 28_990 + [(ids(300), ids(3))] * 8 + [(ids(2), ids(9))] * 2))
    assert keep.summary() == (
        "kept 28,990 of 29,000 pairs (dropped: 0 empty, 8 longer than 256 tokens, "
        "2 with a length ratio above 1.5)"
    )
    assert "ratio" not in PairFilter(max_length=256).summary()


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"`max_length` must be at least 2.*Received: 1"):
        PairFilter(max_length=1)
    with pytest.raises(ValueError, match=r"`max_ratio` must be at least 1.*Received: 0\.5"):
        PairFilter(max_length=10, max_ratio=0.5)
