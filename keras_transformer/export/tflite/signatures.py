"""One sentence in, its translation out: what the files of an export can be asked.

Of several signatures of a file, runtimes take the first by its name where none is asked for, which
`serving_default` is.

The search is that of `keras_transformer.decoding`, with room for the longest sentence made at the
start: the loop's shapes are then fixed, and its products run in XNNPACK, TFLite's fast kernels.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from keras_transformer.export.tflite.byte_tokenizer import ByteTokenizer
from keras_transformer.export.tflite.conversion import Signature
from keras_transformer.export.tflite.joining import Joining
from keras_transformer.export.tflite.string_tokenizer import LiteTokenizer
from keras_transformer.export.tflite.vectors import kept
from keras_transformer.text.vocabulary import EOS_ID, PAD_ID
from keras_transformer.translation.graph import TranslationGraph

# More than text has, of any script: what is beyond it is not read.
_BYTES_PER_TOKEN = 32


class _Found(NamedTuple):
    """Translations of a sentence, the best first.

    Args:
        ids: int32 `[n, max_length]`, each with its eos unless it was cut, then pad. Without text,
            an eos alone: there are runtimes that cannot read an output without elements.
        scores: float32 `[n]`, log-probabilities; -inf where there are fewer than n.
        truncated: bool `[n]`, whether the source or the translation was cut.
    """

    ids: tf.Tensor
    scores: tf.Tensor
    truncated: tf.Tensor


def room_for_text(max_length: int) -> int:
    """Returns the most bytes of a text, by the most tokens that a model reads."""
    return _BYTES_PER_TOKEN * max_length


def bytes_of(text: tf.Tensor, length: tf.Tensor) -> tf.Tensor:
    """Returns what is text of a tensor of fixed size.

    Args:
        text: uint8 `[room]`.
        length: int32 `[1]`, how many bytes the text has.

    Returns:
        int32 `[bytes + 1]`, ending with 0.

    Example:
        >>> bytes_of(tf.constant([*b"dogs"], tf.uint8), tf.constant([3])).numpy().tolist()
        [100, 111, 103, 0]
    """
    read = text[: tf.clip_by_value(length[0], 0, text.shape[0])]
    return tf.concat([tf.cast(read, tf.int32), [0]], 0)


def ids_function(graph: TranslationGraph) -> Signature:
    """Makes the function of ids: from `source`, int32 `[1, length]`, to `target`, `[length]`."""

    def serving_default(source: tf.Tensor) -> dict[str, tf.Tensor]:
        found = _translate(graph, source)
        return {"target": _tokens(found.ids[0]), **_of_the_best(found)}

    return compiled(serving_default, tf.TensorSpec([1, None], tf.int32, "source"))


def strings_function(graph: TranslationGraph) -> Signature:
    """Makes the function of strings, from `text` to `translation`, `[1]` both.

    Its runtime has to have TensorFlow Text's operations.
    """
    source_tokenizer = LiteTokenizer(graph.source_tokenizer, graph.max_length)
    target_tokenizer = LiteTokenizer(graph.target_tokenizer, graph.max_length)

    def serving_default(text: tf.Tensor) -> dict[str, tf.Tensor]:
        found = _translate(graph, tf.expand_dims(source_tokenizer.tokenize(text), 0))
        target = _tokens(found.ids[0])
        length = tf.reduce_sum(tf.cast(target != EOS_ID, tf.int32))
        translation = target_tokenizer.detokenize(target[:length])
        return {"translation": translation, **_of_the_best(found)}

    return compiled(serving_default, tf.TensorSpec([1], tf.string, "text"))


def bytes_functions(graph: TranslationGraph, nbest: bool) -> list[Signature]:
    """Makes `serving_default`, and `translations` where `nbest` asks for it."""
    most = room_for_text(graph.max_length)
    source_tokenizer = ByteTokenizer(graph.source_tokenizer, most)
    target_pieces = Joining(graph.target_tokenizer)
    room = graph.max_length * target_pieces.longest

    def translate(text: tf.Tensor, length: tf.Tensor, n: int) -> _Found:
        source = tf.expand_dims(source_tokenizer.tokenize(bytes_of(text, length)), 0)
        found = _translate(graph, source, n)
        return found._replace(truncated=found.truncated | (length > most))

    def joined(ids: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the bytes of a translation, int32 `[room]`, and their number."""
        translation = target_pieces.join(_tokens(ids))
        size = tf.size(translation) - 1
        padded = tf.pad(translation, [[0, room - size]])[:room]
        return tf.reshape(padded, [room]), size

    def serving_default(text: tf.Tensor, length: tf.Tensor) -> dict[str, tf.Tensor]:
        found = translate(text, length, n=1)
        translation, size = joined(found.ids[0])
        return {
            "translation": tf.cast(translation, tf.uint8),
            "length": tf.reshape(size, [1]),
            "score": found.scores,
            "truncated": tf.cast(found.truncated, tf.int32),
        }

    def translations(text: tf.Tensor, length: tf.Tensor) -> dict[str, tf.Tensor]:
        n = graph.config.beam_size
        found = _with_nothing(translate(text, length, n=2 * n))  # Some will be the same string.
        texts, sizes = _by_row(joined, found.ids, room)
        which = _distinct(texts, found.scores, n)
        return {
            "translations": tf.cast(tf.gather(texts, which), tf.uint8),
            "lengths": tf.gather(sizes, which),
            "scores": tf.gather(tf.maximum(found.scores, tf.float32.min), which),
            "truncated": tf.cast(tf.gather(found.truncated, which), tf.int32),
        }

    specs = tf.TensorSpec([most], tf.uint8, "text"), tf.TensorSpec([1], tf.int32, "length")
    functions = [serving_default, translations] if nbest else [serving_default]
    return [compiled(function, *specs) for function in functions]


