"""Padded batches of a corpus, epoch by epoch.

An epoch's order and its draws are a pure function of the seed and the epoch's index, so a run that
was killed finds its place again. Whatever the size of the corpus, memory holds the shuffle buffer
and one unfinished batch of each shape.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from keras_transformer.data.bucketing import Batch, BucketPlan, bucketed
from keras_transformer.data.chunking import chunked
from keras_transformer.data.corpora import Corpus, LinePair
from keras_transformer.data.filtering import Pair, PairFilter
from keras_transformer.data.mixing import Mixture
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

    Several workers each take a part of the corpus: the union of their batches is the global batch,
    which is what `batch_tokens` and `plan` speak of. A batch here is that of one worker, and a step
    of training; `dataset` cuts it for the worker's replicas.

    Args:
        corpus: The pairs of lines.
        source_tokenizer: Tokenizer of the source language.
        target_tokenizer: Tokenizer of the target language; the same one when it is joint.
        batch_tokens: Most source tokens, and most target tokens, in a batch.
        max_length: Longest side in tokens, eos included; longer pairs are dropped.
        shuffle_buffer: Pairs that the shuffle holds in memory; 0 keeps the corpus's order.
        seed: Seed of every epoch's order.
        max_ratio: Longest ratio of the sides' lengths; None for any.
        static_shapes: Fill short batches with rows of padding, so that each has as many as its
            shape in the plan: that number divided by the workers and rounded down to a multiple
            of `replicas`, but at least `replicas`.
        subword_dropout: Dropout of `SubwordTokenizer.tokenize_sampled`, which draws the pieces anew
            in each epoch. The filter sees the usual pieces, so that no draw decides which pairs
            an epoch has, and a side that the draw makes too long keeps them.
        shard: Index of this worker, and number of workers. Worker i of n takes pairs i, i + n, ...
            of the shuffled epoch, and tokenizes no others.
        replicas: Replicas of this worker.
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
        corpus: Corpus | Mixture,
        source_tokenizer: "SubwordTokenizer",
        target_tokenizer: "SubwordTokenizer",
        *,
        batch_tokens: int,
        max_length: int,
        shuffle_buffer: int = 200_000,
        seed: int = 0,
        max_ratio: float | None = None,
        static_shapes: bool = False,
        subword_dropout: float = 0.0,
        shard: tuple[int, int] = (0, 1),
        replicas: int = 1,
        plan: BucketPlan | None = None,
        plan_sample: int = 100_000,
    ):
        _check_at_least(batch_tokens=(batch_tokens, 1), shuffle_buffer=(shuffle_buffer, 0))
        _check_at_least(plan_sample=(plan_sample, 1), replicas=(replicas, 1))
        _check_shard(*shard)
        self.corpus = corpus
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer
        self.max_length = max_length
        self.max_ratio = max_ratio
        self.shuffle_buffer = shuffle_buffer
        self.seed = seed
        self.static_shapes = static_shapes
        self.subword_dropout = subword_dropout
        self.shard = shard
        self.replicas = replicas
        self._filter = PairFilter(max_length, max_ratio)
        if plan is None:
            sample = sampled(corpus, plan_sample, np.random.default_rng(seed))
            # The same for all workers, who need the same plan.
            pairs = self._token_pairs(sample, seed=(seed,))
            lengths = [(len(source), len(target)) for source, target in pairs]
            plan = BucketPlan.fit(lengths, tokens=batch_tokens, max_length=max_length)
        self.plan = plan

    @property
    def filter_summary(self) -> str:
        """What the filter kept and dropped in the latest epoch, so far."""
        return self._filter.summary()

    def epoch(self, index: int) -> Iterator[Arrays]:
        """Yields the batches of one epoch, those of all replicas, as NumPy arrays."""
        rng = np.random.default_rng([self.seed, index])
        worker, workers = self.shard
        lines = shuffled(self.corpus.epoch(index), self.shuffle_buffer, rng)
        # After the shuffle: by their places in a corpus, a worker of two could have one whole
        # corpus of a mixture of two.
        part = itertools.islice(lines, worker, None, workers)
        pairs = self._token_pairs(part, seed=(self.seed, index, worker))
        # With static shapes the replicas' rows are alike in number, without any to fill them up.
        plan = self.plan.shared(workers, self.replicas if self.static_shapes else 1)
        for batch in bucketed(pairs, plan):
            yield _arrays(batch, batch.shape.batch if self.static_shapes else len(batch.pairs))

    def batch_at(self, epoch: int, index: int) -> Arrays:
        """Returns one batch of an epoch, which is read up to there.

        Raises:
            IndexError: If the epoch has no such batch.
        """
        batches = 0
        for batches, batch in enumerate(self.epoch(epoch), 1):
            if batches == index + 1:
                return batch
        raise IndexError(
            f"`index` must be at least 0 and below {batches}, the batches of epoch {epoch}. "
            f"Received: index={index}"
        )

    def dataset(self, first_epoch: int = 0, first_batch: int = 0) -> "tf.data.Dataset":
        """Returns a dataset that gives the next epoch each time it is iterated, as `fit` does.

        With several replicas it gives the parts of a batch one after the other, as
        `tf.distribute` asks for them: rows r, r + replicas and so on for replica r, and rows of
        padding where a part would have less than the others.

        An iteration that is given up counts too, such as the one batch that Keras's `fit` takes
        to build a model under a distribution strategy.

        Args:
            first_epoch: Epoch of the first iteration.
            first_batch: Batches (whole ones, not parts) to skip in that epoch, to resume in its
                midst.
        """
        import tensorflow as tf

        epochs = itertools.count(first_epoch)

        def batches() -> Iterator[Arrays]:
            index = next(epochs)
            first = first_batch if index == first_epoch else 0
            for batch in itertools.islice(self.epoch(index), first, None):
                yield from replica_parts(batch, self.replicas)

        ids = tf.TensorSpec([None, None], tf.int32)
        signature = ({"source": ids, "target": ids}, ids)
        dataset = tf.data.Dataset.from_generator(batches, output_signature=signature).prefetch(8)
        return dataset.with_options(untuned())

    def _token_pairs(self, lines: Iterable[LinePair], seed: Sequence[int]) -> Iterator[Pair]:
        """Tokenizes pairs of lines and drops those that cannot be learnt from."""
        self._filter = usable = PairFilter(self.max_length, self.max_ratio)
        for number, chunk in enumerate(chunked(lines, _CHUNK)):
            pairs = self._tokenized(chunk)
            if self.subword_dropout:
                kept = list(map(usable.keeps, pairs))
                chunk, pairs = (list(itertools.compress(part, kept)) for part in (chunk, pairs))
                yield from self._resampled(chunk, pairs, seed=(*seed, number))
            else:
                yield from usable(pairs)
        if not usable.counts["kept"]:
            raise ValueError(
                f"No pair of {self.corpus.name} is left to train on. Received: {usable.summary()}"
            )

    def _tokenized(self, lines: Sequence[LinePair]) -> list[Pair]:
        sources, targets = zip(*lines, strict=True)
        source_ids = _rows(self.source_tokenizer.tokenize(sources))
        target_ids = _rows(self.target_tokenizer.tokenize(targets))
        return list(zip(source_ids, target_ids, strict=True))

    def _resampled(
        self, lines: Sequence[LinePair], pairs: Sequence[Pair], seed: Sequence[int]
    ) -> Iterator[Pair]:
        """Draws other pieces for pairs; a side that these would make too long stays."""

        def side(index: int, tokenizer: "SubwordTokenizer") -> Iterator[np.ndarray]:
            texts = [pair[index] for pair in lines]
            drawn = tokenizer.tokenize_sampled(texts, self.subword_dropout, (*seed, index))
            for ids, pair in zip(_rows(drawn), pairs, strict=True):
                yield ids if len(ids) <= self.max_length else pair[index]

        return zip(side(0, self.source_tokenizer), side(1, self.target_tokenizer), strict=True)


def untuned() -> "tf.data.Options":
    """Returns options of a dataset that TensorFlow does not tune.

    There is nothing to tune, and the thread that would keeps an iterator from going away for as
    long as it sleeps, up to a minute.
    """
    import tensorflow as tf

    options = tf.data.Options()
    options.autotune.enabled = False
    return options


def replica_parts(batch: Arrays, replicas: int) -> Iterator[Arrays]:
    """Cuts a batch by rows into parts of the same number of rows.

    Args:
        batch: Arrays of the same number of rows.
        replicas: Number of parts.

    Yields:
        Rows r, r + replicas and so on for part r, of which the last may be a row of padding.

    Example:
        >>> ids = np.array([[5, 3], [6, 3], [7, 3]])
        >>> [labels.tolist() for _, labels in replica_parts(({}, ids), 2)]
        [[[5, 3], [7, 3]], [[6, 3], [0, 0]]]
    """
    inputs, labels = batch
    missing = -len(labels) % replicas

    def filled(ids: np.ndarray) -> np.ndarray:
        return np.pad(ids, ((0, missing), (0, 0)), constant_values=PAD_ID)

    inputs, labels = {name: filled(ids) for name, ids in inputs.items()}, filled(labels)
    for replica in range(replicas):
        rows = slice(replica, None, replicas)
        yield {name: ids[rows] for name, ids in inputs.items()}, labels[rows]


def padding_fraction(batches: Iterable[Arrays]) -> float:
    """Returns the share of padding among all source and target positions."""
    positions = tokens = 0
    for inputs, _ in batches:
        for ids in inputs.values():
            positions += ids.size
            tokens += np.count_nonzero(ids)
    return 1 - tokens / positions


def _check_at_least(**arguments: tuple[int, int]) -> None:
    for name, (value, least) in arguments.items():
        if value < least:
            raise ValueError(f"`{name}` must be at least {least}. Received: {name}={value}")


def _check_shard(index: int, count: int) -> None:
    if not 0 <= index < count:
        raise ValueError(
            "`shard` must be the index of a worker, from 0, and the number of workers. Received: "
            f"shard={(index, count)}"
        )


def _rows(ragged: "tf.RaggedTensor") -> list[np.ndarray]:
    """Takes ragged ids apart into one int32 array for each row."""
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
