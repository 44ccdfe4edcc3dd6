"""The subword tokenizer that runs inside the graph.

One object turns strings into ids in the input pipeline, in evaluation and inside the exported
model, so the three can never disagree. It uses core TensorFlow and TF Text's `Sentencepiece*`
operations only: those are what a stock TF Serving binary links.
"""

import hashlib
import itertools
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.files import write_atomically
from keras_transformer.text.sampling import subword_sampler
from keras_transformer.text.training import train_sentencepiece
from keras_transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID, UNK_ID

_SPECIAL_IDS = {"pad": PAD_ID, "unk": UNK_ID, "bos": BOS_ID, "eos": EOS_ID}


class SubwordTokenizer(tf.Module):
    """Strings to subword ids and back, by a SentencePiece model.

    Any byte string is an input: SentencePiece reads invalid UTF-8 as U+FFFD, and text without a
    piece becomes unk (or bytes, in a vocabulary with `byte_fallback`). Text is normalised as the
    model says, by default with NFKC, so a round trip gives back the normalised string.

    Args:
        model: A serialized SentencePiece model with pad, unk, bos and eos at 0, 1, 2 and 3.
        name: Name of the module.

    Raises:
        ValueError: If `model` is not such a model.

    Example:
        >>> tokenizer = SubwordTokenizer.train(["the cat sat", "the dog ran"], vocab_size=20)
        >>> ids = tokenizer.tokenize(["the cat", ""])
        >>> tokenizer.detokenize(ids).numpy().tolist()
        [b'the cat', b'']
    """

    def __init__(self, model: bytes, name: str | None = None) -> None:
        super().__init__(name=name)
        # Imported here, so that TF Text is needed only where a tokenizer is.
        import tensorflow_text

        self.model = bytes(model)
        processor = _processor(self.model)
        self.vocab_size: int = processor.get_piece_size()
        # An attribute, since only tracked resources find their way into a SavedModel.
        self._sentencepiece = tensorflow_text.SentencepieceTokenizer(self.model, add_eos=True)
        self._sentencepiece._model_resource = _SharedSentencepiece(self.model)

    @classmethod
    def train(cls, lines: Iterable[str], vocab_size: int, **options: Any) -> "SubwordTokenizer":
        """Trains a vocabulary on `lines`; see `train_sentencepiece` for the options."""
        return cls(train_sentencepiece(lines, vocab_size, **options))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "SubwordTokenizer":
        """Reads a model written by `save` or by SentencePiece itself."""
        try:
            return cls(Path(path).read_bytes())
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the SentencePiece model; the file appears whole or not at all."""
        write_atomically(path, self.model)

    @property
    def pieces(self) -> list[str]:
        """Every piece of the vocabulary, in the order of the ids."""
        return _processor(self.model).id_to_piece(list(range(self.vocab_size)))

    def tokenize(self, text: tf.Tensor | Sequence[str | bytes]) -> tf.RaggedTensor:
        """Splits strings into ids.

        Args:
            text: Strings, shape [batch].

        Returns:
            int32 ragged ids, shape [batch, (tokens)], each row ending with eos: `""` is `[3]`.
        """
        text = tf.ensure_shape(tf.convert_to_tensor(text, tf.string), [None])
        return self._sentencepiece.tokenize(text)

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
            ValueError: If `dropout` is not in [0, 1), or the model is of another algorithm.

        Example:
            >>> ids = tokenizer.tokenize_sampled(["a small dog"], dropout=0.5, seed=0)
            >>> tokenizer.detokenize(ids).numpy().tolist()
            [b'a small dog']
        """
        if dropout == 0:
            return self.tokenize(lines)
        rows = subword_sampler(self.model, dropout)(lines, np.random.default_rng(seed))
        ids = np.fromiter(itertools.chain.from_iterable(rows), np.int32)
        lengths = np.fromiter(map(len, rows), np.int64)
        return tf.RaggedTensor.from_row_lengths(ids, lengths, validate=False)

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
        return self._sentencepiece.detokenize(tf.ragged.boolean_mask(ids, is_text))

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


def _processor(model: bytes) -> Any:
    """Parses and checks a model with the SentencePiece library."""
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(model)
    except RuntimeError as error:
        raise ValueError(
            f"`model` must be a serialized SentencePiece model. Received: {len(model)} bytes that "
            "are not one"
        ) from error
    received = {name: getattr(processor, f"{name}_id")() for name in _SPECIAL_IDS}
    if received != _SPECIAL_IDS:
        raise ValueError(
            f"`model` must have the special ids {_SPECIAL_IDS}; train it with "
            f"`SubwordTokenizer.train`. Received: {received}"
        )
    return processor
