"""Export to a SavedModel that takes strings and gives strings.

What is saved owns the models' weights and the tokenizers' resources, and nothing else: no
optimizer, no Keras. It loads where only TensorFlow and TensorFlow Text are installed.
"""

import dataclasses
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import tensorflow as tf

from keras_transformer.config.limits import OF_AN_EXPORT, InputLimits
from keras_transformer.config.search_shapes import SearchShape
from keras_transformer.export.formats import FURTHER_SIGNATURES
from keras_transformer.export.metadata import write_metadata
from keras_transformer.export.versions import version_path
from keras_transformer.files import atomic_directory
from keras_transformer.translation.columns import compile_columns
from keras_transformer.translation.graph import Outputs, TranslationGraph
from keras_transformer.translation.storage import StoredWeights
from keras_transformer.translation.translator import Translator


def export_saved_model(
    translator: Translator,
    directory: str | os.PathLike[str],
    version: int | None = None,
    quantization: str | None = None,
    finish: Callable[[Path], None] | None = None,
    limits: InputLimits = OF_AN_EXPORT,
    shapes: Sequence[SearchShape] = (),
    signatures: Sequence[str] = FURTHER_SIGNATURES,
) -> Path:
    """Writes `directory/<version>/`, whole or not at all.

    Its signatures are methods of `TranslationGraph`, which tells their outputs:

    | signature | inputs | method |
    |---|---|---|
    | `serving_default` | `text` | `translate` |
    | `translate` | `text`, `max_length`, `length_penalty` | `translate` |
    | `nbest` | `text` | `nbest` |
    | `score` | `source`, `target` | `score` |
    | `attention` | `text` | `attention` |
    | `compiled`, with `shapes` | `text` | `translate`, by XLA where the sentences fit |

    All inputs are `[batch]`. `nbest` gives `num_hypotheses` translations, or, if that is 1, as many
    as the beam holds.

    Args:
        translator: What to export.
        directory: Folder of the versions, as TF Serving watches it.
        version: Number of this version; None for the next free one.
        quantization: "float16" or "bfloat16" to store matrices in half the size; None for float32.
        finish: Takes the folder of the version, complete but not yet under its name, to add to it.
        limits: How much of a text is translated at most; what is beyond is left out, and
            `truncated` says so.
        shapes: For which shapes XLA compiles the search of `compiled`; see `CompiledSearch`. Empty
            for no such signature.
        signatures: Which to write beside `serving_default`: each takes its time to load.

    Returns:
        The folder of this version.

    Raises:
        FileExistsError: If the version exists.
        ValueError: If `version` is not positive, `quantization` is another, a shape does not fit,
            a signature is none of those, or `directory` holds versions of another format or has a
            name with which TensorFlow loads nothing.

    Example:
        >>> path = export_saved_model(translator, "exports/demo")
        >>> loaded = tf.saved_model.load(path)
        >>> outputs = loaded.signatures["serving_default"](text=tf.constant(["a small dog"]))
        >>> sorted(outputs)
        ['pieces', 'score', 'translation', 'truncated']
    """
    if isinstance(signatures, str) or not {*signatures} <= {*FURTHER_SIGNATURES}:
        raise ValueError(
            f"`signatures` must be a list of {', '.join(FURTHER_SIGNATURES)}, or of some of them. "
            f"Received: {signatures!r}"
        )
    path = version_path(directory, version, "saved_model")
    weights = StoredWeights(translator.models, quantization)
    module = _Module(weights, translator)
    made = make_signatures(translator, weights, limits, shapes)
    for name in set(FURTHER_SIGNATURES).difference(signatures):
        del made[name]
    with atomic_directory(path) as folder:
        tf.saved_model.save(module, folder, signatures=made)
        write_metadata(
            folder,
            translator,
            "saved_model",
            quantization=quantization or "float32",
            limits={
                "max_length": translator.graph.max_length,
                "max_input_pieces": limits.max_pieces,
                "max_input_bytes": limits.max_bytes,
            },
            compiled_shapes=[str(shape) for shape in shapes],
        )
        if finish is not None:
            finish(folder)
    return path


class _Module(tf.Module):
    """Tracks what the graphs capture: a SavedModel keeps tracked objects only."""

    def __init__(self, weights: StoredWeights, translator: Translator):
        super().__init__(name="translator")
        self.weights = weights.stored
        self.tokenizers = [translator.source_tokenizer, translator.target_tokenizer]


def make_signatures(
    translator: Translator,
    weights: StoredWeights,
    limits: InputLimits = OF_AN_EXPORT,
    shapes: Sequence[SearchShape] = (),
) -> dict[str, tf.types.experimental.PolymorphicFunction]:
    """Compiles the signatures of an export, which `export_saved_model` lists.

    Args:
        translator: What translates.
        weights: What to compute with.
        limits: How much of a text is translated at most.
        shapes: As in `export_saved_model`.

    Returns:
        Each by its name. Their graphs do not keep the weights and the tokenizers alive.

    Example:
        >>> from keras_transformer.translation.storage import StoredWeights
        >>> sorted(make_signatures(translator, StoredWeights(translator.models)))
        ['attention', 'nbest', 'score', 'serving_default', 'translate']
    """
    config = translator.config
    if config.num_hypotheses == 1 and not config.sampling:
        config = dataclasses.replace(config, num_hypotheses=config.beam_size)
    tokenizers = translator.source_tokenizer, translator.target_tokenizer
    graph = TranslationGraph(translator.models, *tokenizers, config, weights, limits=limits)

    translate = compile_columns(
        graph.translate, text=tf.string, max_length=tf.int32, length_penalty=tf.float32
    )

    def with_defaults(text: tf.Tensor) -> Outputs:
        # One graph serves both signatures: each takes its time to load.
        size = tf.shape(text)
        return translate(text, tf.zeros(size, tf.int32), tf.fill(size, -1.0))

    signatures = {
        "serving_default": compile_columns(with_defaults, text=tf.string),
        "translate": translate,
        "nbest": compile_columns(graph.nbest, text=tf.string),
        "score": compile_columns(graph.score, source=tf.string, target=tf.string),
        "attention": compile_columns(graph.attention, text=tf.string),
    }
    if shapes:
        # Apart, because a server that does not compile cannot answer it.
        signatures["compiled"] = compile_columns(graph.compiled(shapes).translate, text=tf.string)
    return signatures
