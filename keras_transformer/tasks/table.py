"""The tasks there are: a line each, and nobody else asks which one it is."""

from keras_transformer.config import RunSections
from keras_transformer.models.families import require_architecture
from keras_transformer.tasks.labelled import LABELLED_TASKS
from keras_transformer.tasks.masked_lm import MaskedLM
from keras_transformer.tasks.translation import Translation
from keras_transformer.training.task import Task

TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        # A line for each.
        Translation(),
        MaskedLM(),
        *LABELLED_TASKS,
    )
}


def task_of(config: RunSections) -> Task:
    """Returns the task that a configuration is of.

    Raises:
        ValueError: If its model is of a family that the task cannot train.

    Example:
        >>> task_of(RunConfig()).name
        'translation'
    """
    require_architecture(config.model, config.architecture)
    return TASKS[config.task]
