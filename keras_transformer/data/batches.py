"""Padded batches of a corpus, epoch by epoch.

An epoch's order and its draws are a pure function of the seed and the epoch's index, so a run that
was killed finds its place again. Whatever the size of the corpus, memory holds the shuffle buffer
and one unfinished batch of each shape.
"""

import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from keras_transformer.config.checks import require
from keras_transformer.data.bucketing import BucketPlan, Shape, bucketed
from keras_transformer.data.corpora import Corpus
from keras_transformer.data.filtering import Ids, Pair
from keras_transformer.data.mixing import Mixture
from keras_transformer.data.prepared.pairs import PreparedPairs
from keras_transformer.data.preprocessing import PairPreprocessor
from keras_transformer.data.sharing import Sharing
from keras_transformer.data.weights import weight_of
from keras_transformer.streams.shuffling import shuffled
from keras_transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID

if TYPE_CHECKING:
    import tensorflow as tf

    from keras_transformer.text.tokenizer import SubwordTokenizer

IdArray = npt.NDArray[np.int32]
# Inputs by name, labels, and the pairs' weights if they have any.
Arrays = (
    tuple[dict[str, IdArray], IdArray] | tuple[dict[str, IdArray], IdArray, npt.NDArray[np.float32]]
)

_ALONE = Sharing()


