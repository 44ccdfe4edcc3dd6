"""The state of a training: saved at any step, it goes on as if it had not stopped."""

import signal
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformer.runs.checkpoints import Checkpoint, Checkpoints
from keras_transformer.runs.progress import Progress
from keras_transformer.training.interruption import Interrupted, Interruption
from keras_transformer.training.moving_average import MovingAverage
from keras_transformer.training.schedule import TrapezoidSchedule
from keras_transformer.training.strategy import ONE_DEVICE, Replicas, random_states
from keras_transformer.training.time_limit import TimeLimit

# Takes the place, a name and values, and raises an error if one is not finite.
Require = Callable[[Progress, str, Iterable[Any]], None]


class TrainingState:
    """A model in training, the place it has reached, and the checkpoints that hold both.

    A checkpoint holds the model, the optimizer's variables, the random states of the dropouts,
    which Keras does not save, and the sums behind the metrics of the running epoch. With a moving
    average the model file holds the average, and the optimizer's variables hold the weights.

    Args:
        model: A compiled model.
        checkpoints: Where to save.
        interruption: Tells whether a signal came.
        require: Checks that values are finite before they are saved.
        replicas: What trains the model.
        limit: The time that the training has, if that is limited.

    Attributes:
        progress: The place.
        time_passed: Share of the time of the steps that has passed, as all workers have it.
        average: The moving average of the weights.
        is_scored: Whether the checkpoint of this place has metrics.

    Example:
        >>> state = TrainingState(model, Checkpoints("checkpoints"), Interruption())
        >>> if (checkpoint := state.checkpoints.latest()) is not None:
        ...     state.restore(checkpoint)
    """

    def __init__(
        self,
        model: keras.Model,
        checkpoints: Checkpoints,
        interruption: Interruption,
        require: Require = lambda progress, name, values: None,
        replicas: Replicas = ONE_DEVICE,
        limit: TimeLimit | None = None,
    ):
        self.model = model
        self.checkpoints = checkpoints
        self.replicas = replicas
        self.require = require
        self.limit = limit
        self.time_passed = 0.0
        self.progress = Progress()
        self.average = MovingAverage(model.optimizer)
        self.is_scored = False
        self._interruption = interruption
        # Sums of the metrics, while the model does not hold them: after a restore until the epoch
        # goes on, and during a validation, which has sums of its own.
        self._sums: list[np.ndarray] | None = None

    def restore(self, checkpoint: Checkpoint) -> None:
        """Takes over what a checkpoint holds.

        Raises:
            FileNotFoundError: If it is not the newest one.
            ValueError: If it is of another model or optimizer.
        """
        arrays = checkpoint.arrays()
        with self.average.in_model():
            _assign(self.model.weights, checkpoint.load().get_weights())
            _assign(self.model.optimizer.variables, _group(arrays, "optimizer"))
        _assign(random_states(self.model), _group(arrays, "random"))
        self.progress, self.is_scored = checkpoint.progress, bool(checkpoint.metrics)
        self._sums = _group(arrays, "sums") if self.progress.batch else None
        for spent in _group(arrays, "time"):
            if self.limit is not None:
                self.limit.restore(spent)
                self._follow(self.limit)

    def save(self, metrics: Mapping[str, Any] | None = None) -> None:
        """Writes a checkpoint; one with metrics competes to be kept.

        All workers call this at the same step, because reading a sum over them needs all of them.
        The chief writes.

        Raises:
            NonFiniteError: If a weight is not finite, by `require`.
        """
        with self.average.in_model():
            self.require(self.progress, "model", self.model.get_weights())
            sums = _read(_sums(self.model)) if self._sums is None else self._sums
            arrays = {
                **_named("optimizer", _read(self.model.optimizer.variables)),
                **_named("random", _read(random_states(self.model))),
                **_named("sums", sums),
                **_named("time", [] if self.limit is None else [self.limit.state()]),
            }
            if self.replicas.is_chief:
                self.checkpoints.save(self.model, self.progress, metrics, arrays)
            self.is_scored = bool(metrics)

    def follow_the_clock(self) -> None:
        """Has the learning rate follow the time, if that is limited, when a step is done."""
        if self.limit is not None:
            self.limit.step_done()
            self._follow(self.limit)

    def note_end_of_epoch(self) -> None:
        """Has what came after the last step of an epoch taken for what will come at the end.

        After the end itself it changes nothing: less than was planned for would bring time back,
        and another step.
        """
        if self.limit is not None and self.time_passed < 1.0:
            self.limit.epoch_done()
            self._follow(self.limit)

    def _follow(self, limit: TimeLimit) -> None:
        # All workers must have the same learning rate, and end at the same step. Of shares
        # that go no further than 1 the mean is 1 when the time of each is over.
        self.time_passed = self.replicas.mean(limit.passed())
        inner = getattr(self.model.optimizer, "inner_optimizer", self.model.optimizer)
        if isinstance(inner._learning_rate, TrapezoidSchedule):
            inner._learning_rate.time_passed.assign(self.time_passed)

    def hold_sums(self) -> None:
        """Keeps the sums of training, before a validation resets them."""
        self._sums = _read(_sums(self.model))

    def begin_epoch(self) -> bool:
        """Puts the sums of a restored checkpoint into the metrics, if it was within the epoch.

        Returns:
            Whether it was.
        """
        if self.limit is not None:
            self.limit.epoch_begins()
        if self._sums is None:
            return False
        _assign(_sums(self.model), self._sums)
        self._sums = None
        return True

    def end_epoch(self, score: float | None, scored_by: str | None = None) -> None:
        """Goes on to the next epoch; see `Progress.after_epoch`.

        Raises:
            NonFiniteError: If a weight is not finite, by `require`.
        """
        # Here the place still tells which batch it was.
        with self.average.in_model():
            self.require(self.progress, "model", self.model.get_weights())
        # All workers must decide alike.
        score = None if score is None else self.replicas.mean(score)
        self.progress = self.progress.after_epoch(score, scored_by)
        self._sums = None

    def stop_if_interrupted(self) -> None:
        """Writes a checkpoint and ends the training if any worker has received a signal.

        Raises:
            Interrupted: If one has.
        """
        received = self._interruption.received
        if self.replicas.agree(received is not None):
            self.save()
            raise Interrupted(received or signal.SIGTERM)


def _sums(model: keras.Model) -> list[keras.Variable]:
    # Keras lists the compiled metrics at the first step only; any labels and logits will do.
    outputs: Any = np.zeros(1)
    if isinstance(model.loss, Mapping):
        outputs = dict.fromkeys(model.loss, outputs)
    for metric in model.metrics:
        if not getattr(metric, "built", True):
            metric.build(outputs, outputs)
    return model.metrics_variables


def _read(variables: Iterable[keras.Variable]) -> list[np.ndarray]:
    # Copies: a view of a variable would change with it.
    return [np.array(ops.convert_to_numpy(variable)) for variable in variables]


def _assign(variables: Iterable[keras.Variable], values: Iterable[np.ndarray]) -> None:
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)


def _named(group: str, values: Iterable[np.ndarray]) -> dict[str, np.ndarray]:
    return {f"{group}/{index}": value for index, value in enumerate(values)}


def _group(arrays: Mapping[str, np.ndarray], group: str) -> list[np.ndarray]:
    count = sum(name.startswith(f"{group}/") for name in arrays)
    return [arrays[f"{group}/{index}"] for index in range(count)]
