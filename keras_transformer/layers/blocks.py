"""What encoder and decoder have in common: parts made from the model's configuration."""

import dataclasses

import keras

from keras_transformer.config import TransformerConfig
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.residual import Residual


class Block(keras.layers.Layer):
    """A layer whose sizes come from a `TransformerConfig`.

    Args:
        config: The configuration, or a mapping of its fields as a saved layer gives.
    """

    def __init__(self, config, **kwargs):
        super().__init__(**kwargs)
        if not isinstance(config, TransformerConfig):
            config = TransformerConfig(**config)
        self.config = config

    def get_config(self):
        return {**super().get_config(), "config": dataclasses.asdict(self.config)}

    def _attention(self, attention_class, name):
        return attention_class(
            self.config.num_heads,
            self.config.head_key_dim,
            self.config.head_value_dim,
            self.config.attention_dropout,
            dtype=self.dtype_policy,
            name=name,
        )

    def _feed_forward(self):
        return FeedForward(
            self.config.d_ff, self.config.activation, dtype=self.dtype_policy, name="feed_forward"
        )

    def _residual(self, name):
        return Residual(
            self.config.dropout, self.config.norm_first, dtype=self.dtype_policy, name=name
        )

    def _final_norm(self):
        """Pre-norm leaves the stack's sum unnormalized; post-norm has normalized it already."""
        if not self.config.norm_first:
            return keras.layers.Identity(dtype=self.dtype_policy, name="final_norm")
        return keras.layers.LayerNormalization(
            epsilon=1e-6, dtype=self.dtype_policy, name="final_norm"
        )
