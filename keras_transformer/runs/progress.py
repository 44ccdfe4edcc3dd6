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

    Example:
        >>> Progress(step=10, epoch=1, batch=4).after_batch().after_epoch(20.0)
        Progress(step=11, epoch=2, batch=0, best_score=20.0, waited=0)
    """

    step: int = 0
    epoch: int = 0
    batch: int = 0
    best_score: float | None = None
    waited: int = 0

    def after_batch(self) -> "Progress":
        """Returns the place one batch later."""
        return self._replace(step=self.step + 1, batch=self.batch + 1)

    def after_epoch(self, score: float | None) -> "Progress":
        """Returns the place after the epoch, whose last batch this is.

        Args:
            score: What early stopping looks at, of which more is better; None if nothing was
                measured.
        """
        place = self._replace(epoch=self.epoch + 1, batch=0)
        if score is None:
            return place
        best = -math.inf if self.best_score is None else self.best_score
        if score > best:
            return place._replace(best_score=score, waited=0)
        return place._replace(waited=self.waited + 1)
