"""Runs an export to CTranslate2: its engine in place of the models, our strings around it."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import tensorflow as tf

from keras_transformer.config import DecodingConfig
from keras_transformer.decoding import Hypotheses
from keras_transformer.export.metadata import read_metadata
from keras_transformer.extras import needed
from keras_transformer.models.seq2seq import Seq2Seq
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID
from keras_transformer.translation.graph import TranslationGraph
from keras_transformer.translation.in_batches import encode, map_in_batches
from keras_transformer.translation.results import (
    Attention,
    Score,
    Translation,
    nbest_of,
    score_of,
)
from keras_transformer.translation.storage import StoredWeights

# Of exports that have no metadata; CTranslate2 cuts a translation there as well.
_MAX_LENGTH = 256


class CTranslate2Translator:
    """Translates with a CTranslate2 model, by the engine's own search and length penalty.

    Args:
        path: Folder of an export.
        **options: Fields of `DecodingConfig` that the engine has as well: `OPTIONS`.

    Raises:
        ImportError: If ctranslate2 is not installed.
        ValueError: If an option is out of its range.

    Example:
        >>> from keras_transformer.export.ctranslate2 import export_ctranslate2
        >>> path = export_ctranslate2(translator, "exports/engine")
        >>> [[best]] = CTranslate2Translator(path, beam_size=2).nbest([b"a small dog"])
    """

    has_scores = True
    OPTIONS = frozenset(
        {
            *("batch_size", "beam_size", "num_hypotheses", "min_length", "no_repeat_ngram"),
            *("banned_pieces", "split_sentences", "target_language"),
        }
    )

    def __init__(self, path: str | os.PathLike[str], **options: Any) -> None:
        folder = Path(path)
        told = read_metadata(folder)
        config = DecodingConfig(**{"target_language": told.get("target_language"), **options})
        self.batch_size = config.batch_size
        limits = told.get("limits", {"max_length": _MAX_LENGTH})
        source, target = (
            SubwordTokenizer.load(folder / f"{side}.model") for side in ("source", "target")
        )
        self._graph = _EngineGraph(_open(folder), source, target, config, **limits)

    def nbest(
        self, lines: Iterable[str | bytes], *, progress: bool = False, start: int = 0
    ) -> list[list[Translation]]:
        """Translates lines; there are `num_hypotheses` translations of each.

        Args:
            lines: The strings.
            progress: Show a progress bar, on standard error.
            start: Without a meaning here; see `Translator.nbest`.
        """
        rows = map_in_batches(
            self._graph.nbest, encode(lines), size=self.batch_size, progress=progress
        )
        return [nbest_of(row) for row in rows]

    def score(
        self,
        sources: Iterable[str | bytes],
        targets: Iterable[str | bytes],
        progress: bool = False,
    ) -> list[Score]:
        """Gives the log-probabilities of given translations; see `Translator.score`."""
        columns = encode(sources), encode(targets)
        rows = map_in_batches(self._graph.score, *columns, size=self.batch_size, progress=progress)
        return [score_of(row) for row in rows]

    def attend(self, lines: Iterable[str | bytes], progress: bool = False) -> list[Attention]:
        """Refused: the engine does not tell what all its heads attend to.

        Raises:
            ValueError: Always.
        """
        raise ValueError(
            "A CTranslate2 model translates and scores and no more; use the run or a SavedModel of "
            "it. Received: a request for attention weights"
        )


class _EngineGraph(TranslationGraph):
    """Strings as a `TranslationGraph` has them, pieces and all; ids by the engine."""

    def __init__(
        self,
        engine: Any,
        source_tokenizer: SubwordTokenizer,
        target_tokenizer: SubwordTokenizer,
        config: DecodingConfig,
        max_length: int,
    ) -> None:
        # The engine's model has no more to tell.
        sizes = SimpleNamespace(
            max_length=max_length,
            vocab_size=target_tokenizer.vocab_size,
            source_vocab_size=source_tokenizer.vocab_size,
        )
        model = cast(Seq2Seq, SimpleNamespace(config=sizes))
        super().__init__([model], source_tokenizer, target_tokenizer, config, StoredWeights([]))
        self._engine = engine
        self._pieces = source_tokenizer.pieces, target_tokenizer.pieces
        self._ids = target_tokenizer.ids

    def _search(
        self, source: tf.Tensor, prefix: None = None, n: int | None = None, **limits: tf.Tensor
    ) -> Hypotheses:
        """Searches with the limits of the engine, which has none for a sentence of a batch."""
        # The engine has no more than its beam.
        n = min(n or self.config.num_hypotheses, self.config.beam_size)

        def search(source: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            sources = self._to_pieces(0, source)
            results = self._engine.translate_batch(
                sources,
                beam_size=self.config.beam_size,
                num_hypotheses=n,
                max_input_length=0,
                max_decoding_length=self.max_length,
                min_decoding_length=self.config.min_length,
                no_repeat_ngram_size=self.config.no_repeat_ngram,
                # A search never chooses pad or bos.
                suppress_sequences=self._to_pieces(
                    1, [[PAD_ID], [BOS_ID], *([i] for i in self._banned_ids)], skipped=()
                ),
            )
            # Of a source without text there is one, whatever n.
            found = [one.hypotheses + [[]] * (n - len(one.hypotheses)) for one in results]
            ids = _padded([self._to_ids(tokens) for row in found for tokens in row], np.int32)
            # Of the tokens as they are: what was forbidden has changed the engine's own scores.
            log_probs = self._log_probs(np.repeat(source, n, axis=0), ids).sum(1)
            shape = len(source), n
            return ids.reshape(*shape, ids.shape[1]), log_probs.reshape(shape)

        ids, log_probs = tf.numpy_function(search, [source], (tf.int32, tf.float32))
        ids.set_shape([None, n, None])
        log_probs.set_shape([None, n])
        return Hypotheses(ids, log_probs, log_probs)

    def _token_log_probs(self, source: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
        log_probs = tf.numpy_function(self._log_probs, [source, ids], tf.float32)
        log_probs.set_shape([None, None])
        return log_probs

    def _log_probs(self, source: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """Returns the log-probability of each token, 0 for padding."""
        results = self._engine.score_batch(
            self._to_pieces(0, source), self._to_pieces(1, ids), max_input_length=0
        )
        # The engine always adds an eos; a translation that was cut has none.
        lengths = (ids != PAD_ID).sum(1)
        return _padded(
            [one.log_probs[:length] for one, length in zip(results, lengths, strict=True)],
            np.float32,
            ids.shape[1],
        )

    def _to_pieces(
        self, side: int, ids: Any, skipped: Sequence[int] = (PAD_ID, EOS_ID)
    ) -> list[list[str]]:
        return [[self._pieces[side][i] for i in row if i not in skipped] for row in ids]

    def _to_ids(self, tokens: Sequence[str]) -> list[int]:
        ids = [self._ids[token] for token in tokens]
        return ids if len(ids) == self.max_length else [*ids, EOS_ID]


def _padded(rows: Sequence[Sequence[Any]], dtype: Any, length: int | None = None) -> np.ndarray:
    padded = np.zeros((len(rows), length or max(map(len, rows), default=1)), dtype)
    for array, row in zip(padded, rows, strict=True):
        array[: len(row)] = row
    return padded


def _open(folder: Path) -> Any:
    with needed("Running a CTranslate2 model", "ctranslate2", "ctranslate2"):
        import ctranslate2
    return ctranslate2.Translator(str(folder))
