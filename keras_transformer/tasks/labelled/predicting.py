"""A fine-tuned run becomes what predicts."""

from keras_transformer.prediction.graph import PredictionGraph
from keras_transformer.runs.run import Run
from keras_transformer.tasks.labelled.task import LabelledTask
from keras_transformer.tasks.table import task_of
from keras_transformer.translation.opening import find_checkpoint
from keras_transformer.translation.storage import StoredWeights


def predicts(run: Run) -> bool:
    """Returns whether a run is of a task of labelled examples."""
    return isinstance(task_of(run.config), LabelledTask)


def open_graph(
    run: Run, checkpoint: str = "best", quantization: str | None = None
) -> tuple[PredictionGraph, StoredWeights]:
    """Makes what predicts with a checkpoint of a run.

    Args:
        run: The run.
        checkpoint: "best", "latest" or "average".
        quantization: As of `StoredWeights`.

    Returns:
        The graph and the weights that it computes with.

    Raises:
        FileNotFoundError: If the run has no such checkpoint.
        ValueError: If it is of a task without predictions.
    """
    task = task_of(run.config)
    if not isinstance(task, LabelledTask):
        raise ValueError(
            "`run` must be of a task of labelled examples, such as classification; for one that "
            f"translates there is `translate`. Received: {run.path}, of the task {task.name!r}"
        )
    model = find_checkpoint(run, checkpoint).load()
    weights = StoredWeights([model], quantization)
    kind = task.kind(run.config)
    return kind.make_graph(run.config, model, run.tokenizers[0], weights), weights
