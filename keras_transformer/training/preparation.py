"""Before the first step: a run directory that is made, or opened and compared."""

import dataclasses
import functools
import os
from collections.abc import Callable
from pathlib import Path

from keras_transformer.config import RunSections
from keras_transformer.config.choices import Choices
from keras_transformer.data.bucketing import Shape
from keras_transformer.runs.run import Run, exists, open_run, require_same_data, resume_run
from keras_transformer.training.memory import fewest_micro_batches
from keras_transformer.training.strategy import Replicas, require_compilable
from keras_transformer.training.task import Task


def open_or_prepare(
    task: Task,
    output: Path,
    config: RunSections,
    replicas: Replicas,
    init_from: str | os.PathLike[str] | None,
    choices: Choices,
) -> Run:
    """Opens the run, which the chief makes if it is not there."""
    start = None if init_from is None else os.fspath(init_from)
    # Compared before the corpus is read, which can take a while.
    made = open_run(output) if exists(output) else None
    if made is not None:
        # What was open is the run's own from here on, and has not been checked yet.
        config = resume_run(made, config, choices).config
        task.check(config)
    if config.training.jit_compile:
        with replicas.scope():
            require_compilable()
    data = task.fingerprints(config)
    # The chief's on each worker: they must all plan the same.
    sharing = dataclasses.replace(replicas.sharing, worker=0)
    if replicas.is_chief and made is None:
        new = task.prepare(output, config, data, start, choices)
        task.planned(new, choices, sharing).write()
    # The others wait here until it is made.
    replicas.agree(True)
    if not exists(output):
        raise ValueError(
            "`output` must be in a file system that all workers share; the chief has made the run "
            f"there, and worker {replicas.worker} sees none. Received: {output}"
        )
    made = made or open_run(output)
    run = resume_run(made, config, choices)
    require_same_data(run, data)
    if start is not None and start != run.init_from:
        raise ValueError(
            "`output` holds a run that began otherwise; choose another directory or repeat the "
            f"option it was made with. Received: init_from={start!r}, and {run.init_from!r} there"
        )
    return task.planned(run, choices, sharing, made.config)


def fitted_to_memory(
    task: Task, run: Run, replicas: Replicas, peak_of: Callable[[RunSections, int, Shape], float]
) -> Run:
    """Finds the number of micro-batches if it is left open.

    Args:
        task: The task.
        run: The run.
        replicas: What trains it.
        peak_of: Takes a configuration, a number of parts and a shape, gives the bytes that a step
            takes.
    """
    training = run.config.training
    if training.micro_batches:
        return run
    plan = run.plan.shared(replicas.workers * replicas.local)
    parts = fewest_micro_batches(
        lambda shape: task.floats_of(run.config, shape),
        plan,
        functools.partial(peak_of, run.config),
    )
    training = dataclasses.replace(training, micro_batches=parts)
    return dataclasses.replace(run, config=dataclasses.replace(run.config, training=training))
