"""Texts between special pieces, cut to a length, against a plain loop."""

import random

import pytest
import tensorflow as tf

from keras_transformer.text.framing import framed, padded

DRAWS = random.Random(0)
FIRST, SECOND = ([[5] * DRAWS.randint(0, 12) for _ in range(200)] for _ in range(2))


class Frames:
    cls_id, sep_id = 2, 3


def cut_plainly(first, second, most):
    """The longer text loses its last token; the second one where they are equal."""
    first, second = first[:], second[:]
    while len(first) + len(second) > most:
        (first if len(first) > len(second) else second).pop()
    return first, second


@pytest.mark.parametrize("length", [5, 8, 9, 40])
def test_pairs(length):
    first, second = (tf.ragged.constant(rows, dtype=tf.int32) for rows in (FIRST, SECOND))
    ids, segments = tf.function(framed)(Frames, first, second, length=length)
    for row in range(len(FIRST)):
        one, other = cut_plainly(FIRST[row], SECOND[row], length - 3)
        assert ids[row].numpy().tolist() == [2, *one, 3, *other, 3]
        assert segments[row].numpy().tolist() == [0] * (len(one) + 2) + [1] * (len(other) + 1)


def test_single_texts():
    ids, segments = framed(Frames, tf.ragged.constant(FIRST, dtype=tf.int32), length=6)
    assert ids.to_list() == [[2, *row[:4], 3] for row in FIRST]
    assert set(segments.flat_values.numpy()) == {0}
    inputs = padded(ids[:2], segments[:2])
    assert inputs["ids"].shape == inputs["segments"].shape


def test_no_room():
    text = tf.ragged.constant(FIRST, dtype=tf.int32)
    with pytest.raises(ValueError, match=r"`length` must be at least 5.*length=4"):
        framed(Frames, text, text, length=4)
