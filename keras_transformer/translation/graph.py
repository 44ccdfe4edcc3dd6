"""Tokenizers, models and search as functions of string tensors: the signatures of an export.

The same functions translate in evaluation and in the exported SavedModel, so what was measured is
what is shipped. All inputs and outputs have the batch first, which lets a server join requests.
"""

import copy
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from keras_transformer.config import DecodingConfig
from keras_transformer.config.limits import NO_LIMITS, InputLimits
from keras_transformer.config.search_shapes import SearchShape
from keras_transformer.decoding import Hypotheses, search_translations
from keras_transformer.decoding.ensemble import mean_log_probs
from keras_transformer.decoding.scoring import shift_right, token_log_probs
from keras_transformer.models.seq2seq import Seq2Seq
from keras_transformer.text.invisible import NOTHING_TO_SEE
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import EOS_ID, PAD_ID
from keras_transformer.translation.compiled_search import CompiledSearch
from keras_transformer.translation.groups import search_in_groups, to_dense
from keras_transformer.translation.limits import cut_bytes
from keras_transformer.translation.lines import Lines, breaks_to_spaces, split_lines
from keras_transformer.translation.pieces import Boundaries, split_into_pieces
from keras_transformer.translation.storage import StoredWeights
from keras_transformer.translation.target_tags import TargetTags

Outputs = dict[str, tf.Tensor]


class Pieces(NamedTuple):
    """The pieces of a batch of strings that have text.

    Args:
        ids: int32 ragged `[pieces, (tokens)]`, each ending with eos.
        of_line: int64 `[pieces]`, the line that each belongs to, in order.
        lines: The lines of the strings.
        is_cut: bool `[batch]`, whether a string had more than is translated of it.
    """

    ids: tf.RaggedTensor
    of_line: tf.Tensor
    lines: Lines
    is_cut: tf.Tensor

    @property
    def owners(self) -> tf.Tensor:
        """The string that each piece belongs to, int64 `[pieces]`, in order."""
        return tf.gather(self.lines.owners, self.of_line)

    @property
    def numbers(self) -> tf.Tensor:
        """Which piece of its string each is, int32 `[pieces]`."""
        owners = self.owners
        return tf.range(tf.size(owners)) - tf.searchsorted(owners, owners)


