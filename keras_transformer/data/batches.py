"""Padded batches of a corpus, epoch by epoch.

An epoch's order is a pure function of the seed and the epoch's index, so a run that was killed
finds its place again. Whatever the size of the corpus, memory holds the shuffle buffer and one
unfinished batch of each shape.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from keras_transformer.data.bucketing import Batch, BucketPlan, bucketed
from keras_transformer.data.corpora import Corpus
from keras_transformer.data.filtering import Pair, PairFilter
from keras_transformer.data.shuffling import sampled, shuffled
from keras_transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID

if TYPE_CHECKING:
    import tensorflow as tf

    from keras_transformer.text.tokenizer import SubwordTokenizer

Arrays = tuple[dict[str, np.ndarray], np.ndarray]

# Lines in one call of a tokenizer: enough to drown the cost of the call.
_CHUNK = 1000


class TranslationBatches:
    """Batches for `model.fit`, from a corpus and its tokenizers.

    A batch is `({"source": [batch, S], "target": [batch, T]}, labels [batch, T])`, int32 and padded
    with 0: source is tokens and eos, target is bos and tokens, labels are tokens and eos.

    Args:
        corpus: The pairs of lines.
        source_tokenizer: Tokenizer of the source language.
        target_tokenizer: Tokenizer of the target language; the same one when it is joint.
        batch_tokens: Most source tokens, and most target tokens, in a batch.
        max_length: Longest side in tokens, eos included; longer pairs are dropped.
        shuffle_buffer: Pairs that the shuffle holds in memory; 0 keeps the corpus's order.
        seed: Seed of every epoch's order.
        max_ratio: Longest ratio of the sides' lengths; None for any.
        static_shapes: Fill short batches with rows of padding, so that no batch has a shape
            outside of the plan.
        plan: The shapes; by default fitted to a sample of the corpus, which reads all of it once
            and so finds every malformed line before the first step.
        plan_sample: Pairs in that sample.

    Example:
        >>> from keras_transformer.text.tokenizer import SubwordTokenizer
        >>> corpus = Corpus("two pairs", lambda: iter([("a dog", "ein Hund"), ("a cat", "")]))
        >>> tokenizer = SubwordTokenizer.train(["a dog", "ein Hund"], vocab_size=16)
        >>> batches = TranslationBatches(
        ...     corpus, tokenizer, tokenizer, batch_tokens=64, max_length=32
        ... )
        >>> inputs, labels = next(batches.epoch(0))
        >>> batches.filter_summary
        'kept 1 of 2 pairs (dropped: 1 empty, 0 longer than 32 tokens)'
    """

    def __init__(
        self,
        corpus: Corpus,
        source_tokenizer: "SubwordTokenizer",
        target_tokenizer: "SubwordTokenizer",
        *,
        batch_tokens: int,
        max_length: int,
        shuffle_buffer: int = 200_000,
        seed: int = 0,
        max_ratio: float | None = None,
        static_shapes: bool = False,
        plan: BucketPlan | None = None,
        plan_sample: int = 100_000,
    ):
        for name, value, least in (
            ("batch_tokens", batch_tokens, 1),
            ("shuffle_buffer", shuffle_buffer, 0),
            ("plan_sample", plan_sample, 1),
        ):
            if value < least:
                raise ValueError(f"`{name}` must be at least {least}. Received: {name}={value}")
        self.corpus = corpus
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer
        self.max_length = max_length
        self.max_ratio = max_ratio
        self.shuffle_buffer = shuffle_buffer
        self.seed = seed
        self.static_shapes = static_shapes
        self._filter = PairFilter(max_length, max_ratio)
        if plan is None:
            sample = sampled(corpus, plan_sample, np.random.default_rng(seed))
            lengths = [(len(source), len(target)) for source, target in self._token_pairs(sample)]
            plan = BucketPlan.fit(lengths, tokens=batch_tokens, max_length=max_length)
        self.plan = plan

    @property
    def filter_summary(self) -> str:
        """What the filter kept and dropped in the latest epoch, so far."""
        return self._filter.summary()

    def epoch(self, index: int) -> Iterator[Arrays]:
        """Yields the batches of one epoch as NumPy arrays."""
        rng = np.random.default_rng([self.seed, index])
        pairs = self._token_pairs(shuffled(self.corpus, self.shuffle_buffer, rng))
        for batch in bucketed(pairs, self.plan):
            yield _arrays(batch, batch.shape.batch if self.static_shapes else len(batch.pairs))

    def dataset(self, first_epoch: int = 0, first_batch: int = 0) -> "tf.data.Dataset":
        """Returns a dataset that gives the next epoch each time it is iterated, as `fit` does.

        An iteration that is given up counts too, such as the one batch that Keras's `fit` takes
        to build a model under a distribution strategy.

        Args:
            first_epoch: Epoch of the first iteration.
            first_batch: Batches to skip in that epoch, to resume in its midst.
        """
        import tensorflow as tf

        epochs = itertools.count(first_epoch)

        def batches() -> Iterator[Arrays]:
            index = next(epochs)
            return itertools.islice(
                self.epoch(index), first_batch if index == first_epoch else 0, None
            )

        ids = tf.TensorSpec([None, None], tf.int32)
        signature = ({"source": ids, "target": ids}, ids)
        return tf.data.Dataset.from_generator(batches, output_signature=signature).prefetch(8)

    def _token_pairs(self, pairs: Iterable[tuple[str, str]]) -> Iterator[Pair]:
        """Tokenizes pairs of lines and drops those that cannot be learnt from."""
        self._filter = PairFilter(self.max_length, self.max_ratio)
        yield from self._filter(self._tokenized(pairs))
        if not self._filter.counts["kept"]:
            raise ValueError(
                f"No pair of {self.corpus.name} is left to train on. Received: "
                f"{self._filter.summary()}"
            )

    def _tokenized(self, pairs: Iterable[tuple[str, str]]) -> Iterator[Pair]:
        stream = iter(pairs)
        while chunk := list(itertools.islice(stream, _CHUNK)):
            sources, targets = zip(*chunk, strict=True)
            yield from zip(
                _rows(self.source_tokenizer, sources),
                _rows(self.target_tokenizer, targets),
                strict=True,
            )


def padding_fraction(batches: Iterable[Arrays]) -> float:
    """Returns the share of padding among all source and target positions."""
    positions = tokens = 0
    for inputs, _ in batches:
        for ids in inputs.values():
            positions += ids.size
            tokens += np.count_nonzero(ids)
    return 1 - tokens / positions


def _rows(tokenizer: "SubwordTokenizer", lines: Sequence[str]) -> list[np.ndarray]:
    """Tokenizes lines into one int32 array each."""
    ragged = tokenizer.tokenize(lines)
    values, splits = ragged.values.numpy(), ragged.row_splits.numpy().tolist()
    # Copies: a view would keep its whole chunk in memory for as long as it waits in a bucket.
    return [values[start:end].copy() for start, end in itertools.pairwise(splits)]


def _arrays(batch: Batch, rows: int) -> Arrays:
    """Pads a batch to `rows` rows of its shape."""
    sources, targets = zip(*batch.pairs, strict=True)
    labels = _padded(targets, rows, batch.shape.target)
    target = np.full_like(labels, PAD_ID)
    target[: len(targets), 0] = BOS_ID
    target[:, 1:] = np.where(labels[:, :-1] == EOS_ID, PAD_ID, labels[:, :-1])
    return {"source": _padded(sources, rows, batch.shape.source), "target": target}, labels


def _padded(sequences: Sequence[np.ndarray], rows: int, length: int) -> np.ndarray:
    """Stacks sequences into an int32 array, shape [rows, length]."""
    padded = np.full((rows, length), PAD_ID, np.int32)
    lengths = np.fromiter(map(len, sequences), int)
    is_token = np.arange(length) < lengths[:, None]
    padded[: len(sequences)][is_token] = np.concatenate(sequences)
    return padded
