"""What a model is trained for: all that the training loop knows of translation or another task.

The loop, checkpoints, resuming, strategies and averaging are written once, for `Task`. The tasks
there are stand in `keras_transformer.tasks`.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import keras

from keras_transformer.config import RunSections
from keras_transformer.config.choices import ALL_GIVEN, Choices
from keras_transformer.data.bucketing import Shape
from keras_transformer.data.sharing import Sharing
from keras_transformer.runs.run import Run
from keras_transformer.training.loss import Losses
from keras_transformer.training.metrics import Metrics
from keras_transformer.training.moving_average import MovingAverage
from keras_transformer.training.strategy import Replicas

if TYPE_CHECKING:
    import tensorflow as tf


class Batches(Protocol):
    """The batches of a corpus, epoch by epoch, of which each is a function of seed and index."""

    @property
    def filter_summary(self) -> str:
        """What was kept and what was dropped in the latest epoch."""

    @property
    def epoch_length(self) -> int | None:
        """Batches of an epoch; an estimate until one was read, and None before there is one."""

    def dataset(self, first_epoch: int = 0, first_batch: int = 0) -> "tf.data.Dataset":
        """Returns a dataset that gives the next epoch each time it is iterated.

        Args:
            first_epoch: Epoch of the first iteration.
            first_batch: Batches to skip in that epoch, to resume in its midst.
        """

    def described(self, epoch: int, index: int) -> dict[str, Any]:
        """Returns a batch as plain values, with its text, for a person to look at."""


class Scoring(keras.callbacks.Callback):
    """A callback that adds what a task measures to the metrics of an epoch.

    Attributes:
        report: What there is to look at of the latest `score`, such as translations, until somebody
            has shown it. Whoever asks for the score shows it, and saves a checkpoint first.
    """

    report = ""

    def score(self) -> dict[str, float]:
        """Returns the metrics of the model as it is now, by the names that `fit` gives them."""
        raise NotImplementedError

    def pictures(self) -> Mapping[str, bytes]:
        """Draws what there is to see of the latest `score`: PNGs by their names."""
        return {}


class Validation(Protocol):
    """What a run is validated on."""

    def dataset(self, replicas: Replicas) -> "tf.data.Dataset":
        """Returns the batches of the whole corpus, for the replicas of this worker."""

    def scoring(
        self,
        model: keras.Model,
        average: MovingAverage | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> Scoring | None:
        """Makes the callback for what `fit` does not measure; None if there is no such thing.

        Args:
            model: The model.
            average: Put into the model while it is scored.
            check: Called now and then; may raise an error to end the scoring.
        """


class Task(Protocol):
    """A task."""

    @property
    def name(self) -> str:
        """What `run.json` and the command line call it."""

    @property
    def config(self) -> type[RunSections]:
        """The class of its configurations, which is in `RUN_CONFIGS` by that name."""

    def completed(
        self, config: Any, init_from: str | os.PathLike[str] | None, choices: Choices
    ) -> Any:
        """Returns a configuration with what follows from corpora and the run to begin with.

        The same again for the same: a run that goes on is compared with it.

        Args:
            config: The configuration.
            init_from: A run to begin with, or None.
            choices: What of the configuration was asked for.
        """

    def check(self, config: Any) -> None:
        """Raises the errors that can be found before a corpus is read.

        Raises:
            ValueError: If something that the configuration asks for is not there.
        """

    def fingerprints(self, config: Any) -> dict[str, dict[str, int | str]]:
        """Reads each corpus of a run once.

        Returns:
            What tells whether each is still the same, as plain values, by what it is for.
        """

    def prepare(
        self,
        path: Path,
        config: Any,
        data: Mapping[str, Mapping[str, Any]],
        init_from: str | None,
        choices: Choices = ALL_GIVEN,
    ) -> Run:
        """Makes a new run: tokenizers and batch shapes; says what it does.

        Args:
            path: Its directory, which the caller writes.
            config: Its configuration.
            data: What `fingerprints` gave.
            init_from: A run to begin with, or None.
            choices: What of the configuration was asked for. The run's own may differ from it in
                what is open.
        """

    def planned(self, run: Run, choices: Choices, sharing: Sharing, made: Any | None = None) -> Run:
        """Returns a run with the end of its training, where rules decide on that.

        All workers call this for themselves, and must come to the same.

        Args:
            run: The run.
            choices: What of the configuration was asked for.
            sharing: Who shares a batch, as the chief sees it.
            made: The configuration that a run which goes on was made with; None for a new run.
        """

    def batches(self, run: Run, replicas: Replicas) -> Batches:
        """Makes the training batches of a run."""

    def model(self, config: Any) -> keras.Model:
        """Makes the model that is trained, in the precision of the training."""

    def loss(self, config: Any) -> Losses:
        """Makes the loss: a mean over the real labels of a batch; of several outputs one each."""

    def metrics(self, config: Any) -> Metrics:
        """Makes the metrics: exact means over real labels, one at least a `TokenMean`."""

    def validation(self, run: Run) -> Validation | None:
        """Returns what a run is validated on, if it has a corpus for it."""

    def inherit_weights(self, model: keras.Model, run: Run, start: Run) -> None:
        """Gives the new model of a run the weights of the run that it starts from.

        Raises:
            ValueError: If they do not fit together.
        """

    def score_to_improve(self, metrics: Mapping[str, float]) -> float | None:
        """Returns what early stopping by the score looks at; None if it was not measured.

        Args:
            metrics: Of an epoch, as `fit` names them.

        Returns:
            A number of which more is better.
        """

    def example_batch(self, config: Any, shape: Shape) -> Any:
        """Makes a batch of a shape at random, inputs and labels, to measure a step by."""

    def floats_of(self, config: Any, shape: Shape) -> int:
        """Returns about how many floats a step keeps for one row of a shape."""
