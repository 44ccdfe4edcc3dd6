"""What is there again, against a brute-force search."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.data.inspection import repeats
from keras_transformer.data.inspection.repeats import SIDES, SentenceHashes, find_overlap

pair_lists = st.lists(st.tuples(*[st.sampled_from("abcdef")] * 2), max_size=30)


@pytest.fixture(scope="module", autouse=True)
def _small_blocks():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repeats, "_BLOCK", 4)
        yield


def hashes_of(pairs):
    hashes = SentenceHashes()
    for start in range(0, len(pairs), 7):
        hashes.read(pairs[start : start + 7])
    return hashes


def parts(pairs, kind):
    return [{"pair": pair, "source": pair[0], "target": pair[1]}[kind] for pair in pairs]


@given(pair_lists)
def test_repeats(pairs):
    hashes = hashes_of(pairs)
    for kind in SIDES:
        items = parts(pairs, kind)
        expected = [(place, items.index(item)) for place, item in enumerate(items)]
        expected = [(place, first) for place, first in expected if first != place]
        count, places = hashes.repeated(kind, 3)
        assert count == len(expected) == len(items) - len(Counter(items))
        assert places == expected[:3]


@given(pair_lists, pair_lists)
def test_overlap(of, known):
    hashes = hashes_of(of), hashes_of(known)
    for kind in SIDES:
        items, others = parts(of, kind), parts(known, kind)
        expected = [(at, others.index(item)) for at, item in enumerate(items) if item in others]
        assert find_overlap(*hashes, kind, 3) == (len(expected), expected[:3])


def test_a_swapped_pair_is_another_one():
    assert hashes_of([("a", "b"), ("b", "a")]).repeated("pair").total == 0
