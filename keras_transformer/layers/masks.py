"""Attention masks (Section 3.2.3), boolean: True means "may attend".

Masks broadcast against attention logits `[batch, heads, query, key]`. They are built from ids by
the layers below and passed on as explicit arguments named `attention_mask`: an argument called
`mask` would start Keras's implicit `_keras_mask`, which is never used.
"""

from typing import Any, Self

import keras
from keras import ops

from keras_transformer.layers.serialization import register, without_pad_id
from keras_transformer.tensors import Tensor
from keras_transformer.text.vocabulary import PAD_ID


@register
class PaddingMask(keras.layers.Layer):
    """Lets every query attend to the real tokens of a sequence, and to no padding.

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

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        return super().from_config(without_pad_id(config))


@register
class CausalMask(keras.layers.Layer):
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


@register
class DecoderMask(keras.layers.Layer):
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

    def call(self, ids: Tensor) -> Tensor:
        return ops.logical_and(self.padding(ids), self.causal(ids))

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        return super().from_config(without_pad_id(config))
