"""A vocabulary's own normalization in graph: SentencePiece's compiled rules and white space.

A rule puts characters in place of others; of several that apply at a place the longest counts, and
the text goes on behind it. The rules lie in a trie of bytes, a double array, in which all places of
a text step at once.
"""

from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.export.tflite import utf8
from keras_transformer.export.tflite.tables import END
from keras_transformer.export.tflite.trie import longest_matches
from keras_transformer.export.tflite.vectors import kept, ranges, shifted, walk

SPACE = 0x2581


class Normalizer:
    """Normalizes a text as a SentencePiece model does.

    Args:
        spec: The model's `normalizer_spec`.
        max_bytes: Most bytes of a text, and most characters that it becomes, its end included.

    Raises:
        ValueError: If white space is kept as it is.

    Example:
        >>> from keras_transformer.export.tflite.pieces import parse
        >>> spec = parse(tokenizer.model).normalizer_spec
        >>> normalize = Normalizer(spec, max_bytes=16).normalize
        >>> "".join(map(chr, normalize(tf.constant([*b" a  dog ", 0])).numpy()[:-1]))
        '\u2581a\u2581dog'
    """

    def __init__(self, spec: Any, max_bytes: int):
        if not (
            spec.add_dummy_prefix and spec.remove_extra_whitespaces and spec.escape_whitespaces
        ):
            raise ValueError(
                "`tokenizer` must begin a text with a space and collapse others; train it with "
                "`SubwordTokenizer.train`. Received: a vocabulary that keeps white space"
            )
        self._max_bytes = max_bytes
        self._trie, self._replacements, self._starts = _compiled_rules(spec.precompiled_charsmap)

    def normalize(self, text: tf.Tensor) -> tf.Tensor:
        """Normalizes a text.

        Args:
            text: int32 `[bytes]`, of which the last one is 0 and no part of the text.

        Returns:
            int32 `[characters]`, code points, of which the last one is `END`.
        """
        end, places = tf.size(text) - 1, tf.range(tf.size(text))
        found, (rules, lengths) = utf8.decode(text), self._longest_rules(text)
        has_rule = (rules >= 0) & (places < end)
        following = tf.minimum(places + tf.where(has_rule, lengths, found.lengths), end)
        met = walk(following, 0, self._max_bytes + 1)
        met = met[: tf.reduce_sum(tf.cast(met < end, tf.int32)) + 1]  # The end once.
        has_rule, rules = tf.gather(has_rule, met), tf.maximum(tf.gather(rules, met), 0)
        starts = tf.where(has_rule, tf.gather(self._starts, rules), 0)
        sizes = tf.where(has_rule, tf.gather(self._starts, rules + 1) - starts, 1)
        numbers, owners = ranges(starts, sizes)
        # A character without a rule stays.
        stayed = tf.gather(tf.where(places < end, found.codes, END), tf.gather(met, owners))
        replaced = tf.gather(self._replacements, numbers)
        return _collapsed(tf.where(tf.gather(has_rule, owners), replaced, stayed), self._max_bytes)

    def _longest_rules(self, text: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Finds the number and the bytes of the longest rule that applies at each byte."""
        root = tf.fill(tf.shape(text), int(self._trie[0]) // (2 * _LABELS))
        return longest_matches(root, text, _NOWHERE, 0, self._descend)

    def _descend(
        self, nodes: tf.Tensor, letters: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        units = tf.gather(self._trie, tf.bitwise.bitwise_xor(tf.maximum(nodes, 0), letters))
        is_child = (nodes >= 0) & (units >= 0) & (units % _LABELS == letters)
        nodes = tf.where(is_child, units // (2 * _LABELS), _NOWHERE)
        ends = is_child & (units // _LABELS % 2 == 1)
        return nodes, ends, -1 - tf.gather(self._trie, tf.maximum(nodes, 0))


# Of a unit of the trie below: a byte, whether a rule ends there, and where its children are.
_LABELS = 256
_NOWHERE = -1


def _compiled_rules(charsmap: bytes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Reads SentencePiece's compiled rules.

    Returns:
        A trie as a double array, int32: a child stands in the slot that its byte and the number of
        its parent's children give by XOR, as `(children * 2 + ends) * 256 + byte`; where a rule
        ends, `-1 - rule` stands for the byte 0. The replacements of all rules, int32 code points,
        and where that of each begins and ends, int32.
    """
    if not charsmap:
        nothing = np.full(_LABELS, -1, np.int32)
        return nothing, np.array([END], np.int32), np.zeros(2, np.int32)
    size = int.from_bytes(charsmap[:4], "little")
    units = np.frombuffer(charsmap[4 : 4 + size], "<u4").astype(np.int64)
    texts = charsmap[4 + size :]
    # Bit 31 marks a place in `texts`; otherwise bits 0-7 are a byte, bit 8 says that there is such
    # a place, and bits 10-30 how far the children are, in 256s if bit 9 is set.
    is_rule = units >> 31 == 1
    places, rules = np.unique(units[is_rule] & 0x7FFFFFFF, return_inverse=True)
    replacements = [texts[at : texts.index(b"\0", at)].decode() for at in places]
    children = np.arange(len(units)) ^ (units >> 10 << np.where(units >> 9 & 1, 8, 0))
    trie = (children * 2 + (units >> 8 & 1)) * _LABELS + units % _LABELS
    trie[is_rule] = -1 - rules
    codes = [ord(character) for text in replacements for character in text]
    starts = np.cumsum([0, *map(len, replacements)])
    return trie.astype(np.int32), np.array([*codes, END], np.int32), starts.astype(np.int32)


def _collapsed(codes: tf.Tensor, most: int) -> tf.Tensor:
    """Marks words: a space before each, and no other.

    Args:
        codes: int32 `[characters]`, of which the last one is `END`.
        most: Most characters that are kept.
    """
    is_space = codes == ord(" ")
    codes = tf.gather(codes, kept(~(is_space & shifted(is_space, 1, True))))
    codes = tf.concat([[SPACE], tf.where(codes == ord(" "), SPACE, codes)], 0)
    # Marks at the end, those of the text as well, belong to no word.
    in_words = tf.where(codes[:-1] == SPACE, 0, tf.range(1, tf.size(codes)))
    length = tf.minimum(tf.reduce_max(in_words), most - 1)
    return tf.concat([codes[:length], [END]], 0)
