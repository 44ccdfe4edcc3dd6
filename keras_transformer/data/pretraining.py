"""Batches of documents for pre-training, epoch by epoch.

Order, texts and masks are drawn from seed and epoch, the masks of a batch from its index as well.
So a run that was killed finds its place again, and draws no masks for what it passes over.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_transformer.config.masked_lm import DocumentsConfig
from keras_transformer.data.batches import dataset_of
from keras_transformer.data.bucketing import BucketPlan, Shape, bucketed
from keras_transformer.data.corpora import CorpusError
from keras_transformer.data.documents import Document, Documents
from keras_transformer.data.masking import Ids, Masking
from keras_transformer.data.segments import Segments, TokenDocument, packed, paired
from keras_transformer.data.sharing import Sharing
from keras_transformer.streams.chunking import chunked
from keras_transformer.streams.shuffling import sampled, shuffled
from keras_transformer.text.vocabulary import PAD_ID

if TYPE_CHECKING:
    import tensorflow as tf

    from keras_transformer.text.subword_pieces import SubwordPieces
    from keras_transformer.text.wordpiece import WordPieceTokenizer

# Inputs and labels, each by name.
Batch = tuple[dict[str, Ids], dict[str, Ids]]

# Documents that are tokenized together, and among which a text of another one is found.
_TOGETHER = 200

_ALONE = Sharing()


class DocumentInputs:
    """Makes inputs of documents.

    Args:
        tokenizer: Cuts sentences into pieces.
        data: How long inputs are, and what of them is predicted.

    Attributes:
        counts: Documents and inputs so far, by these names.
    """

    def __init__(
        self, tokenizer: "WordPieceTokenizer | SubwordPieces", data: DocumentsConfig
    ) -> None:
        self.tokenizer = tokenizer
        self.data = data
        self.masking = Masking(
            data.masked,
            tokenizer.mask_id,
            tokenizer.special_ids,
            tokenizer.begins_word,
            data.whole_words,
        )
        self.counts: Counter[str] = Counter()

    def __call__(
        self, documents: Iterable[Document], rng: np.random.Generator
    ) -> Iterator[Segments]:
        """Yields what documents give, those of some documents at a time in an order of their own.

        So a batch is not of one long document, whose texts are alike. Where next sentences are to
        be predicted, a document alone, such as one worker may have, gives nothing.
        """
        before: list[TokenDocument] = []
        waiting: list[TokenDocument] = []
        for chunk in chunked(documents, _TOGETHER):
            new = self._tokenized(chunk)
            self.counts["documents"] += len(new)
            tokens = waiting + new
            if self.data.next_sentence and len(before) + len(tokens) < 2:
                waiting = tokens
                continue
            waiting = []
            # A chunk of one document finds another one among those before it.
            others = tokens if len(tokens) > 1 else before + tokens
            inputs: list[Segments] = []
            for place, document in enumerate(tokens, len(others) - len(tokens)):
                inputs += self._inputs_of(document, others, place, rng)
            self.counts["inputs"] += len(inputs)
            yield from (inputs[index] for index in rng.permutation(len(inputs)))
            before = tokens[-1:] or before  # One other document is all that it is for.

    def _inputs_of(
        self,
        document: TokenDocument,
        others: list[TokenDocument],
        place: int,
        rng: np.random.Generator,
    ) -> Iterator[Segments]:
        data = self.data
        if not data.next_sentence:
            return packed(document, data.length - 2, data.short, rng)

        def another() -> TokenDocument:
            index = int(rng.integers(len(others) - 1))
            return others[index + (index >= place)]

        return paired(document, another, data.length - 3, data.short, rng)

    def _tokenized(self, documents: list[Document]) -> list[TokenDocument]:
        """Returns the documents that have tokens, without sentences that have none."""
        rows = self.tokenizer.tokenize(list(itertools.chain.from_iterable(documents))).to_list()
        sentences = iter(rows)
        cut = ([*itertools.islice(sentences, len(document))] for document in documents)
        return list(filter(None, ([*filter(None, document)] for document in cut)))

    def lengths(self, segments: Segments) -> tuple[int, int]:
        """Returns how many tokens an input has, and how many of them are predicted."""
        second = 0 if segments.second is None else len(segments.second) + 1
        length = len(segments.first) + 2 + second
        return length, self.masking.count(length)

    def batch(
        self, rows: list[Segments], shape: Shape, count: int, rng: np.random.Generator
    ) -> Batch:
        """Makes the arrays of a batch, filled up to `count` rows of its shape."""
        ids, segments = np.zeros((2, count, shape.source), np.int32)
        labels = np.zeros((count, 1), np.int32)
        cls, sep = [self.tokenizer.cls_id], [self.tokenizer.sep_id]
        for index, (first, second, label) in enumerate(rows):
            row = [*cls, *first, *sep]
            if second is not None:
                segments[index, len(row) : len(row) + len(second) + 1] = 1
                row += [*second, *sep]
            ids[index, : len(row)] = row
            labels[index] = label
        seen, places, words = self.masking(ids, rng)
        missing = [(0, 0), (0, shape.target - places.shape[1])]
        places, words = (np.pad(x, missing, constant_values=PAD_ID) for x in (places, words))
        named = {"masked": words, **({"next": labels} if self.data.next_sentence else {})}
        return {"ids": seen, "segments": segments, "places": places}, named


class PretrainingBatches:
    """Batches for `model.fit` of a `MaskedLanguageModel`, from documents.

    A batch is `({"ids": [batch, L], "segments": [batch, L], "places": [batch, P]}, {"masked":
    [batch, P], "next": [batch, 1]})`, int32 and padded with 0; without next sentences there is no
    "next".

    Several workers each take a part of the documents; see `TranslationBatches`.

    Args:
        documents: The documents.
        tokenizer: Cuts sentences into pieces.
        data: What is made of them.
        plan: The shapes of the global batch, from `fit_plan`.
        shuffle_buffer: Documents that the shuffle holds in memory; 0 keeps their order.
        seed: Seed of every epoch's order, texts and masks.
        sharing: Who shares a batch.

    Example:
        >>> from keras_transformer.text.wordpiece import SPECIAL, WordPieceTokenizer
        >>> tokenizer = WordPieceTokenizer([*SPECIAL, "a", "dog", "cat"])
        >>> documents = Documents("two", lambda: iter([["a dog"], ["a cat"]]))
        >>> plan = BucketPlan(((2, 16, 2),))
        >>> batches = PretrainingBatches(documents, tokenizer, DocumentsConfig(length=16), plan)
        >>> inputs, labels = next(batches.epoch(0))
        >>> inputs["ids"].shape, labels["masked"].shape
        ((2, 16), (2, 2))
    """

    def __init__(
        self,
        documents: Documents,
        tokenizer: "WordPieceTokenizer | SubwordPieces",
        data: DocumentsConfig,
        plan: BucketPlan,
        *,
        shuffle_buffer: int = 10_000,
        seed: int = 0,
        sharing: Sharing = _ALONE,
    ) -> None:
        self.documents = documents
        self.tokenizer = tokenizer
        self.data = data
        self.plan = plan
        self.shuffle_buffer = shuffle_buffer
        self.seed = seed
        self.sharing = sharing
        self._counts: Counter[str] = Counter()
        self._length: int | None = None

    @property
    def filter_summary(self) -> str:
        """What the latest epoch has been made of, so far."""
        counts = self._counts
        return f"{counts['inputs']:,} inputs of {counts['documents']:,} documents"

    @property
    def epoch_length(self) -> int | None:
        """Batches of the latest epoch that was read to its end; None before there is one."""
        return self._length

    def epoch(self, index: int, first_batch: int = 0) -> Iterator[Batch]:
        """Yields the batches of one epoch, those of all replicas, as NumPy arrays.

        Args:
            index: The epoch.
            first_batch: Batches to pass over.
        """
        sharing = self.sharing
        order = np.random.default_rng([self.seed, index])
        part = sharing.part(shuffled(self.documents, self.shuffle_buffer, order))
        inputs = DocumentInputs(self.tokenizer, self.data)
        self._counts = inputs.counts
        draws = np.random.default_rng([self.seed, index, sharing.worker])
        number = -1
        rows = inputs(part, draws)
        for number, batch in enumerate(bucketed(rows, sharing.plan(self.plan), inputs.lengths)):
            if number >= first_batch:
                masks = np.random.default_rng([self.seed, index, sharing.worker, number])
                count = batch.shape.batch if sharing.static_shapes else len(batch.pairs)
                yield inputs.batch(batch.pairs, batch.shape, count, masks)
        self._length = number + 1

    def described(self, epoch: int, index: int) -> dict[str, Any]:
        """Returns a batch of an epoch as plain values, with its text, for a person to look at."""
        inputs, labels = next(self.epoch(epoch, index))
        arrays = {**inputs, **{f"{name}_labels": array for name, array in labels.items()}}
        return {
            "batch": index,
            "text": self.tokenizer.detokenize(inputs["ids"]),
            **{name: array.tolist() for name, array in arrays.items()},
        }

    def dataset(self, first_epoch: int = 0, first_batch: int = 0) -> "tf.data.Dataset":
        """Returns a dataset that gives an epoch each time it is iterated; see `dataset_of`."""
        import tensorflow as tf

        ids = tf.TensorSpec([None, None], tf.int32)
        names = ["masked", *(["next"] if self.data.next_sentence else [])]
        signature = dict.fromkeys(("ids", "segments", "places"), ids), dict.fromkeys(names, ids)
        return dataset_of(self.epoch, self.sharing.replicas, signature, first_epoch, first_batch)


def fit_plan(
    documents: Documents,
    tokenizer: "WordPieceTokenizer | SubwordPieces",
    data: DocumentsConfig,
    *,
    seed: int = 0,
    sample: int = 10_000,
) -> BucketPlan:
    """Fits batch shapes to the inputs of a sample of documents; reads all once.

    A shape's `source` is the length of its inputs, and `target` how many tokens are predicted.

    Args:
        documents: The documents.
        tokenizer: Cuts sentences into pieces.
        data: What is made of them.
        seed: Seed of the sample and of what is drawn of it.
        sample: Documents in the sample.

    Raises:
        CorpusError: If no document has a token, or next sentences are to be predicted and one
            document alone has.

    Example:
        >>> from keras_transformer.text.wordpiece import SPECIAL, WordPieceTokenizer
        >>> tokenizer = WordPieceTokenizer([*SPECIAL, "a", "dog", "cat"])
        >>> documents = Documents("two", lambda: iter([["a dog"], ["a cat"]]))
        >>> data = DocumentsConfig(length=16, batch_tokens=64)
        >>> fit_plan(documents, tokenizer, data).shapes[-1]
        Shape(batch=4, source=16, target=2)
    """
    rng, inputs = np.random.default_rng(seed), DocumentInputs(tokenizer, data)
    lengths = [inputs.lengths(row) for row in inputs(sampled(documents, sample, rng), rng)]
    if not lengths and inputs.counts["documents"]:
        raise CorpusError(
            f"{documents.name} must have at least two documents for next sentences, with blank "
            "lines between them; give more text, or leave them out by `data.next_sentence` False. "
            "Received: 1 document with a token"
        )
    if not lengths:
        raise CorpusError(f"{documents.name} has no text. Received: no token in any document")
    plan = BucketPlan.fit(lengths, tokens=data.batch_tokens, max_length=data.length)
    most = inputs.masking.count(data.length)
    return BucketPlan(tuple({s._replace(target=min(s.target, most)) for s in plan.shapes}))
