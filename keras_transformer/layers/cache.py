"""Keys and values of the tokens so far, for decoding step by step.

A cache holds a slot for each hypothesis of each step: slot `index * beam + i` is that of hypothesis
i at step `index`. No slot is ever moved. When a beam search lets its hypotheses change places, the
attention mask alone says anew whose past each slot is, so that reordering costs a row of booleans
in place of all keys and values.
"""

import keras
from keras import ops


def empty_cache(batch_size, num_heads, slots, widths, dtype):
    """Makes room for the heads of tokens to come.

    Args:
        batch_size: Sentences.
        num_heads: h.
        slots: Steps times hypotheses of a sentence.
        widths: Width of a key and of a value in one head.
        dtype: Of the cache.

    Returns:
        For each width, zeros `[batch, heads, slots, width]`.

    Example:
        >>> keys, values = empty_cache(2, num_heads=4, slots=12, widths=(32, 32), dtype="float32")
    """
    return tuple(ops.zeros((batch_size, num_heads, slots, width), dtype) for width in widths)


def write(cache, new, index):
    """Writes the heads of one step.

    Args:
        cache: float `[batch, heads, slots, width]`.
        new: float `[batch, beam, heads, width]`.
        index: int scalar, the step.

    Returns:
        The cache with `new` in the slots of that step.

    Example:
        >>> written = write(keras.ops.zeros((1, 1, 4, 1)), keras.ops.ones((1, 2, 1, 1)), index=1)
        >>> keras.ops.convert_to_numpy(written)[0, 0, :, 0].tolist()
        [0.0, 0.0, 1.0, 1.0]
    """
    batch_size, num_heads, slots, width = ops.shape(cache)
    beam = ops.shape(new)[1]
    # The heads' order is changed by where their rows go, without a transpose.
    heads = ops.arange(num_heads, dtype="int32")
    sentences = ops.arange(batch_size, dtype="int32") * num_heads
    newest = ops.expand_dims(index * beam + ops.arange(beam, dtype="int32"), 1)
    at = ops.expand_dims(sentences, (1, 2)) * slots + heads * slots + newest
    rows = _add_rows(
        ops.reshape(cache, (-1, width)), ops.reshape(at, (-1, 1)), ops.reshape(new, (-1, width))
    )
    return ops.reshape(rows, ops.shape(cache))


def _add_rows(x, at, new):
    """Adds rows to zeros.

    TensorFlow's kernel for what `ops.scatter_update` does copies all of `x`, and so would a select;
    this one adds in place where nobody else holds `x`. `ops.slice_update` is XLA's op there, which
    neither the stock TF Serving nor TFLite runs.
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.raw_ops.ScatterNdNonAliasingAdd(input=x, indices=at, updates=new)
    return ops.scatter_update(x, at, new)


def resize(x, rows, slots):
    """Keeps some sentences and makes room for more slots.

    Args:
        x: `[batch, ..., slots, ...]` with the slots on its third axis.
        rows: int `[kept]`, the sentences to keep.
        slots: Slots to have, at least as many as now.

    Returns:
        `x` of those sentences, zero or False in the new slots.

    Example:
        >>> tuple(resize(keras.ops.zeros((3, 4, 12, 32)), np.array([0, 2]), slots=16).shape)
        (2, 4, 16, 32)
    """
    kept = ops.take(x, rows, axis=0)
    room = slots - ops.shape(kept)[2]
    return ops.pad(kept, [[0, 0], [0, 0], [0, room]] + [[0, 0]] * (len(x.shape) - 3))
