"""A classifier of texts as one file for an app or a browser, run by TFLite's stock runtime."""

import os
from pathlib import Path
from typing import Any, Protocol

import tensorflow as tf

from keras_transformer.export.formats import MARKS
from keras_transformer.export.metadata import describe_predictor, save_metadata
from keras_transformer.export.tflite.byte_tokenizer import ByteTokenizer
from keras_transformer.export.tflite.conversion import (
    Signature,
    converted,
    require_quantization,
    traced,
)
from keras_transformer.export.tflite.predictor import INPUTS
from keras_transformer.export.tflite.signatures import bytes_of, compiled, room_for_text
from keras_transformer.export.tflite.word_pieces import ByteWordPieces
from keras_transformer.export.versions import version_path
from keras_transformer.files import atomic_directory
from keras_transformer.prediction.reading import Inputs
from keras_transformer.prediction.texts import TextGraph
from keras_transformer.runs.run import Run
from keras_transformer.tasks.labelled.predicting import open_graph
from keras_transformer.text.framing import Frames, kept_of_pair, room_in
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.wordpiece import WordPieceTokenizer


def export_tflite_predictions(
    run: Run,
    directory: str | os.PathLike[str],
    version: int | None = None,
    quantization: str | None = None,
    checkpoint: str = "best",
) -> Path:
    """Writes `directory/<version>/`, whole or not at all.

    `predictor.tflite` takes `text`, uint8 `[limits.max_bytes]`, UTF-8 and then anything, and
    `length`, int32 `[1]`, how many bytes the text has; of pairs `text_pair` and `length_pair` as
    well. It gives `probabilities`, float32 `[labels]`, in the order of `labels` in
    `metadata.json`, or with regression `value`, float32 `[1]`; and `truncated`, int32 `[1]`, 1 if
    there was more text than the model reads, or than `limits.max_bytes`.

    Args:
        run: A run of the task "classification" or "pairs".
        directory: Folder of the versions.
        version: Number of this version; None for the next free one.
        quantization: "float16", "int8" or "int4", as of `export_tflite`; None for float32.
        checkpoint: "best", "latest" or "average".

    Returns:
        The folder of this version.

    Raises:
        FileExistsError: If the version exists.
        FileNotFoundError: If the run has no such checkpoint.
        ValueError: If the run is of another task, `quantization` is another, `directory` holds
            versions of another format, or the vocabulary has what is not followed in graph.
    """
    require_quantization(quantization)
    path = version_path(directory, version, "tflite_predictor")
    graph, weights = open_graph(run, checkpoint)
    if not isinstance(graph, TextGraph):
        raise ValueError(
            "`run` must be of the task 'classification' or 'pairs' for TFLite; export one of "
            f"another task with --format saved_model. Received: {run.path}, of the task "
            f"{run.config.task!r}"
        )
    room = room_for_text(graph.max_length)
    functions = traced([_signature(graph, room)], [graph.model], quantization)
    content = describe_predictor(run, graph, max_bytes=room)
    content |= {"format": "tflite_predictor", "quantization": quantization or "float32"}
    with atomic_directory(path) as folder:
        file = folder / MARKS["tflite_predictor"]
        file.write_bytes(converted(functions, weights, quantization))
        save_metadata(folder, content)
    return path


class _Tokenizer(Protocol):
    def tokenize(self, text: tf.Tensor) -> tf.Tensor:
        """Splits a text, int32 `[bytes + 1]`, into ids that end with the piece after a text."""


def byte_tokenizer(tokenizer: Any, room: int) -> _Tokenizer:
    """Makes what tokenizes one text with TFLite's own operations.

    Args:
        tokenizer: A `WordPieceTokenizer` or a `SubwordPieces`, which it gives the ids of.
        room: Most bytes of a text.

    Raises:
        ValueError: If the vocabulary has what is not followed.
    """
    if isinstance(tokenizer, WordPieceTokenizer):
        return ByteWordPieces(tokenizer)
    return ByteTokenizer(SubwordTokenizer(tokenizer.model), room, as_line=False)


def _signature(graph: TextGraph, room: int) -> Signature:
    """Makes the function of texts, each with its length behind it."""
    tokenizer = byte_tokenizer(graph.tokenizer, room)

    def serving_default(*arguments: tf.Tensor) -> dict[str, tf.Tensor]:
        texts, lengths = arguments[::2], arguments[1::2]
        ids = [tokenizer.tokenize(bytes_of(*one)) for one in zip(texts, lengths, strict=True)]
        inputs, is_cut = _framed(graph.tokenizer, ids, graph.max_length)
        found = graph.numbers(graph.logits_of(inputs))
        for length in lengths:
            is_cut |= length[0] > room
        # Of one text, without the batch's axis.
        outputs = {name: tf.reshape(x, x.shape[1:].as_list() or [1]) for name, x in found.items()}
        return {**outputs, "truncated": tf.reshape(tf.cast(is_cut, tf.int32), [1])}

    specs = []
    for column in graph.columns:
        specs.append(tf.TensorSpec([room], tf.uint8, column))
        specs.append(tf.TensorSpec([1], tf.int32, INPUTS[column]))
    return compiled(serving_default, *specs)


def _framed(frames: Frames, texts: list[tf.Tensor], length: int) -> tuple[Inputs, tf.Tensor]:
    """Puts special pieces around one text, or two, as `framed` in `text/framing.py` does.

    Args:
        frames: What has their ids.
        texts: int32 `[tokens]`, each ending with `[SEP]`.
        length: Most tokens.

    Returns:
        What a model reads, of one row, and whether tokens were left out.
    """
    room, sizes = room_in(length, len(texts)), [tf.size(text) - 1 for text in texts]
    if len(texts) == 1:
        kept = [tf.minimum(sizes[0], room)]
    else:
        kept = [*kept_of_pair(sizes[0], sizes[1], room)]
    parts: list[Any] = [[frames.cls_id]]
    for text, count in zip(texts, kept, strict=True):
        parts += [text[:count], [frames.sep_id]]
    ids = tf.concat(parts, 0)
    segments = tf.cast(tf.range(tf.size(ids)) > kept[0] + 1, tf.int32)
    is_cut = tf.reduce_sum(tf.stack(kept)) < tf.reduce_sum(tf.stack(sizes))
    return {"ids": ids[None], "segments": segments[None]}, is_cut
