"""Tags of languages: cut off, and put before every piece."""

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.text.tags import cut_off_tags, languages_of_tags
from keras_transformer.translation.target_tags import TargetTags

TOKENIZER = SimpleNamespace(tags={"fra": 4, "deu": 5})
PLAIN = SimpleNamespace(tags={})


def test_tags_of_texts():
    """At the start alone, and of bytes that are no characters as well."""
    lines = [">>fra<< a", "a >>fra<<", ">>fra a", ">><<", ">>a<<>>b<< c", "", b">>fra<<\xff\xfe\n"]
    tags, rest = cut_off_tags(tf.constant(lines))
    assert tags.numpy().tolist() == [*(b">>fra<<", b"", b"", b">><<", b">>a<<", b"", b">>fra<<")]
    expected = [b" a", b"a >>fra<<", b">>fra a", b"", b">>b<< c", b"", b"\xff\xfe\n"]
    assert rest.numpy().tolist() == expected


def test_tags_of_a_vocabulary():
    pieces = ["<pad>", ">>fra<<", "<<", ">>zh_Hans<<", ">><<", "a>>b<<"]
    assert languages_of_tags(pieces) == {"fra": 1, "zh_Hans": 3}


def test_every_piece_begins_with_the_tag_of_its_text():
    tags = TargetTags(TOKENIZER, "deu")
    given, rest = tags.cut_off(tf.ragged.constant([[4, 9, 8, 3], [9, 4, 3], [3], [4, 3]], tf.int32))
    assert given.numpy().tolist() == [[4], [5], [5], [4]]
    assert rest.to_list() == [[9, 8, 3], [9, 4, 3], [3], [3]]
    pieces = tf.ragged.constant([[9, 3], [8, 3], [9, 4, 3], [3]], tf.int32)
    tagged = tags.put_before(given, pieces, np.array([0, 0, 1, 2]))
    # A text without text stays without.
    assert tagged.to_list() == [[4, 9, 3], [4, 8, 3], [5, 9, 4, 3], [3]]


def test_without_tags_nothing_changes():
    tags, tokens = TargetTags(PLAIN, None), tf.ragged.constant([[4, 3]], tf.int32)
    given, rest = tags.cut_off(tokens)
    assert given is None
    assert rest is tokens
    assert tags.put_before(given, tokens) is tokens


@pytest.mark.parametrize(
    ("tokenizer", "language", "message"),
    [
        (TOKENIZER, None, "one of those that the model knows: fra, deu. Received: None"),
        (TOKENIZER, "spa", "one of those that the model knows: fra, deu. Received: 'spa'"),
        (PLAIN, "fra", "must be None for a vocabulary without language tags"),
    ],
)
def test_languages_that_there_are_not(tokenizer, language, message):
    with pytest.raises(ValueError, match=message):
        TargetTags(tokenizer, language)


def test_the_tag_of_a_text_is_that_of_all_its_lines():
    """Unless a line asks for itself."""
    tags = TargetTags(TOKENIZER, "deu")
    lines = [[4, 9, 3], [9, 3], [5, 9, 3], [9, 3], [9, 3], [4, 3], [9, 3]]
    owners = tf.constant([0, 0, 0, 0, 1, 2, 2], tf.int64)
    given, rest = tags.cut_off(tf.ragged.constant(lines, tf.int32), owners)
    assert given.numpy().ravel().tolist() == [4, 4, 5, 4, 5, 4, 4]
    assert rest.to_list() == [[9, 3]] * 5 + [[3], [9, 3]]
