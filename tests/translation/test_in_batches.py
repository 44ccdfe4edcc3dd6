"""Batches of like lengths: every row gets its own result, whatever the batches are."""

import sys

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
