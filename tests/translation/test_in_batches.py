"""Batches of like lengths: every row gets its own result, whatever the batches are."""

import sys
import threading
import time

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.translation.in_batches import encode, map_in_batches


def test_encode():
    lines = ["für", b"\xff", "\ud800 dog", ""]
    assert encode(iter(lines)) == [b"f\xc3\xbcr", b"\xff", b"? dog", b""]


@pytest.mark.parametrize("size", [1, 4, 100])
@pytest.mark.parametrize("count", [0, 1, 30])
def test_rows_come_back_in_their_order(size, count):
    generator = np.random.default_rng(0)
    first = [b"a" * generator.integers(0, 9) + str(i).encode() for i in range(count)]
    second = [b"b" * generator.integers(0, 9) for _ in range(count)]
    batches = []

    def function(one, two):
        batches.append(one.numpy().tolist())
        return {"joined": one + two, "lengths": tf.stack([tf.strings.length(one)] * 3, axis=1)}

    rows = map_in_batches(function, first, second, size=size)
    assert [row["joined"] for row in rows] == [a + b for a, b in zip(first, second, strict=True)]
    assert [row["lengths"].tolist() for row in rows] == [[len(line)] * 3 for line in first]
    # As few batches as there can be, and the longest first.
    assert [len(batch) for batch in batches] == [
        min(size, count - start) for start in range(0, count, size)
    ]
    lengths = [len(line) for batch in batches for line in batch]
    assert lengths == sorted(lengths, reverse=True)


def test_batches_at_once():
    """Two wait for each other, so that one alone would never end; rows have their own results."""
    both = threading.Barrier(2, timeout=30)

    def function(text):
        both.wait()
        return {"length": tf.strings.length(text)}

    lines = [b"a" * (7 * i % 11) for i in range(12)]
    rows = map_in_batches(function, lines, size=3, at_once=2)
    assert [int(row["length"]) for row in rows] == [len(line) for line in lines]


def test_an_error_in_one_of_two_batches_ends_the_rest():
    begun = []

    def function(text):
        begun.append(text.numpy().tolist())
        time.sleep(0.01)
        raise RuntimeError("no memory")

    with pytest.raises(RuntimeError, match="no memory"):
        map_in_batches(function, [b"x"] * 400, size=1, at_once=2)
    assert len(begun) < 400


def test_columns_of_different_lengths():
    with pytest.raises(ValueError, match=r"as many strings in each list. Received: \[1, 2\]"):
        map_in_batches(lambda a, b: {}, [b"a"], [b"b", b"c"], size=8)


def test_progress_goes_to_standard_error_and_only_on_request(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    for progress in (False, True):
        map_in_batches(lambda a: {"same": a}, [b"x"] * 5, size=2, progress=progress)
        output, errors = capsys.readouterr()
        assert output == ""
        assert ("5/5" in errors) == progress
