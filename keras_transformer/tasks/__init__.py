"""What a model can be trained for: the table of tasks, and `train`, which begins there.

A task is a line in `TASKS`, and its configuration's class a line in `config.run.RUN_CONFIGS`.
`docs/architecture.md`, "Adding a task", has an example.
"""

from keras_transformer.tasks.start import prepare, train
from keras_transformer.tasks.table import TASKS, task_of

__all__ = ["TASKS", "prepare", "task_of", "train"]
