"""The encoder (Section 3.1): N identical layers of two sub-layers each."""

from collections.abc import Mapping
from typing import Any

from keras_transformer.config import TransformerConfig
from keras_transformer.layers.blocks import Block
from keras_transformer.layers.serialization import register
from keras_transformer.tensors import Shape, Tensor


@register
class EncoderLayer(Block):
    """Self-attention and a feed-forward network, each in a residual connection.

    Args:
        config: `TransformerConfig`.

    Call arguments:
        x: float `[batch, length, d_model]`.
        attention_mask: bool, broadcastable to `[batch, heads, length, length]`, True where
            attention is allowed.
        training: Whether dropout is active.

    Returns:
        The output, float `[batch, length, d_model]`, and the attention weights, float
        `[batch, heads, length, length]`.

    Example:
        >>> layer = EncoderLayer(TransformerConfig.preset("tiny"))
        >>> output, weights = layer(keras.ops.ones((2, 5, 128)))

    Reference:
        "Attention Is All You Need", Section 3.1.
    """

    def __init__(self, config: TransformerConfig | Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.self_attention = self._self_attention(causal=False)
        self.self_attention_residual = self._residual("self_attention_residual")
        self.feed_forward = self._feed_forward()
        self.feed_forward_residual = self._residual("feed_forward_residual")

    def build(self, input_shape: Shape) -> None:
        for layer in (
            self.self_attention,
            self.self_attention_residual,
            self.feed_forward,
            self.feed_forward_residual,
        ):
            layer.build(input_shape)

    def call(
        self, x: Tensor, attention_mask: Tensor | None = None, training: bool | None = None
    ) -> tuple[Tensor, Tensor]:
        attended, weights = self.self_attention(
            self.self_attention_residual.enter(x), attention_mask=attention_mask, training=training
        )
        x = self.self_attention_residual(x, attended, training=training)
        transformed = self.feed_forward(self.feed_forward_residual.enter(x))
        return self.feed_forward_residual(x, transformed, training=training), weights

    def compute_output_shape(self, input_shape: Shape) -> tuple[Shape, Shape]:
        return self.self_attention.compute_output_shape(input_shape)


@register
class Encoder(Block):
    """The stack of encoder layers; with pre-norm, normalized once more at its end.

    Args:
        config: `TransformerConfig`.

    Call arguments:
        x: float `[batch, length, d_model]`, the embedding sum.
        attention_mask: bool, broadcastable to `[batch, heads, length, length]`, True where
            attention is allowed.
        training: Whether dropout is active.

    Returns:
        The memory, float `[batch, length, d_model]`, and the attention weights of each layer, a
        list of float `[batch, heads, length, length]`.

    Example:
        >>> encoder = Encoder(TransformerConfig.preset("tiny"))
        >>> memory, weights = encoder(keras.ops.ones((2, 5, 128)))

    Reference:
        "Attention Is All You Need", Section 3.1.
    """

    def __init__(self, config: TransformerConfig | Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.layers = [
            EncoderLayer(config, dtype=self.dtype_policy, name=f"layer_{i}")
            for i in range(self.config.num_layers)
        ]
        self.final_norm = self._final_norm()

    def build(self, input_shape: Shape) -> None:
        for layer in (*self.layers, self.final_norm):
            layer.build(input_shape)

    def call(
        self, x: Tensor, attention_mask: Tensor | None = None, training: bool | None = None
    ) -> tuple[Tensor, list[Tensor]]:
        weights = []
        for layer in self.layers:
            x, layer_weights = layer(x, attention_mask=attention_mask, training=training)
            weights.append(layer_weights)
        return self.final_norm(x), weights

    def compute_output_shape(self, input_shape: Shape) -> tuple[Shape, list[Shape]]:
        weights = [layer.compute_output_shape(input_shape)[1] for layer in self.layers]
        return input_shape, weights
