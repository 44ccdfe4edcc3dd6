"""From a configuration to a trained run: prepare, start or continue, fit."""

import contextlib
import functools
import gc
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import keras

from keras_transformer.config import RunSections, Strategy, TrainingConfig
from keras_transformer.config.choices import ALL_GIVEN, Choices
from keras_transformer.console import say
from keras_transformer.data.bucketing import Shape
from keras_transformer.runs.averaging import average_run
from keras_transformer.runs.history import forget_epochs
from keras_transformer.runs.lock import run_lock
from keras_transformer.runs.progress import Progress
from keras_transformer.runs.run import Run, log_header, open_run
from keras_transformer.training.callbacks import (
    SaveCheckpoints,
    StopAtNonFinite,
    Throughput,
    TrackProgress,
    ValidateAverage,
    no_step_follows,
)
from keras_transformer.training.freezing import freeze
from keras_transformer.training.interruption import Interruption
from keras_transformer.training.non_finite import NonFiniteGuard
from keras_transformer.training.optimizer import compile_model
from keras_transformer.training.preparation import fitted_to_memory, open_or_prepare
from keras_transformer.training.reporting import ReportProgress, listed
from keras_transformer.training.scoring import of_unknown_length, score_model
from keras_transformer.training.state import TrainingState
from keras_transformer.training.strategy import (
    Replicas,
    lost_workers_reported,
    make_strategy,
)
from keras_transformer.training.task import Batches, Scoring, Task, Validation
from keras_transformer.training.tensorboard import LogSamples
from keras_transformer.training.time_limit import TimeLimit

if TYPE_CHECKING:
    import tensorflow as tf


def train(
    task: Task,
    output: str | os.PathLike[str],
    config: RunSections,
    peak_of: Callable[[RunSections, int, Shape], float],
    strategy: Strategy = "auto",
    init_from: str | os.PathLike[str] | None = None,
    choices: Choices = ALL_GIVEN,
    started: float | None = None,
) -> Run:
    """Trains a model for a task; `keras_transformer.tasks.train` tells the rest.

    Args:
        task: The task.
        output: The run directory.
        config: The run's configuration, of the task's class.
        peak_of: Takes a configuration, a number of micro-batches and a shape, gives the bytes that
            a step takes; of use where the configuration leaves that number open.
        strategy: What to train on.
        init_from: A run to begin with.
        choices: What of the configuration was asked for.
        started: When the time of the training began, by `time.monotonic`; None for now.
    """
    started = time.monotonic() if started is None else started
    _require_tensorflow()
    task.check(config)
    with lost_workers_reported(), contextlib.ExitStack() as held:
        replicas = make_strategy(strategy)
        if replicas.is_chief:
            held.enter_context(run_lock(output))
        say(f"Training on {replicas.description}")
        run = open_or_prepare(task, Path(output), config, replicas, init_from, choices)
        keras.utils.set_random_seed(run.config.training.seed)
        say(log_header(run))
        run = fitted_to_memory(task, run, replicas, peak_of)
        batches = task.batches(run, replicas)
        with Interruption() as interruption:
            state = _start(task, run, batches, replicas, interruption, started)
            _fit(task, run, state, batches)
        # An iterator over several devices that is still there when Python ends waits for a thread
        # of its own, which waits for Python.
        gc.collect()
        if replicas.is_chief:
            _average(task, run)
    return run


def _require_tensorflow() -> None:
    if keras.backend.backend() != "tensorflow":
        raise ValueError(
            "A run directory is trained on the TensorFlow backend; on another one use "
            "`compile_model` and `fit`, as docs/training.md shows. Received: "
            f"KERAS_BACKEND={keras.backend.backend()}"
        )


def _start(
    task: Task,
    run: Run,
    batches: Batches,
    replicas: Replicas,
    interruption: Interruption,
    started: float,
) -> TrainingState:
    """Makes the model, and takes over the newest checkpoint if there is one."""
    config, checkpoint = run.config, run.checkpoints.latest()
    with replicas.scope():
        model = task.model(config)
        freeze(model, config.training.freeze)
        compile_model(model, config.training, task.loss(config), task.metrics(config))
    folder = run.path / "non_finite"
    guard = NonFiniteGuard(folder, batches.described, replicas.worker)
    limit = _time_limit(config.training, started)
    state = TrainingState(model, run.checkpoints, interruption, guard.require, replicas, limit)
    if checkpoint is not None:
        state.restore(checkpoint)
        say(f"Continuing {run.path} after {_described(state.progress)}")
    elif run.init_from is not None:
        task.inherit_weights(model, run, open_run(run.init_from))
        say(f"Starting with the weights of {run.init_from}")
    replicas.spread_random_states(model)
    say(f"Model: {model.count_params():,} parameters")
    return state


