"""Writes a translator's export to TFLite."""

import os
import warnings
from pathlib import Path

from keras_transformer.export.formats import MARKS
from keras_transformer.export.metadata import write_metadata
from keras_transformer.export.tflite.conversion import (
    Signature,
    converted,
    require_quantization,
    traced,
)
from keras_transformer.export.tflite.signatures import (
    bytes_functions,
    ids_function,
    room_for_text,
    strings_function,
)
from keras_transformer.export.versions import version_path
from keras_transformer.files import atomic_directory
from keras_transformer.translation.graph import TranslationGraph
from keras_transformer.translation.storage import StoredWeights
from keras_transformer.translation.translator import Translator

TEXT_MODEL, IDS_MODEL = "translator.tflite", MARKS["tflite"]
STRINGS_MODEL = "translator_strings.tflite"


def export_tflite(
    translator: Translator,
    directory: str | os.PathLike[str],
    version: int | None = None,
    quantization: str | None = None,
    max_length: int | None = None,
    strings: bool = False,
    nbest: bool = False,
) -> Path:
    """Writes `directory/<version>/`, whole or not at all.

    - `translator.tflite` takes `text`, uint8 `[limits.max_bytes]`, UTF-8 and then anything, and
      `length`, int32 `[1]`, how many bytes the text has. It gives `translation`, uint8 of fixed
      size, UTF-8 and then zeros; `length`, int32 `[1]`, how many bytes the translation has;
      `score`, float32 `[1]`, the log-probability of its tokens, eos included; `truncated`, int32
      `[1]`, 1 if the text was longer than the model's maximum, or than `limits.max_bytes`, and its
      first part alone was translated, or the translation was cut. It is left out, with a warning,
      where a vocabulary has what is not followed in graph (`tflite/pieces.py`). With `nbest` it
      has a second signature, `translations`: as many different ones as the beam holds, the best
      first, `translations`, `lengths`, `scores`, of float32's least number where there are fewer,
      and `truncated`.
    - `translator_ids.tflite` takes `source`, int32 `[1, length]`, ids that end with eos, and gives
      `target`, int32 `[tokens]`, with its eos unless it was cut, `score` and `truncated`. It needs
      `source.model` and `target.model` with the SentencePiece library.
    - `translator_strings.tflite`, with `strings`, takes `text`, string `[1]`, and gives
      `translation`, string `[1]`, `score` and `truncated`. It needs TF Text's operations; the
      others need TFLite's own alone.
    - `metadata.json` tells languages, limits, versions and where the model comes from.

    Args:
        translator: What to export.
        directory: Folder of the versions.
        version: Number of this version; None for the next free one.
        quantization: "float16" to store weights in half the size, "int8" for matrices in a quarter
            of it and integer products (dynamic-range quantization), "int4" for those that are not
            looked up in an eighth; None for float32.
        max_length: Most tokens of a source and of a translation, eos included; None for the model's
            own. Room for all of them is attended to at each step, so less is faster.
        strings: Write the model of strings as well.
        nbest: Give the model of bytes the signature `translations` as well.

    Returns:
        The folder of this version.

    Raises:
        FileExistsError: If the version exists.
        ValueError: If `quantization` is another, `max_length` is beyond the model's, translations
            are sampled, `directory` holds versions of another format, `nbest` is asked for with a
            beam of 1, or `strings` with a vocabulary that falls back to bytes, which TF Text's
            operations do not.

    Example:
        >>> path = export_tflite(translator, "exports/app", quantization="int8")
        >>> sorted(file.name for file in path.glob("*.tflite"))
        ['translator.tflite', 'translator_ids.tflite']

    Reference:
        https://ai.google.dev/edge/litert
    """
    require_quantization(quantization)
    if translator.config.sampling:
        raise ValueError("`sampling` is not for TFLite; export without it. Received: sampling=True")
    if nbest and translator.config.beam_size == 1:
        raise ValueError("`nbest` takes a beam of more than 1; raise it. Received: beam_size=1")
    path = version_path(directory, version, "tflite")
    weights = StoredWeights(translator.models)
    tokenizers = translator.source_tokenizer, translator.target_tokenizer
    graph = TranslationGraph(translator.models, *tokenizers, translator.config, weights, max_length)
    functions = {
        name: traced(signatures, graph.models, quantization)
        for name, signatures in _functions(graph, strings, nbest).items()
    }
    with atomic_directory(path) as folder:
        for name, signatures in functions.items():
            content = converted(signatures, weights, quantization, custom=name == STRINGS_MODEL)
            (folder / name).write_bytes(content)
        translator.source_tokenizer.save(folder / "source.model")
        translator.target_tokenizer.save(folder / "target.model")
        write_metadata(
            folder,
            translator,
            "tflite",
            quantization=quantization or "float32",
            limits={"max_length": graph.max_length, "max_bytes": room_for_text(graph.max_length)},
            files=sorted(functions),
        )
    return path


def _functions(graph: TranslationGraph, strings: bool, nbest: bool) -> dict[str, list[Signature]]:
    """Returns the signatures of each file, by its name."""
    functions = {IDS_MODEL: [ids_function(graph)]}
    try:
        functions[TEXT_MODEL] = bytes_functions(graph, nbest)
    except ValueError as error:
        warnings.warn(f"{TEXT_MODEL} is left out: {error}", stacklevel=3)
    if strings:
        functions[STRINGS_MODEL] = [strings_function(graph)]
    return functions
