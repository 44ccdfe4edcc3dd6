"""What happens beside the steps of `fit`: throughput, the moving average and checkpoints."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import keras
import numpy as np

from keras_transformer.config import TrainingConfig
from keras_transformer.training.metrics import TokenMean
from keras_transformer.training.moving_average import MovingAverage
from keras_transformer.training.state import TrainingState

# Seconds; as often as somebody looks.
_BETWEEN_READINGS = 0.1


class Throughput(keras.callbacks.Callback):
    """Shows `tokens_per_second`: real labels of an epoch, by the time its steps took.

    Of translation they are target tokens.

    Tokens count alike, whatever their pairs weigh in the loss.

    Args:
        clock: Gives the time in seconds.

    Example:
        >>> history = model.fit(dataset, callbacks=[Throughput()])
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        super().__init__()
        self.clock = clock
        self._in_epoch = False

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self._started = self._read_at = self.clock()
        self._rate = 0.0
        # Those of an earlier process, if the epoch was resumed in its midst.
        self._before = next((metric.count for metric in self._counters()), 0.0)

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self._in_epoch = True
        self._stopped = self.clock()
        # The count lives on the device; reading it at every step would make the steps wait.
        if batch == 0 or self._stopped - self._read_at >= _BETWEEN_READINGS:
            self._read()
        if logs is not None:
            logs["tokens_per_second"] = self._rate

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        # Validation follows the epoch's last step, and resets the metrics' count.
        self._finish()

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self._finish()
        if logs is not None:
            logs["tokens_per_second"] = self._rate

    def _finish(self) -> None:
        if self._in_epoch:
            self._in_epoch = False
            self._read()

    def _read(self) -> None:
        self._read_at = self._stopped
        tokens = self._tokens() - self._before
        self._rate = tokens / (self._stopped - self._started)

    def _tokens(self) -> float:
        for metric in self._counters():
            return metric.count
        raise ValueError(
            "Throughput needs a metric that counts tokens; compile the model with TokenAccuracy or "
            f"Perplexity. Received: metrics={[metric.name for metric in self.model.metrics]}"
        )

    def _counters(self) -> Iterator[TokenMean]:
        for metric in self.model.metrics:
            for part in getattr(metric, "metrics", [metric]):
                if isinstance(part, TokenMean):
                    yield part


class ValidateAverage(keras.callbacks.Callback):
    """Puts the moving average into the model while `fit` validates.

    Args:
        average: The moving average.

    Example:
        >>> average = MovingAverage(model.optimizer)
        >>> history = model.fit(dataset, callbacks=[ValidateAverage(average)])
    """

    def __init__(self, average: MovingAverage) -> None:
        super().__init__()
        self._average = average
        self._validation = contextlib.ExitStack()

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._validation.enter_context(self._average.in_model())

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        self._validation.close()


class StopAtNonFinite(keras.callbacks.Callback):
    """Ends the training at the first step of which the loss is not finite.

    Comes after `TrackProgress`.

    Args:
        state: The training; its `require` raises the error.

    Example:
        >>> callbacks = [TrackProgress(state), StopAtNonFinite(state)]
    """

    def __init__(self, state: TrainingState) -> None:
        super().__init__()
        self.state = state

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        # The mean so far, which stays infinite or NaN from the first such loss on.
        self.state.require(self.state.progress, "loss", [(logs or {})["loss"]])


class TrackProgress(keras.callbacks.Callback):
    """Keeps the place of a training, and the sums of its metrics; comes before all others.

    Has the results of each step as plain numbers for those.

    Args:
        state: The training.

    Example:
        >>> history = model.fit(dataset, callbacks=[TrackProgress(state)])
    """

    def __init__(self, state: TrainingState) -> None:
        super().__init__()
        self.state = state

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self._results = self.model.get_metrics_result() if self.state.begin_epoch() else {}

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self._results = {}
        self.state.progress = self.state.progress.after_batch()
        self.state.follow_the_clock()
        if logs is not None:
            # Read at each step, so that the one of which the loss is not finite is known. A result
            # may come as a vector of one.
            logs.update({name: float(np.ravel(value)[0]) for name, value in logs.items()})

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        self.state.hold_sums()

    def on_test_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self.state.stop_if_interrupted()

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        # Resumed after the last batch of an epoch, Keras has no step to take results from.
        if logs is not None:
            logs.update({name: float(value) for name, value in self._results.items()})


class SaveCheckpoints(keras.callbacks.Callback):
    """Saves a training after each epoch and, if asked to, within.

    Comes after all that measure, and before all that talk.

    Args:
        state: The training.
        config: Of it: `checkpoint_steps`, `checkpoint_minutes`, `max_steps`, `minutes` and
            `early_stopping`.
        score: Gives metrics of the model as it is within an epoch.
        score_to_improve: Takes the metrics of an epoch; gives what early stopping by the score
            looks at, of which more is better, or None.
        clock: Gives the time in seconds.

    Example:
        >>> callbacks = [TrackProgress(state), SaveCheckpoints(state, TrainingConfig())]
        >>> history = model.fit(dataset, callbacks=callbacks)
    """

    def __init__(
        self,
        state: TrainingState,
        config: TrainingConfig,
        score: Callable[[], Mapping[str, float]] = dict,
        score_to_improve: Callable[[Mapping[str, float]], float | None] = lambda metrics: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self.state = state
        self.config = config
        self.score = score
        self.score_to_improve = score_to_improve
        self.clock = clock
        self._saved_at = clock()

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        every = self.config.checkpoint_steps
        self.state.stop_if_interrupted()
        if no_step_follows(self.state, self.config):
            # Before the validation that follows, which resets the metrics.
            self._save()
            self.model.stop_training = True
        elif every is not None and self.state.progress.step % every == 0:
            self._save({**self.model.get_metrics_result(), **self.score()})
        elif self.state.replicas.agree(self._is_due()):
            self._save()

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if not no_step_follows(self.state, self.config):
            scored_by = self.config.early_stopping
            improves = self.score_to_improve if scored_by == "score" else loss_to_improve
            self.state.end_epoch(improves(logs or {}), scored_by)
        self._save(logs)
        self.state.stop_if_interrupted()

    def _is_due(self) -> bool:
        minutes = self.config.checkpoint_minutes
        return minutes is not None and self.clock() - self._saved_at >= 60 * minutes

    def _save(self, metrics: Mapping[str, float] | None = None) -> None:
        self.state.save(metrics)
        self._saved_at = self.clock()


def no_step_follows(state: TrainingState, config: TrainingConfig) -> bool:
    """Returns whether a training is to take no further step, wherever in an epoch it is."""
    last = config.max_steps is not None and state.progress.step >= config.max_steps
    return last or state.time_passed >= 1.0


def loss_to_improve(metrics: Mapping[str, float]) -> float | None:
    """Returns what early stopping by the loss looks at, of which more is better, if it is there."""
    value = metrics.get("val_loss")
    return None if value is None else -value