class TranslationBatches:
    """Batches for `model.fit`, from a corpus.

    A batch is `({"source": [batch, S], "target": [batch, T]}, labels [batch, T])`, int32 and padded
    with 0: source is tokens and eos, target is bos and tokens, labels are tokens and eos. Of a
    corpus with weights, those of the pairs are a third part, `[batch]`, float32.

    Several workers each take a part of the corpus: the union of their batches is the global batch,
    which is what `plan` speaks of. A batch here is that of one worker, and a step of training;
    `dataset` cuts it for the worker's replicas.

    Args:
        corpus: The pairs of lines, or the places of prepared ones.
        preprocess: Makes ids of them.
        plan: The shapes of the global batch, from `fit_plan`.
        shuffle_buffer: Pairs that the shuffle holds in memory; 0 keeps the corpus's order.
        seed: Seed of every epoch's order and of its pieces, where those are drawn.
        pairs: Pairs of an epoch, if that is known; an estimate of its batches needs it.
        sharing: Who shares a batch. Worker i of n takes pairs i, i + n, ... of the shuffled epoch,
            and tokenizes no others.

    Example:
        >>> corpus = Corpus("two pairs", lambda: iter([("a dog", "ein Hund"), ("a dog", "")]))
        >>> preprocess = PairPreprocessor((tokenizer, tokenizer), max_length=32)
        >>> batches = TranslationBatches(corpus, preprocess, BucketPlan(((2, 32, 32),)))
        >>> inputs, labels = next(batches.epoch(0))
        >>> batches.filter_summary
        'kept 1 of 2 pairs (dropped: 1 empty, 0 longer than 32 tokens)'
    """

    def __init__(
        self,
        corpus: Corpus | Mixture,
        preprocess: PairPreprocessor | PreparedPairs,
        plan: BucketPlan,
        *,
        shuffle_buffer: int = 200_000,
        seed: int = 0,
        pairs: int | None = None,
        sharing: Sharing = _ALONE,
    ) -> None:
        require(shuffle_buffer >= 0, "shuffle_buffer", "at least 0", shuffle_buffer)
        self.corpus = corpus
        self.preprocess = preprocess
        self.plan = plan
        self.shuffle_buffer = shuffle_buffer
        self.seed = seed
        self.sharing = sharing
        self.pairs = pairs
        self._filter = preprocess.new_filter()
        # Of the latest epoch: batches, and pairs in them. Of one that was read to its end: batches.
        self._batches = self._batched_pairs = 0
        self._length: int | None = None

    @property
    def filter_summary(self) -> str:
        """What the filter kept and dropped in the latest epoch, so far."""
        return self._filter.summary()

    @property
    def epoch_length(self) -> int | None:
        """Batches of an epoch: those of the latest one, or an estimate while the first is read."""
        # Read once: another thread may be at the next batch.
        batches, batched, counts = self._batches, self._batched_pairs, self._filter.counts
        if self._length is not None or self.pairs is None or not batched:
            return self._length
        kept = self.pairs / self.sharing.workers * counts["kept"] / max(1, counts.total())
        return round(kept * batches / batched)

    def epoch(self, index: int, first_batch: int = 0) -> Iterator[Arrays]:
        """Yields the batches of one epoch, those of all replicas, as NumPy arrays.

        Args:
            index: The epoch.
            first_batch: Batches to pass over, of which no arrays are made.
        """
        self._batches = self._batched_pairs = 0
        pairs, static = self._pairs(index), self.sharing.static_shapes
        plan = self.sharing.plan(self.plan)
        for batch in bucketed(pairs, plan, self.preprocess.lengths):
            self._batches += 1
            self._batched_pairs += len(batch.pairs)
            if self._batches > first_batch:
                rows = batch.shape.batch if static else len(batch.pairs)
                read = self.preprocess.read(batch.pairs)
                yield _arrays(read, batch.shape, rows, self.corpus.weighted)
        self._length = self._batches

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

    def described(self, epoch: int, index: int) -> dict[str, Any]:
        """Returns one batch of an epoch as plain values, with its text, to be looked at."""
        inputs, labels, *weights = self.batch_at(epoch, index)
        source_tokenizer, target_tokenizer = self.preprocess.tokenizers
        return {
            "batch": index,
            "source": _lines(source_tokenizer, inputs["source"]),
            "target": _lines(target_tokenizer, labels),
            "source_ids": inputs["source"].tolist(),
            "target_ids": labels.tolist(),
            **({"weights": weights[0].tolist()} if weights else {}),
        }

    def dataset(self, first_epoch: int = 0, first_batch: int = 0) -> "tf.data.Dataset":
        """Returns a dataset that gives an epoch each time it is iterated; see `dataset_of`."""
        import tensorflow as tf

        ids = tf.TensorSpec([None, None], tf.int32)
        weights = [tf.TensorSpec([None], tf.float32)] if self.corpus.weighted else []
        signature = ({"source": ids, "target": ids}, ids, *weights)
        return dataset_of(self.epoch, self.sharing.replicas, signature, first_epoch, first_batch)

    def _pairs(self, epoch: int) -> Iterator[Any]:
        """Yields this worker's pairs of one epoch, in its order, as `preprocess` gives them."""
        rng = np.random.default_rng([self.seed, epoch])
        lines = shuffled(self.corpus.epoch(epoch), self.shuffle_buffer, rng)
        # The part is taken after the shuffle. Taken by places in the corpus, the part of one of two
        # workers could be the whole of one corpus in a mixture of two.
        part = self.sharing.part(lines)
        self._filter = self.preprocess.new_filter()
        yield from self.preprocess(part, self._filter, (self.seed, epoch, self.sharing.worker))
        # A worker may have no part of a corpus that is smaller than the number of workers.
        if self.sharing.workers == 1:
            self._filter.require_any(self.corpus.name)


def dataset_of(
    epoch: Callable[[int, int], Iterable[Any]],
    replicas: int,
    signature: Any,
    first_epoch: int = 0,
    first_batch: int = 0,
) -> "tf.data.Dataset":
    """Makes a dataset that gives the next epoch each time it is iterated, as `fit` does.

    With several replicas it gives the parts of a batch one after the other, as `tf.distribute` asks
    for them: rows r, r + replicas and so on for replica r, and rows of padding where a part would
    have fewer than the others.

    An iteration that is not read to its end counts too. Under a distribution strategy Keras's `fit`
    begins one for a single batch, to build a model that has not been built.

    Args:
        epoch: Gives the batches of an epoch, by its index, from one of them on.
        replicas: Parts of a batch.
        signature: TensorFlow's, of a batch.
        first_epoch: Epoch of the first iteration.
        first_batch: Batches (whole ones, not parts) to skip in that epoch, to resume in its midst.

    Example:
        >>> import tensorflow as tf
        >>> batches = lambda index, first: [np.full((1, 2), index)][first:]
        >>> dataset = dataset_of(batches, 1, tf.TensorSpec([None, None], tf.int32), first_epoch=7)
        >>> [batch.numpy().tolist() for _ in range(2) for batch in dataset]
        [[[7, 7]], [[8, 8]]]
    """
    import tensorflow as tf

    epochs = itertools.count(first_epoch)

    def batches() -> Iterator[Any]:
        index = next(epochs)
        for batch in epoch(index, first_batch if index == first_epoch else 0):
            yield from replica_parts(batch, replicas)

    dataset = tf.data.Dataset.from_generator(batches, output_signature=signature).prefetch(8)
    return dataset.with_options(untuned())


