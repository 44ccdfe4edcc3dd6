"""A bundle for TensorFlow Serving: a SavedModel that warms itself up, and how to run the server.

    exports/demo/1/         the SavedModel, with requests that warm it up in `assets.extra/`
    exports/demo/serving/   `models.config`, `batching_parameters.txt`, `monitoring.config` and
                            `compose.yaml`

The server takes folders whose names are numbers for versions and ignores all others, so `serving/`
may lie beside them.
"""

import itertools
import os
import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.config.limits import OF_AN_EXPORT, InputLimits
from keras_transformer.config.search_shapes import SearchShape
from keras_transformer.export.formats import FURTHER_SIGNATURES
from keras_transformer.export.saved_model import export_saved_model
from keras_transformer.export.signatures import signature_definitions
from keras_transformer.extras import needed
from keras_transformer.files import write_atomically
from keras_transformer.translation.pieces import Boundaries
from keras_transformer.translation.translator import Translator

# Where the server looks for them.
WARMUP_REQUESTS = "assets.extra/tf_serving_warmup_requests"

CONFIGURATION = ("models.config", "batching_parameters.txt", "monitoring.config", "compose.yaml")

# Pieces in a warm-up's sentences, and sentences in its larger batch, which is far below
# `max_batch_size`.
_SHORT, _LONG, _BATCH = 4, 60, 8


def export_serving(
    translator: Translator,
    directory: str | os.PathLike[str],
    version: int | None = None,
    quantization: str | None = None,
    name: str | None = None,
    limits: InputLimits = OF_AN_EXPORT,
    shapes: Sequence[SearchShape] = (),
    signatures: Sequence[str] = FURTHER_SIGNATURES,
) -> Path:
    """Writes `directory/<version>/`, whole or not at all, and then `directory/serving/`.

    A file that `directory/serving/` holds already stays as it is: it may have been edited.

    Args:
        translator: What to export.
        directory: Folder of the versions, as the server watches it.
        version: Number of this version; None for the next free one.
        quantization: As in `export_saved_model`.
        name: The model's name in requests; None for the name of `directory`.
        limits: As in `export_saved_model`.
        shapes: As in `export_saved_model`; the warm-up has each of them compiled.
        signatures: As in `export_saved_model`.

    Returns:
        The folder of this version.

    Raises:
        FileExistsError: If the version exists.
        ImportError: If tensorflow-serving-api is not installed.
        ValueError: If `name` cannot be part of an address, a shape has room for no text, or as in
            `export_saved_model`.

    Example:
        >>> export_serving(translator, "exports/demo")
        PosixPath('exports/demo/1')

    Reference:
        https://www.tensorflow.org/tfx/guide/serving
    """
    name = _check_name(name or Path(directory).resolve().name)
    _import_apis()  # Before the export, which takes a while.

    def add_warmup(folder: Path) -> None:
        path = folder / WARMUP_REQUESTS
        path.parent.mkdir()
        with tf.io.TFRecordWriter(str(path)) as writer:
            for log in _warmup_requests(translator, folder, name, shapes):
                writer.write(log.SerializeToString())

    path = export_saved_model(
        translator, directory, version, quantization, add_warmup, limits, shapes, signatures
    )
    _write_configuration(Path(directory) / "serving", name)
    return path


def _check_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name):
        raise ValueError(
            "`name` must consist of ASCII letters, digits, '_', '-' and '.', and begin with a "
            f"letter or a digit; it is part of an address. Received: name={name!r}"
        )
    return name


def _import_apis() -> Any:
    with needed("Export for TensorFlow Serving", "tensorflow-serving-api", "serving"):
        from tensorflow_serving import apis
        from tensorflow_serving.apis import predict_pb2, prediction_log_pb2  # noqa: F401
    return apis


def _warmup_requests(
    translator: Translator, folder: Path, name: str, shapes: Sequence[SearchShape]
) -> Iterator[Any]:
    """Yields a `PredictionLog` for each signature of an export, batch and compiled shape."""
    apis = _import_apis()
    source = _sentences(translator.source_tokenizer.pieces)
    target = _sentences(translator.target_tokenizer.pieces)
    values: dict[str, Sequence[Any]] = {
        "text": source,
        "source": source,
        "target": target,
        "max_length": [translator.graph.max_length] * _BATCH,
        "length_penalty": [translator.config.length_penalty] * _BATCH,
    }
    signatures = signature_definitions(folder)

    def log(signature: str, values: Mapping[str, Sequence[Any]]) -> Any:
        request = apis.predict_pb2.PredictRequest()
        request.model_spec.name = name
        request.model_spec.signature_name = signature
        for key, info in signatures[signature].inputs.items():
            tensor = tf.make_tensor_proto(values[key], tf.as_dtype(info.dtype))
            request.inputs[key].CopyFrom(tensor)
        return apis.prediction_log_pb2.PredictionLog(predict_log={"request": request})

    for signature, size in itertools.product(sorted(signatures), (1, _BATCH)):
        yield log(signature, {key: column[:size] for key, column in values.items()})
    for shape in shapes:
        yield log("compiled", {"text": [_sentence(translator, shape)] * shape.rows})


def _sentences(pieces: list[str]) -> list[str]:
    """Makes a batch of short and long text in any language: of its own vocabulary."""
    endless = itertools.cycle(pieces[4:])  # Without the special pieces, which are no text.
    lengths = itertools.islice(itertools.cycle((_SHORT, _LONG)), _BATCH)
    return [_text(itertools.islice(endless, n)) for n in lengths]


def _text(pieces: Iterable[str]) -> str:
    return "".join(pieces).replace("\u2581", " ")


def _sentence(translator: Translator, shape: SearchShape) -> str:
    """Makes the longest sentence that fits a shape, or nearly so: pieces may join anew."""
    tokenizer = translator.source_tokenizer
    boundaries = Boundaries.of(tokenizer.pieces)
    ends = (boundaries.ends_sentence | boundaries.ends_always).numpy()
    inner = [piece for piece, end in list(zip(tokenizer.pieces, ends, strict=True))[4:] if not end]
    pieces = list(itertools.islice(itertools.cycle(inner), 2 * shape.length))
    texts = [_text(pieces[:n]) for n in range(1, len(pieces) + 1)]
    tokens = tokenizer.tokenize(texts).row_lengths().numpy() + translator.graph.tags.length
    fitting = np.flatnonzero(tokens <= shape.length)
    if not len(fitting):
        raise ValueError(
            "`shapes` must have room for a text to warm up with; give more tokens. Received: "
            f"{shape}"
        )
    return texts[fitting[-1]]


def _write_configuration(folder: Path, name: str) -> None:
    folder.mkdir(exist_ok=True)
    templates = resources.files("keras_transformer.export") / "serving_files"
    for file_name in CONFIGURATION:
        if not (folder / file_name).exists():
            template = string.Template((templates / file_name).read_text("utf-8"))
            write_atomically(folder / file_name, template.substitute(name=name).encode())
