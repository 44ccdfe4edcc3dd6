"""The subword tokenizer with TFLite's own operations: bytes to ids, and ids to bytes.

What SentencePiece does is done in vectors: all characters are looked at in one step, and loops are
as long as a word or a rule. A text is int32 `[bytes + 1]` here and ends with 0, so that no vector
is empty.
"""

import numpy as np
import tensorflow as tf

from keras_transformer.export.tflite import utf8
from keras_transformer.export.tflite.byte_pairs import BytePairs
from keras_transformer.export.tflite.joining import Joining
from keras_transformer.export.tflite.normalizer import Normalizer
from keras_transformer.export.tflite.pieces import parse, require_followable
from keras_transformer.export.tflite.tables import END, CodePointTable
from keras_transformer.export.tflite.tags import Tags
from keras_transformer.export.tflite.unigram import Unigram
from keras_transformer.export.tflite.vectors import kept, shifted
from keras_transformer.text.invisible import CONTROLS, IGNORABLE, SPACES
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import EOS_ID, PAD_ID, UNK_ID

# Of code points, first and last of each range.
_NOTHING = np.array([*IGNORABLE, *CONTROLS, *SPACES], np.int32)
_LINE_BREAKS = (0xA, 0xB, 0xC, 0xD, 0x85, 0x2028, 0x2029)


class ByteTokenizer:
    """Tokenizes one text in graph, as a `SubwordTokenizer` does.

    Args:
        tokenizer: The tokenizer.
        max_bytes: Most bytes of a text.
        as_line: Whether line breaks are spaces, and text that shows nothing is none, as where lines
            are translated; if not, the text is SentencePiece's as it is.

    Raises:
        ValueError: If the vocabulary has what is not followed here: see `require_followable`.

    Example:
        >>> bytes_tokenizer = ByteTokenizer(tokenizer, max_bytes=64)
        >>> ids = bytes_tokenizer.tokenize(tf.constant([*b"a small dog", 0]))
        >>> bytes(bytes_tokenizer.detokenize(ids).numpy().tolist())
        b'a small dog\\x00'
    """

    def __init__(self, tokenizer: SubwordTokenizer, max_bytes: int, as_line: bool = True):
        proto = parse(tokenizer.segmentation or tokenizer.model)
        require_followable(proto)
        self._as_line = as_line
        self._tags = Tags(tokenizer.tags)
        self._normalizer = Normalizer(proto.normalizer_spec, max_bytes)
        is_bpe = proto.trainer_spec.model_type == proto.trainer_spec.BPE
        self._segmenter = BytePairs(proto) if is_bpe else Unigram(proto, max_bytes)
        self._unknown = proto.trainer_spec.unk_id
        pieces, known = [piece.piece for piece in proto.pieces], tokenizer.ids
        self._ids = np.array([known.get(piece, UNK_ID) for piece in pieces], np.int32)
        # A character that the segmentation does not know may be in the vocabulary.
        others = {*known} - {*pieces}
        self._others = CodePointTable(
            {ord(piece): known[piece] for piece in others if len(piece) == 1}, UNK_ID
        )
        self._byte_ids = None
        if proto.trainer_spec.byte_fallback:
            spelled = [known.get(f"<0x{byte:02X}>", UNK_ID) for byte in range(256)]
            self._byte_ids = np.array(spelled, np.int32)
        self.detokenize = Joining(tokenizer).join

    def tokenize(self, text: tf.Tensor) -> tf.Tensor:
        """Splits a text into ids.

        Args:
            text: int32 `[bytes + 1]`, of which the last one is 0 and no part of the text.

        Returns:
            int32 `[tokens]`, ending with eos.
        """
        tag, text = self._tags.cut_off(_as_line(text) if self._as_line else text)
        codes = self._normalizer.normalize(text)
        numbers, places = self._segmenter.segment(codes)
        codes = tf.gather(codes, places)
        is_unknown = (numbers == self._unknown) & (codes < END)
        ids, unknown = tf.gather(self._ids, numbers), tf.where(is_unknown, codes, 0)
        if self._byte_ids is None:
            ids = self._join_unknown(ids, unknown, is_unknown)
        else:
            spelled, owners = utf8.encode(unknown)
            ids = tf.where(
                tf.gather(is_unknown, owners),
                tf.gather(self._byte_ids, spelled),
                tf.gather(ids, owners),
            )
        ids = tf.concat([tf.reshape(tag, [1]), ids[:-1], [EOS_ID]], 0)
        return ids[tf.cast(tag == PAD_ID, tf.int32) :]

    def _join_unknown(self, ids: tf.Tensor, codes: tf.Tensor, is_unknown: tf.Tensor) -> tf.Tensor:
        """Makes one unk of those in a row; one character by itself may be known after all."""
        follows = shifted(is_unknown, 1, False)
        is_alone = is_unknown & ~follows & ~shifted(is_unknown, -1, False)
        ids = tf.where(is_alone, self._others.lookup(codes), ids)
        return tf.gather(ids, kept(~(is_unknown & follows)))


def _as_line(text: tf.Tensor) -> tf.Tensor:
    """Puts a space for each line break; of a text that shows nothing the end alone is left."""
    found = utf8.decode(text)
    codes = found.codes[:, None]
    shows = ~tf.reduce_any((codes >= _NOTHING[:, 0]) & (codes <= _NOTHING[:, 1]), 1)
    is_seen = tf.reduce_any(shows & found.are_read)
    lengths = tf.where(tf.reduce_any(codes == _LINE_BREAKS, 1), found.lengths, 0)
    goes_on = (shifted(lengths, 1) > 1) | (shifted(lengths, 2) > 2)
    text = tf.gather(tf.where(lengths > 0, ord(" "), text), kept(~goes_on))
    return text[tf.where(is_seen, 0, tf.size(text) - 1) :]