def _translate(graph: TranslationGraph, source: tf.Tensor, n: int = 1) -> _Found:
    """Translates a sentence.

    Args:
        graph: What translates.
        source: int32 `[1, length]`, ids that end with eos.
        n: How many translations.
    """
    most = graph.max_length - graph.tags.length
    tag, source = _tag(graph, source)
    length = tf.shape(source)[1]
    has_text, is_long = length > 1, length > most
    begun = source[:, : tf.minimum(length, most) - 1]
    source = tf.concat([*tag, begun, [[EOS_ID]]], 1)
    found = graph.search(source, n=n, fixed_length=graph.max_length)
    ids = tf.reshape(found.ids, [n, graph.max_length])
    ids = tf.where(has_text, ids, tf.one_hot(0, graph.max_length, EOS_ID, PAD_ID))
    scores = tf.reshape(found.log_probs, [n])
    scores = tf.where(has_text, scores, tf.constant([0.0] + [-math.inf] * (n - 1)))
    return _Found(ids, scores, is_long | ~tf.reduce_any(ids == EOS_ID, 1))


def _with_nothing(found: _Found) -> _Found:
    """Adds what stands where there is no further translation."""
    return _Found(
        tf.pad(found.ids, [[0, 1], [0, 0]], constant_values=EOS_ID),
        tf.concat([found.scores, [-math.inf]], 0),
        tf.concat([found.truncated, [False]], 0),
    )


def _tokens(ids: tf.Tensor) -> tf.Tensor:
    """Drops the pads at the end."""
    return ids[: tf.reduce_sum(tf.cast(ids != PAD_ID, tf.int32))]


def _of_the_best(found: _Found) -> dict[str, tf.Tensor]:
    return {"score": found.scores, "truncated": found.truncated}


def _tag(graph: TranslationGraph, source: tf.Tensor) -> tuple[list[tf.Tensor], tf.Tensor]:
    """Parts a sentence from its language tag, which is the default one where it has none."""
    if not graph.tags.default:
        return [], source
    first = source[:, :1]
    is_tag = tf.reduce_any(first == [*graph.source_tokenizer.tags.values()])
    tag = tf.where(is_tag, first, [graph.tags.default])
    return [tag], source[:, tf.cast(is_tag, tf.int32) :]


def _by_row(
    joined: Callable[[tf.Tensor], tuple[tf.Tensor, tf.Tensor]], ids: tf.Tensor, room: int
) -> tuple[tf.Tensor, tf.Tensor]:
    """Joins each row of ids: texts, int32 `[n, room]`, and their sizes, int32 `[n]`."""
    n = ids.shape[0]

    def join_next(i: tf.Tensor, texts: tf.Tensor, sizes: tf.Tensor) -> tuple[tf.Tensor, ...]:
        text, size = joined(ids[i])
        texts = keras.ops.slice_update(texts, [i, 0], text[None])
        return i + 1, texts, keras.ops.slice_update(sizes, [i], tf.reshape(size, [1]))

    texts, sizes = tf.zeros([n, room], tf.int32), tf.zeros([n], tf.int32)
    _, texts, sizes = tf.while_loop(lambda i, *_: i < n, join_next, (0, texts, sizes))
    return texts, sizes


def _distinct(texts: tf.Tensor, scores: tf.Tensor, n: int) -> tf.Tensor:
    """Finds the first n different texts.

    Args:
        texts: int32 `[found, room]`, the best first.
        scores: float32 `[found]`, -inf where nothing was found, as in the last row.
        n: How many.

    Returns:
        int32 `[n]`, their rows; the last row where there are fewer.
    """
    found = texts.shape[0]
    rows = np.arange(found)
    same = tf.reduce_all(texts[:, None] == texts[None], 2)
    is_earlier = tf.constant(rows[None] < rows[:, None])
    is_new = ~tf.reduce_any(same & is_earlier, 1) & (scores > -math.inf)
    return tf.reshape(tf.concat([kept(is_new), tf.fill([n], found - 1)], 0)[:n], [n])


def compiled(function: Callable[..., Any], *specs: tf.TensorSpec) -> Signature:
    """Returns a function as a signature of its name."""
    return tf.function(function, input_signature=specs, autograph=False)
