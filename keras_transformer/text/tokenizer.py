"""The subword tokenizer that runs inside the graph.

One object turns strings into ids in the input pipeline, in evaluation and inside the exported
model, so the three can never disagree. It uses core TensorFlow and TF Text's `Sentencepiece*`
operations only: those are what a stock TF Serving binary links.
"""

import hashlib
import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.files import write_atomically
from keras_transformer.text.sampling import subword_sampler
from keras_transformer.text.tags import cut_off_tags, languages_of_tags
from keras_transformer.text.training import train_sentencepiece
from keras_transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID, UNK_ID

_SPECIAL_IDS = {"pad": PAD_ID, "unk": UNK_ID, "bos": BOS_ID, "eos": EOS_ID}


class SubwordTokenizer(tf.Module):
    """Strings to subword ids and back, by a SentencePiece model.

    Any byte string is an input: SentencePiece reads invalid UTF-8 as U+FFFD, and text without a
    piece becomes unk (or bytes, in a vocabulary with `byte_fallback`). Text is normalised as the
    model says, by default with NFKC, so a round trip gives back the normalised string.

    Other toolkits cut text by one model and look the pieces up in a vocabulary that has other ids,
    and pieces that this model has not: `segmentation` is what cuts, `model` the vocabulary.

    If the vocabulary has language tags (`text/tags.py`), a text may begin with one.

    Args:
        model: A serialized SentencePiece model with pad, unk, bos and eos at 0, 1, 2 and 3.
        segmentation: A serialized SentencePiece model that cuts text, of any ids; None for `model`.
        name: Name of the module.

    Raises:
        ValueError: If `model` or `segmentation` is not such a model.

    Example:
        >>> tokenizer = SubwordTokenizer.train(["the cat sat", "the dog ran"], vocab_size=20)
        >>> ids = tokenizer.tokenize(["the cat", ""])
        >>> tokenizer.detokenize(ids).numpy().tolist()
        [b'the cat', b'']
    """

    def __init__(
        self, model: bytes, segmentation: bytes | None = None, name: str | None = None
    ) -> None:
        super().__init__(name=name)
        self.model = bytes(model)
        self.segmentation = segmentation
        processor = _processor(self.model)
        _require_own_ids(processor)
        self.vocab_size: int = processor.get_piece_size()
        # An attribute, since only tracked resources find their way into a SavedModel.
        self._sentencepiece = in_graph(self.model, add_eos=True)
        tags = languages_of_tags(self.pieces)
        if segmentation is None:  # Our own tags are pieces that no text is cut into.
            tags = {tag: number for tag, number in tags.items() if processor.is_control(number)}
        # For each language that a text may ask for, the id of its tag.
        self.tags: Mapping[str, int] = MappingProxyType(tags)
        if segmentation is not None:
            _processor(segmentation, "segmentation")
            self._segmenter = in_graph(segmentation, out_type=tf.string)
        if self.tags or segmentation is not None:
            self._id_table = tf.lookup.StaticHashTable(
                tf.lookup.KeyValueTensorInitializer(
                    tf.constant(self.pieces), tf.range(self.vocab_size)
                ),
                default_value=UNK_ID,
            )

    @classmethod
    def train(cls, lines: Iterable[str], vocab_size: int, **options: Any) -> "SubwordTokenizer":
        """Trains a vocabulary on `lines`; see `train_sentencepiece` for the options."""
        return cls(train_sentencepiece(lines, vocab_size, **options))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "SubwordTokenizer":
        """Reads a model written by `save` or by SentencePiece itself."""
        segmentation = _segmentation_beside(path)
        try:
            return cls(
                Path(path).read_bytes(),
                segmentation.read_bytes() if segmentation and segmentation.is_file() else None,
            )
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the SentencePiece model; the file appears whole or not at all.

        What cuts the text, if that is another model, is written before, with the suffix `.spm`; one
        that was there goes away if it is not.

        Raises:
            ValueError: If `path` has that suffix itself, and another model cuts the text.
        """
        beside = _segmentation_beside(path)
        if self.segmentation is not None:
            if beside is None:
                raise ValueError(
                    "`path` must not end with .spm, as the file of what cuts the text does; take "
                    f"another suffix, such as .model. Received: {os.fspath(path)}"
                )
            write_atomically(beside, self.segmentation)
        write_atomically(path, self.model)
        if self.segmentation is None and beside is not None:
            beside.unlink(missing_ok=True)  # `load` would cut text by it.

    @property
    def pieces(self) -> list[str]:
        """Every piece of the vocabulary, in the order of the ids."""
        return _processor(self.model).id_to_piece(list(range(self.vocab_size)))

    @property
    def ids(self) -> dict[str, int]:
        """The id of every piece."""
        return {piece: number for number, piece in enumerate(self.pieces)}

    def tokenize(self, text: tf.Tensor | Sequence[str | bytes]) -> tf.RaggedTensor:
        """Splits strings into ids.

        Args:
            text: Strings, shape [batch].

        Returns:
            int32 ragged ids, shape [batch, (tokens)], each row ending with eos: `""` is `[3]`.
        """
        text = tf.ensure_shape(tf.convert_to_tensor(text, tf.string), [None])
        if not self.tags:
            return self._tokenize(text)
        tags, text = cut_off_tags(text)
        return tf.concat([self._ids_of_tags(tags), self._tokenize(text)], axis=1)

    def _tokenize(self, text: tf.Tensor) -> tf.RaggedTensor:
        """Splits strings without tags into ids."""
        if self.segmentation is None:
            return self._sentencepiece.tokenize(text)
        pieces = self._segmenter.tokenize(text)
        # The kernel tells no shape.
        flat = tf.ensure_shape(pieces.flat_values, [None])
        ids = pieces.with_flat_values(self._id_table.lookup(flat))
        return tf.concat([ids, tf.fill([ids.nrows(), 1], EOS_ID)], axis=1)

    def _ids_of_tags(self, tags: tf.Tensor) -> tf.RaggedTensor:
        """Returns the ids of tags, `[batch]`, as rows of one or none."""
        given = tf.ragged.boolean_mask(tags[:, None], tags[:, None] != "")
        return given.with_flat_values(self._id_table.lookup(given.flat_values))

    def tokenize_sampled(
        self, lines: Sequence[str | bytes], dropout: float, seed: int | Sequence[int]
    ) -> tf.RaggedTensor:
        """Splits strings into ids at random, for subword regularisation in training.

        The same arguments give the same ids, in any process.

        Args:
            lines: Strings.
            dropout: With the "bpe" algorithm, probability with which a merge is left out; with
                "unigram", alpha of the sampling. 0 gives the ids of `tokenize`.
            seed: Non-negative seed, or sequence of them.

        Returns:
            int32 ragged ids, shape [batch, (tokens)], as `tokenize` gives them; they are the ids of
            the same text.

        Raises:
            ValueError: If `dropout` is not in [0, 1), or the model is of another algorithm, or
                another model cuts the text.

        Example:
            >>> ids = tokenizer.tokenize_sampled(["a small dog"], dropout=0.5, seed=0)
            >>> tokenizer.detokenize(ids).numpy().tolist()
            [b'a small dog']
        """
        if dropout == 0:
            return self.tokenize(lines)
        if self.segmentation is not None:
            raise ValueError(
                "`dropout` must be 0 for a vocabulary of another toolkit, whose pieces are not "
                f"those that cut the text; set `data.subword_dropout` to 0. Received: {dropout}"
            )
        tags = None
        if self.tags:
            tags, rest = cut_off_tags(tf.constant(lines, tf.string))
            lines = rest.numpy().tolist()
        rows = subword_sampler(self.model, dropout)(lines, np.random.default_rng(seed))
        ids = np.fromiter(itertools.chain.from_iterable(rows), np.int32)
        lengths = np.fromiter(map(len, rows), np.int64)
        sampled = tf.RaggedTensor.from_row_lengths(ids, lengths, validate=False)
        return sampled if tags is None else tf.concat([self._ids_of_tags(tags), sampled], axis=1)

    def detokenize(self, ids: tf.Tensor | tf.RaggedTensor) -> tf.Tensor:
        """Joins ids into strings.

        Everything from the first eos on is dropped, and so are pad and bos. Ids beyond the
        vocabulary, which a padded output layer may choose, read as unk.

        Args:
            ids: Integers, ragged [batch, (tokens)] or padded [batch, length].

        Returns:
            UTF-8 strings, shape [batch].
        """
        if isinstance(ids, tf.RaggedTensor):
            ids = ids.to_tensor(PAD_ID)
        ids = self._known(tf.ensure_shape(tf.cast(ids, tf.int32), [None, None]))
        ended = tf.cumsum(tf.cast(ids == EOS_ID, tf.int32), axis=1) > 0
        is_text = ~ended & (ids != PAD_ID) & (ids != BOS_ID)
        lengths = tf.reduce_sum(tf.cast(is_text, tf.int64), axis=1)
        flat = tf.gather_nd(ids, tf.where(is_text))
        rows = tf.RaggedTensor.from_row_lengths(flat, lengths, validate=False)
        text = self._sentencepiece.detokenize(rows)
        return text if self.segmentation is None else tf.strings.strip(text)

    def to_pieces(self, ids: tf.Tensor) -> tf.Tensor:
        """Names ids, in graph.

        Args:
            ids: Integers of any shape.

        Returns:
            Strings of that shape, the pieces of the vocabulary, and "" for padding.
        """
        ids = tf.cast(ids, tf.int32)
        pieces = self._sentencepiece.id_to_string(self._known(ids))
        return tf.where(ids == PAD_ID, "", pieces)

    def _known(self, ids: tf.Tensor) -> tf.Tensor:
        return tf.where((ids >= 0) & (ids < self.vocab_size), ids, UNK_ID)


class _SharedSentencepiece(tf.saved_model.experimental.TrackableResource):
    """A SentencePiece model in TensorFlow's memory, under a name.

    TF Text's own resource has none and belongs to the kernel that made it, so that it vanishes with
    TensorFlow's kernel cache: `keras.utils.set_random_seed` clears that.
    """

    def __init__(self, model: bytes) -> None:
        super().__init__()
        self._model = model
        _ = self.resource_handle  # Reading it creates the resource.

    def _create_resource(self) -> tf.Tensor:
        from tensorflow_text.python.ops import sentencepiece_tokenizer

        return sentencepiece_tokenizer.gen_sentencepiece_tokenizer.sentencepiece_op(
            model=self._model, shared_name=hashlib.sha256(self._model).hexdigest()
        )


def in_graph(model: bytes, **options: Any) -> Any:
    """Makes TF Text's tokenizer of a model, which is in TensorFlow's memory once."""
    # Imported here, so that TF Text is needed only where a tokenizer is.
    import tensorflow_text

    tokenizer = tensorflow_text.SentencepieceTokenizer(model, **options)
    tokenizer._model_resource = _SharedSentencepiece(model)
    return tokenizer


def _segmentation_beside(path: str | os.PathLike[str]) -> Path | None:
    """Returns where the model that cuts text is; None beside a file that has its name."""
    beside = Path(path).with_suffix(".spm")
    return None if beside == Path(path) else beside


def _processor(model: bytes, argument: str = "model") -> Any:
    """Parses a model with the SentencePiece library."""
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(model)
    except RuntimeError as error:
        raise ValueError(
            f"`{argument}` must be a serialized SentencePiece model. Received: {len(model)} bytes "
            "that are not one"
        ) from error
    return processor


def _require_own_ids(processor: Any) -> None:
    received = {name: getattr(processor, f"{name}_id")() for name in _SPECIAL_IDS}
    if received != _SPECIAL_IDS:
        raise ValueError(
            f"`model` must have the special ids {_SPECIAL_IDS}; train it with "
            f"`SubwordTokenizer.train`. Received: {received}"
        )
