"""What a translator gives back, made of the rows that `TranslationGraph`'s functions give.

A row is what a graph or a signature of an export gives for one string: NumPy values by their names.
"""

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from keras_transformer.decoding.alignment import hard_alignment


class Translation(NamedTuple):
    """A translation and the log-probability of its tokens, eos included."""

    text: str
    log_prob: float


class Score(NamedTuple):
    """What a model thinks of a given translation.

    Args:
        log_prob: Log-probability of the translation's tokens, eos included; not a number, and there
            are no tokens, where source or translation is longer than the model's maximum.
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


class AnyTranslator(Protocol):
    """What runs and exports have in common once they are opened: bytes in, translations out."""

    @property
    def batch_size(self) -> int:
        """Strings that are translated together."""

    @property
    def has_scores(self) -> bool:
        """Whether `score` tells something; some exports are made without."""

    def nbest(
        self, lines: Any, *, progress: bool = False, start: int = 0
    ) -> list[list[Translation]]:
        """Returns the translations of each line, the best first; `start` is the first's place."""

    def score(self, sources: Any, targets: Any, progress: bool = False) -> list[Score]:
        """Returns what the model thinks of given translations."""

    def attend(self, lines: Any, progress: bool = False) -> list[Attention]:
        """Returns what the tokens of each line's translation attended to."""


def translation_of(text: bytes, log_prob: float) -> Translation:
    """Makes a translation of UTF-8 bytes."""
    return Translation(text.decode("utf-8", "replace"), float(log_prob))


def nbest_of(row: dict[str, Any]) -> list[Translation]:
    """Makes the translations of a row of `TranslationGraph.nbest`; at least one."""
    return [
        translation_of(text, log_prob)
        for i, (text, log_prob) in enumerate(zip(row["translations"], row["scores"], strict=True))
        if i == 0 or log_prob > np.finfo(np.float32).min
    ]


def score_of(row: dict[str, Any]) -> Score:
    """Makes the score of a row of `TranslationGraph.score`; of too long a string it is none."""
    if row["truncated"]:
        return Score(math.nan, [], [])
    pieces = _decode(row["tokens"])
    return Score(float(row["log_prob"]), pieces, row["token_log_probs"][: len(pieces)].tolist())


def attention_of(row: dict[str, Any], eos: str) -> Attention:
    """Makes the attention of a row of `TranslationGraph.attention`.

    Args:
        row: The row.
        eos: The target vocabulary's piece for the end.
    """
    source, target = _decode(row["source_tokens"]), _decode(row["target_tokens"])
    # A translation that was cut has no eos.
    source, target = source[:-1], target[:-1] if target[-1:] == [eos] else target
    weights = row["weights"].mean(axis=0)
    return Attention(
        source,
        target,
        weights[: len(target), : len(source)],
        hard_alignment(weights, len(source), len(target)),
    )


def _decode(tokens: np.ndarray) -> list[str]:
    return [token.decode() for token in tokens if token]
