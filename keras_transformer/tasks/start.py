"""Training by a configuration alone, and what comes before: which task it is, is looked up."""

import os
from pathlib import Path

from keras_transformer.config import RunSections, Strategy
from keras_transformer.config.choices import ALL_GIVEN, Choices
from keras_transformer.files import require_local
from keras_transformer.runs.lock import run_lock
from keras_transformer.runs.run import Run
from keras_transformer.tasks.table import task_of
from keras_transformer.tasks.trial_step import measure_peak
from keras_transformer.training import loop
from keras_transformer.training.preparation import open_or_prepare
from keras_transformer.training.strategy import ONE_DEVICE


def train(
    output: str | os.PathLike[str],
    config: RunSections,
    strategy: Strategy = "auto",
    init_from: str | os.PathLike[str] | None = None,
    choices: Choices = ALL_GIVEN,
    started: float | None = None,
) -> Run:
    """Trains a model, or continues to; prints what it does.

    SIGINT and SIGTERM end it after the running step and a checkpoint, from which the same call
    continues; a second one ends it at once.

    Args:
        output: The run directory; of several workers all must see it.
        config: The run's configuration; its class tells the task, that of its model the family.
        strategy: What to train on; see `make_strategy`.
        init_from: A run whose tokenizers and best weights a new run begins with; its vocabulary
            grows if the configuration's is larger.
        choices: What of the configuration was asked for; by default all of it. A new run gets what
            is open by rules, one that goes on has it.
        started: When the time of `training.minutes` began, by `time.monotonic`; None for now.

    Returns:
        The run, with its checkpoints.

    Raises:
        RunInUseError: If another process trains this run.
        OSError: If the directory cannot be written.
        ValueError: If the directory is an address or holds a run with another configuration, if a
            corpus is malformed, if what an option asks for is not there or does not fit, or if the
            loss is not finite.
        Interrupted: On a signal, when a checkpoint has been written.
        WorkerLostError: If another worker has ended; the same call continues.

    Example:
        >>> run = train("runs/demo", config)
        >>> model = run.checkpoints.best().load()
    """
    require_local(output, "output")
    task = task_of(config)
    config = task.completed(config, init_from, choices)
    return loop.train(task, output, config, measure_peak, strategy, init_from, choices, started)


def prepare(
    output: str | os.PathLike[str],
    config: RunSections,
    init_from: str | os.PathLike[str] | None = None,
    choices: Choices = ALL_GIVEN,
) -> Run:
    """Does what comes before the first step of a training, and needs no accelerator.

    A run gets its vocabulary and its batch shapes, and with `data.cache` the corpora their token
    ids. `train` with the same arguments goes on from there.

    Args:
        output: The run directory.
        config: The run's configuration.
        init_from: A run to begin with.
        choices: What of the configuration was asked for; rules choose the rest by this machine.

    Returns:
        The run.

    Raises:
        RunInUseError: If another process trains this run.
        OSError: If the directory cannot be written.
        ValueError: As `train` raises it.

    Example:
        >>> run = prepare("runs/prepared", config)
        >>> run.checkpoints.latest() is None
        True
    """
    require_local(output, "output")
    task = task_of(config)
    config = task.completed(config, init_from, choices)
    task.check(config)
    with run_lock(output):
        run = open_or_prepare(task, Path(output), config, ONE_DEVICE, init_from, choices)
        task.batches(run, ONE_DEVICE)
    return run
