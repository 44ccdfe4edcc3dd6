"""Line breaks end pieces of a text, and its translation keeps them.

A model translates the lines one by one, and never sees a break.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from keras_transformer.text.invisible import shows_nothing
from keras_transformer.translation.results import Translation

# Unicode's line boundaries (UTS #18, RL1.6), as RE2 and Python's `re` both read them.
_BREAK = "\r\n|[\n-\r\u0085\u2028\u2029]"
# A break that joins with no character before it.
_END = "\u2028"


class Lines(NamedTuple):
    """The lines of a batch of strings.

    Args:
        text: string `[lines]`, without breaks.
        breaks: string `[lines]`, what follows each; "" at the end of a string.
        owners: int64 `[lines]`, the string that each belongs to, in order.
    """

    text: tf.Tensor
    breaks: tf.Tensor
    owners: tf.Tensor


def split_lines(text: tf.Tensor) -> Lines:
    """Splits strings at line breaks, in graph.

    Args:
        text: string `[batch]`, any bytes.

    Returns:
        Their lines, at least one for each string.

    Example:
        >>> lines = split_lines(tf.constant(["a dog\\r\\na cat", ""]))
        >>> lines.text.numpy().tolist(), lines.breaks.numpy().tolist()
        ([b'a dog', b'a cat', b''], [b'\\r\\n', b'', b''])
    """
    lines = tf.strings.split(tf.strings.regex_replace(text, _BREAK, "\n"), "\n")
    # Of each line and its break the break and a bar are left; the string's end is a break as well.
    breaks = tf.strings.regex_replace(tf.strings.join([text, _END]), rf"\C*?({_BREAK})", r"\1|")
    breaks = tf.strings.split(tf.strings.regex_replace(breaks, rf"{_END}\|$", ""), "|")
    return Lines(lines.values, breaks.values, lines.value_rowids())


def breaks_to_spaces(text: tf.Tensor) -> tf.Tensor:
    """Makes a line of each string, in graph.

    Args:
        text: string `[batch]`.

    Returns:
        string `[batch]`.

    Example:
        >>> breaks_to_spaces(tf.constant(["a dog\\na cat"])).numpy().tolist()
        [b'a dog a cat']
    """
    return tf.strings.regex_replace(text, _BREAK, " ")


def translate_by_lines(translate: Callable[[bytes], Translation], text: bytes) -> Translation:
    """Translates a string line by line with what knows no lines.

    Args:
        translate: Translates a line.
        text: The string.

    Returns:
        The lines' translations with the breaks of the text between them; the sum of their
        log-probabilities.

    Example:
        >>> echo = lambda line: Translation(line.decode(), -1.0)
        >>> translate_by_lines(echo, b"a dog\\r\\na cat")
        Translation(text='a dog\\r\\na cat', log_prob=-2.0)
    """
    decoded = text.decode("utf-8", "surrogateescape")
    if shows_nothing(decoded):  # Nor is there a break to keep.
        return translate(b"")
    parts = re.split(f"({_BREAK})", decoded)
    lines = [translate(line.encode("utf-8", "surrogateescape")) for line in parts[::2]]
    parts[::2] = [line.text for line in lines]
    return Translation("".join(parts), sum(line.log_prob for line in lines))
