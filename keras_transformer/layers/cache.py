"""Keys and values of the tokens so far, for decoding step by step.

A cache holds a slot for each hypothesis of each step: slot `index * beam + i` is that of hypothesis
i at step `index`. No slot is ever moved. When a beam search lets its hypotheses change places, the
attention mask alone says anew whose past each slot is, so that reordering costs a row of booleans
in place of all keys and values.

Where attention is restricted to a window, a step takes the slots of the one that leaves the window:
the slots are those of step `index % window`.
"""

from collections.abc import Iterable

import numpy as np
from keras import ops

from keras_transformer.layers.gather import gather
from keras_transformer.tensors import Tensor


def empty_cache(
    batch_size: int | Tensor,
    num_heads: int,
    slots: int | Tensor,
    widths: Iterable[int],
    dtype: str,
) -> tuple[Tensor, ...]:
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


def newest_slots(
    index: int | Tensor, batch_size: int | Tensor, beam_size: int, num_heads: int
) -> Tensor:
    """Says where the heads of a step go; the same for the caches of all layers.

    Args:
        index: int scalar, the step.
        batch_size: Sentences.
        beam_size: Hypotheses of a sentence.
        num_heads: h.

    Returns:
        int32 `[batch, beam, heads, 3]`: sentence, head and slot.

    Example:
        >>> slots = newest_slots(index=1, batch_size=1, beam_size=2, num_heads=1)
        >>> keras.ops.convert_to_numpy(slots)[0, :, 0].tolist()
        [[0, 0, 2], [0, 0, 3]]
    """
    # All that the graph does not know before are two scalars.
    hypothesis, head = np.indices((beam_size, num_heads), np.int32)
    within = np.stack([np.zeros_like(head), head, hypothesis], axis=-1)
    sentence = ops.reshape(ops.arange(batch_size, dtype="int32"), (-1, 1, 1, 1))
    first = index * beam_size * np.array([0, 0, 1], np.int32)
    return sentence * np.array([1, 0, 0], np.int32) + (within + first)


def write(cache: Tensor, new: Tensor, slots: Tensor, reused: bool = False) -> Tensor:
    """Writes the heads of one step into slots.

    Args:
        cache: float `[batch, heads, slots, width]`.
        new: float `[batch, beam, heads, width]`.
        slots: int32 `[batch, beam, heads, 3]`, from `newest_slots`.
        reused: Whether these slots may hold an earlier step; otherwise they are zero.

    Returns:
        The cache with `new` in those slots.

    Example:
        >>> slots = newest_slots(index=1, batch_size=1, beam_size=2, num_heads=1)
        >>> written = write(keras.ops.zeros((1, 1, 4, 1)), keras.ops.ones((1, 2, 1, 1)), slots)
        >>> keras.ops.convert_to_numpy(written)[0, 0, :, 0].tolist()
        [0.0, 0.0, 1.0, 1.0]
    """
    if cache.shape[2] is None:
        import tensorflow as tf

        # A cache that grows is TensorFlow's alone. `ops.slice_update` is XLA's op there, which the
        # stock TF Serving does not run, and the kernels of `ops.scatter_update` and of a select
        # copy the whole cache; this one adds in place where nobody else holds the cache.
        add = tf.raw_ops.ScatterNdNonAliasingAdd
        if reused:
            # First to zero, because adding the difference would round.
            cache = add(input=cache, indices=slots, updates=-tf.gather_nd(cache, slots))
        return add(input=cache, indices=slots, updates=new)
    return ops.slice_update(cache, (0, 0, slots[0, 0, 0, 2], 0), ops.transpose(new, (0, 2, 1, 3)))


def resize(x: Tensor, rows: Tensor, slots: int | Tensor) -> Tensor:
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
    kept = gather(x, rows)
    room = slots - ops.shape(kept)[2]
    return ops.pad(kept, [[0, 0], [0, 0], [0, room]] + [[0, 0]] * (len(x.shape) - 3))


def fix_length(x: Tensor, batch_size: int | Tensor, length: int, axis: int) -> Tensor:
    """Gives an axis a length: cuts what is beyond it, or fills it up with zeros or False.

    Args:
        x: `[batch, ...]`.
        batch_size: Sentences.
        length: Length to have.
        axis: The axis.

    Returns:
        `x` with that length, and with static shapes if `batch_size` is an int.

    Example:
        >>> tuple(fix_length(keras.ops.ones((1, 2, 5, 8)), 1, length=7, axis=2).shape)
        (1, 2, 7, 8)
    """
    if x.shape[axis] == length:
        return x
    x = x[(slice(None),) * axis + (slice(length),)]
    room = [*ops.shape(x)]
    room[axis] = length - room[axis]
    shape = [batch_size, *x.shape[1:]]
    shape[axis] = length
    # Not padded: TFLite pads truth values since lately, and app stores have an older runtime.
    return ops.reshape(ops.concatenate([x, ops.zeros(room, x.dtype)], axis), shape)
