"""Hard alignments against a search for each row's largest weight."""

import numpy as np
import pytest
from keras import ops

from keras_transformer.decoding.alignment import hard_alignment

pytestmark = pytest.mark.any_backend


@pytest.mark.parametrize(("source_length", "target_length"), [(4, 6), (6, 4), (1, 3), (5, 1)])
def test_the_largest_weight_of_each_target_token(source_length, target_length):
    # Also with rows and columns of padding, which a batch has.
    weights = np.random.default_rng(0).random((9, 8))
    expected = []
    for target in range(target_length):
        row = [(weights[target][source], source) for source in range(source_length)]
        expected.append((max(row)[1], target))
    assert hard_alignment(weights, source_length, target_length) == expected


def test_eos_is_no_part_of_it():
    # Each token attends to the source's eos most, and the target's eos to the first token.
    weights = np.array([[0.1, 0.2, 0.7], [0.2, 0.1, 0.7], [0.9, 0.1, 0.0]])
    assert hard_alignment(weights, source_length=2, target_length=2) == [(1, 0), (0, 1)]


def test_nothing_to_align():
    weights = np.ones((1, 1))
    assert hard_alignment(weights, source_length=0, target_length=1) == []
    assert hard_alignment(weights, source_length=1, target_length=0) == []
    assert hard_alignment(weights, source_length=0, target_length=0) == []


def test_tensors_give_plain_numbers():
    weights = ops.convert_to_tensor(np.array([[0.25, 0.75], [0.75, 0.25]], "float32"))
    alignment = hard_alignment(weights, 2, 2)
    assert alignment == [(1, 0), (0, 1)]
    assert {type(number) for pair in alignment for number in pair} == {int}
