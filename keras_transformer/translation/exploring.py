"""What a person looks at in a translation: other ways to go on with it, any layer's attention.

Functions of string tensors as those of `TranslationGraph` are, with the batch first. An export has
none of them: they are for runs.
"""

import keras
import tensorflow as tf

from keras_transformer.decoding.ensemble import mean_log_probs
from keras_transformer.decoding.scoring import shift_right
from keras_transformer.text.vocabulary import EOS_ID, PAD_ID
from keras_transformer.translation.graph import Outputs, TranslationGraph


def alternatives(
    graph: TranslationGraph, text: tf.Tensor, prefix: tf.Tensor, n: int = 5
) -> Outputs:
    """Gives translations that begin with a prefix and then differ in their next token.

    The next tokens are the most probable ones after the prefix; each translation goes on as the
    search finds best.

    Args:
        graph: What translates.
        text: string `[batch]`; of one that is too long for the model, the first tokens count.
        prefix: string `[batch]`, as above.
        n: How many translations.

    Returns:
        A dict: "translations", string `[batch, n]`, those with the most probable tokens first;
        "log_probs", float32 `[batch, n]`, of those tokens after the prefix; "truncated", bool
        `[batch]`, whether text or prefix was longer than the model's maximum.

    Example:
        >>> found = alternatives(translator.graph, tf.constant(["a dog"]), tf.constant(["ein"]))
        >>> found["translations"].shape
        TensorShape([1, 5])
    """
    source, ids, truncated = graph.pair(text, prefix)
    batch, length = tf.unstack(tf.shape(ids))
    inputs = {"source": source, "target": shift_right(ids)}
    logits = mean_log_probs([model(inputs, training=False) for model in graph.models])
    end = tf.cast(tf.math.count_nonzero(ids != PAD_ID, 1), tf.int32) - 1
    following = keras.ops.log_softmax(tf.gather(logits, end, batch_dims=1))
    # None of the four that are no part of a text.
    log_probs, tokens = tf.math.top_k(following[:, EOS_ID + 1 :], n)
    tokens += EOS_ID + 1
    # Each stands where the prefix had its eos.
    is_end = tf.range(length) == end[:, None]
    begun = tf.where(is_end[:, None], tokens[:, :, None], ids[:, None])
    found = graph.search(tf.repeat(source, n, 0), tf.reshape(begun, [batch * n, length]), n=1)
    strings = graph.target_tokenizer.detokenize(found.ids[:, 0])
    return {
        "translations": tf.reshape(strings, [batch, n]),
        "log_probs": log_probs,
        "truncated": truncated,
    }


def attention_of_layer(
    graph: TranslationGraph, text: tf.Tensor, translation: tf.Tensor, layer: tf.Tensor
) -> Outputs:
    """Tells what the tokens of given translations attended to in one decoder layer.

    Args:
        graph: What translates, with one model.
        text: string `[batch]`; of one that is too long for the model, the first tokens count.
        translation: string `[batch]`.
        layer: int32 `[batch]`, from 0 on; one beyond the last is the last.

    Returns:
        A dict: "source_tokens", "target_tokens", "weights" and "truncated" as of
        `TranslationGraph.attention`; "layers", int32 `[batch]`, how many layers there are.

    Example:
        >>> found = attention_of_layer(
        ...     translator.graph, tf.constant(["a dog"]), tf.constant(["ein"]), tf.constant([0])
        ... )
        >>> found["layers"].numpy().tolist()
        [1]
    """
    [model] = graph.models
    source, target, truncated = graph.pair(text, translation)
    layers = model.attention_weights({"source": source, "target": shift_right(target)})["cross"]
    chosen = tf.clip_by_value(layer, 0, len(layers) - 1)
    return {
        "source_tokens": graph.source_tokenizer.to_pieces(source),
        "target_tokens": graph.target_tokenizer.to_pieces(target),
        "weights": tf.cast(tf.gather(tf.stack(layers, 1), chosen, batch_dims=1), tf.float32),
        "layers": tf.fill(tf.shape(layer), len(layers)),
        "truncated": truncated,
    }
