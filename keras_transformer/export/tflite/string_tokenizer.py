"""The subword tokenizer with operations that TFLite runs.

TF Text has a SentencePiece kernel for TFLite, `FastSentencepieceTokenizer`, which finds the best
path through a unigram vocabulary. It takes the merge ranks of a byte-pair vocabulary for unigram
scores and gives other tokens than SentencePiece does, without an error. So of a byte-pair
vocabulary it gets the single characters alone: it normalizes and cuts a text into them, and
`BytePairs` merges them.
"""

from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.export.tflite.byte_pairs import BytePairs
from keras_transformer.export.tflite.pieces import NORMAL, parse
from keras_transformer.export.tflite.tables import END
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import EOS_ID, UNK_ID


class LiteTokenizer:
    """Tokenizes one string in graph, as a `SubwordTokenizer` does.

    Args:
        tokenizer: The tokenizer.
        max_length: Most tokens, eos included. What goes beyond is not read.

    Raises:
        ValueError: If the vocabulary falls back to bytes: TFLite's kernel does not.

    Example:
        >>> lite = LiteTokenizer(tokenizer, max_length=16)
        >>> ids = lite.tokenize(tf.constant(["a small dog"]))
        >>> lite.detokenize(ids).numpy().tolist()
        [b'a small dog']
    """

    def __init__(self, tokenizer: SubwordTokenizer, max_length: int):
        import tensorflow_text

        segmentation = tokenizer.segmentation or tokenizer.model
        proto = parse(segmentation)
        if proto.trainer_spec.byte_fallback:
            raise ValueError(
                "`tokenizer` must not fall back to bytes, which TFLite's kernel cannot. Received: "
                "a vocabulary with byte_fallback"
            )
        if tokenizer.tags:
            raise ValueError(
                "`tokenizer` must have no language tags, which TFLite's kernel cannot cut off; use "
                f"the model of bytes, without --strings. Received: {', '.join(tokenizer.tags)}"
            )
        fast = tensorflow_text.FastSentencepieceTokenizer
        self._vocabulary = fast(tokenizer.model)
        self._pieces = fast(segmentation)
        self._ids = None
        if tokenizer.segmentation is not None:
            known = tokenizer.ids
            ids = [known.get(piece.piece, UNK_ID) for piece in proto.pieces]
            self._ids = np.array(ids, np.int32)
        self._merges = None
        if proto.trainer_spec.model_type == proto.trainer_spec.BPE:
            self._merges = BytePairs(proto)
            characters, self._codes = _only_characters(proto)
            self._characters = fast(characters.SerializeToString())
            # No token is longer, so the first characters hold all tokens that are read.
            self._most_characters = max_length * max(len(piece.piece) for piece in proto.pieces)

    def tokenize(self, text: tf.Tensor) -> tf.Tensor:
        """Splits a string into ids.

        Args:
            text: string `[1]`.

        Returns:
            int32 `[tokens]`, ending with eos.
        """
        if self._merges is None:
            ids = self._pieces.tokenize(text).flat_values
        else:
            characters = self._characters.tokenize(text).flat_values
            codes = tf.gather(self._codes, characters[: self._most_characters])
            ids = self._merges.segment(tf.concat([codes, [END]], 0))[0][:-1]
        if self._ids is not None:
            ids = tf.gather(self._ids, ids)
        return tf.concat([ids, [EOS_ID]], 0)

    def detokenize(self, ids: tf.Tensor) -> tf.Tensor:
        """Joins ids into a string.

        Args:
            ids: int32 `[tokens]`, without special ids.

        Returns:
            string `[1]`.
        """
        splits = tf.stack([0, tf.size(ids)])
        return self._vocabulary.detokenize(
            tf.RaggedTensor.from_row_splits(ids, splits, validate=False)
        )


def _only_characters(proto: Any) -> tuple[Any, np.ndarray]:
    """Makes a unigram model of the special tokens and single characters of a vocabulary.

    Returns:
        The model, and the code points of its pieces, int32, `END` for special tokens.
    """
    kept = [
        i for i, piece in enumerate(proto.pieces) if piece.type != NORMAL or len(piece.piece) == 1
    ]
    characters = type(proto)()
    characters.CopyFrom(proto)
    del characters.pieces[:]
    characters.pieces.extend(proto.pieces[i] for i in kept)
    characters.trainer_spec.model_type = proto.trainer_spec.UNIGRAM
    codes = [ord(piece.piece) if piece.type == NORMAL else END for piece in characters.pieces]
    return characters, np.array(codes, np.int32)
