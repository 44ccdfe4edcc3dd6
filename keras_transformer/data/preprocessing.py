"""From pairs of lines to pairs of ids that a model can learn from.

Which pairs are kept depends on the usual pieces of their lines. So a draw of other pieces, or of
noise, never decides which pairs an epoch has.
"""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from keras_transformer.data.bucketing import lengths_of
from keras_transformer.data.corpora import LinePair
from keras_transformer.data.filtering import Ids, Pair, PairFilter
from keras_transformer.data.noise import WordNoise
from keras_transformer.data.weights import weighed_like
from keras_transformer.streams.chunking import chunked

if TYPE_CHECKING:
    import tensorflow as tf

    from keras_transformer.text.tokenizer import SubwordTokenizer

# Lines in one call of a tokenizer: enough to drown the cost of the call.
CHUNK = 1000


@dataclasses.dataclass(frozen=True)
class PairPreprocessor:
    """Tokenizes pairs of lines, drops those that are of no use, and draws pieces if asked to.

    Args:
        tokenizers: Those of source and target; one object twice when the vocabulary is joint.
        max_length: Longest side in tokens, eos included; longer pairs are dropped.
        max_ratio: Longest ratio of the sides' lengths; None for any.
        subword_dropout: Dropout of `SubwordTokenizer.tokenize_sampled`, which draws the pieces anew
            for each seed. A side that a draw makes longer than `max_length` keeps its usual pieces.
        noise: Makes the sources noisy, anew for each seed; None for sources as they are.

    Example:
        >>> preprocess = PairPreprocessor((tokenizer, tokenizer), max_length=32)
        >>> usable = preprocess.new_filter()
        >>> [(source, target)] = preprocess([("a dog", "ein Hund"), ("a dog", "")], usable)
        >>> usable.summary()
        'kept 1 of 2 pairs (dropped: 1 empty, 0 longer than 32 tokens)'
    """

    tokenizers: "tuple[SubwordTokenizer, SubwordTokenizer]"
    max_length: int
    max_ratio: float | None = None
    subword_dropout: float = 0.0
    noise: WordNoise | None = None

    def new_filter(self) -> PairFilter:
        """Returns a filter that has counted nothing yet."""
        return PairFilter(self.max_length, self.max_ratio)

    def __call__(
        self, lines: Iterable[LinePair], usable: PairFilter, seed: Sequence[int] = (0,)
    ) -> Iterator[Pair]:
        """Yields the ids of those pairs that are kept, in their order.

        Args:
            lines: The pairs of lines.
            usable: From `new_filter`; it counts the pairs.
            seed: Seed of the draws. The same lines and seed give the same ids, in any process.

        Yields:
            Source and target, each ending with eos: int32, shape [tokens]. A `WeightedPair` for
            one.
        """
        for number, chunk in enumerate(chunked(lines, CHUNK)):
            pairs: Iterable[Pair] = self._tokenized(chunk)
            kept = usable.kept(list(map(lengths_of, pairs)))
            kept_lines = list(itertools.compress(chunk, kept))
            pairs = itertools.compress(pairs, kept)
            if self.subword_dropout:
                pairs = self._resampled(kept_lines, list(pairs), seed=(*seed, number))
            if self.noise is not None:
                pairs = _noisy(self.noise, pairs, seed=(*seed, number))
            yield from map(weighed_like, pairs, kept_lines)

    lengths = staticmethod(lengths_of)

    def read(self, pairs: Sequence[Pair]) -> Sequence[Pair]:
        """Returns pairs as they are; `PreparedPairs` has places in their place."""
        return pairs

    def kept_lines(self, lines: Iterable[LinePair], usable: PairFilter) -> Iterator[LinePair]:
        """Yields those pairs of lines whose ids are kept, in their order.

        Args:
            lines: The pairs of lines.
            usable: From `new_filter`; it counts the pairs.
        """
        for chunk in chunked(lines, CHUNK):
            lengths = list(map(lengths_of, self._tokenized(chunk)))
            yield from itertools.compress(chunk, usable.kept(lengths))

    def _tokenized(self, lines: Sequence[LinePair]) -> list[Pair]:
        sources, targets = zip(*lines, strict=True)
        source_tokenizer, target_tokenizer = self.tokenizers
        source_ids = _rows(source_tokenizer.tokenize(sources))
        target_ids = _rows(target_tokenizer.tokenize(targets))
        return list(zip(source_ids, target_ids, strict=True))

    def _resampled(
        self, lines: Sequence[LinePair], pairs: Sequence[Pair], seed: Sequence[int]
    ) -> Iterator[Pair]:
        """Draws other pieces for pairs; a side that these would make too long stays."""

        def side(index: int) -> Iterator[Ids]:
            texts = [pair[index] for pair in lines]
            tokenizer = self.tokenizers[index]
            drawn = tokenizer.tokenize_sampled(texts, self.subword_dropout, (*seed, index))
            for ids, pair in zip(_rows(drawn), pairs, strict=True):
                yield ids if len(ids) <= self.max_length else pair[index]

        return zip(side(0), side(1), strict=True)


def _noisy(noise: WordNoise, pairs: Iterable[Pair], seed: Sequence[int]) -> Iterator[Pair]:
    """Makes the sources of a chunk noisy."""
    # The draws of pieces have 0 and 1 for the sides.
    rng = np.random.default_rng((*seed, 2))
    return ((noise(np.asarray(source), rng), target) for source, target in pairs)


def _rows(ragged: "tf.RaggedTensor") -> list[npt.NDArray[np.int32]]:
    """Takes ragged ids apart into one array for each row."""
    values, splits = ragged.values.numpy(), ragged.row_splits.numpy().tolist()
    # Copies: a view would keep its whole chunk in memory for as long as it waits in a bucket.
    return [values[start:end].copy() for start, end in itertools.pairwise(splits)]
