"""The translator: strings in, strings out, in Python."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.config import DecodingConfig
from keras_transformer.config.limits import NO_LIMITS, InputLimits
from keras_transformer.config.search_shapes import SearchShape
from keras_transformer.models.seq2seq import Seq2Seq
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import EOS_ID
from keras_transformer.translation.columns import compile_columns
from keras_transformer.translation.graph import TranslationGraph
from keras_transformer.translation.in_batches import encode, map_in_batches
from keras_transformer.translation.results import (
    Attention,
    Score,
    Translation,
    attention_of,
    nbest_of,
    score_of,
)


class Translator:
    """Translates strings with a model and its tokenizers.

    Any string is an input. One with nothing to see gives ""; one longer than the model's maximum is
    translated in pieces, cut at sentence ends or between words, whose translations are joined by
    spaces. Lines are translated one by one, and the breaks between them are kept.

    Args:
        models: A model on the TensorFlow backend, or several that decide together.
        source_tokenizer: Tokenizer of the source language.
        target_tokenizer: Tokenizer of the target language; None if it is the source's.
        config: How translations are searched.
        origin: What the metadata of an export say of where the models come from.
        limits: How much of a string is translated at most; what is beyond is left out.
        shapes: For which shapes XLA compiles the search; see `CompiledSearch`.

    Attributes:
        batches_at_once: Batches of a call that are computed at the same time; 1 until it is set.
            With as many as cores, and TensorFlow told to use one thread for an operation, many
            lines take less time and more memory.

    Raises:
        ValueError: If a tokenizer does not fit a model's vocabulary, if a banned piece is not in
            it, a shape does not fit, or on another backend.

    Example:
        >>> translator = Translator(model, tokenizer)
        >>> translations = translator(["a small dog", ""])
        >>> translations[1]
        ''
    """

    has_scores = True

    def __init__(
        self,
        models: Seq2Seq | Sequence[Seq2Seq],
        source_tokenizer: SubwordTokenizer,
        target_tokenizer: SubwordTokenizer | None = None,
        config: DecodingConfig = DecodingConfig(),
        origin: Mapping[str, Any] | None = None,
        limits: InputLimits = NO_LIMITS,
        shapes: Sequence[SearchShape] = (),
    ):
        models = list(models) if isinstance(models, Sequence) else [models]
        target_tokenizer = target_tokenizer or source_tokenizer
        tokenizers = source_tokenizer, target_tokenizer
        graph = TranslationGraph(models, *tokenizers, config, limits=limits)
        if shapes:
            graph = graph.compiled(shapes)
        self.graph = graph
        self.models = self.graph.models
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer
        self.config = config
        self.origin = dict(origin or {})
        self.batches_at_once = 1
        place = {"places": tf.int32}
        self._nbest = compile_columns(
            lambda text, places: graph.nbest(text, places=places), text=tf.string, **place
        )
        self._nbest_prefixed = compile_columns(
            graph.nbest, text=tf.string, prefix=tf.string, **place
        )
        self._score = compile_columns(graph.score, source=tf.string, target=tf.string)
        self._attention = compile_columns(graph.attention, text=tf.string)
        self._attention_of = compile_columns(graph.attention, text=tf.string, translation=tf.string)

    @property
    def batch_size(self) -> int:
        """Strings that are translated together."""
        return self.config.batch_size

    def __call__(
        self,
        lines: Iterable[str | bytes],
        prefixes: Iterable[str | bytes] | None = None,
        progress: bool = False,
    ) -> list[str]:
        """Translates lines in batches of like lengths and returns them in their own order.

        Args:
            lines: The strings. A string that is in no list is one line.
            prefixes: What each translation begins with, "" for anything; None for anything.
            progress: Show a progress bar, on standard error.

        Returns:
            A list with a translation for each line.
        """
        return [best.text for best, *_ in self.nbest(lines, prefixes, progress)]

    def nbest(
        self,
        lines: Iterable[str | bytes],
        prefixes: Iterable[str | bytes] | None = None,
        progress: bool = False,
        start: int = 0,
    ) -> list[list[Translation]]:
        """Translates lines as a call does, and returns `config.num_hypotheses` of each.

        Args:
            lines: As for a call.
            prefixes: As for a call.
            progress: As for a call.
            start: Place of the first line in the whole input, of which this may be a part: with a
                seed, samples follow from the places.

        Returns:
            For each line its translations, the best first, and no two of them the same, but for
            samples. There are fewer of them if the search found no more.

        Raises:
            ValueError: If a prefix is as long as the longest translation.
        """
        lines = encode(lines)
        if prefixes is None:
            rows = self._map(self._nbest, lines, progress=progress, start=start)
        else:
            prefixes = encode(prefixes)
            self._check_lengths("prefixes", prefixes, self.target_tokenizer)
            columns = lines, prefixes
            rows = self._map(self._nbest_prefixed, *columns, progress=progress, start=start)
        return [nbest_of(row) for row in rows]

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

        Returns:
            A score for each pair; that of a pair of which a side is longer than the model's
            maximum is not a number.
        """
        rows = self._map(self._score, encode(sources), encode(targets), progress=progress)
        return [score_of(row) for row in rows]

    def attend(
        self,
        lines: Iterable[str | bytes],
        progress: bool = False,
        translations: Iterable[str | bytes] | None = None,
    ) -> list[Attention]:
        """Translates lines and tells what each token of the translations attended to.

        Args:
            lines: The strings.
            progress: Show a progress bar, on standard error.
            translations: Given translations, one for each line; None for those that are found.

        Raises:
            ValueError: If a line or a translation is longer than the model's maximum.
        """
        lines = encode(lines)
        self._check_lengths("lines", lines, self.source_tokenizer)
        if translations is None:
            rows = self._map(self._attention, lines, progress=progress)
        else:
            given = encode(translations)
            self._check_lengths("translations", given, self.target_tokenizer)
            rows = self._map(self._attention_of, lines, given, progress=progress)
        for i, row in enumerate(rows):
            if row["truncated"]:  # With the tag of a language, which counts as well.
                raise ValueError(
                    f"`lines` must be strings of at most {self.graph.max_length - 1} tokens, eos "
                    f"included, where a tag stands before them. Received: more in line {i + 1}"
                )
        eos = self.target_tokenizer.pieces[EOS_ID]
        return [attention_of(row, eos) for row in rows]

    def _map(
        self, function: Callable[..., Any], *columns: Sequence[bytes], **options: Any
    ) -> list[dict[str, Any]]:
        options["at_once"] = self.batches_at_once
        return map_in_batches(function, *columns, size=self.config.batch_size, **options)

    def _check_lengths(
        self, name: str, lines: Sequence[bytes], tokenizer: SubwordTokenizer
    ) -> None:
        most = self.graph.max_length
        lengths = tokenizer.tokenize(lines).row_lengths().numpy()
        for i in np.flatnonzero(lengths > most)[:1]:
            raise ValueError(
                f"`{name}` must be strings of at most {most} tokens, eos included. "
                f"Received: {lengths[i]} tokens in line {i + 1}"
            )
