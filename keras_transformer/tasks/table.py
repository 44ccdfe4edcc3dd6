"""The tasks there are: a line each, and nobody else asks which one it is."""

from keras_transformer.config import RunSections
from keras_transformer.tasks.translation import Translation
from keras_transformer.training.task import Task

TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        # A line for each.
        Translation(),
    )
}


def task_of(config: RunSections) -> Task:
    """Returns the task that a configuration is of.

    Example:
        >>> task_of(RunConfig()).name
        'translation'
    """
    return TASKS[config.task]
