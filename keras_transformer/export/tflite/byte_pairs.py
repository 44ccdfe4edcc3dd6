"""Byte-pair encoding in graph: merges neighbours into pieces, the best piece first.

As in SentencePiece, any two neighbours that together are a piece can merge, and of equal pieces
the first one goes first. No piece reaches beyond a word, so that each round merges in all words at
once, and a text takes as many rounds as its longest word.

Reference:
    "Neural Machine Translation of Rare Words with Subword Units", arXiv 1508.07909.
"""

from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.export.tflite.normalizer import SPACE
from keras_transformer.export.tflite.pieces import normal_pieces
from keras_transformer.export.tflite.tables import CodePointTable, PairTable
from keras_transformer.export.tflite.vectors import kept, shifted

_NO_RANK = np.iinfo(np.int32).max


class BytePairs:
    """Segments text by a vocabulary of merges.

    A piece goes by its rank here, the best one's being 0.

    Args:
        proto: A SentencePiece model of type BPE.

    Raises:
        ValueError: If it holds a piece with a character that is no piece, or two of equal score.

    Example:
        >>> from keras_transformer.export.tflite.pieces import parse
        >>> codes = tf.constant([*map(ord, "\u2581a\u2581dog")])
        >>> ids, places = BytePairs(parse(tokenizer.model)).segment(codes)
        >>> ids.numpy().tolist() == tokenizer.tokenize(["a dog"]).to_list()[0][:-1]
        True
    """

    def __init__(self, proto: Any):
        pieces = sorted(normal_pieces(proto).items(), key=lambda item: -proto.pieces[item[1]].score)
        ids = [*(number for _, number in pieces), proto.trainer_spec.unk_id]
        self._ids = np.array(ids, np.int32)
        ranks = {piece: rank for rank, (piece, _) in enumerate(pieces)}
        merges = {
            (ranks[piece[:cut]], ranks[piece[cut:]]): rank
            for piece, rank in ranks.items()
            for cut in range(1, len(piece))
            if piece[:cut] in ranks and piece[cut:] in ranks
        }
        _require_followable(proto, ranks, {*merges.values()})
        self._unknown = len(ranks)
        self._characters = CodePointTable(
            {ord(piece): rank for piece, rank in ranks.items() if len(piece) == 1}, self._unknown
        )
        self._merges = PairTable(merges, self._unknown + 1, self._unknown + 1, _NO_RANK)
        self._has_words = not any(chr(SPACE) in piece[1:] for piece in ranks)

    def segment(self, codes: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Segments a text.

        Args:
            codes: int32 `[characters]`, normalized.

        Returns:
            The ids of its pieces, and the place of the first character of each, int32 `[pieces]`;
            a character that is no piece is unk.
        """
        begins = tf.cast((codes == SPACE) & self._has_words, tf.int32)
        word_of, words = tf.cumsum(begins), tf.reduce_sum(begins) + 1

        def any_left(symbols: tf.Tensor, places: tf.Tensor, ranks: tf.Tensor) -> tf.Tensor:
            return tf.reduce_min(ranks) < _NO_RANK

        def merge(symbols: tf.Tensor, places: tf.Tensor, ranks: tf.Tensor) -> tuple[tf.Tensor, ...]:
            numbers, owners = tf.range(tf.size(symbols)), tf.gather(word_of, places)
            best = tf.math.unsorted_segment_min(ranks, owners, words)
            is_best = (ranks == tf.gather(best, owners)) & (ranks < _NO_RANK)
            at = tf.where(is_best, numbers, tf.size(symbols))
            at = tf.math.unsorted_segment_min(at, owners, words)
            merges = numbers == tf.gather(at, owners)
            left = kept(~shifted(merges, 1, False))
            symbols = tf.gather(tf.where(merges, ranks, symbols), left)
            return symbols, tf.gather(places, left), self._ranks(symbols)

        symbols = self._characters.lookup(codes)
        vector = tf.TensorShape([None])
        symbols, places, _ = tf.while_loop(
            any_left,
            merge,
            (symbols, tf.range(tf.size(codes)), self._ranks(symbols)),
            shape_invariants=(vector, vector, vector),
        )
        return tf.gather(self._ids, symbols), places

    def _ranks(self, symbols: tf.Tensor) -> tf.Tensor:
        """Returns the rank of what each symbol and the next one make."""
        return self._merges.lookup(symbols, shifted(symbols, -1, self._unknown))


def _require_followable(proto: Any, ranks: dict[str, int], merged: set[int]) -> None:
    if unknown := {*"".join(ranks)} - {*ranks}:
        raise ValueError(
            "`tokenizer` must have a piece for each character of its pieces. Received: one without "
            f"{', '.join(map(repr, sorted(unknown)[:5]))}"
        )
    pieces = normal_pieces(proto)
    scores = [proto.pieces[pieces[piece]].score for piece, rank in ranks.items() if rank in merged]
    if len({*scores}) < len(scores):
        raise ValueError(
            "`tokenizer` must say which of two merges goes first. Received: pieces of equal score"
        )
