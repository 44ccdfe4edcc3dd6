"""Strings in, strings out: tokenizers, model and search as one graph.

The same function translates during training, in evaluation and in the exported SavedModel, so what
was measured is what is shipped.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import keras
import numpy as np
import tensorflow as tf

from keras_transformer.config import DecodingConfig
from keras_transformer.decoding import greedy_search
from keras_transformer.models import Transformer
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import EOS_ID, PAD_ID

if TYPE_CHECKING:
    from keras_transformer.training.run import Run


class Translator:
    """Translates strings with a model and its tokenizers.

    Any string is an input. One without text gives ""; one longer than the model's maximum is
    translated in pieces of at most that many tokens, whose translations are joined by spaces.

    Args:
        model: A `Transformer` on the TensorFlow backend.
        source_tokenizer: Tokenizer of the source language.
        target_tokenizer: Tokenizer of the target language; None if it is the source's.
        config: How translations are searched.

    Raises:
        ValueError: If a tokenizer does not fit the model's vocabulary, or on another backend.

    Example:
        >>> translator = Translator(model, tokenizer)
        >>> translations = translator(["a small dog", ""])
        >>> translations[1]
        ''
    """

    def __init__(
        self,
        model: Transformer,
        source_tokenizer: SubwordTokenizer,
        target_tokenizer: SubwordTokenizer | None = None,
        config: DecodingConfig = DecodingConfig(),
    ):
        if keras.backend.backend() != "tensorflow":
            raise ValueError(
                "A Translator runs on the TensorFlow backend, where the tokenizer does; set "
                f"KERAS_BACKEND=tensorflow. Received: {keras.backend.backend()!r}"
            )
        self.model = model
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer or source_tokenizer
        self.config = config
        self._check_vocabularies()
        self.serve = tf.function(
            self.translate, input_signature=[tf.TensorSpec([None], tf.string, name="text")]
        )

    @classmethod
    def of_run(cls, run: "Run", checkpoint: str = "best") -> "Translator":
        """Makes the translator of a trained run.

        Args:
            run: The run.
            checkpoint: "best" or "latest".

        Raises:
            FileNotFoundError: If the run has no checkpoint yet.
        """
        found = getattr(run.checkpoints, checkpoint)()
        if found is None:
            raise FileNotFoundError(
                f"`run` must have a checkpoint; train it for an epoch first. Received: {run.path}"
            )
        model = found.load(compile=False)
        return cls(model, run.source_tokenizer, run.target_tokenizer, run.config.decoding)

    def __call__(self, lines: Iterable[str | bytes], progress: bool = False) -> list[str]:
        """Translates lines in batches of like lengths and returns them in their own order.

        Args:
            lines: The strings.
            progress: Show a progress bar.

        Returns:
            A translation for each line.
        """
        # A lone surrogate cannot be encoded; as bytes it is input like any other.
        encoded = [
            line.encode("utf-8", "replace") if isinstance(line, str) else line for line in lines
        ]
        order = np.argsort([len(line) for line in encoded], kind="stable")
        translations = [""] * len(encoded)
        bar = keras.utils.Progbar(len(encoded), unit_name="sentence", verbose=int(progress))
        for start in range(0, len(encoded), self.config.batch_size):
            batch = order[start : start + self.config.batch_size]
            outputs = self.serve(tf.constant([encoded[i] for i in batch]))
            for i, translation in zip(batch, outputs["translation"].numpy(), strict=True):
                translations[i] = translation.decode("utf-8", "replace")
            bar.add(len(batch))
        return translations

    def translate(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Translates a batch in graph.

        Args:
            text: string `[batch]`.

        Returns:
            A dict: "translation", string `[batch]`; "score", float32 `[batch]`, the log-probability
            of the translation's tokens, eos included, and 0 where there was no text.
        """
        batch_size = tf.shape(text)[0]
        pieces, owners = split_into_pieces(
            self.source_tokenizer.tokenize(text), self.model.config.max_length
        )
        ids, scores = self.search(pieces)
        has_text = pieces.row_lengths() > 1
        strings = tf.where(has_text, self.target_tokenizer.detokenize(ids), "")
        scores = tf.where(has_text, scores, 0.0)
        return {
            "translation": tf.strings.unsorted_segment_join(strings, owners, batch_size, " "),
            "score": tf.math.unsorted_segment_sum(scores, owners, batch_size),
        }

    def search(self, source: tf.RaggedTensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Searches the best target ids of source ids.

        Args:
            source: int32 ragged `[batch, (tokens)]`, each row ending with eos.

        Returns:
            int32 ids `[batch, length]` and float32 scores `[batch]`, as `greedy_search` gives them.
        """
        lengths = tf.cast(source.row_lengths(), tf.int32)
        limits = tf.minimum(lengths + self.config.max_extra_tokens, self.model.config.max_length)
        # At least one column, also in a batch of no sentence: an empty tensor cannot be reshaped.
        dense = source.to_tensor(PAD_ID)
        dense = tf.pad(dense, [[0, 0], [0, tf.maximum(1 - tf.shape(dense)[1], 0)]])
        max_length = tf.reduce_max(tf.concat([limits, [1]], 0))
        state = self.model.start_decoding(dense, max_length)
        return greedy_search(self.model.decode_step, state, limits, max_length)

    def _check_vocabularies(self) -> None:
        config = self.model.config
        for side, tokenizer, size in (
            ("source", self.source_tokenizer, config.source_vocab_size or config.vocab_size),
            ("target", self.target_tokenizer, config.vocab_size),
        ):
            if tokenizer.vocab_size != size:
                raise ValueError(
                    f"`{side}_tokenizer` must have the model's {size} pieces. Received: one of "
                    f"{tokenizer.vocab_size} pieces"
                )


def split_into_pieces(
    tokens: tf.RaggedTensor, max_length: int
) -> tuple[tf.RaggedTensor, tf.Tensor]:
    """Cuts rows that are too long for the model.

    Args:
        tokens: int32 ragged `[batch, (tokens)]`, each row ending with eos.
        max_length: Most tokens of a piece, eos included.

    Returns:
        The pieces, int32 ragged `[pieces, (tokens)]`, each ending with eos, at least one for each
        row; and the row that each belongs to, `[pieces]`.

    Example:
        >>> tokens = tf.ragged.constant([[5, 6, 7, 3], [3]])
        >>> pieces, rows = split_into_pieces(tokens, max_length=3)
        >>> pieces.to_list(), rows.numpy().tolist()
        ([[5, 6, 3], [7, 3], [3]], [0, 0, 1])
    """
    words = tokens[:, :-1]
    starts = words.row_starts()
    ends = tf.maximum(starts + words.row_lengths(), starts + 1)
    piece_starts = tf.ragged.range(starts, ends, max_length - 1)
    pieces = tf.RaggedTensor.from_row_starts(words.values, piece_starts.flat_values)
    eos = tf.fill([pieces.nrows(), 1], EOS_ID)
    return tf.concat([pieces, eos], axis=1), piece_starts.value_rowids()
