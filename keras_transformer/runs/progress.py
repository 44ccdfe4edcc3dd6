"""How far a training is."""

import math
from typing import NamedTuple


class Progress(NamedTuple):
    """A place in a training, and how its epochs have scored so far.

    Args:
        step: Batches trained on, in all.
        epoch: Epochs completed.
        batch: Batches trained on in the epoch after those.
        best_score: Best score of an epoch, of which more is better; None before the first.
        waited: Epochs since the best one.
        scored_by: What those scores are, as `TrainingConfig.early_stopping` calls it; None if that
            is not known, as of runs of earlier versions.

    Example:
        >>> Progress(step=10, epoch=1, batch=4).after_batch().after_epoch(20.0, "score")
        Progress(step=11, epoch=2, batch=0, best_score=20.0, waited=0, scored_by='score')
    """

    step: int = 0
    epoch: int = 0
    batch: int = 0
    best_score: float | None = None
    waited: int = 0
    scored_by: str | None = None

    def after_batch(self) -> "Progress":
        """Returns the place one batch later."""
        return self._replace(step=self.step + 1, batch=self.batch + 1)

    def after_epoch(self, score: float | None, scored_by: str | None = None) -> "Progress":
        """Returns the place after the epoch, whose last batch this is.

        Args:
            score: What early stopping looks at, of which more is better; None if nothing was
                measured.
            scored_by: What that is. A score of another kind is the first of its kind.
        """
        place = self._replace(epoch=self.epoch + 1, batch=0)
        if score is None:
            return place
        same = self.scored_by in (None, scored_by)
        best = self.best_score if same and self.best_score is not None else -math.inf
        place = place._replace(scored_by=scored_by)
        if score > best:
            return place._replace(best_score=score, waited=0)
        return place._replace(waited=self.waited + 1)
