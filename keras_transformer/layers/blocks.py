"""What encoder and decoder have in common: parts made from the model's configuration."""

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

import keras

from keras_transformer.config import TransformerConfig
from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.residual import Residual

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

    def _attention(self, attention_class: type[Attention], name: str) -> Attention:
        return attention_class(
            self.config.num_heads,
            self.config.head_key_dim,
            self.config.head_value_dim,
            self.config.attention_dropout,
            dtype=self.dtype_policy,
            name=name,
        )

    def _feed_forward(self) -> FeedForward:
        return FeedForward(
            self.config.d_ff, self.config.activation, dtype=self.dtype_policy, name="feed_forward"
        )

    def _residual(self, name: str) -> Residual:
        return Residual(
            self.config.dropout, self.config.norm_first, dtype=self.dtype_policy, name=name
        )

    def _final_norm(self) -> keras.layers.Layer:
        """Pre-norm leaves the stack's sum unnormalized; post-norm has normalized it already."""
        if not self.config.norm_first:
            return keras.layers.Identity(dtype=self.dtype_policy, name="final_norm")
        return keras.layers.LayerNormalization(
            epsilon=1e-6, dtype=self.dtype_policy, name="final_norm"
        )
