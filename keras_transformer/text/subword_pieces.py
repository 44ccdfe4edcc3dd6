"""SentencePiece in the place of WordPiece: our own vocabulary, with a piece for what is hidden.

The start of a sentence stands before a text and its end after it, as `[CLS]` and `[SEP]` do.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from keras_transformer.files import write_atomically
from keras_transformer.text.tokenizer import SubwordTokenizer, in_graph
from keras_transformer.text.training import train_sentencepiece
from keras_transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID, UNK_ID
from keras_transformer.text.wordpiece import MASK

# What begins with a space, by SentencePiece's mark for one.
_SPACE = "\u2581"

MODEL_FILE = "pieces.model"


class SubwordPieces(tf.Module):
    """Strings to subword ids, with what `WordPieceTokenizer` has.

    Args:
        model: A serialized SentencePiece model with pad, unk, bos and eos at 0, 1, 2 and 3, and a
            piece `[MASK]` that no text is cut into.
        name: Name of the module.

    Raises:
        ValueError: If it is no such model.

    Example:
        >>> tokenizer = SubwordPieces.train(["the cat sat", "the dog ran"], vocab_size=21)
        >>> ids = tokenizer.tokenize(["the cat"])
        >>> tokenizer.detokenize(ids.to_tensor())
        ['the cat']
    """

    def __init__(self, model: bytes, name: str | None = None) -> None:
        super().__init__(name=name)
        self.model = model
        self._vocabulary = SubwordTokenizer(model)
        self._sentencepiece = in_graph(model)
        self.pieces = self._vocabulary.pieces
        self.vocab_size = len(self.pieces)
        if MASK not in self.pieces:
            raise ValueError(
                f"`model` must have a piece {MASK}; train it with `SubwordPieces.train`. Received: "
                "a model without it"
            )
        self.cls_id, self.sep_id, self.mask_id = BOS_ID, EOS_ID, self.pieces.index(MASK)

    @classmethod
    def train(cls, lines: Iterable[str], vocab_size: int, **options: Any) -> "SubwordPieces":
        """Trains a vocabulary on `lines`; see `train_sentencepiece` for the options."""
        return cls(train_sentencepiece(lines, vocab_size, symbols=[MASK], **options))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "SubwordPieces":
        """Reads a model that `save` wrote."""
        return cls(Path(path).read_bytes())

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes the model into a folder."""
        write_atomically(Path(folder) / MODEL_FILE, self.model)

    @property
    def special_ids(self) -> list[int]:
        """The ids of the special pieces."""
        return [PAD_ID, UNK_ID, self.cls_id, self.sep_id, self.mask_id]

    @property
    def begins_word(self) -> npt.NDArray[np.bool_]:
        """For each piece, whether a word begins with it, bool `[vocab_size]`."""
        special = self.special_ids
        return np.array([p.startswith(_SPACE) or i in special for i, p in enumerate(self.pieces)])

    def tokenize(self, text: tf.Tensor | Sequence[str | bytes]) -> tf.RaggedTensor:
        """As `WordPieceTokenizer.tokenize`."""
        return self._sentencepiece.tokenize(_batch(text))

    def tokenize_with_offsets(
        self, text: tf.Tensor | Sequence[str | bytes]
    ) -> tuple[tf.RaggedTensor, tf.RaggedTensor, tf.RaggedTensor]:
        """As `WordPieceTokenizer.tokenize_with_offsets`; a space belongs to what follows it."""
        ids, starts, ends = self._sentencepiece.tokenize_with_offsets(_batch(text))
        return ids, tf.cast(starts, tf.int64), tf.cast(ends, tf.int64)

    def to_pieces(self, ids: tf.Tensor) -> tf.Tensor:
        """Names ids of any shape, in graph; "" for padding."""
        return self._vocabulary.to_pieces(ids)

    def detokenize(self, ids: npt.ArrayLike) -> list[str]:
        """Joins the pieces of rows of ids into text that a person can read; padding is left out."""
        rows = ([self.pieces[i] for i in row if i != PAD_ID] for row in np.asarray(ids))
        return ["".join(row).replace(_SPACE, " ").strip() for row in rows]


def _batch(text: tf.Tensor | Sequence[str | bytes]) -> tf.Tensor:
    return tf.ensure_shape(tf.convert_to_tensor(text, tf.string), [None])
