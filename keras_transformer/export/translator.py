"""Strings in, strings out: tokenizers, model and search as one graph.

The same function translates in evaluation and in the exported SavedModel, so what was measured is
what is shipped.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from keras_transformer.config import DecodingConfig
from keras_transformer.decoding import Hypotheses, search_translations
from keras_transformer.decoding.alignment import hard_alignment
from keras_transformer.decoding.ensemble import mean_log_probs
from keras_transformer.decoding.scoring import shift_right, token_log_probs
from keras_transformer.export.in_batches import encode, map_in_batches
from keras_transformer.export.pieces import split_into_pieces
from keras_transformer.models import Transformer
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import EOS_ID, PAD_ID

if TYPE_CHECKING:
    from keras_transformer.training.run import Run


class Translation(NamedTuple):
    """A translation and the log-probability of its tokens, eos included."""

    text: str
    log_prob: float


class Score(NamedTuple):
    """What a model thinks of a given translation.

    Args:
        log_prob: Log-probability of the translation's tokens, eos included.
        pieces: The tokens.
        piece_log_probs: Log-probability of each.
    """

    log_prob: float
    pieces: list[str]
    piece_log_probs: list[float]


class Attention(NamedTuple):
    """What the tokens of a translation attended to.

    Args:
        source: Pieces of the source, without eos.
        target: Pieces of the translation, without eos.
        weights: float32 `[target, source]`, of one decoder layer, mean of its heads. The rest to a
            sum of 1 went to the source's eos.
        alignment: Positions of source and target that belong together; see `hard_alignment`.
    """

    source: list[str]
    target: list[str]
    weights: np.ndarray
    alignment: list[tuple[int, int]]


class Translator:
    """Translates strings with a model and its tokenizers.

    Any string is an input. One without text gives ""; one longer than the model's maximum is
    translated in pieces of at most that many tokens, whose translations are joined by spaces.

    Args:
        models: A `Transformer` on the TensorFlow backend, or several that decide together.
        source_tokenizer: Tokenizer of the source language.
        target_tokenizer: Tokenizer of the target language; None if it is the source's.
        config: How translations are searched.

    Raises:
        ValueError: If a tokenizer does not fit a model's vocabulary, if a banned piece is not in
            it, or on another backend.

    Example:
        >>> translator = Translator(model, tokenizer)
        >>> translations = translator(["a small dog", ""])
        >>> translations[1]
        ''
    """

    def __init__(
        self,
        models: Transformer | Sequence[Transformer],
        source_tokenizer: SubwordTokenizer,
        target_tokenizer: SubwordTokenizer | None = None,
        config: DecodingConfig = DecodingConfig(),
    ):
        if keras.backend.backend() != "tensorflow":
            raise ValueError(
                "A Translator runs on the TensorFlow backend, where the tokenizer does; set "
                f"KERAS_BACKEND=tensorflow. Received: {keras.backend.backend()!r}"
            )
        self.models = [models] if isinstance(models, Transformer) else list(models)
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer or source_tokenizer
        self.config = config
        self.max_length = min(model.config.max_length for model in self.models)
        self._check_vocabularies()
        self._banned_ids = self._find_banned_ids()
        self.serve = _compiled(self.translate, "text")
        self._serve_nbest = _compiled(self.translate_nbest, "text")
        self._serve_prefixed = _compiled(self.translate_nbest, "text", "prefix")
        self._serve_scores = _compiled(self.force_decode, "source", "target")
        self._serve_attention = _compiled(self.translate_with_attention, "text")

    @classmethod
    def of_run(
        cls, *runs: "Run", checkpoint: str = "best", config: DecodingConfig | None = None
    ) -> "Translator":
        """Makes the translator of a trained run, or of several that decide together.

        Args:
            *runs: The runs; the tokenizers are those of the first.
            checkpoint: "best" or "latest".
            config: How to search; None for what the first run says.

        Raises:
            FileNotFoundError: If a run has no checkpoint yet.
            ValueError: If the runs differ in their vocabularies.
        """
        models = []
        for run in runs:
            found = getattr(run.checkpoints, checkpoint)()
            if found is None:
                raise FileNotFoundError(
                    "`run` must have a checkpoint; train it for an epoch first. Received: "
                    f"{run.path}"
                )
            models.append(found.load(compile=False))
            for side in ("source", "target"):
                tokenizers = (getattr(one, f"{side}_tokenizer") for one in (runs[0], run))
                if len({tokenizer.model for tokenizer in tokenizers}) > 1:
                    raise ValueError(
                        f"Runs that translate together must have one {side} vocabulary; train the "
                        f"others from the first one's. Received: {runs[0].path}, {run.path}"
                    )
        first = runs[0]
        config = config or first.config.decoding
        return cls(models, first.source_tokenizer, first.target_tokenizer, config)

    def __call__(
        self,
        lines: Iterable[str | bytes],
        prefixes: Iterable[str | bytes] | None = None,
        progress: bool = False,
    ) -> list[str]:
        """Translates lines in batches of like lengths and returns them in their own order.

        Args:
            lines: The strings.
            prefixes: What each translation begins with, "" for anything; None for anything.
            progress: Show a progress bar, on standard error.

        Returns:
            A translation for each line.
        """
        return [best.text for best, *_ in self.nbest(lines, prefixes, progress)]

    def nbest(
        self,
        lines: Iterable[str | bytes],
        prefixes: Iterable[str | bytes] | None = None,
        progress: bool = False,
    ) -> list[list[Translation]]:
        """Translates lines as a call does, and returns `config.num_hypotheses` of each.

        Returns:
            For each line its translations, the best first. There are fewer of them if the search
            found no more.

        Raises:
            ValueError: If a prefix is as long as the longest translation.
        """
        lines = encode(lines)
        if prefixes is None:
            rows = self._map(self._serve_nbest, lines, progress=progress)
        else:
            prefixes = encode(prefixes)
            self._check_lengths("prefixes", prefixes, self.target_tokenizer)
            rows = self._map(self._serve_prefixed, lines, prefixes, progress=progress)
        return [
            [
                Translation(text.decode("utf-8", "replace"), float(log_prob))
                for i, (text, log_prob) in enumerate(
                    zip(row["translations"], row["scores"], strict=True)
                )
                if i == 0 or log_prob > -np.inf
            ]
            for row in rows
        ]

    def score(
        self,
        sources: Iterable[str | bytes],
        targets: Iterable[str | bytes],
        progress: bool = False,
    ) -> list[Score]:
        """Gives the log-probabilities of given translations.

        Args:
            sources: The sources.
            targets: A translation of each.
            progress: Show a progress bar, on standard error.

        Raises:
            ValueError: If a source or a target is longer than the model's maximum.
        """
        sources, targets = encode(sources), encode(targets)
        self._check_lengths("sources", sources, self.source_tokenizer)
        self._check_lengths("targets", targets, self.target_tokenizer)
        pieces = self.target_tokenizer.pieces
        scores = []
        for row in self._map(self._serve_scores, sources, targets, progress=progress):
            log_probs = row["log_probs"][row["ids"] != PAD_ID].tolist()
            ids = row["ids"][row["ids"] != PAD_ID]
            scores.append(Score(sum(log_probs), [pieces[i] for i in ids], log_probs))
        return scores

    def attend(self, lines: Iterable[str | bytes], progress: bool = False) -> list[Attention]:
        """Translates lines and tells what each token of the translations attended to.

        Args:
            lines: The strings.
            progress: Show a progress bar, on standard error.

        Raises:
            ValueError: If a line is longer than the model's maximum.
        """
        lines = encode(lines)
        self._check_lengths("lines", lines, self.source_tokenizer)
        rows = self._map(self._serve_attention, lines, progress=progress)
        return [self._attention_of(**row) for row in rows]

    def translate(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Translates a batch in graph.

        Args:
            text: string `[batch]`.

        Returns:
            A dict: "translation", string `[batch]`; "score", float32 `[batch]`, the log-probability
            of the translation's tokens, eos included, and 0 where there was no text.
        """
        nbest = self.translate_nbest(text)
        return {"translation": nbest["translations"][:, 0], "score": nbest["scores"][:, 0]}

    def translate_nbest(
        self, text: tf.Tensor, prefix: tf.Tensor | None = None
    ) -> dict[str, tf.Tensor]:
        """Translates a batch in graph, with several translations of each string.

        Those of a string that is translated in pieces are the pieces' best, their second best and
        so on, joined.

        Args:
            text: string `[batch]`.
            prefix: string `[batch]`, what each translation begins with; None for anything.

        Returns:
            A dict: "translations", string `[batch, n]`, the best first; "scores", float32
            `[batch, n]`, their log-probabilities, -inf where there are fewer than n.
        """
        batch_size, n = tf.shape(text)[0], self.config.num_hypotheses
        pieces, owners = split_into_pieces(self.source_tokenizer.tokenize(text), self.max_length)
        prefix_ids = None
        if prefix is not None:
            # Of a string's pieces, the first one begins with the prefix.
            is_first = tf.concat([[True], owners[1:] != owners[:-1]], 0)[: tf.shape(owners)[0]]
            first_only = tf.where(is_first, tf.gather(prefix, owners), "")
            prefix_ids = _to_dense(self.target_tokenizer.tokenize(first_only)[:, :-1])
        found = self.search(pieces, prefix_ids)
        has_text = tf.expand_dims(pieces.row_lengths() > 1, 1)
        ids = tf.reshape(found.ids, [-1, tf.shape(found.ids)[2]])
        strings = tf.reshape(self.target_tokenizer.detokenize(ids), [-1, n])
        strings = tf.where(has_text, strings, "")
        scores = tf.where(has_text, found.log_probs, 0.0)
        return {
            "translations": tf.strings.unsorted_segment_join(strings, owners, batch_size, " "),
            "scores": tf.math.unsorted_segment_sum(scores, owners, batch_size),
        }

    def force_decode(self, source: tf.Tensor, target: tf.Tensor) -> dict[str, tf.Tensor]:
        """Gives the log-probabilities of given translations, in graph.

        Args:
            source: string `[batch]`.
            target: string `[batch]`.

        Returns:
            A dict: "ids", int32 `[batch, length]`, the target's tokens with their eos, then
            padding; "log_probs", float32 `[batch, length]`, of each of them, 0 at padding.
        """
        source_ids = self.source_tokenizer.tokenize(source).to_tensor(PAD_ID)
        ids = self.target_tokenizer.tokenize(target).to_tensor(PAD_ID)
        inputs = {"source": source_ids, "target": shift_right(ids)}
        logits = mean_log_probs([model(inputs, training=False) for model in self.models])
        return {"ids": ids, "log_probs": token_log_probs(logits, ids)}

    def translate_with_attention(self, text: tf.Tensor, layer: int = -2) -> dict[str, tf.Tensor]:
        """Translates a batch of strings of one piece each, in graph, and gives attention weights.

        Args:
            text: string `[batch]`.
            layer: Decoder layer that the weights are of. The last but one aligns best
                (arXiv 1909.02074).

        Returns:
            A dict: "source" and "target", int32 ids `[batch, length]` with eos and padding;
            "weights", float32 `[batch, target_length, source_length]`, mean of the heads.
        """
        pieces = self.source_tokenizer.tokenize(text)
        found = self.search(pieces)
        has_text = tf.expand_dims(pieces.row_lengths() > 1, 1)
        source, target = pieces.to_tensor(PAD_ID), tf.where(has_text, found.ids[:, 0], PAD_ID)
        inputs = {"source": source, "target": shift_right(target)}
        weights = []
        for model in self.models:
            _, all_weights = model(inputs, training=False, return_attention_weights=True)
            of_layer = all_weights["cross"][max(layer, -model.config.num_layers)]
            weights.append(tf.reduce_mean(tf.cast(of_layer, tf.float32), axis=1))
        return {"source": source, "target": target, "weights": tf.add_n(weights) / len(weights)}

    def search(self, source: tf.RaggedTensor, prefix: tf.Tensor | None = None) -> Hypotheses:
        """Searches the best target ids of source ids.

        Args:
            source: int32 ragged `[batch, (tokens)]`, each row ending with eos.
            prefix: int32 `[batch, prefix_length]`, what translations begin with; None for anything.
        """
        return search_translations(
            self.models, _to_dense(source), self.config, banned_ids=self._banned_ids, prefix=prefix
        )

    def _map(self, function: tf.types.experimental.PolymorphicFunction, *columns, progress):
        return map_in_batches(function, *columns, size=self.config.batch_size, progress=progress)

    def _attention_of(self, source: np.ndarray, target: np.ndarray, weights: np.ndarray):
        source, target = (ids[(ids != PAD_ID) & (ids != EOS_ID)] for ids in (source, target))
        return Attention(
            [self.source_tokenizer.pieces[i] for i in source],
            [self.target_tokenizer.pieces[i] for i in target],
            weights[: len(target), : len(source)],
            hard_alignment(weights, len(source), len(target)),
        )

    def _find_banned_ids(self) -> list[int]:
        if not self.config.banned_pieces:
            return []
        ids = {piece: i for i, piece in enumerate(self.target_tokenizer.pieces)}
        for piece in self.config.banned_pieces:
            if piece not in ids:
                raise ValueError(
                    "`banned_pieces` must be pieces of the target vocabulary, in which \u2581 "
                    f"begins a word. Received: {piece!r}"
                )
        return [ids[piece] for piece in self.config.banned_pieces]

    def _check_lengths(self, name, lines, tokenizer) -> None:
        lengths = tokenizer.tokenize(lines).row_lengths().numpy()
        for i in np.flatnonzero(lengths > self.max_length)[:1]:
            raise ValueError(
                f"`{name}` must be strings of at most {self.max_length} tokens, eos included. "
                f"Received: {lengths[i]} tokens in line {i + 1}"
            )

    def _check_vocabularies(self) -> None:
        for config in (model.config for model in self.models):
            for side, tokenizer, size in (
                ("source", self.source_tokenizer, config.source_vocab_size or config.vocab_size),
                ("target", self.target_tokenizer, config.vocab_size),
            ):
                if tokenizer.vocab_size != size:
                    raise ValueError(
                        f"`{side}_tokenizer` must have the model's {size} pieces. Received: one of "
                        f"{tokenizer.vocab_size} pieces"
                    )


def _to_dense(ids: tf.RaggedTensor) -> tf.Tensor:
    """Pads rows, to one column at least: an empty tensor can be neither reshaped nor read."""
    dense = ids.to_tensor(PAD_ID)
    return tf.pad(dense, [[0, 0], [0, tf.maximum(1 - tf.shape(dense)[1], 0)]])


def _compiled(function, *arguments: str) -> tf.types.experimental.PolymorphicFunction:
    """Compiles a function of strings into one graph for all batches."""
    signature = [tf.TensorSpec([None], tf.string, name=name) for name in arguments]
    return tf.function(function, input_signature=signature, autograph=False)
