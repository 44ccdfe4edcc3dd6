"""The decoder (Section 3.1): N identical layers of three sub-layers each.

`call` runs all positions at once, as training does. `step` runs one position with the keys and
values of the earlier ones from a cache, as decoding does; both give the same output.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from keras_transformer.config import TransformerConfig
from keras_transformer.layers.attention import CrossAttention
from keras_transformer.layers.blocks import Block
from keras_transformer.layers.serialization import register
from keras_transformer.tensors import Shape, Tensor


@register
class DecoderLayer(Block):
    """Masked self-attention, attention to the memory and a feed-forward network.

    Args:
        config: `TransformerConfig`.

    Call arguments:
        x: float `[batch, length, d_model]`.
        memory: float `[batch, memory_length, d_model]`, the encoder's output.
        attention_mask: bool, broadcastable to `[batch, heads, length, length]`, True where
            attention is allowed.
        cross_attention_mask: bool, broadcastable to `[batch, heads, length, memory_length]`.
        training: Whether dropout is active.

    Returns:
        The output, float `[batch, length, d_model]`; the self-attention weights, float
        `[batch, heads, length, length]`; the cross-attention weights, float
        `[batch, heads, length, memory_length]`.

    Example:
        >>> layer = DecoderLayer(TransformerConfig.preset("tiny"))
        >>> x, memory = keras.ops.ones((2, 5, 128)), keras.ops.ones((2, 7, 128))
        >>> output, self_weights, cross_weights = layer(x, memory)

    Reference:
        "Attention Is All You Need", Section 3.1.
    """

    def __init__(self, config: TransformerConfig | Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.self_attention = self._self_attention(causal=True)
        self.self_attention_residual = self._residual("self_attention_residual")
        self.cross_attention = self._attention(CrossAttention, "cross_attention")
        self.cross_attention_residual = self._residual("cross_attention_residual")
        self.feed_forward = self._feed_forward()
        self.feed_forward_residual = self._residual("feed_forward_residual")

    def build(self, x_shape: Shape, memory_shape: Shape) -> None:
        self.cross_attention.build(x_shape, memory_shape)
        for layer in (
            self.self_attention,
            self.self_attention_residual,
            self.cross_attention_residual,
            self.feed_forward,
            self.feed_forward_residual,
        ):
            layer.build(x_shape)

    def call(
        self,
        x: Tensor,
        memory: Tensor,
        attention_mask: Tensor | None = None,
        cross_attention_mask: Tensor | None = None,
        training: bool | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        attended, self_weights = self.self_attention(
            self.self_attention_residual.enter(x), attention_mask=attention_mask, training=training
        )
        x = self.self_attention_residual(x, attended, training=training)
        keys_values = self.cross_attention.keys_values(memory)
        x, cross_weights = self._after_self_attention(
            x, keys_values, cross_attention_mask, training
        )
        return x, self_weights, cross_weights

    def compute_output_shape(
        self, x_shape: Shape, memory_shape: Shape
    ) -> tuple[Shape, Shape, Shape]:
        _, self_weights = self.self_attention.compute_output_shape(x_shape)
        _, cross_weights = self.cross_attention.compute_output_shape(x_shape, memory_shape)
        return x_shape, self_weights, cross_weights

    def step(
        self,
        x: Tensor,
        cache: tuple[Tensor, ...],
        keys_values: tuple[Tensor, Tensor],
        slots: Tensor,
        attention_mask: Tensor,
        cross_attention_mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
        """Runs the layer for the newest token of each hypothesis, without dropout.

        Args:
            x: float `[batch, beam, d_model]`.
            cache: Of the self-attention; see `SelfAttention.step`.
            keys_values: Of the memory; see `CrossAttention.keys_values`. All hypotheses of a
                sentence read the same.
            slots: Where in the cache the newest tokens go, from `cache.newest_slots`.
            attention_mask: bool, broadcastable to `[batch, heads, beam, slots]`.
            cross_attention_mask: bool, broadcastable to `[batch, heads, beam, memory_length]`.

        Returns:
            The output `[batch, beam, d_model]`, the cross-attention weights
            `[batch, heads, beam, memory_length]` and the cache with the tokens in it.
        """
        attended, _, cache = self.self_attention.step(
            self.self_attention_residual.enter(x), cache, slots, attention_mask
        )
        x = self.self_attention_residual(x, attended, training=False)
        x, weights = self._after_self_attention(x, keys_values, cross_attention_mask, False)
        return x, weights, cache

    def _after_self_attention(
        self,
        x: Tensor,
        keys_values: tuple[Tensor, Tensor],
        cross_attention_mask: Tensor | None,
        training: bool | None,
    ) -> tuple[Tensor, Tensor]:
        attended, weights = self.cross_attention.attend(
            self.cross_attention_residual.enter(x), keys_values, cross_attention_mask, training
        )
        x = self.cross_attention_residual(x, attended, training=training)
        transformed = self.feed_forward(self.feed_forward_residual.enter(x))
        return self.feed_forward_residual(x, transformed, training=training), weights


@register
class Decoder(Block):
    """The stack of decoder layers; with pre-norm, normalized once more at its end.

    Args:
        config: `TransformerConfig`.

    Call arguments:
        x: float `[batch, length, d_model]`, the embedding sum.
        memory: float `[batch, memory_length, d_model]`, the encoder's output.
        attention_mask: bool, broadcastable to `[batch, heads, length, length]`, True where
            attention is allowed.
        cross_attention_mask: bool, broadcastable to `[batch, heads, length, memory_length]`.
        training: Whether dropout is active.

    Returns:
        The output, float `[batch, length, d_model]`; the self-attention weights of each layer, a
        list of float `[batch, heads, length, length]`; the cross-attention weights of each layer, a
        list of float `[batch, heads, length, memory_length]`.

    Example:
        >>> decoder = Decoder(TransformerConfig.preset("tiny"))
        >>> x, memory = keras.ops.ones((2, 5, 128)), keras.ops.ones((2, 7, 128))
        >>> output, self_weights, cross_weights = decoder(x, memory)

    Reference:
        "Attention Is All You Need", Section 3.1.
    """

    def __init__(self, config: TransformerConfig | Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.layers = [
            DecoderLayer(config, dtype=self.dtype_policy, name=f"layer_{i}")
            for i in range(self.config.decoder_layers)
        ]
        self.final_norm = self._final_norm()

    def build(self, x_shape: Shape, memory_shape: Shape) -> None:
        for layer in self.layers:
            layer.build(x_shape, memory_shape)
        self.final_norm.build(x_shape)

    def call(
        self,
        x: Tensor,
        memory: Tensor,
        attention_mask: Tensor | None = None,
        cross_attention_mask: Tensor | None = None,
        training: bool | None = None,
    ) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        all_self_weights, all_cross_weights = [], []
        for layer in self.layers:
            x, self_weights, cross_weights = layer(
                x,
                memory,
                attention_mask=attention_mask,
                cross_attention_mask=cross_attention_mask,
                training=training,
            )
            all_self_weights.append(self_weights)
            all_cross_weights.append(cross_weights)
        return self.final_norm(x), all_self_weights, all_cross_weights

    def compute_output_shape(
        self, x_shape: Shape, memory_shape: Shape
    ) -> tuple[Shape, list[Shape], list[Shape]]:
        shapes = [layer.compute_output_shape(x_shape, memory_shape) for layer in self.layers]
        return x_shape, [shape[1] for shape in shapes], [shape[2] for shape in shapes]

    def keys_values(self, memory: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Projects the memory for the cross-attention of each layer, once for all steps."""
        return [layer.cross_attention.keys_values(memory) for layer in self.layers]

    def empty_caches(
        self, batch_size: int | Tensor, slots: int | Tensor
    ) -> list[tuple[Tensor, ...]]:
        """Returns the cache of each layer's self-attention before the first step."""
        return [layer.self_attention.empty_cache(batch_size, slots) for layer in self.layers]

    def step(
        self,
        x: Tensor,
        caches: Sequence[tuple[Tensor, ...]],
        keys_values: Sequence[tuple[Tensor, Tensor]],
        slots: Tensor,
        attention_mask: Tensor,
        cross_attention_mask: Tensor | None = None,
    ) -> tuple[Tensor, list[Tensor], list[tuple[Tensor, ...]]]:
        """Runs the stack for the newest token of each hypothesis; see `DecoderLayer.step`.

        Returns:
            The output `[batch, beam, d_model]`, the cross-attention weights of each layer and the
            caches with the tokens in them.
        """
        all_weights, new_caches = [], []
        for layer, cache, memory in zip(self.layers, caches, keys_values, strict=True):
            x, weights, cache = layer.step(
                x, cache, memory, slots, attention_mask, cross_attention_mask
            )
            all_weights.append(weights)
            new_caches.append(cache)
        return self.final_norm(x), all_weights, new_caches
