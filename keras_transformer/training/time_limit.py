"""A training by the clock: which share of its steps' time has passed, in all of its processes.

The time has three parts: what comes before the steps (the vocabulary is learned, the step is
traced); the steps, with the validations between them; and the end, a last validation with its
checkpoints. The learning rate follows the share of the middle part. What the end takes is measured
at the end of each epoch, so that the middle part is fitted to the machine as it is.
"""

import math
import time
from collections.abc import Callable

import numpy as np

# Of the whole time: the least that the end is taken for until an epoch has ended.
_END = 0.03


class TimeLimit:
    """The time that a training has.

    Args:
        minutes: The time of all processes of the training together.
        started: When this process began, as `clock` tells it; None for now.
        averages: Whether a mean of checkpoints is scored at the end, as the last one is.
        clock: Gives the time in seconds.

    Example:
        >>> seconds = iter([0.0, 15.0, 20.0, 37.5])
        >>> limit = TimeLimit(1.0, clock=lambda: next(seconds))
        >>> limit.epoch_begins()
        >>> limit.step_done()  # After 20 s; of the other 40 s 5 are for the end.
        >>> limit.passed()
        0.5
    """

    def __init__(
        self,
        minutes: float,
        started: float | None = None,
        averages: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit = 60.0 * minutes
        self._scorings = 2 if averages else 1
        self._clock = clock
        # As if the processes before this one had come right before it.
        self._started = clock() if started is None else started
        # NaN until there is one.
        self._epoch_began = self._steps_began = self._last_step = math.nan
        self._end = _END * self._limit

    def epoch_begins(self) -> None:
        """Notes that steps follow."""
        self._epoch_began = self._spent()

    def step_done(self) -> None:
        """Notes that a step is done; the first one counts for what comes before the steps."""
        self._last_step = self._spent()
        if math.isnan(self._steps_began):
            self._steps_began = self._last_step
            # A validation is traced as the step was.
            self._end = max(self._end, self._last_step - self._epoch_began)

    def epoch_done(self) -> None:
        """Notes what came after the last step of an epoch: so long the end will take."""
        if not math.isnan(self._last_step):
            self._end = self._scorings * (self._spent() - self._last_step)

    def left(self) -> float:
        """Returns the seconds until the last step; negative after it."""
        return self._limit - self._end - self._spent()

    def passed(self) -> float:
        """Returns the share of the steps' time that has passed, from 0 to 1."""
        if math.isnan(self._steps_began):
            return 0.0
        steps = self._limit - self._end - self._steps_began
        spent = self._spent() - self._steps_began
        return spent / steps if spent < steps else 1.0

    def state(self) -> np.ndarray:
        """Returns what another process needs to go on, float64 `[3]`."""
        return np.array([self._spent(), self._steps_began, self._end])

    def restore(self, state: np.ndarray) -> None:
        """Goes on from the state of another process; what this one has taken so far counts too."""
        spent, self._steps_began, self._end = map(float, state)
        self._started -= spent

    def _spent(self) -> float:
        return self._clock() - self._started
