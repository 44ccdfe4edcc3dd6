"""UTF-8, decoded and encoded in graph: what is malformed reads as U+FFFD, byte by byte.

The same is valid as in SentencePiece: no overlong form, no surrogate, nothing beyond U+10FFFF.
"""

from typing import NamedTuple

import tensorflow as tf

from keras_transformer.export.tflite.vectors import kept, ranges, shifted

REPLACEMENT = 0xFFFD
# The first code of each length, and what its first byte has beside bits of the code.
_FIRST = (0x0, 0x80, 0x800, 0x10000)
_LEAD = (0x0, 0xC0, 0xE0, 0xF0)


class Characters(NamedTuple):
    """What a character would be that begins at each byte of a text.

    Args:
        codes: int32 `[bytes]`, code points; U+FFFD where none begins.
        lengths: int32 `[bytes]`, how many bytes it has; 1 where none begins.
        valid: bool `[bytes]`, whether one begins.
    """

    codes: tf.Tensor
    lengths: tf.Tensor
    valid: tf.Tensor

    @property
    def are_read(self) -> tf.Tensor:
        """Which bytes are no part of a character before, bool `[bytes]`.

        No character begins within another, so each byte knows by those before it.
        """
        ends = [shifted(self.lengths, by) > by for by in (1, 2, 3)]
        return ~(ends[0] | ends[1] | ends[2])


def decode(text: tf.Tensor) -> Characters:
    """Decodes the character at each byte.

    Args:
        text: int32 `[bytes]`.

    Example:
        >>> found = decode(tf.constant([*"\u00e4".encode(), 0xFF]))
        >>> found.codes.numpy().tolist(), found.lengths.numpy().tolist()
        ([228, 65533, 65533], [2, 1, 1])
    """
    first, *trails = (shifted(text, -by) for by in range(4))
    ascii = first < 0x80
    codes = tf.where(ascii, first, REPLACEMENT)
    lengths, well_formed, valid = tf.ones_like(first), tf.ones_like(ascii), ascii
    for length in (2, 3, 4):
        bits = 2 ** (7 - length)
        well_formed &= trails[length - 2] // 64 == 2
        code = first % bits
        for trail in trails[: length - 1]:
            code = code * 64 + trail % 64
        # Surrogates are one block of 2048 codes.
        in_range = (code >= _FIRST[length - 1]) & (code <= 0x10FFFF) & (code // 0x800 != 0x1B)
        is_one = well_formed & in_range & (first // bits == _LEAD[length - 1] // bits)
        codes = tf.where(is_one, code, codes)
        lengths = tf.where(is_one, length, lengths)
        valid |= is_one
    return Characters(codes, lengths, valid)


def encode(codes: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Encodes code points.

    Args:
        codes: int32 `[characters]`, not none.

    Returns:
        Their bytes, and the character that each is of, both int32 `[bytes]`.

    Example:
        >>> text, owners = encode(tf.constant([0x61, 0xE4]))
        >>> text.numpy().tolist(), owners.numpy().tolist()
        ([97, 195, 164], [0, 1, 1])
    """
    lengths = 1 + sum(tf.cast(codes >= first, tf.int32) for first in _FIRST[1:])
    numbers, owners = ranges(tf.zeros_like(codes), lengths)
    lengths = tf.gather(lengths, owners)
    bits = tf.gather(codes, owners) // tf.gather([1, 64, 64**2, 64**3], lengths - 1 - numbers)
    return tf.where(numbers == 0, tf.gather(_LEAD, lengths - 1) + bits, 0x80 + bits % 64), owners


def repair(text: tf.Tensor) -> tf.Tensor:
    """Puts U+FFFD in place of each byte that is malformed.

    Args:
        text: int32 `[bytes]`, not none.

    Returns:
        int32 `[bytes]`.

    Example:
        >>> bytes(repair(tf.constant([0x61, 0xC3])).numpy().tolist())
        b'a\xef\xbf\xbd'
    """
    found = decode(text)
    return encode(tf.gather(found.codes, kept(found.are_read)))[0]
