"""What a person sees of a training: a bar on a terminal, a line now and then elsewhere."""

import shutil
import time
from collections.abc import Callable, Mapping
from typing import Any

import keras
from tqdm import tqdm

from keras_transformer.config import TrainingConfig
from keras_transformer.console import is_terminal, say
from keras_transformer.training.state import TrainingState
from keras_transformer.training.task import Scoring

# Seconds from one line to the next. A log of a day has some 3,000 lines, and a bar moves.
_IN_A_LOG = 30.0
_ON_A_TERMINAL = 0.1
# Seconds of steps by which the others are told.
_MEASURED = 5.0

_BAR_WIDTH = 20


class ReportProgress(keras.callbacks.Callback):
    """Shows how far a training is, and what its scoring has to show.

    Comes after `SaveCheckpoints`: a terminal may keep a writer waiting, and end while it waits.

    Args:
        state: The training.
        config: Of it: `epochs` and `max_steps`.
        epoch_length: Gives about how many batches an epoch has; None while that is not known.
        scoring: What measures the model, if something does.
        counted: What its speed is told in.
        clock: Gives the time in seconds.

    Example:
        >>> report = ReportProgress(state, TrainingConfig())
        >>> history = model.fit(dataset, callbacks=[report], verbose=0)
    """

    def __init__(
        self,
        state: TrainingState,
        config: TrainingConfig,
        epoch_length: Callable[[], int | None] = lambda: None,
        scoring: Scoring | None = None,
        counted: str = "tokens",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self.state = state
        self.config = config
        self.epoch_length = epoch_length
        self.scoring = scoring
        self.counted = counted
        self.clock = clock
        self._is_forecast = False

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        epochs = self.config.epochs
        self._title = f"Epoch {epoch + 1}" + ("" if epochs is None else f"/{epochs}")
        self._as_bar = is_terminal()
        self._started = self.clock()
        # The first step of this process in the epoch, and when it was done: what it takes to
        # compile the step says nothing of the others.
        self._first: tuple[int, float] | None = None
        self._shown_at: float | None = None
        self._metrics: dict[str, float] = {}

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        now, self._metrics = self.clock(), dict(logs or {})
        self._batch = self.state.progress.batch
        self._first = self._first or (self._batch, now)
        pause = _ON_A_TERMINAL if self._as_bar else _IN_A_LOG
        if self._shown_at is None or now - self._shown_at >= pause:
            self._shown_at = now
            self._show(self._total(), self._left(now))
        self._forecast(now)
        self._show_scores()

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._complete_bar()

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self._complete_bar()
        took = tqdm.format_interval(self.clock() - self._started)
        say(f"{self._stamp()}{self._title} took {took}: {listed(logs or {}, self.counted)}")
        self._show_scores()

    def _complete_bar(self) -> None:
        if self._as_bar and self._first is not None:
            self._show(self._batch, "")
            self._end_line()
            self._first = None

    def _show_scores(self) -> None:
        if self.scoring is not None and self.scoring.report:
            say(self.scoring.report)
            self.scoring.report = ""

    def _total(self) -> int | None:
        total = self.epoch_length()
        if total is None:
            return None
        if self.config.max_steps is not None:
            left = self.config.max_steps - self.state.progress.step
            total = min(total, self._batch + left)
        return max(total, self._batch)

    def _left(self, now: float) -> str:
        if self.state.limit is not None:
            return f", {tqdm.format_interval(max(0.0, self.state.limit.left()))} left in all"
        total = self._total()
        assert self._first is not None
        first, then = self._first
        if total is None or self._batch == first:
            return ""
        seconds = (total - self._batch) * (now - then) / (self._batch - first)
        return f", {tqdm.format_interval(seconds)} left"

    def _forecast(self, now: float) -> None:
        """Says once what the time allows, when it is known how long a step takes."""
        assert self._first is not None
        first, then = self._first
        if self.state.limit is None or self._is_forecast:
            return
        left, length = self.state.limit.left(), self.epoch_length()
        if left > 0.0 and now - then < _MEASURED:
            return
        self._is_forecast = True
        if left <= 0.0:
            self._end_line()
            say(
                f"The time is over at step {self.state.progress.step:,}; with more (`--time`), "
                "more steps are trained"
            )
            return
        steps = left * (self._batch - first) / (now - then)
        epochs = f", {steps / length:.1f} epochs," if length else ""
        self._end_line()
        say(
            f"In the {tqdm.format_interval(left)} that are left, less what validations take, about "
            f"{steps:,.0f} more steps{epochs} are trained"
        )

    def _end_line(self) -> None:
        if self._as_bar:
            say()

    def _show(self, total: int | None, left: str) -> None:
        place = f"{self._batch:,}" if total is None else f"{self._batch:,}/{total:,}"
        metrics = listed(self._metrics, self.counted)
        if not self._as_bar:
            say(f"{self._stamp()}{self._title}, step {place}{left}: {metrics}")
            return
        done = 0 if total is None else _BAR_WIDTH * self._batch // total
        bar = f"[{'=' * done}{'.' * (_BAR_WIDTH - done)}]"
        columns = shutil.get_terminal_size().columns - 1
        line = f"{self._title} {bar} {place}{left}: {metrics}"
        say(f"\r{line[:columns]:<{columns}}", end="")

    def _stamp(self) -> str:
        return "" if self._as_bar else time.strftime("%Y-%m-%d %H:%M:%S ")


def listed(metrics: Mapping[str, float], counted: str = "tokens") -> str:
    """Lists metrics in a line: the loss and the speed first.

    Args:
        metrics: Values by the names that `fit` gives them.
        counted: What the speed is told in.

    Example:
        >>> listed({"accuracy": 0.80351, "loss": 2.22641, "tokens_per_second": 9237.7})
        'loss 2.226, 9,238 tokens/s, accuracy 0.8035'
    """
    first = [name for name in ("loss", "tokens_per_second") if name in metrics]
    return ", ".join(
        f"{metrics[name]:,.0f} {counted}/s"
        if name == "tokens_per_second"
        else f"{name} {metrics[name]:.4g}"
        for name in dict.fromkeys([*first, *metrics])
    )