class TranslationGraph:
    """Translates tensors of strings.

    Any string is an input. One with nothing to see gives ""; one longer than the model's maximum is
    translated in pieces, whose translations are joined by spaces. Lines are translated one by one,
    and the breaks between them are kept.

    Args:
        models: On the TensorFlow backend; several decide together.
        source_tokenizer: Tokenizer of the source language.
        target_tokenizer: Tokenizer of the target language.
        config: How translations are searched.
        weights: What to compute with; None for the models' weights as they are.
        max_length: Most tokens of a source and of a translation, eos included; None for the models'
            own.
        limits: How much of a text is translated at most.

    Raises:
        ValueError: If a tokenizer does not fit a model's vocabulary, if a banned piece is not in
            it, or no tag for `config.target_language`, if `max_length` is beyond the models' own,
            or on another backend.

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
        limits: InputLimits = NO_LIMITS,
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
        self.limits = limits
        most = min(model.config.max_length for model in self.models)
        self.max_length = most if max_length is None else max_length
        if not 2 <= self.max_length <= most:
            raise ValueError(
                f"`max_length` must be within 2 and the model's {most} tokens. Received: "
                f"{max_length}"
            )
        self._check_vocabularies()
        self._banned_ids = self._find_banned_ids()
        self.tags = TargetTags(source_tokenizer, config.target_language)
        self._boundaries = Boundaries.of(source_tokenizer.pieces)
        # Compiled apart, so that a SavedModel holds each of them once for all of its signatures.
        self._weights = weights or StoredWeights(self.models)
        self._searched: Callable[..., Hypotheses] = self._weights.compile(self._search)
        self._force_decode = self._weights.compile(self._token_log_probs)
        self._alignment = self._weights.compile(self._aligned)

    def compiled(self, shapes: Sequence[SearchShape]) -> "TranslationGraph":
        """Gives one that shares all of this, and has its search compiled by XLA where that fits.

        Args:
            shapes: For which shapes; see `CompiledSearch`.

        Raises:
            ValueError: If a shape has room for more tokens than the model, or translations are
                sampled.

        Example:
            >>> graph = TranslationGraph([model], tokenizer, tokenizer, DecodingConfig())
            >>> fast = graph.compiled([SearchShape(rows=1, length=16)])
        """
        if self.config.sampling:
            raise ValueError(
                "`sampling` is not for a search that is compiled; leave one of them out. Received: "
                f"sampling=True, {', '.join(map(str, shapes))}"
            )
        for shape in shapes:
            if shape.length > self.max_length:
                raise ValueError(
                    "`shapes` must have at most as many tokens as are translated at once, here "
                    f"{self.max_length}; give smaller ones. Received: {shape}"
                )
        fast = copy.copy(self)
        search = functools.partial(self._search, grow=False)
        by_xla = self._weights.compile(search, jit_compile=True)
        fast._searched = CompiledSearch(self._searched, by_xla, shapes)
        return fast

    def translate(
        self,
        text: tf.Tensor,
        max_length: tf.Tensor | None = None,
        length_penalty: tf.Tensor | None = None,
    ) -> Outputs:
        """Translates strings.

        A translation that is sampled is drawn for its string's place in the batch.

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
            `[batch]`, whether the translation of a piece was cut at its most tokens, or the text at
            a limit.
        """
        pieces = self._split(text)
        owners = pieces.owners
        limits = self._places(pieces)
        if max_length is not None:
            given = tf.where(max_length > 0, max_length, self.max_length)
            limits["max_tokens"] = tf.gather(given, owners)
        if length_penalty is not None:
            limits["alpha"] = tf.gather(self._alpha(length_penalty), owners)
        found = self._in_groups(self._search_best, pieces, **limits)
        translations, scores = self._join(found, pieces, text)
        cut = tf.cast(~tf.reduce_any(found.ids[:, 0] == EOS_ID, 1), tf.int32)
        return {
            "translation": translations[:, 0],
            "score": scores[:, 0],
            "pieces": _count(pieces, text),
            "truncated": pieces.is_cut | (_sum(cut, owners, text) > 0),
        }

    def nbest(
        self, text: tf.Tensor, prefix: tf.Tensor | None = None, places: tf.Tensor | None = None
    ) -> Outputs:
        """Gives several translations of each string, no two of which are the same string.

        Those of a string that is translated in pieces are the pieces' best, their second best and
        so on, joined. Of a string that was found in several segmentations the first one counts;
        the probabilities of the others are not added. Samples are independent of each other, and
        so may be the same.

        Args:
            text: string `[batch]`.
            prefix: string `[batch]`, what each translation begins with; None for anything.
            places: int32 `[batch]`, the strings' places in the whole input, for which samples are
                drawn; None for their places in the batch.

        Returns:
            A dict: "translations", string `[batch, n]`, the best first; "scores", float32
            `[batch, n]`, their log-probabilities, float32's least number where there are fewer than
            n; "pieces", int32 `[batch]`. n is `config.num_hypotheses`.
        """
        pieces, n = self._split(text), self.config.num_hypotheses
        columns = self._places(pieces, places)
        if prefix is not None:
            # Of a string's pieces, the first one begins with the prefix.
            first_only = tf.where(pieces.numbers == 0, tf.gather(prefix, pieces.owners), "")
            columns["prefix"] = to_dense(self.target_tokenizer.tokenize(first_only)[:, :-1])
        # Some will be the same string.
        searched = n if n == 1 or self.config.sampling else 2 * n
        found = self._in_groups(functools.partial(self.search, n=searched), pieces, **columns)
        translations, scores = self._join(found, pieces, text)
        if searched > n:
            translations, scores = _distinct(translations, scores, n)
        return {
            "translations": translations,
            # JSON has no infinity.
            "scores": tf.maximum(scores, tf.float32.min),
            "pieces": _count(pieces, text),
        }

    def score(self, source: tf.Tensor, target: tf.Tensor) -> Outputs:
        """Gives the log-probabilities of given translations, in which line breaks are spaces.

        Args:
            source: string `[batch]`.
            target: string `[batch]`, a translation of each.

        Returns:
            A dict: "log_prob", float32 `[batch]`; "tokens", string `[batch, length]`, the target's
            with their eos, then ""; "token_log_probs", float32 `[batch, length]`, 0 after the
            eos, and throughout where neither string has text, as `translate` has it; "truncated",
            bool `[batch]`, whether a string was longer than the model's maximum: then its first
            tokens alone count.
        """
        source_ids, long_source = self._first_piece(self.source_tokenizer, source, is_source=True)
        ids, long_target = self._first_piece(self.target_tokenizer, target)
        log_probs = self._force_decode(source_ids, ids)
        has_text = (source_ids[:, :1] != EOS_ID) | (ids[:, :1] != EOS_ID)
        log_probs = tf.where(has_text, log_probs, 0.0)
        return {
            "log_prob": tf.reduce_sum(log_probs, 1),
            "tokens": self.target_tokenizer.to_pieces(ids),
            "token_log_probs": log_probs,
            "truncated": long_source | long_target,
        }

    def attention(self, text: tf.Tensor, translation: tf.Tensor | None = None) -> Outputs:
        """Translates strings and tells what each token of the translations attended to.

        Args:
            text: string `[batch]`, in which line breaks are spaces.
            translation: string `[batch]`, given translations; None for those that are found.

        Returns:
            A dict: "translation", string `[batch]`; "source_tokens" and "target_tokens", string
            `[batch, length]` with their eos, then ""; "weights", float32
            `[batch, heads, target_length, source_length]`, with the heads of all models;
            "truncated", bool `[batch]`, whether a string was longer than the model's maximum: then
            its first tokens alone are translated.
        """
        source, target, truncated = self.pair(text, translation)
        return {
            "translation": self.target_tokenizer.detokenize(target),
            "source_tokens": self.source_tokenizer.to_pieces(source),
            "target_tokens": self.target_tokenizer.to_pieces(target),
            "weights": self._alignment(source, target),
            "truncated": truncated,
        }

    def pair(
        self, text: tf.Tensor, translation: tf.Tensor | None = None
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Gives the ids of strings and of their translations.

        Args:
            text: As for `attention`.
            translation: As for `attention`.

        Returns:
            Both int32 `[batch, length]`, each row ending with eos and then padded; and whether a
            string was longer than the model's maximum, bool `[batch]`.
        """
        source, truncated = self._first_piece(self.source_tokenizer, text, is_source=True)
        if translation is not None:
            target, long_target = self._first_piece(self.target_tokenizer, translation)
            return source, target, truncated | long_target
        found = self._search_best(source)
        target = tf.where(source[:, :1] != EOS_ID, found.ids[:, 0], PAD_ID)
        # The search had room for more.
        lengths = tf.reduce_sum(tf.cast(target != PAD_ID, tf.int32), 1)
        return source, target[:, : tf.maximum(tf.reduce_max(lengths), 1)], truncated

    def _in_groups(
        self, search: Callable[..., Hypotheses], pieces: Pieces, **columns: tf.Tensor
    ) -> Hypotheses:
        length = self.models[0].config.max_length
        return search_in_groups(search, pieces.ids, self.config.batch_size, length, **columns)

    def _search_best(
        self,
        source: tf.Tensor,
        max_tokens: tf.Tensor | None = None,
        alpha: tf.Tensor | None = None,
        **places: tf.Tensor,
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
        return self.search(source, n=n, max_tokens=max_tokens, alpha=alpha, **places)

    def search(
        self,
        source: tf.Tensor,
        prefix: tf.Tensor | None = None,
        n: int | None = None,
        max_tokens: tf.Tensor | None = None,
        alpha: tf.Tensor | None = None,
        places: tf.Tensor | None = None,
        fixed_length: int | None = None,
    ) -> Hypotheses:
        """Searches the best target ids of source ids; compiled.

        Args:
            source: int32 `[batch, length]`, each row ending with eos and then padded.
            prefix: int32 `[batch, prefix_length]`, what translations begin with; None for anything.
            n: Translations of each; None for what `config` says.
            max_tokens: As in `search_translations`.
            alpha: As in `search_translations`.
            places: As in `search_translations`.
            fixed_length: As in `search_translations`.
        """
        # Always all of them: TensorFlow fails to compare the types of calls that name different
        # arguments.
        return self._searched(
            source,
            prefix=prefix,
            n=n,
            max_tokens=max_tokens,
            alpha=alpha,
            places=places,
            fixed_length=fixed_length,
        )

    def _search(
        self,
        source: tf.Tensor,
        prefix: tf.Tensor | None = None,
        n: int | None = None,
        **options: Any,
    ) -> Hypotheses:
        """Searches; compiled as `search`."""
        if self.config.sampling and self.config.seed is None:
            # The operation itself: TensorFlow's function would put a seed into the graph, and an
            # export would draw the same again.
            options["seed"] = tf.raw_ops.RandomUniformInt(shape=[2], minval=0, maxval=2**31 - 1)
        return search_translations(
            self.models,
            source,
            self.config,
            banned_ids=self._banned_ids,
            prefix=prefix,
            num_hypotheses=n,
            **options,
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

    def _split(self, text: tf.Tensor) -> Pieces:
        text, is_cut = cut_bytes(text, self.limits.max_bytes)
        lines = split_lines(_seen(text))
        tokens = self.source_tokenizer.tokenize(_seen(lines.text))
        tags, tokens = self.tags.cut_off(tokens, lines.owners)
        most = self.max_length - self.tags.length
        pieces, of_line = split_into_pieces(
            tokens, most, self._boundaries, self.config.split_sentences
        )
        pieces = self.tags.put_before(tags, pieces, of_line)
        with_text = tf.where(pieces.row_lengths() > 1)[:, 0]
        kept = Pieces(tf.gather(pieces, with_text), tf.gather(of_line, with_text), lines, is_cut)
        return kept if self.limits.max_pieces is None else _first(kept, self.limits.max_pieces)

    def _places(self, pieces: Pieces, places: tf.Tensor | None = None) -> dict[str, tf.Tensor]:
        """Returns the option of the search that tells pieces apart, if it samples."""
        if not self.config.sampling:
            return {}
        owners = pieces.owners
        places = tf.cast(owners, tf.int32) if places is None else tf.gather(places, owners)
        return {"places": tf.stack([places, pieces.numbers], 1)}

    def _join(
        self, found: Hypotheses, pieces: Pieces, text: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the strings of hypotheses and their scores, both `[batch, n]`."""
        ids = tf.reshape(found.ids, [-1, tf.shape(found.ids)[2]])
        strings = tf.reshape(self.target_tokenizer.detokenize(ids), tf.shape(found.log_probs))
        lines, join = pieces.lines, tf.strings.unsorted_segment_join
        strings = join(strings, pieces.of_line, tf.size(lines.text), " ")
        strings = tf.strings.join(
            [strings, tf.broadcast_to(lines.breaks[:, None], tf.shape(strings))]
        )
        return (
            join(strings, lines.owners, tf.shape(text)[0]),
            _sum(found.log_probs, pieces.owners, text),
        )

    def _first_piece(
        self, tokenizer: SubwordTokenizer, text: tf.Tensor, is_source: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns padded ids of at most the model's maximum, and whether there were more."""
        text, is_cut = cut_bytes(text, self.limits.max_bytes)
        tokens = tokenizer.tokenize(_seen(breaks_to_spaces(text)))
        if is_source:  # The tokenizer does not tell: a joint vocabulary is that of both sides.
            tokens = self.tags.put_before(*self.tags.cut_off(tokens))
        kept = tokens[:, :-1][:, : self.max_length - 1]
        ids = tf.concat([kept, tf.fill([kept.nrows(), 1], EOS_ID)], axis=1)
        return to_dense(ids), is_cut | (tokens.row_lengths() > self.max_length)

    def _alpha(self, length_penalty: tf.Tensor) -> tf.Tensor:
        # No comparison holds for what is not a number.
        given = tf.minimum(length_penalty, 10.0)
        return tf.where(length_penalty >= 0.0, given, self.config.length_penalty)

    def _find_banned_ids(self) -> list[int]:
        if not self.config.banned_pieces:
            return []
        ids = self.target_tokenizer.ids
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


def _seen(text: tf.Tensor) -> tf.Tensor:
    """Returns "" in place of strings that show nothing, whatever a vocabulary makes of these."""
    return tf.strings.regex_replace(text, NOTHING_TO_SEE, "")


def _first(pieces: Pieces, most: int) -> Pieces:
    """Keeps so many pieces of each string."""
    is_kept = pieces.numbers < most
    kept = tf.where(is_kept)[:, 0]
    left_out = tf.gather(pieces.owners, tf.where(~is_kept)[:, 0])
    return Pieces(
        tf.gather(pieces.ids, kept),
        tf.gather(pieces.of_line, kept),
        pieces.lines,
        pieces.is_cut | (_sum(tf.ones_like(left_out), left_out, pieces.is_cut) > 0),
    )


def _distinct(strings: tf.Tensor, scores: tf.Tensor, n: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Keeps the first n different strings of each row, `[batch, n]`.

    Args:
        strings: string `[batch, found]`.
        scores: float32 `[batch, found]`, -inf where nothing was found.
        n: How many; where there are fewer, the rest is "" with -inf.
    """
    exists = scores > -math.inf
    same = (strings[:, :, None] == strings[:, None, :]) & exists[:, None, :]
    found = tf.shape(scores)[1]
    earlier = tf.range(found)[None, :] < tf.range(found)[:, None]
    is_new = exists & ~tf.reduce_any(same & earlier, 2)
    # At least n columns.
    padding = [[0, 0], [0, tf.maximum(n - found, 0)]]
    order = tf.argsort(tf.cast(is_new, tf.int32), direction="DESCENDING", stable=True)
    strings = tf.gather(tf.where(is_new, strings, ""), order, batch_dims=1)
    scores = tf.gather(tf.where(is_new, scores, -math.inf), order, batch_dims=1)
    return (
        tf.pad(strings, padding, constant_values="")[:, :n],
        tf.pad(scores, padding, constant_values=-math.inf)[:, :n],
    )


def _count(pieces: Pieces, text: tf.Tensor) -> tf.Tensor:
    """Counts the pieces of each string, int32 `[batch]`; one without text is one."""
    return tf.maximum(_sum(tf.ones_like(pieces.of_line, tf.int32), pieces.owners, text), 1)


def _sum(values: tf.Tensor, owners: tf.Tensor, text: tf.Tensor) -> tf.Tensor:
    """Sums the values of the pieces of each string, `[batch]`."""
    return tf.math.unsorted_segment_sum(values, owners, tf.shape(text)[0])
