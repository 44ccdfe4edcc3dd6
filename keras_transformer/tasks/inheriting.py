"""What a run of an encoder takes over from the run that it begins with."""

import os
from typing import Any

import keras

from keras_transformer.console import say
from keras_transformer.runs.run import Run, open_run


def require_same_model(config: Any, start: Run) -> None:
    """Checks that a run's model is that of the run it begins with.

    Args:
        config: The run's configuration.
        start: The run to begin with.

    Raises:
        ValueError: If it is another; the message lists what differs.

    Example:
        >>> require_same_model(run.config, run)
    """
    there, now = start.config.model.meaning(), config.model.meaning()
    changes = [
        f"{name}: {there.get(name)!r} there, {now[name]!r} now"
        for name in now
        if there.get(name) != now[name]
    ]
    if changes:
        raise ValueError(
            "`model` must be that of the run it starts from; leave its options out. Received: "
            f"{'; '.join(changes)}"
        )


def vocabulary_to_begin_with(config: Any, init_from: str | os.PathLike[str]) -> tuple[Any, Any]:
    """Takes over the tokenizers of the run to begin with.

    Args:
        config: The run's configuration.
        init_from: The run to begin with.

    Raises:
        ValueError: If its model is another one.

    Example:
        >>> tokenizers = vocabulary_to_begin_with(run.config, run.path)
    """
    start = open_run(init_from)
    say(f"Taking over the vocabulary of {start.path}")
    require_same_model(config, start)
    return start.tokenizers


def model_to_begin_with(start: Run) -> keras.Model:
    """Loads the best checkpoint of a run.

    Args:
        start: The run to begin with.

    Raises:
        ValueError: If it has none.

    Example:
        >>> model = model_to_begin_with(run)
    """
    checkpoint = start.checkpoints.best()
    if checkpoint is None:
        raise ValueError(
            f"`init_from` must be a run with a checkpoint; train it first. Received: {start.path}"
        )
    return checkpoint.load()
