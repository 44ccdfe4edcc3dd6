"""What encoder and decoder have in common: parts made from the model's configuration."""

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

import keras

from keras_transformer.config import TransformerConfig
from keras_transformer.layers.attention import MultiHeadAttention, SelfAttention
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.residual import Residual
from keras_transformer.layers.restricted_attention import RestrictedSelfAttention
from keras_transformer.tensors import Tensor

Attention = TypeVar("Attention", bound=MultiHeadAttention)


class Block(keras.layers.Layer):
    """A layer whose sizes come from a `TransformerConfig`.

    Args:
        config: The configuration, or a mapping of its fields as a saved layer gives.
    """

    def __init__(self, config: TransformerConfig | Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.config = TransformerConfig.of(config)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "config": dataclasses.asdict(self.config)}

    def _self_attention(self, causal: bool) -> SelfAttention:
        name, window = "self_attention", self.config.window
        if window is None:
            return self._attention(SelfAttention, name)
        return self._attention(RestrictedSelfAttention, name, window=window, causal=causal)

    def _attention(self, attention_class: type[Attention], name: str, **kwargs: Any) -> Attention:
        return attention_class(
            self.config.num_heads,
            self.config.head_key_dim,
            self.config.head_value_dim,
            self.config.attention_dropout,
            self.config.attention_bias,
            self.config.attention_score,
            dtype=self.dtype_policy,
            name=name,
            **kwargs,
        )

    def weights_matrices(self, weights: list[Tensor]) -> list[Tensor]:
        """Returns the self-attention weights of each layer as matrices of queries and keys."""
        return [
            layer.self_attention.weights_matrix(of_layer)
            for layer, of_layer in zip(self.layers, weights, strict=True)
        ]

    def _feed_forward(self) -> FeedForward:
        return FeedForward(
            self.config.d_ff, self.config.activation, dtype=self.dtype_policy, name="feed_forward"
        )

    def _residual(self, name: str) -> Residual:
        return Residual(
            self.config.dropout,
            self.config.norm_first,
            self.config.norm_epsilon,
            dtype=self.dtype_policy,
            name=name,
        )

    def _final_norm(self) -> keras.layers.Layer:
        """Pre-norm leaves the stack's sum unnormalized; post-norm has normalized it already."""
        if not self.config.norm_first:
            return keras.layers.Identity(dtype=self.dtype_policy, name="final_norm")
        return keras.layers.LayerNormalization(
            epsilon=self.config.norm_epsilon, dtype=self.dtype_policy, name="final_norm"
        )
