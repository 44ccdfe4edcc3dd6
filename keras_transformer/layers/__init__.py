"""The paper's building blocks as Keras layers, one concept a module."""

from keras_transformer.layers.attention import (
    CrossAttention,
    SelfAttention,
    scaled_dot_product_attention,
)
from keras_transformer.layers.decoder import Decoder, DecoderLayer
from keras_transformer.layers.embedding import EmbeddingSum, TokenEmbedding
from keras_transformer.layers.encoder import Encoder, EncoderLayer
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.masks import CausalMask, DecoderMask, PaddingMask
from keras_transformer.layers.positional_encoding import (
    LearnedPositionalEncoding,
    SinusoidalPositionalEncoding,
    sinusoidal_table,
)
from keras_transformer.layers.residual import Residual

__all__ = [
    "CausalMask",
    "CrossAttention",
    "Decoder",
    "DecoderLayer",
    "DecoderMask",
    "EmbeddingSum",
    "Encoder",
    "EncoderLayer",
    "FeedForward",
    "LearnedPositionalEncoding",
    "PaddingMask",
    "Residual",
    "SelfAttention",
    "SinusoidalPositionalEncoding",
    "TokenEmbedding",
    "scaled_dot_product_attention",
    "sinusoidal_table",
]