def _time_limit(training: TrainingConfig, started: float) -> TimeLimit | None:
    if training.minutes is None:
        return None
    return TimeLimit(training.minutes, started, averages=training.average_checkpoints > 0)


def _described(progress: Progress) -> str:
    text = f"step {progress.step}, epoch {progress.epoch}"
    if progress.batch:
        text += f" and {progress.batch} batches of the next, which are passed over"
    return text


def _fit(task: Task, run: Run, state: TrainingState, batches: Batches) -> None:
    """Trains until it is done, with a `fit` for each epoch.

    Keras takes the number of batches of the first epoch for that of all: those that follow would be
    cut, in the worst case to what was left of an epoch that was resumed in its midst.
    """
    training, replicas = run.config.training, state.replicas
    validation = task.validation(run)
    callbacks = _callbacks(task, run, state, batches, validation)
    last = sys.maxsize if training.epochs is None else training.epochs
    for epoch in range(state.progress.epoch, last):
        if _is_done(state, training):
            break
        if replicas.is_chief:
            forget_epochs(run.path / "history.csv", epoch)
        with of_unknown_length():
            state.model.fit(
                replicas.distribute(functools.partial(_rest_of_epoch, batches, state, training)),
                initial_epoch=epoch,
                epochs=epoch + 1,
                validation_data=None if validation is None else validation.dataset(replicas),
                callbacks=callbacks,
                shuffle=False,
                verbose=0,  # `ReportProgress` shows it.
            )
        state.note_end_of_epoch()
        say(f"Training corpus, epoch {epoch + 1}: {batches.filter_summary}")


def _rest_of_epoch(
    batches: Batches, state: TrainingState, training: TrainingConfig
) -> "tf.data.Dataset":
    dataset = batches.dataset(state.progress.epoch, state.progress.batch)
    # Stopped between the last step and its validation, a training has no batch left.
    return dataset.take(0) if no_step_follows(state, training) else dataset


def _is_done(state: TrainingState, training: TrainingConfig) -> bool:
    if training.patience is not None and state.progress.waited >= training.patience:
        say(f"No better {training.early_stopping} for {state.progress.waited} epochs")
        return True
    return no_step_follows(state, training) and state.is_scored


def _callbacks(
    task: Task,
    run: Run,
    state: TrainingState,
    batches: Batches,
    validation: Validation | None,
) -> Sequence[keras.callbacks.Callback]:
    """Makes the callbacks, in the order in which each needs what the ones before it did."""
    training = run.config.training
    scoring = None
    if validation is not None:
        scoring = validation.scoring(state.model, state.average, state.stop_if_interrupted)
    score = dict if scoring is None else scoring.score
    counted = run.config.counted
    report = ReportProgress(state, training, lambda: batches.epoch_length, scoring, counted)
    return [
        TrackProgress(state),
        Throughput(),
        StopAtNonFinite(state),
        ValidateAverage(state.average),
        *([] if scoring is None else [scoring]),
        *(_logs(run, scoring) if state.replicas.is_chief else []),
        SaveCheckpoints(state, training, score, task.score_to_improve),
        *([report] if state.replicas.is_chief else []),
    ]


def _logs(run: Run, scoring: Scoring | None) -> Sequence[keras.callbacks.Callback]:
    return [
        keras.callbacks.TensorBoard(run.path / "logs", write_graph=False),
        *([] if scoring is None else [LogSamples(run.path / "logs", scoring)]),
        keras.callbacks.CSVLogger(run.path / "history.csv", append=True),
    ]


def _average(task: Task, run: Run) -> None:
    """Saves the mean of checkpoints, if the run is to have one."""
    training = run.config.training
    if training.average_checkpoints:
        saved = average_run(
            run,
            training.average_checkpoints,
            training.average_best,
            functools.partial(score_model, task, run),
        )
        say(f"Their mean: {listed(saved.metrics) or 'not scored'}")
