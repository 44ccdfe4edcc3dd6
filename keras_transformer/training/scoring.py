"""A model scored on the validation corpus of its run, outside of `fit`."""

import contextlib
import dataclasses
import warnings
from collections.abc import Iterator

import keras

from keras_transformer.runs.run import Run
from keras_transformer.training.optimizer import compile_model
from keras_transformer.training.strategy import ONE_DEVICE
from keras_transformer.training.task import Task


def score_model(task: Task, run: Run, model: keras.Model) -> dict[str, float]:
    """Returns the metrics of a model as `fit` names them, with what the task measures besides.

    Args:
        task: The task of the run.
        run: The run.
        model: The model.

    Returns:
        The metrics; none if the run has no validation corpus.

    Example:
        >>> metrics = score_model(task, run, run.checkpoints.best().load())
        >>> sorted(metrics)
        ['val_accuracy', 'val_bleu', 'val_chrf', 'val_loss', 'val_perplexity']
    """
    validation = task.validation(run)
    if validation is None:
        return {}
    config = run.config
    # Nothing is trained, so the number of parts is of no matter. It may be one to be found still.
    training = dataclasses.replace(config.training, micro_batches=1)
    compile_model(model, training, task.loss(config), task.metrics(config))
    with of_unknown_length():
        results = model.evaluate(validation.dataset(ONE_DEVICE), return_dict=True, verbose=0)
    metrics = {f"val_{name}": float(value) for name, value in results.items()}
    scoring = validation.scoring(model)
    return metrics if scoring is None else {**metrics, **scoring.score()}


@contextlib.contextmanager
def of_unknown_length() -> Iterator[None]:
    """Silences Keras's warning, at the end of each pass, that a stream has ended."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Your input ran out of data")
        yield
