"""Training by a configuration alone: which task it is, is looked up."""

import functools
import os

from keras_transformer.config import RunSections, Strategy
from keras_transformer.files import require_local
from keras_transformer.runs.run import Run
from keras_transformer.tasks.table import task_of
from keras_transformer.tasks.trial_step import measure_peak
from keras_transformer.training import loop


def train(
    output: str | os.PathLike[str],
    config: RunSections,
    strategy: Strategy = "auto",
    init_from: str | os.PathLike[str] | None = None,
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
    peak_of = functools.partial(measure_peak, config)
    return loop.train(task_of(config), output, config, peak_of, strategy, init_from)
