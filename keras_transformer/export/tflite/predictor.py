"""Runs an export of predictions to TFLite, as an app does: one text after the other."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.export.formats import MARKS
from keras_transformer.export.metadata import read_metadata
from keras_transformer.extras import needed
from keras_transformer.prediction.predictor import BATCH_SIZE, Predictor

# The names of the bytes of each column, and of how many there are.
INPUTS = {"text": "length", "text_pair": "length_pair"}


def open_lite_predictor(folder: Path, batch_size: int = BATCH_SIZE) -> Predictor:
    """Opens `predictor.tflite`.

    Args:
        folder: Folder of the export.
        batch_size: Texts that are given at once; each is predicted from alone.

    Raises:
        ImportError: If ai-edge-litert is not installed.
    """
    with needed("Running TFLite", "ai-edge-litert", "tflite"):
        from ai_edge_litert.interpreter import Interpreter
    interpreter = Interpreter(
        str(folder / MARKS["tflite_predictor"]), num_threads=os.cpu_count() or 1
    )
    # Now and not with the first line: TFLite then prints which kernels it has found.
    interpreter.allocate_tensors()
    signature = interpreter.get_signature_runner("serving_default")
    metadata = read_metadata(folder)
    room = metadata["limits"]["max_bytes"]

    def predict(*columns: tf.Tensor) -> dict[str, tf.Tensor]:
        rows = zip(*(column.numpy() for column in columns), strict=True)
        found = [signature(**_inputs(texts, room)) for texts in rows]
        return _predictions(found, metadata["labels"])

    return Predictor(predict, metadata["columns"], batch_size)


def _inputs(texts: tuple[bytes, ...], room: int) -> dict[str, Any]:
    inputs = {}
    for (name, length), text in zip(INPUTS.items(), texts, strict=False):
        inputs[name] = np.zeros(room, np.uint8)
        inputs[name][: len(text)] = np.frombuffer(text, np.uint8)[:room]
        inputs[length] = np.array([len(text)], np.int32)
    return inputs


def _predictions(found: list[dict[str, Any]], labels: list[str]) -> dict[str, tf.Tensor]:
    """Returns what a graph gives for a batch, `[batch, ...]`."""
    if "value" in found[0]:
        return {"value": tf.concat([one["value"] for one in found], 0)}
    probabilities = tf.stack([one["probabilities"] for one in found])
    best = tf.argmax(probabilities, axis=-1)
    return {"label": tf.gather(tf.constant(labels), best), "probabilities": probabilities}
