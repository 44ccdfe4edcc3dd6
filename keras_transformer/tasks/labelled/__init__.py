"""Fine-tuning: the tasks of examples with labels, which share all but what a `Kind` says.

The four of BERT's Figure 4: `classification`, `pairs`, `spans` and `tags`.
"""

from keras_transformer.tasks.labelled.task import LABELLED_TASKS, LabelledTask

__all__ = ["LABELLED_TASKS", "LabelledTask"]
