"""One sentence in, its translation out: what the files of an export can be asked.

The search is that of `keras_transformer.decoding`, with room for the longest sentence made at the
start: the loop's shapes are then fixed, and its products run in XNNPACK, TFLite's fast kernels.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import tensorflow as tf

from keras_transformer.export.tflite.byte_tokenizer import ByteTokenizer
from keras_transformer.export.tflite.joining import Joining
from keras_transformer.export.tflite.string_tokenizer import LiteTokenizer
from keras_transformer.text.vocabulary import EOS_ID, PAD_ID
from keras_transformer.translation.graph import TranslationGraph

Signature: TypeAlias = tf.types.experimental.PolymorphicFunction

# More than text has, of any script: what is beyond it is not read.
_BYTES_PER_TOKEN = 32


def room_for_text(graph: TranslationGraph) -> int:
    """Returns the most bytes of a text."""
    return _BYTES_PER_TOKEN * graph.max_length


def ids_function(graph: TranslationGraph) -> Signature:
    def translate(source: tf.Tensor) -> dict[str, tf.Tensor]:
        target, score, truncated = _translate(graph, source)
        return {"target": target, "score": score, "truncated": truncated}

    return _compiled(translate, tf.TensorSpec([1, None], tf.int32, "source"))


def strings_function(graph: TranslationGraph) -> Signature:
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


def bytes_function(graph: TranslationGraph) -> Signature:
    most = room_for_text(graph)
    source_tokenizer = ByteTokenizer(graph.source_tokenizer, most)
    target_pieces = Joining(graph.target_tokenizer)
    room = graph.max_length * target_pieces.longest

    def translate(text: tf.Tensor, length: tf.Tensor) -> dict[str, tf.Tensor]:
        read = tf.cast(text[: tf.clip_by_value(length[0], 0, most)], tf.int32)
        source = tf.expand_dims(source_tokenizer.tokenize(tf.concat([read, [0]], 0)), 0)
        target, score, truncated = _translate(graph, source)
        translation = target_pieces.join(target)
        size = tf.size(translation) - 1
        padded = tf.pad(translation, [[0, room - size]])[:room]
        return {
            "translation": tf.cast(tf.reshape(padded, [room]), tf.uint8),
            "length": tf.reshape(size, [1]),
            "score": score,
            "truncated": tf.cast(truncated | (length > most), tf.int32),
        }

    return _compiled(
        translate, tf.TensorSpec([most], tf.uint8, "text"), tf.TensorSpec([1], tf.int32, "length")
    )


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
    most = graph.max_length - graph.tags.length
    tag, source = _tag(graph, source)
    length = tf.shape(source)[1]
    has_text, is_long = length > 1, length > most
    kept = source[:, : tf.minimum(length, most) - 1]
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


def _tag(graph: TranslationGraph, source: tf.Tensor) -> tuple[list[tf.Tensor], tf.Tensor]:
    """Parts a sentence from its language tag, which is the default one where it has none."""
    if not graph.tags.default:
        return [], source
    first = source[:, :1]
    is_tag = tf.reduce_any(first == [*graph.source_tokenizer.tags.values()])
    tag = tf.where(is_tag, first, [graph.tags.default])
    return [tag], source[:, tf.cast(is_tag, tf.int32) :]


def _compiled(function: Callable[..., Any], *specs: tf.TensorSpec) -> Signature:
    return tf.function(function, input_signature=specs, autograph=False)
