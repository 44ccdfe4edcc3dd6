"""Export to TFLite, for apps: one sentence in, its translation out.

The search is that of `keras_transformer.decoding`, with room for the longest sentence made at the
start: the loop's shapes are then fixed, and its products run in XNNPACK, TFLite's fast kernels.
"""

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensorflow as tf

from keras_transformer.export.formats import MARKS
from keras_transformer.export.metadata import write_metadata
from keras_transformer.export.tflite_tokenizer import LiteTokenizer
from keras_transformer.export.versions import version_path
from keras_transformer.files import atomic_directory
from keras_transformer.text.vocabulary import EOS_ID, PAD_ID
from keras_transformer.translation.graph import TranslationGraph
from keras_transformer.translation.storage import StoredWeights
from keras_transformer.translation.translator import Translator

TEXT_MODEL, IDS_MODEL = "translator.tflite", MARKS["tflite"]
QUANTIZATIONS = ("float16", "int8")


def export_tflite(
    translator: Translator,
    directory: str | os.PathLike[str],
    version: int | None = None,
    quantization: str | None = None,
    max_length: int | None = None,
) -> Path:
    """Writes `directory/<version>/`, whole or not at all.

    - `translator.tflite` takes `text`, string `[1]`, and gives `translation`, string `[1]`;
      `score`, float32 `[1]`, the log-probability of its tokens, eos included; `truncated`, bool
      `[1]`, whether the text was longer than the model's maximum and its first tokens alone were
      translated, or the translation was cut there. It needs TF Text's operations. It is left out,
      with a warning, where a vocabulary has `byte_fallback`, which these do not know.
    - `translator_ids.tflite` takes `source`, int32 `[1, length]`, ids that end with eos, and gives
      `target`, int32 `[tokens]`, with its eos unless it was cut, `score` and `truncated`. It needs
      TFLite's own operations alone, and `source.model` and `target.model` with the SentencePiece
      library.
    - `metadata.json` tells languages, limits, versions and where the model comes from.

    Args:
        translator: What to export.
        directory: Folder of the versions.
        version: Number of this version; None for the next free one.
        quantization: "float16" to store weights in half the size, "int8" for matrices in a quarter
            of it and integer products (dynamic-range quantization); None for float32.
        max_length: Most tokens of a source and of a translation, eos included; None for the model's
            own. Room for all of them is attended to at each step, so less is faster.

    Returns:
        The folder of this version.

    Raises:
        FileExistsError: If the version exists.
        ValueError: If `quantization` is another, `max_length` is beyond the model's, translations
            are sampled, or `directory` holds versions of another format.

    Example:
        >>> path = export_tflite(translator, "exports/app", quantization="int8")
        >>> sorted(file.name for file in path.glob("*.tflite"))
        ['translator.tflite', 'translator_ids.tflite']

    Reference:
        https://ai.google.dev/edge/litert
    """
    if quantization not in (None, *QUANTIZATIONS):
        raise ValueError(
            f"`quantization` must be one of {', '.join(QUANTIZATIONS)} or None for TFLite. "
            f"Received: {quantization!r}"
        )
    if translator.config.sampling:
        raise ValueError("`sampling` is not for TFLite; export without it. Received: sampling=True")
    path = version_path(directory, version, "tflite")
    weights = StoredWeights(translator.models)
    tokenizers = translator.source_tokenizer, translator.target_tokenizer
    graph = TranslationGraph(translator.models, *tokenizers, translator.config, weights, max_length)
    models = {IDS_MODEL: _ids_function(graph)}
    try:
        models[TEXT_MODEL] = _text_function(graph)
    except ValueError as error:
        warnings.warn(f"{TEXT_MODEL} is left out: {error}", stacklevel=2)
    with atomic_directory(path) as folder:
        for name, function in models.items():
            (folder / name).write_bytes(_convert(function, weights, quantization))
        translator.source_tokenizer.save(folder / "source.model")
        translator.target_tokenizer.save(folder / "target.model")
        write_metadata(
            folder,
            translator,
            "tflite",
            quantization=quantization or "float32",
            limits={"max_length": graph.max_length},
            files=sorted(models),
        )
    return path


def _ids_function(graph: TranslationGraph) -> tf.types.experimental.PolymorphicFunction:
    def translate(source: tf.Tensor) -> dict[str, tf.Tensor]:
        target, score, truncated = _translate(graph, source)
        return {"target": target, "score": score, "truncated": truncated}

    return _compiled(translate, tf.TensorSpec([1, None], tf.int32, "source"))


def _text_function(graph: TranslationGraph) -> tf.types.experimental.PolymorphicFunction:
    source_tokenizer = LiteTokenizer(graph.source_tokenizer, graph.max_length)
    target_tokenizer = LiteTokenizer(graph.target_tokenizer, graph.max_length)

    def translate(text: tf.Tensor) -> dict[str, tf.Tensor]:
        source = tf.expand_dims(source_tokenizer.tokenize(text), 0)
        target, score, truncated = _translate(graph, source)
        length = tf.reduce_sum(tf.cast(target != EOS_ID, tf.int32))
        return {
            "translation": target_tokenizer.detokenize(target[:length]),
            "score": score,
            "truncated": truncated,
        }

    return _compiled(translate, tf.TensorSpec([1], tf.string, "text"))


def _translate(graph: TranslationGraph, source: tf.Tensor) -> tuple[tf.Tensor, ...]:
    """Translates one sentence.

    Args:
        graph: What translates.
        source: int32 `[1, length]`, ids that end with eos.

    Returns:
        The target's ids, int32 `[tokens]`, with their eos unless they were cut; the score, float32
        `[1]`; whether source or target were cut, bool `[1]`. An eos alone gives an eos alone: there
        are runtimes that cannot read an output without elements.
    """
    length, most = tf.shape(source)[1], graph.max_length - graph.tags.length
    has_text, is_long = length > 1, length > most
    kept = source[:, : tf.minimum(length, most) - 1]
    tag = [[graph.tags.default]] if graph.tags.default else []
    source = tf.concat([*tag, kept, [[EOS_ID]]], 1)
    found = graph.search(source, n=1, fixed_length=graph.max_length)
    target = tf.reshape(found.ids, [-1])
    target = tf.where(has_text, target, tf.one_hot(0, graph.max_length, EOS_ID, PAD_ID))
    has_eos = tf.reduce_any(target == EOS_ID)
    return (
        target[: tf.reduce_sum(tf.cast(target != PAD_ID, tf.int32))],
        tf.where(has_text, tf.reshape(found.log_probs, [1]), 0.0),
        tf.reshape(is_long | ~has_eos, [1]),
    )


def _compiled(
    function: Callable[..., Any], spec: tf.TensorSpec
) -> tf.types.experimental.PolymorphicFunction:
    return tf.function(function, input_signature=[spec], autograph=False)


def _convert(
    function: tf.types.experimental.PolymorphicFunction,
    weights: StoredWeights,
    quantization: str | None,
) -> bytes:
    """Converts a function; the weights become constants of the file."""
    # What owns the variables: with it, the file has a signature with names.
    owner = tf.Module()
    owner.weights = weights.stored
    concrete = function.get_concrete_function()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], owner)
    # TF Text's tokenizer.
    converter.allow_custom_ops = True
    if quantization is not None:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if quantization == "float16":
        converter.target_spec.supported_types = [tf.float16]
    return converter.convert()
