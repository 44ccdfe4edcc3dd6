"""Line breaks, in graph and in Python, against `str.splitlines`-like splitting by hand."""

import re

import tensorflow as tf
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keras_transformer.translation.lines import breaks_to_spaces, split_lines, translate_by_lines
from keras_transformer.translation.results import Translation

# Each spelled on its own; of `\r\n` the longer one counts.
BREAKS = ["\r\n", "\n", "\v", "\f", "\r", "\x85", "\u2028", "\u2029"]
PARTS = [*BREAKS, "a", "dog ", "\u200b", "|", "\\1", "\u2027", "\x84", "é"]
texts = st.lists(st.sampled_from(PARTS), max_size=12).map("".join)


def parts_of(text):
    """Lines and the breaks after them, in turn."""
    return re.split("(" + "|".join(BREAKS) + ")", text)


@settings(max_examples=200, deadline=None)
@given(batch=st.lists(texts, max_size=4))
@example(batch=["", "\n", "\r\n\n\r", "a|\n|b", "\u2028|", "\r\u2028"])
def test_equals_a_plain_split(batch):
    lines = split_lines(tf.constant(batch, tf.string))
    expected = [parts_of(text) for text in batch]
    rows = [(row, line) for row, parts in enumerate(expected) for line in parts[::2]]
    breaks = [end for parts in expected for end in [*parts[1::2], ""]]
    assert [line.decode() for line in lines.text.numpy()] == [line for _, line in rows]
    assert [end.decode() for end in lines.breaks.numpy()] == breaks
    assert lines.owners.numpy().tolist() == [row for row, _ in rows]


def test_bytes_that_are_no_text():
    """U+0085 is C2 85, and U+2028 is E2 80 A8."""
    batch = [b"\xc2\n\x85", b"\xe2\x80\r\xa8", b"\x85\xff", b"\xe2\x80"]
    lines = split_lines(tf.constant(batch))
    assert lines.text.numpy().tolist() == [b"\xc2", b"\x85", b"\xe2\x80", b"\xa8", *batch[2:]]
    assert lines.breaks.numpy().tolist() == [b"\n", b"", b"\r", b"", b"", b""]


@given(text=texts)
@example(text="\x84")
@example(text="\u200b\n\x84")
def test_line_by_line_in_python(text):
    asked = []

    def translate(line):
        asked.append(line.decode())
        return Translation(line.decode().upper(), -1.0)

    found = translate_by_lines(translate, text.encode())
    if not re.sub("[\u200b\x84]", "", text).strip():
        assert asked == [""], "nothing to see, and no breaks to keep"
    else:
        assert asked == parts_of(text)[::2]
        assert found == (text.upper(), -float(len(asked)))


def test_a_space_for_each_break():
    text = tf.constant(["a" + "b".join(BREAKS) + "c"])
    assert breaks_to_spaces(text).numpy() == [("a" + "b".join(" " * len(BREAKS)) + "c").encode()]
