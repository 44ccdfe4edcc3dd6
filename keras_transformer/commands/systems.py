"""What `evaluate` compares: models that translate, and files of stored translations."""

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keras_transformer.commands.options import open_quietly

if TYPE_CHECKING:
    from keras_transformer.translation.results import AnyTranslator


def split_systems(paths: Sequence[str]) -> tuple[list[str], list[str]]:
    """Parts the systems of a command line from the corpora that follow them.

    Args:
        paths: The arguments. The first one is a system, whatever it is.

    Returns:
        The systems and the corpora.

    Raises:
        ValueError: If no corpus follows.
    """
    count = next((i for i in range(1, len(paths)) if not _is_system(paths[i])), len(paths))
    if count == len(paths):
        raise ValueError(
            "A corpus must follow the systems, as in `evaluate runs/a runs/b corpus/test`. "
            f"Received: {', '.join(paths)}, all of them runs, exports or stored translations"
        )
    return list(paths[:count]), list(paths[count:])


def is_stored(path: str) -> bool:
    """Returns whether a path is a file of translations, a line for each source."""
    return Path(path).is_file() and not path.removesuffix(".gz").endswith(".tsv")


def _is_system(path: str) -> bool:
    from keras_transformer.export.versions import find_export
    from keras_transformer.runs.run import exists

    return is_stored(path) or exists(path) or find_export(path) is not None


class Translated:
    """A system that is asked for translations, and how long they take.

    Args:
        path: A run, an export, or a file of stored translations.
        checkpoint: Of a run: "best", "latest" or "average".
        options: Fields of `DecodingConfig`.
    """

    def __init__(self, path: str, checkpoint: str, options: Mapping[str, Any]) -> None:
        self.path = path
        self._translator: AnyTranslator | None = None
        if not is_stored(path):
            self._translator = open_quietly([path], checkpoint, options)

    def translate(
        self, sources: Sequence[str], timed: bool = False
    ) -> tuple[list[str], float | None]:
        """Gives the translations, and the seconds that they took.

        Args:
            sources: The sources.
            timed: Compile before the time is taken.

        Raises:
            ValueError: If stored translations are not as many.
        """
        if self._translator is None:
            return self._stored(len(sources)), None
        if timed:
            self._translator.nbest(sources[:1])
        start = time.perf_counter()
        found = [best.text for best, *_ in self._translator.nbest(sources, progress=True)]
        return found, time.perf_counter() - start

    def _stored(self, wanted: int) -> list[str]:
        from keras_transformer.data.corpora import read_lines

        lines = list(read_lines(Path(self.path)))
        if len(lines) != wanted:
            raise ValueError(
                f"Stored translations must be as many lines as the corpus has pairs, {wanted:,}. "
                f"Received: {self.path} with {len(lines):,} lines"
            )
        return lines

    def perplexity(self, sources: Sequence[str], references: Sequence[str]) -> float | None:
        """Gives the perplexity of the references' tokens; None of what tells no probabilities.

        Pairs of which a side is longer than the model's maximum are left out.

        Args:
            sources: The sources.
            references: Their references.
        """
        if self._translator is None or not self._translator.has_scores:
            return None
        scores = self._translator.score(sources, references, progress=True)
        known = [score for score in scores if not math.isnan(score.log_prob)]
        tokens = sum(len(score.pieces) for score in known)
        return math.exp(-sum(score.log_prob for score in known) / tokens) if tokens else None
