"""Runs an export to SavedModel from Python, by its signatures."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tensorflow as tf

from keras_transformer.config import DecodingConfig
from keras_transformer.export.metadata import eos_of, read_metadata
from keras_transformer.translation.in_batches import encode, map_in_batches
from keras_transformer.translation.results import (
    Attention,
    Score,
    Translation,
    attention_of,
    score_of,
    translation_of,
)


class SavedTranslator:
    """Translates with a SavedModel, as it was exported.

    Args:
        path: Folder of the SavedModel.
        batch_size: Strings that are translated together.
        compiled: Whether to translate by the signature `compiled`, which XLA compiles.

    Attributes:
        batches_at_once: As of `Translator`.
        has_scores: Whether it was exported with what `score` needs.

    Example:
        >>> from keras_transformer.export.saved_model import export_saved_model
        >>> path = export_saved_model(translator, "exports/demo")
        >>> [[best]] = SavedTranslator(path).nbest([b"a small dog"])
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        batch_size: int = DecodingConfig().batch_size,
        compiled: bool = False,
    ) -> None:
        import tensorflow_text  # noqa: F401  registers the tokenizer's ops

        # Owns what the signatures read.
        self._loaded = tf.saved_model.load(Path(path))
        self._eos = eos_of(read_metadata(Path(path)))
        self.batch_size, self.batches_at_once = batch_size, 1
        self._translate = "compiled" if compiled else "serving_default"
        self.has_scores = "score" in self._loaded.signatures

    def nbest(
        self, lines: Iterable[str | bytes], *, progress: bool = False, start: int = 0
    ) -> list[list[Translation]]:
        """Translates lines; there is one translation of each.

        Args:
            lines: The strings.
            progress: Show a progress bar, on standard error.
            start: Without a meaning here; see `Translator.nbest`.
        """
        rows = self._map(self._translate, progress, text=lines)
        return [[translation_of(row["translation"], row["score"])] for row in rows]

    def score(
        self,
        sources: Iterable[str | bytes],
        targets: Iterable[str | bytes],
        progress: bool = False,
    ) -> list[Score]:
        """Gives the log-probabilities of given translations; see `Translator.score`."""
        rows = self._map("score", progress, source=sources, target=targets)
        return [score_of(row) for row in rows]

    def attend(self, lines: Iterable[str | bytes], progress: bool = False) -> list[Attention]:
        """Tells what the tokens of each translation attended to; see `Translator.attend`.

        Of a string that is longer than the model's maximum the first tokens alone are translated.
        """
        rows = self._map("attention", progress, text=lines)
        return [attention_of(row, self._eos) for row in rows]

    def _map(
        self, signature: str, progress: bool, **columns: Iterable[str | bytes]
    ) -> list[dict[str, Any]]:
        if signature not in self._loaded.signatures:
            raise ValueError(
                f"The export must have the signature {signature!r}; export it with --signatures "
                f"{signature}. Received: one with {', '.join(sorted(self._loaded.signatures))}"
            )
        function, names = self._loaded.signatures[signature], list(columns)
        return map_in_batches(
            lambda *batch: function(**dict(zip(names, batch, strict=True))),
            *map(encode, columns.values()),
            size=self.batch_size,
            progress=progress,
            at_once=self.batches_at_once,
        )