def untuned() -> "tf.data.Options":
    """Returns options of a dataset that TensorFlow does not tune.

    There is nothing to tune. The tuning thread would keep an iterator from going away for as long
    as the thread sleeps, up to a minute.
    """
    import tensorflow as tf

    options = tf.data.Options()
    options.autotune.enabled = False
    return options


def replica_parts(batch: Any, replicas: int) -> Iterator[Any]:
    """Cuts a batch by rows into parts of the same number of rows.

    Args:
        batch: Arrays of the same number of rows, in dicts and tuples.
        replicas: Number of parts.

    Yields:
        Rows r, r + replicas and so on for part r, of which the last may be a row of padding.

    Example:
        >>> ids = np.array([[5, 3], [6, 3], [7, 3]])
        >>> [labels.tolist() for _, labels in replica_parts(({}, ids), 2)]
        [[[5, 3], [7, 3]], [[6, 3], [0, 0]]]
    """
    missing = -_rows(batch) % replicas

    def filled(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.pad(array, [(0, missing), (0, 0)][: array.ndim], constant_values=PAD_ID)

    whole = _each(filled, batch)
    for replica in range(replicas):
        yield _each(operator.itemgetter(slice(replica, None, replicas)), whole)


def padding_fraction(batches: Iterable[Arrays]) -> float:
    """Returns the share of padding among all source and target positions.

    Example:
        >>> ids = np.array([[5, 3, 0, 0]])
        >>> padding_fraction([({"source": ids}, ids)])
        0.5
    """
    positions = tokens = 0
    for inputs, *_ in batches:
        for ids in inputs.values():
            positions += ids.size
            tokens += int(np.count_nonzero(ids))
    return 1 - tokens / positions


def _lines(tokenizer: "SubwordTokenizer", ids: IdArray) -> list[str]:
    return [line.decode("utf-8", "replace") for line in tokenizer.detokenize(ids).numpy()]


def _each(function: Callable[[npt.NDArray[Any]], npt.NDArray[Any]], batch: Any) -> Any:
    """Applies a function to each array of dicts and tuples of arrays."""
    if isinstance(batch, dict):
        return {name: _each(function, part) for name, part in batch.items()}
    if isinstance(batch, tuple):
        return tuple(_each(function, part) for part in batch)
    return function(batch)


def _rows(batch: Any) -> int:
    """Returns how many rows the arrays of a batch have."""
    while isinstance(batch, dict | tuple):
        batch = batch[-1] if isinstance(batch, tuple) else next(iter(batch.values()))
    return len(batch)


def _arrays(pairs: Sequence[Pair], shape: Shape, rows: int, weighted: bool) -> Arrays:
    """Pads a batch to `rows` rows of its shape."""
    sources, targets = zip(*pairs, strict=True)
    labels = _padded(targets, rows, shape.target)
    target = np.full_like(labels, PAD_ID)
    target[: len(targets), 0] = BOS_ID
    target[:, 1:] = np.where(labels[:, :-1] == EOS_ID, PAD_ID, labels[:, :-1])
    inputs = {"source": _padded(sources, rows, shape.source), "target": target}
    if not weighted:
        return inputs, labels
    weights = np.zeros(rows, np.float32)
    weights[: len(pairs)] = [weight_of(pair) for pair in pairs]
    return inputs, labels, weights


def _padded(sequences: Sequence[Ids], rows: int, length: int) -> IdArray:
    """Stacks sequences into an int32 array, shape [rows, length]."""
    padded = np.full((rows, length), PAD_ID, np.int32)
    lengths = np.fromiter(map(len, sequences), int)
    is_token = np.arange(length) < lengths[:, None]
    padded[: len(sequences)][is_token] = np.concatenate(sequences)
    return padded
