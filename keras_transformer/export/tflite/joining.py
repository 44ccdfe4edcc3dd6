"""Ids to bytes in graph: the bytes of pieces in a row."""

from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.export.tflite import utf8
from keras_transformer.export.tflite.normalizer import SPACE
from keras_transformer.export.tflite.pieces import BYTE, CONTROL, UNKNOWN, parse
from keras_transformer.export.tflite.vectors import kept, ranges
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import UNK_ID


class Joining:
    """Joins ids into a text, as a `SubwordTokenizer` does.

    Args:
        tokenizer: The tokenizer.

    Example:
        >>> joining = Joining(tokenizer)
        >>> [ids] = tokenizer.tokenize(["a dog"])
        >>> bytes(joining.join(ids).numpy().tolist())
        b'a dog\\x00'
    """

    def __init__(self, tokenizer: SubwordTokenizer):
        proto = parse(tokenizer.model)
        pieces = [_bytes_of(piece, proto.trainer_spec.unk_surface) for piece in proto.pieces]
        # Of the last one, the text ends.
        lengths = [*map(len, pieces), 1]
        self._bytes = np.frombuffer(b"".join([*pieces, b"\0"]), np.uint8)
        self._starts = np.cumsum([0, *lengths[:-1]], dtype=np.int32)
        self._lengths = np.array(lengths, np.int32)
        begins = [piece.piece.startswith(chr(SPACE)) for piece in proto.pieces]
        self._begins_word = np.array([*begins, False], np.int32)
        self._end = len(pieces)
        self._has_bytes = any(piece.type == BYTE for piece in proto.pieces)
        self._is_control = np.array(
            [*(piece.type == CONTROL for piece in proto.pieces), False], np.int32
        )
        self._is_stripped = tokenizer.segmentation is not None
        # A byte that is repaired becomes three.
        self.longest = max(lengths) * (3 if self._has_bytes else 1)

    def join(self, ids: tf.Tensor) -> tf.Tensor:
        """Joins ids.

        Args:
            ids: int32 `[tokens]`, not none, of which special ones have no text.

        Returns:
            int32 `[bytes + 1]`, of which the last one is 0 and no part of the text.
        """
        ids = tf.where(ids < self._end, ids, UNK_ID)
        ids = tf.concat([ids, [self._end]], 0)
        lengths, begins = tf.gather(self._lengths, ids), tf.gather(self._begins_word, ids)
        # A text does not begin with the space before its first word.
        before = tf.cumsum(tf.minimum(lengths - begins, 1), exclusive=True) == 0
        dropped = tf.where(before, begins, 0)
        starts, lengths = tf.gather(self._starts, ids) + dropped, lengths - dropped
        if self._has_bytes:
            text = self._repaired(starts, lengths, tf.gather(self._is_control, ids))
        else:
            text = self._bytes_at(ranges(starts, lengths)[0])
        return _stripped(text) if self._is_stripped else text

    def _repaired(self, starts: tf.Tensor, lengths: tf.Tensor, is_control: tf.Tensor) -> tf.Tensor:
        """Joins bytes, and repairs what is no character: none reaches over a control piece."""
        numbers, owners = ranges(starts, lengths + is_control)
        # -1 is no byte of a character, and stays as it is.
        text = tf.where(tf.gather(is_control, owners) > 0, -1, self._bytes_at(numbers))
        text = utf8.repair(text)
        return tf.gather(text, kept(text >= 0))

    def _bytes_at(self, numbers: tf.Tensor) -> tf.Tensor:
        return tf.cast(tf.gather(self._bytes, numbers), tf.int32)


def _bytes_of(piece: Any, unknown: str) -> bytes:
    if piece.type == CONTROL:
        return b""
    if piece.type == UNKNOWN:
        return unknown.encode()
    if piece.type == BYTE:
        return bytes([int(piece.piece[3:-1], 16)])
    return piece.piece.replace(chr(SPACE), " ").encode()


def _stripped(text: tf.Tensor) -> tf.Tensor:
    """Drops white space at the start and the end of a text that ends with 0."""
    places = tf.range(tf.size(text))
    is_text = ~tf.reduce_any(text[:, None] == [0, *b" \t\n\v\f\r"], 1)
    start = tf.reduce_min(tf.where(is_text, places, tf.size(text) - 1))
    end = tf.reduce_max(tf.where(is_text, places + 1, 0))
    return tf.concat([text[start : tf.maximum(end, start)], [0]], 0)
