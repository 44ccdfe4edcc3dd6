"""The subword tokenizer with operations that TFLite runs.

TF Text has a SentencePiece kernel for TFLite, `FastSentencepieceTokenizer`, which finds the best
path through a unigram vocabulary. It takes the merge ranks of a byte-pair vocabulary for unigram
scores and gives other tokens than SentencePiece does, without an error. So of a byte-pair
vocabulary it gets the single characters alone: it normalizes and cuts a text into them, and they
are merged here.
"""

from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import EOS_ID, UNK_ID

# SentencePiece's type of what is neither a special token, nor a byte.
_NORMAL = 1
_NO_RANK = np.iinfo(np.int32).max
# Beyond the last token, so that a text of no token has a pair.
_NOTHING = -1


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
        proto = _parse(segmentation)
        if proto.trainer_spec.byte_fallback:
            raise ValueError(
                "`tokenizer` must not fall back to bytes, which TFLite's kernel cannot. Received: "
                "a vocabulary with byte_fallback"
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
            self._merges = Merges(proto)
            self._characters = fast(self._merges.characters.SerializeToString())
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
            ids = self._merges.apply(characters[: self._most_characters])
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


class Merges:
    """Byte-pair encoding: merges neighbours into the pieces of a vocabulary, the best piece first.

    As in SentencePiece, any two neighbours that together are a piece can merge, and of equal pieces
    the first one goes first.

    Args:
        proto: A SentencePiece model of type BPE.

    Reference:
        "Neural Machine Translation of Rare Words with Subword Units", arXiv 1508.07909.
    """

    def __init__(self, proto: Any):
        pieces = [piece.piece for piece in proto.pieces]
        normal = {piece.piece: i for i, piece in enumerate(proto.pieces) if piece.type == _NORMAL}
        self._vocab_size = len(pieces)
        self.characters, kept = _only_characters(proto)
        self._ids_of_characters = np.array(kept, np.int32)
        self._by_rank = np.array(sorted(range(len(pieces)), key=lambda i: -proto.pieces[i].score))
        ranks = {int(i): rank for rank, i in enumerate(self._by_rank)}
        table = {
            self._key(normal[piece[:cut]], normal[piece[cut:]]): ranks[i]
            for piece, i in normal.items()
            for cut in range(1, len(piece))
            if piece[:cut] in normal and piece[cut:] in normal
        }
        self._keys, self._ranks, self._probes = _hash_table(table)

    def apply(self, characters: tf.Tensor) -> tf.Tensor:
        """Merges until no two neighbours are a piece.

        Args:
            characters: int32 `[characters]`, ids of the characters' own model.

        Returns:
            int32 `[tokens]`.
        """

        def any_left(ids: tf.Tensor, best: tf.Tensor, rank: tf.Tensor) -> tf.Tensor:
            return rank < _NO_RANK

        def merge(ids: tf.Tensor, best: tf.Tensor, rank: tf.Tensor) -> tuple[tf.Tensor, ...]:
            piece = tf.gather(tf.constant(self._by_rank, tf.int32), rank)
            ids = tf.concat([ids[:best], tf.reshape(piece, [1]), ids[best + 2 :]], 0)
            return ids, *self._best_pair(ids)

        ids = tf.gather(self._ids_of_characters, characters)
        ids = tf.concat([ids, [_NOTHING, _NOTHING]], 0)
        scalar = tf.TensorShape([])
        ids, _, _ = tf.while_loop(
            any_left,
            merge,
            (ids, *self._best_pair(ids)),
            shape_invariants=(tf.TensorShape([None]), scalar, scalar),
        )
        return ids[:-2]

    def _best_pair(self, ids: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the position of the pair that merges next, and the rank of its piece."""
        keys = self._key(tf.cast(ids[:-1], tf.int64), tf.cast(ids[1:], tf.int64))
        slots = tf.cast(_own_slot(keys, len(self._keys) - self._probes), tf.int32)
        slots = tf.reshape(slots, [-1, 1]) + np.arange(self._probes, dtype=np.int32)
        found = tf.equal(tf.gather(self._keys, slots), tf.reshape(keys, [-1, 1]))
        ranks = tf.reduce_min(tf.where(found, tf.gather(self._ranks, slots), _NO_RANK), 1)
        best = tf.argmin(ranks, output_type=tf.int32)
        return best, tf.gather(ranks, best)

    def _key(self, left: Any, right: Any) -> Any:
        return left * self._vocab_size + right


def _parse(model: bytes) -> Any:
    from sentencepiece import sentencepiece_model_pb2

    return sentencepiece_model_pb2.ModelProto.FromString(model)


def _only_characters(proto: Any) -> tuple[Any, list[int]]:
    """Makes a unigram model of the special tokens and single characters of a vocabulary.

    Returns:
        The model, and the ids of its pieces in the vocabulary.
    """
    kept = [
        i for i, piece in enumerate(proto.pieces) if piece.type != _NORMAL or len(piece.piece) == 1
    ]
    characters = type(proto)()
    characters.CopyFrom(proto)
    del characters.pieces[:]
    characters.pieces.extend(proto.pieces[i] for i in kept)
    characters.trainer_spec.model_type = proto.trainer_spec.UNIGRAM
    return characters, kept


def _hash_table(table: dict[int, int]) -> tuple[np.ndarray, np.ndarray, int]:
    """Lays a dict out for lookups by gathers: open addressing with linear probing.

    Returns:
        The keys, int64 `[slots]`, -1 where there is none; their values, int32 `[slots]`; and in how
        many slots from its own on a key may be; that one is `_own_slot(key, slots - probes)`.
    """
    size, probes = 2 * len(table) + 1, 1
    keys, values = np.full(2 * size, -1, np.int64), np.zeros(2 * size, np.int32)
    for key, value in table.items():
        own = slot = _own_slot(key, size)
        while keys[slot] >= 0:
            slot += 1
        keys[slot], values[slot] = key, value
        probes = max(probes, slot - own + 1)
    return keys[: size + probes], values[: size + probes], probes


def _own_slot(key: Any, size: int) -> Any:
    """Hashes an int or int64s; the golden ratio spreads keys that lie side by side."""
    return key % 2_147_483_647 * 2_654_435_769 % size
