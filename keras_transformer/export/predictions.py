"""Export of what predicts from text: a SavedModel with the tokenizer inside, and its use."""

import os
from pathlib import Path
from typing import Any

import tensorflow as tf

from keras_transformer.export.formats import require_loadable
from keras_transformer.export.metadata import describe_predictor, read_metadata, save_metadata
from keras_transformer.export.tflite.predictor import open_lite_predictor
from keras_transformer.export.versions import find_export, version_path
from keras_transformer.files import atomic_directory
from keras_transformer.prediction.graph import PredictionGraph
from keras_transformer.prediction.predictor import BATCH_SIZE, Predictor
from keras_transformer.runs.run import Run, open_run
from keras_transformer.tasks.labelled.predicting import open_graph
from keras_transformer.translation.columns import compile_columns
from keras_transformer.translation.storage import StoredWeights


def export_predictions(
    run: Run,
    directory: str | os.PathLike[str],
    version: int | None = None,
    quantization: str | None = None,
    checkpoint: str = "best",
) -> Path:
    """Writes `directory/<version>/`, whole or not at all.

    Its signatures, whose inputs and outputs have the batch first:

    | task | `serving_default` takes | and gives |
    |---|---|---|
    | classification | `text` | `label`, `probabilities`; with regression `value` |
    | pairs | `text`, `text_pair` | the same |
    | spans | `question`, `context` | `answer`, `score`, `start`, `end` |
    | tags | `text` | `tokens`, `tags`, `starts`, `ends` |

    `features` takes the same, and gives `sentence`, `tokens` and `pieces`. Places are characters of
    the given string.

    Args:
        run: A run of such a task.
        directory: Folder of the versions, as TF Serving watches it.
        version: Number of this version; None for the next free one.
        quantization: "float16" or "bfloat16" to store matrices in half the size; None for float32.
        checkpoint: "best", "latest" or "average".

    Returns:
        The folder of this version.

    Raises:
        FileExistsError: If the version exists.
        FileNotFoundError: If the run has no such checkpoint.
        ValueError: If the run is of another task, or as `export_saved_model` raises it.
    """
    path = version_path(directory, version, "saved_model")
    graph, weights = open_graph(run, checkpoint, quantization)
    content = describe_predictor(run, graph)
    content |= {"format": "saved_model", "quantization": quantization or "float32"}
    signatures = prediction_signatures(graph)
    with atomic_directory(path) as folder:
        tf.saved_model.save(_Module(weights, graph), folder, signatures=signatures)
        save_metadata(folder, content)
    return path


class _Module(tf.Module):
    """Tracks what the graphs capture: a SavedModel keeps tracked objects only."""

    def __init__(self, weights: StoredWeights, graph: PredictionGraph) -> None:
        super().__init__(name="predictor")
        self.weights, self.tokenizer = weights.stored, graph.tokenizer


def prediction_signatures(graph: PredictionGraph) -> dict[str, Any]:
    """Makes the signatures of a SavedModel, by name, as `tf.function`s of strings.

    Args:
        graph: What predicts.

    Example:
        >>> from keras_transformer.prediction.texts import LabelGraph
        >>> graph = LabelGraph(classifier, wordpiece, labels=["bad", "good"])
        >>> sorted(prediction_signatures(graph))
        ['features', 'serving_default']
    """
    columns = dict.fromkeys(graph.columns, tf.string)
    return {
        "serving_default": compile_columns(graph.predict, **columns),
        "features": compile_columns(graph.features, **columns),
    }


def open_predictor(
    path: str | os.PathLike[str], checkpoint: str = "best", batch_size: int = BATCH_SIZE
) -> Predictor:
    """Opens a run of labelled examples, or an export of one, of either format.

    Args:
        path: The run directory, or the export.
        checkpoint: "best", "latest" or "average", of a run.
        batch_size: Strings that are predicted from together.

    Raises:
        FileNotFoundError: If it is neither.
        ImportError: If the package that runs such an export is not installed.
        ValueError: If it translates, or a checkpoint of an export is asked for.
    """
    export = find_export(path)
    if export is None:
        graph, _ = open_graph(open_run(path), checkpoint)
        return Predictor(graph.predict, graph.columns, batch_size)
    folder, export_format = export
    columns = read_metadata(folder).get("columns")
    if columns is None or checkpoint != "best":
        raise ValueError(
            "An export must be one that predicts, and has no checkpoints to choose from; for one "
            f"that translates there is `translate`. Received: {folder}, checkpoint={checkpoint!r}"
        )
    if export_format == "tflite_predictor":
        return open_lite_predictor(folder, batch_size)
    require_loadable(folder)
    import tensorflow_text  # noqa: F401  registers the tokenizer's ops

    loaded = tf.saved_model.load(folder)
    signature = loaded.signatures["serving_default"]

    def function(*strings: tf.Tensor) -> Any:
        _ = loaded  # Owns what the signature reads.
        return signature(**dict(zip(columns, strings, strict=True)))

    return Predictor(function, columns, batch_size)
