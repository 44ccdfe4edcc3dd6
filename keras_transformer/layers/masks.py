"""Attention masks (Section 3.2.3), boolean: True means "may attend".

Masks broadcast against attention logits `[batch, heads, query, key]`. They are built from ids by
the layers below and passed on as explicit arguments named `attention_mask`: an argument called
`mask` would start Keras's implicit `_keras_mask`, which is never used.
"""

from typing import Any, Self

import keras
import numpy as np
from keras import ops

from keras_transformer.layers.serialization import register, without_pad_id
from keras_transformer.tensors import Shape, Tensor
from keras_transformer.text.vocabulary import PAD_ID


def masked_softmax(logits: Tensor, mask: Tensor | None = None) -> Tensor:
    """Takes the softmax over the keys that a mask allows.

    A query that may attend to nothing gets equal weights: finite, and of no effect where such a
    query is padding.

    Args:
        logits: float32 `[..., queries, keys]`.
        mask: bool, True where attention is allowed, broadcastable to the logits; None allows all.

    Returns:
        float32 weights of the logits' shape.

    Example:
        >>> weights = masked_softmax(keras.ops.zeros((1, 4)), np.array([True, True, False, False]))
        >>> keras.ops.convert_to_numpy(weights).tolist()
        [[0.5, 0.5, 0.0, 0.0]]
    """
    return ops.softmax(masked(logits, mask))


def masked(logits: Tensor, mask: Tensor | None = None) -> Tensor:
    """Gives the least finite logit to the keys that a mask does not allow.

    Args:
        logits: float32 `[..., queries, keys]`.
        mask: bool, True where attention is allowed, broadcastable to the logits; None allows all.

    Returns:
        float32 logits of the same shape.

    Example:
        >>> logits = masked(keras.ops.zeros((1, 2)), np.array([True, False]))
    """
    # Finite, so that a fully masked row gives no NaN.
    return logits if mask is None else ops.where(mask, logits, np.finfo(np.float32).min)


class Mask(keras.layers.Layer):
    """What all masks share: ids in, booleans out, and no variables."""

    def build(self, input_shape: Shape) -> None:
        """Makes nothing; Keras takes a layer without it for one that is not built yet."""

    def compute_output_spec(self, ids: Tensor) -> keras.KerasTensor:
        return keras.KerasTensor(self.compute_output_shape(ids.shape), "bool")

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        return super().from_config(without_pad_id(config))


@register
class PaddingMask(Mask):
    """Lets every query attend to the real tokens of a sequence, and to no padding.

    The mask of the encoder's self-attention, and of the attention to the encoder's output.

    Call arguments:
        ids: int `[batch, length]`.

    Returns:
        bool `[batch, 1, 1, length]`.

    Example:
        >>> mask = PaddingMask()(np.array([[5, 3, 0]]))
        >>> keras.ops.convert_to_numpy(mask).tolist()
        [[[[True, True, False]]]]
    """

    def call(self, ids: Tensor) -> Tensor:
        return ops.expand_dims(ops.not_equal(ids, PAD_ID), (1, 2))

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        batch_size, length = input_shape
        return (batch_size, 1, 1, length)


@register
class CausalMask(Mask):
    """Lets position i attend to positions up to i: no token sees its future.

    Call arguments:
        ids: int `[batch, length]`; only its length counts.

    Returns:
        bool `[1, 1, length, length]`.

    Example:
        >>> mask = CausalMask()(np.array([[5, 3]]))
        >>> keras.ops.convert_to_numpy(mask).tolist()
        [[[[True, False], [True, True]]]]
    """

    def call(self, ids: Tensor) -> Tensor:
        position = ops.arange(ops.shape(ids)[1])
        mask = ops.expand_dims(position, 1) >= ops.expand_dims(position, 0)
        return ops.expand_dims(mask, (0, 1))

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        length = input_shape[1]
        return (1, 1, length, length)


@register
class DecoderMask(Mask):
    """The causal and the padding mask combined, for the decoder's self-attention.

    Call arguments:
        ids: int `[batch, length]`.

    Returns:
        bool `[batch, 1, length, length]`.

    Example:
        >>> mask = DecoderMask()(np.array([[2, 0]]))
        >>> keras.ops.convert_to_numpy(mask).tolist()
        [[[[True, False], [True, False]]]]
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.padding = PaddingMask()
        self.causal = CausalMask()

    def build(self, input_shape: Shape) -> None:
        self.padding.build(input_shape)
        self.causal.build(input_shape)

    def call(self, ids: Tensor) -> Tensor:
        return ops.logical_and(self.padding(ids), self.causal(ids))

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        batch_size, length = input_shape
        return (batch_size, 1, length, length)
