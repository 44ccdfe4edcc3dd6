"""Attention masks (Section 3.2.3), boolean: True means "may attend".

Masks broadcast against attention logits `[batch, heads, query, key]`. They are built from ids by
the layers below and passed on as explicit arguments named `attention_mask`: an argument called
`mask` would start Keras's implicit `_keras_mask`, which is never used.
"""

import keras
from keras import ops

from keras_transformer.layers.serialization import register


@register
class PaddingMask(keras.layers.Layer):
    """Lets every query attend to the real tokens of a sequence, and to no padding.

    Args:
        pad_id: The id that fills a batch.

    Call arguments:
        ids: int `[batch, length]`.

    Returns:
        bool `[batch, 1, 1, length]`.

    Example:
        >>> mask = PaddingMask()(np.array([[5, 3, 0]]))
        >>> keras.ops.convert_to_numpy(mask).tolist()
        [[[[True, True, False]]]]
    """

    def __init__(self, pad_id: int = 0, **kwargs):
        super().__init__(**kwargs)
        self.pad_id = pad_id

    def call(self, ids):
        return ops.expand_dims(ops.not_equal(ids, self.pad_id), (1, 2))

    def get_config(self):
        return {**super().get_config(), "pad_id": self.pad_id}


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

    def call(self, ids):
        position = ops.arange(ops.shape(ids)[1])
        mask = ops.expand_dims(position, 1) >= ops.expand_dims(position, 0)
        return ops.expand_dims(mask, (0, 1))


@register
class DecoderMask(keras.layers.Layer):
    """The causal and the padding mask combined, for the decoder's self-attention.

    Args:
        pad_id: The id that fills a batch.

    Call arguments:
        ids: int `[batch, length]`.

    Returns:
        bool `[batch, 1, length, length]`.

    Example:
        >>> mask = DecoderMask()(np.array([[2, 0]]))
        >>> keras.ops.convert_to_numpy(mask).tolist()
        [[[[True, False], [True, False]]]]
    """

    def __init__(self, pad_id: int = 0, **kwargs):
        super().__init__(**kwargs)
        self.pad_id = pad_id
        self.padding = PaddingMask(pad_id)
        self.causal = CausalMask()

    def call(self, ids):
        return ops.logical_and(self.padding(ids), self.causal(ids))

    def get_config(self):
        return {**super().get_config(), "pad_id": self.pad_id}
