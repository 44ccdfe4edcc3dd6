"""The examples that a fine-tuning is validated on, and its scores by the metrics of the field.

Predictions are those of the graph that is exported, so what is measured is what is shipped.
"""

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import keras

from keras_transformer.data.labelled.examples import Examples
from keras_transformer.prediction.predictor import line_of
from keras_transformer.runs.run import Run
from keras_transformer.tasks.labelled.batches import ExampleBatches
from keras_transformer.tasks.labelled.kind import Kind
from keras_transformer.training.moving_average import MovingAverage
from keras_transformer.training.strategy import Replicas
from keras_transformer.training.task import Scoring

if TYPE_CHECKING:
    import tensorflow as tf

# Predictions that are shown after each epoch.
_SHOWN = 3


class LabelledValidation:
    """What a fine-tuning is validated on; see `keras_transformer.training.task.Validation`.

    Args:
        run: The run.
        kind: Of its examples.
        examples: The examples.
    """

    def __init__(self, run: Run, kind: Kind[Any], examples: Examples[Any]) -> None:
        self.run, self.kind, self.examples = run, kind, examples
        self.rows = kind.rows(run.config, run.tokenizers[0], examples)

    def dataset(self, replicas: Replicas) -> "tf.data.Dataset":
        batches = ExampleBatches(
            self.rows,
            self.run.plan,
            self.run.tokenizers[0],
            label_type=self.kind.label_type,
            sharing=replicas.sharing,
        )
        return replicas.distribute(batches.dataset)

    def scoring(
        self,
        model: keras.Model,
        average: MovingAverage | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> "ValidationScores":
        """Makes the callback that predicts and scores.

        Args:
            model: The model.
            average: Put into the model while it predicts.
            check: Called now and then; may raise an error to end it.
        """
        graph = self.kind.make_graph(self.run.config, model, self.run.tokenizers[0])
        in_model = contextlib.nullcontext if average is None else average.in_model

        def predict() -> list[Any]:
            with in_model():
                return self.kind.predict(graph, self.examples.rows, check)

        return ValidationScores(predict, self.kind, self.examples)


class ValidationScores(Scoring):
    """Adds the scores of predictions to the metrics of an epoch, such as `val_f1`.

    Args:
        predict: Gives the predictions.
        kind: Of the examples.
        examples: The examples.
    """

    def __init__(
        self, predict: Callable[[], list[Any]], kind: Kind[Any], examples: Examples[Any]
    ) -> None:
        super().__init__()
        self.predict, self.kind, self.examples = predict, kind, examples

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        scores = self.score()
        if logs is not None:
            logs.update(scores)

    def score(self) -> dict[str, float]:
        """Returns the scores of the model as it is now; some predictions are in `report`."""
        found = self.predict()
        scores = self.kind.score(found, self.examples.rows)
        shown = zip(self.examples.rows[:_SHOWN], found, strict=False)
        lines = ["  ".join(f"{name} {score:.4f}" for name, score in scores.items())]
        for example, one in shown:
            text = " | ".join(self.kind.columns(example))
            lines.append(f"  {text}\n  -> {line_of(one)}")
        self.report = "valid: " + "\n".join(lines)
        return {f"val_{name}": score for name, score in scores.items()}
