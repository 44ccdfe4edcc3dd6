"""Where text that is too long is cut, against a plain loop."""

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from references import cut_plainly

from keras_transformer.text.vocabulary import EOS_ID
from keras_transformer.translation.pieces import Boundaries, split_into_pieces

SPECIAL = ["<pad>", "<unk>", "<s>", "</s>"]
VOCABULARY = [*SPECIAL, "▁the", "▁a", "dog", "s", ".", '!"', "▁.", "。", "。」"]
BOUNDARIES = Boundaries.of(VOCABULARY)


def split(rows, max_length, every_sentence=False):
    tokens = tf.RaggedTensor.from_row_lengths(
        tf.constant([i for row in rows for i in [*row, EOS_ID]], tf.int32),
        tf.constant([len(row) + 1 for row in rows], tf.int64),
    )
    pieces, owners = split_into_pieces(tokens, max_length, BOUNDARIES, every_sentence)
    assert pieces.dtype == tf.int32
    return pieces.to_list(), owners.numpy().tolist()


@settings(max_examples=200, deadline=None)
@given(
    rows=st.lists(st.lists(st.integers(4, len(VOCABULARY) - 1), max_size=25), max_size=5),
    max_length=st.integers(2, 9),
    every_sentence=st.booleans(),
)
def test_equals_a_plain_loop(rows, max_length, every_sentence):
    pieces, owners = split(rows, max_length, every_sentence)
    expected = [
        (owner, [*chunk, EOS_ID])
        for owner, row in enumerate(rows)
        for chunk in cut_plainly(row, max_length - 1, VOCABULARY, every_sentence)
    ]
    assert pieces == [piece for _, piece in expected]
    assert owners == [owner for owner, _ in expected]


@pytest.mark.parametrize(
    ("words", "most", "expected"),
    [
        ("▁the dog . ▁a dog s", 5, ["▁the dog .", "▁a dog s"]),
        # A full stop within a word ends nothing; where one must be cut, every sentence is a piece.
        ("▁the . s . ▁a dog . ▁the dog", 8, ["▁the . s .", "▁a dog .", "▁the dog"]),
        ('▁the dog !" ▁a dog', 4, ['▁the dog !"', "▁a dog"]),
        # No sentence ends here.
        ("▁the dog ▁a dog s", 4, ["▁the dog", "▁a dog s"]),
        # No word does.
        ("dog dog dog dog s", 4, ["dog dog dog dog", "s"]),
        # No space follows an ideographic full stop.
        ("dog 。 dog 。」 dog s", 5, ["dog 。", "dog 。」", "dog s"]),
        # What fits is not cut.
        ("▁the dog . ▁a dog", 5, ["▁the dog . ▁a dog"]),
    ],
)
def test_cuts(words, most, expected):
    pieces, _ = split([[VOCABULARY.index(word) for word in words.split()]], most + 1)
    assert [" ".join(VOCABULARY[i] for i in piece[:-1]) for piece in pieces] == expected


def test_every_sentence_of_a_short_text():
    words = [VOCABULARY.index(word) for word in ["▁the", "dog", ".", "▁a", "dog"]]
    pieces, _ = split([words], 20, every_sentence=True)
    assert [len(piece) for piece in pieces] == [4, 3]
