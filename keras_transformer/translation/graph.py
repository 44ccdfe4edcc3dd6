"""Tokenizers, models and search as functions of string tensors: the signatures of an export.

The same functions translate in evaluation and in the exported SavedModel, so what was measured is
what is shipped. All inputs and outputs have the batch first, which lets a server join requests.
"""

import dataclasses
from collections.abc import Sequence

import keras
import tensorflow as tf

from keras_transformer.config import DecodingConfig
from keras_transformer.decoding import Hypotheses, search_translations
from keras_transformer.decoding.ensemble import mean_log_probs
from keras_transformer.decoding.scoring import shift_right, token_log_probs
from keras_transformer.models.seq2seq import Seq2Seq
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import EOS_ID, PAD_ID
from keras_transformer.translation.pieces import Boundaries, split_into_pieces
from keras_transformer.translation.storage import StoredWeights

Outputs = dict[str, tf.Tensor]


class TranslationGraph:
    """Translates tensors of strings.

    Any string is an input. One without text gives ""; one longer than the model's maximum is
    translated in pieces, whose translations are joined by spaces.

    Args:
        models: On the TensorFlow backend; several decide together.
        source_tokenizer: Tokenizer of the source language.
        target_tokenizer: Tokenizer of the target language.
        config: How translations are searched.
        weights: What to compute with; None for the models' weights as they are.
        max_length: Most tokens of a source and of a translation, eos included; None for the models'
            own.

    Raises:
        ValueError: If a tokenizer does not fit a model's vocabulary, if a banned piece is not in
            it, if `max_length` is beyond the models' own, or on another backend.

    Example:
        >>> graph = TranslationGraph([model], tokenizer, tokenizer, DecodingConfig())
        >>> graph.translate(tf.constant(["a small dog", ""]))["translation"].numpy()[1]
        b''
    """

    def __init__(
        self,
        models: Sequence[Seq2Seq],
        source_tokenizer: SubwordTokenizer,
        target_tokenizer: SubwordTokenizer,
        config: DecodingConfig,
        weights: StoredWeights | None = None,
        max_length: int | None = None,
    ):
        if keras.backend.backend() != "tensorflow":
            raise ValueError(
                "A Translator runs on the TensorFlow backend, where the tokenizer does; set "
                f"KERAS_BACKEND=tensorflow. Received: {keras.backend.backend()!r}"
            )
        self.models = list(models)
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer
        self.config = config
        most = min(model.config.max_length for model in self.models)
        self.max_length = most if max_length is None else max_length
        if not 2 <= self.max_length <= most:
            raise ValueError(
                f"`max_length` must be within 2 and the model's {most} tokens. Received: "
                f"{max_length}"
            )
        self._check_vocabularies()
        self._banned_ids = self._find_banned_ids()
        self._boundaries = Boundaries.of(source_tokenizer.pieces)
        # Compiled apart, so that a SavedModel holds each of them once for all of its signatures.
        weights = weights or StoredWeights(self.models)
        self.search = weights.compile(self._search)
        self._force_decode = weights.compile(self._token_log_probs)
        self._alignment = weights.compile(self._aligned)

    def translate(
        self,
        text: tf.Tensor,
        max_length: tf.Tensor | None = None,
        length_penalty: tf.Tensor | None = None,
    ) -> Outputs:
        """Translates strings.

        Args:
            text: string `[batch]`.
            max_length: int32 `[batch]`, most tokens of a piece's translation, eos included; less
                than 1, or None, for what `config` says, which is a bound in any case.
            length_penalty: float32 `[batch]`, alpha, up to 10; less than 0, or None, for what
                `config` says.

        Returns:
            A dict: "translation", string `[batch]`; "score", float32 `[batch]`, the log-probability
            of the translation's tokens, eos included, and 0 where there was no text; "pieces",
            int32 `[batch]`, in how many pieces the text was translated; "truncated", bool
            `[batch]`, whether the translation of a piece was cut at its most tokens.
        """
        pieces, owners = self._split(text)
        limits = {}
        if max_length is not None:
            given = tf.where(max_length > 0, max_length, self.max_length)
            limits["max_tokens"] = tf.gather(given, owners)
        if length_penalty is not None:
            limits["alpha"] = tf.gather(self._alpha(length_penalty), owners)
        found = self._search_best(_to_dense(pieces), **limits)
        translations, scores = self._join(found, pieces, owners, tf.shape(text)[0])
        has_eos = tf.reduce_any(found.ids[:, 0] == EOS_ID, 1)
        cut = tf.cast(_has_text(pieces) & ~has_eos, tf.int32)
        return {
            "translation": translations[:, 0],
            "score": scores[:, 0],
            "pieces": _sum(tf.ones_like(cut), owners, text),
            "truncated": _sum(cut, owners, text) > 0,
        }

    def nbest(self, text: tf.Tensor, prefix: tf.Tensor | None = None) -> Outputs:
        """Gives several translations of each string.

        Those of a string that is translated in pieces are the pieces' best, their second best and
        so on, joined.

        Args:
            text: string `[batch]`.
            prefix: string `[batch]`, what each translation begins with; None for anything.

        Returns:
            A dict: "translations", string `[batch, n]`, the best first; "scores", float32
            `[batch, n]`, their log-probabilities, float32's least number where there are fewer than
            n; "pieces", int32 `[batch]`. n is `config.num_hypotheses`.
        """
        pieces, owners = self._split(text)
        prefix_ids = None
        if prefix is not None:
            # Of a string's pieces, the first one begins with the prefix.
            is_first = tf.concat([[True], owners[1:] != owners[:-1]], 0)[: tf.shape(owners)[0]]
            first_only = tf.where(is_first, tf.gather(prefix, owners), "")
            prefix_ids = _to_dense(self.target_tokenizer.tokenize(first_only)[:, :-1])
        found = self.search(_to_dense(pieces), prefix_ids)
        translations, scores = self._join(found, pieces, owners, tf.shape(text)[0])
        return {
            "translations": translations,
            # JSON has no infinity.
            "scores": tf.maximum(scores, tf.float32.min),
            "pieces": _sum(tf.ones_like(owners, tf.int32), owners, text),
        }

    def score(self, source: tf.Tensor, target: tf.Tensor) -> Outputs:
        """Gives the log-probabilities of given translations.

        Args:
            source: string `[batch]`.
            target: string `[batch]`, a translation of each.

        Returns:
            A dict: "log_prob", float32 `[batch]`; "tokens", string `[batch, length]`, the target's
            with their eos, then ""; "token_log_probs", float32 `[batch, length]`, 0 after the
            eos; "truncated", bool `[batch]`, whether a string was longer than the model's maximum:
            then its first tokens alone count.
        """
        source_ids, long_source = self._first_piece(self.source_tokenizer, source)
        ids, long_target = self._first_piece(self.target_tokenizer, target)
        log_probs = self._force_decode(source_ids, ids)
        return {
            "log_prob": tf.reduce_sum(log_probs, 1),
            "tokens": self.target_tokenizer.to_pieces(ids),
            "token_log_probs": log_probs,
            "truncated": long_source | long_target,
        }

    def attention(self, text: tf.Tensor) -> Outputs:
        """Translates strings and tells what each token of the translations attended to.

        Args:
            text: string `[batch]`.

        Returns:
            A dict: "translation", string `[batch]`; "source_tokens" and "target_tokens", string
            `[batch, length]` with their eos, then ""; "weights", float32
            `[batch, heads, target_length, source_length]`, with the heads of all models;
            "truncated", bool `[batch]`, whether a string was longer than the model's maximum: then
            its first tokens alone are translated.
        """
        source, truncated = self._first_piece(self.source_tokenizer, text)
        found = self._search_best(source)
        has_text = tf.reduce_sum(tf.cast(source != PAD_ID, tf.int32), 1, keepdims=True) > 1
        target = tf.where(has_text, found.ids[:, 0], PAD_ID)
        return {
            "translation": self.target_tokenizer.detokenize(target),
            "source_tokens": self.source_tokenizer.to_pieces(source),
            "target_tokens": self.target_tokenizer.to_pieces(target),
            "weights": self._alignment(source, target),
            "truncated": truncated,
        }

    def _search_best(
        self, source: tf.Tensor, max_tokens: tf.Tensor | None = None, alpha: tf.Tensor | None = None
    ) -> Hypotheses:
        """Searches with a pool for one translation, or as many as are sampled.

        A search for more than the best would not stop as soon. All options are tensors, so that
        one graph serves all signatures.
        """
        config = self.config
        if max_tokens is None:
            max_tokens = tf.fill(tf.shape(source)[:1], self.max_length)
        if alpha is None:
            alpha = tf.fill(tf.shape(source)[:1], config.length_penalty)
        n = config.num_hypotheses if config.sampling else 1
        return self.search(source, n=n, max_tokens=max_tokens, alpha=alpha)

    def _search(
        self,
        source: tf.Tensor,
        prefix: tf.Tensor | None = None,
        n: int | None = None,
        **options: tf.Tensor | int,
    ) -> Hypotheses:
        """Searches the best target ids of source ids; compiled as `search`.

        Args:
            source: int32 `[batch, length]`, each row ending with eos and then padded.
            prefix: int32 `[batch, prefix_length]`, what translations begin with; None for anything.
            n: Translations of each; None for what `config` says.
            **options: `max_tokens`, `alpha` and `fixed_length` of `search_translations`.
        """
        config = dataclasses.replace(self.config, num_hypotheses=n or self.config.num_hypotheses)
        return search_translations(
            self.models, source, config, banned_ids=self._banned_ids, prefix=prefix, **options
        )

    def _token_log_probs(self, source: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
        """Returns the log-probability of each target token; compiled as `_force_decode`."""
        inputs = {"source": source, "target": shift_right(ids)}
        logits = mean_log_probs([model(inputs, training=False) for model in self.models])
        return token_log_probs(logits, ids)

    def _aligned(self, source: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
        """Returns the weights of all heads of a layer; compiled as `_alignment`."""
        inputs = {"source": source, "target": shift_right(ids)}
        return tf.concat([model.alignment(inputs) for model in self.models], axis=1)

    def _split(self, text: tf.Tensor) -> tuple[tf.RaggedTensor, tf.Tensor]:
        tokens = self.source_tokenizer.tokenize(text)
        return split_into_pieces(
            tokens, self.max_length, self._boundaries, self.config.split_sentences
        )

    def _join(
        self, found: Hypotheses, pieces: tf.RaggedTensor, owners: tf.Tensor, size: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the strings of hypotheses and their scores, both `[batch, n]`."""
        has_text = tf.expand_dims(_has_text(pieces), 1)
        ids = tf.reshape(found.ids, [-1, tf.shape(found.ids)[2]])
        strings = tf.reshape(self.target_tokenizer.detokenize(ids), tf.shape(found.log_probs))
        strings = tf.where(has_text, strings, "")
        scores = tf.where(has_text, found.log_probs, 0.0)
        return (
            tf.strings.unsorted_segment_join(strings, owners, size, " "),
            tf.math.unsorted_segment_sum(scores, owners, size),
        )

    def _first_piece(
        self, tokenizer: SubwordTokenizer, text: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns padded ids of at most the model's maximum, and whether there were more."""
        tokens = tokenizer.tokenize(text)
        kept = tokens[:, :-1][:, : self.max_length - 1]
        ids = tf.concat([kept, tf.fill([kept.nrows(), 1], EOS_ID)], axis=1)
        return _to_dense(ids), tokens.row_lengths() > self.max_length

    def _alpha(self, length_penalty: tf.Tensor) -> tf.Tensor:
        # No comparison holds for what is not a number.
        given = tf.minimum(length_penalty, 10.0)
        return tf.where(length_penalty >= 0.0, given, self.config.length_penalty)

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


def _has_text(pieces: tf.RaggedTensor) -> tf.Tensor:
    """Returns bool `[pieces]`: whether there is more than an eos."""
    return pieces.row_lengths() > 1


def _sum(values: tf.Tensor, owners: tf.Tensor, text: tf.Tensor) -> tf.Tensor:
    """Sums the values of the pieces of each string, `[batch]`."""
    return tf.math.unsorted_segment_sum(values, owners, tf.shape(text)[0])


def _to_dense(ids: tf.RaggedTensor) -> tf.Tensor:
    """Pads rows, to one column at least: an empty tensor can be neither reshaped nor read."""
    dense = ids.to_tensor(PAD_ID)
    return tf.pad(dense, [[0, 0], [0, tf.maximum(1 - tf.shape(dense)[1], 0)]])
