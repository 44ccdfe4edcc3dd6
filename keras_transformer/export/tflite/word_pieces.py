"""WordPiece with TFLite's own operations: the longest pieces of each word, from left to right.

All places of a text step down the vocabulary's trie at once; which of the pieces that they find are
met, one behind the other, is found by following pointers. A text is int32 `[bytes + 1]` here and
ends with 0, as in `byte_tokenizer.py`.
"""

from collections.abc import Iterable

import tensorflow as tf

from keras_transformer.export.tflite.bert_characters import LETTER, SIGN, SPACE, BertCharacters
from keras_transformer.export.tflite.trie import Trie, longest_matches
from keras_transformer.export.tflite.vectors import kept, shifted, walk_to_end
from keras_transformer.text.wordpiece import CONTINUES, UNK, WordPieceTokenizer

# A word with more is unknown.
_MOST_BYTES = 100
# What stands for `CONTINUES` in the trie: a character of no text, since controls are spaces.
_GOES_ON = "\0"


class ByteWordPieces:
    """Tokenizes one text in graph, as a `WordPieceTokenizer` does.

    But for pieces that hold white space, as some vocabularies have: no text is cut into these here.

    Args:
        tokenizer: The tokenizer.

    Example:
        >>> from keras_transformer.text.wordpiece import SPECIAL
        >>> pieces = ByteWordPieces(WordPieceTokenizer([*SPECIAL, "the", "cat", "##s"]))
        >>> pieces.tokenize(tf.constant([*b"The cats!", 0])).numpy().tolist()
        [5, 6, 7, 1, 3]
    """

    def __init__(self, tokenizer: WordPieceTokenizer):
        self._characters = BertCharacters(tokenizer.lowercase)
        self._trie = Trie(_pieces(tokenizer.pieces))
        self._begins, self._goes_on = self._trie.node(""), self._trie.node(_GOES_ON)
        self._unknown, self._sep = tokenizer.pieces.index(UNK), tokenizer.sep_id

    def tokenize(self, text: tf.Tensor) -> tf.Tensor:
        """Splits a text into ids.

        Args:
            text: int32 `[bytes + 1]`, of which the last one is 0 and no part of the text.

        Returns:
            int32 `[tokens]`, ending with `[SEP]`.
        """
        codes, sizes = self._characters.read(text)
        kinds = self._characters.kinds(codes)
        is_letter, in_word = kinds == LETTER, kinds != SPACE
        begins = (kinds == SIGN) | (is_letter & ~shifted(is_letter, 1, False))
        # What is between words counts to the one before.
        words = tf.cumsum(tf.cast(begins, tf.int32))
        trie, nodes = self._trie, tf.where(begins, self._begins, self._goes_on)
        numbers, lengths = longest_matches(
            nodes, trie.letters(codes), trie.nowhere, trie.no_letter, trie.descend
        )
        end, places = tf.size(codes) - 1, tf.range(tf.size(codes))
        met = walk_to_end(tf.minimum(places + tf.maximum(lengths, 1), end))
        # A word is unknown as a whole.
        count = words[-1] + 1
        fails = tf.cast(in_word & (numbers < 0), tf.int32)
        fails = tf.math.unsorted_segment_max(tf.gather(fails, met), tf.gather(words, met), count)
        sizes = tf.math.unsorted_segment_sum(tf.where(in_word, sizes, 0), words, count)
        is_unknown = tf.gather((fails > 0) | (sizes > _MOST_BYTES), words)
        ids = tf.where(is_unknown, self._unknown, numbers)
        is_token = in_word & (begins | ~is_unknown)
        ids, is_token = tf.where(places < end, ids, self._sep), is_token | (places == end)
        return tf.gather(ids, tf.gather(met, kept(tf.gather(is_token, met))))


def _pieces(vocabulary: Iterable[str]) -> dict[str, int]:
    """Returns the pieces that words can be cut into, and their ids."""
    found = {}
    for number, piece in enumerate(vocabulary):
        text = piece.removeprefix(CONTINUES)
        goes_on = text != piece
        kinds = BertCharacters.kinds_in(text)
        is_split = SIGN in kinds and (goes_on or len(text) > 1)
        if text and SPACE not in kinds and not is_split:
            found[f"{_GOES_ON if goes_on else ''}{text}"] = number
    return found
