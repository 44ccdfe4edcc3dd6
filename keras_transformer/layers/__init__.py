"""The paper's building blocks as Keras layers, a concept a module, in the order of its Section 3.

Encoder and decoder, and the residual connections in them (3.1); attention (3.2.1, 3.2.2), its two
uses and their masks (3.2.3); the feed-forward network (3.3); embeddings and logits (3.4); positions
(3.5). Last, what is beyond the paper's model: restricted self-attention, which its Section 4
proposes, what BERT has above an encoder, and the scores and alignments that attention had before.
"""

# The paper's order in place of the alphabet's.
# ruff: noqa: I001, RUF022

from keras_transformer.layers.encoder import Encoder, EncoderLayer
from keras_transformer.layers.decoder import Decoder, DecoderLayer
from keras_transformer.layers.residual import Residual
from keras_transformer.layers.attention import (
    scaled_dot_product_attention,
    SelfAttention,
    CrossAttention,
)
from keras_transformer.layers.masks import PaddingMask, CausalMask, DecoderMask
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.embedding import TokenEmbedding
from keras_transformer.layers.positional_encoding import (
    sinusoidal_table,
    SinusoidalPositionalEncoding,
    LearnedPositionalEncoding,
    PositionalSum,
)
from keras_transformer.layers.restricted_attention import RestrictedSelfAttention
from keras_transformer.layers.masked_words import MaskedWordHead
from keras_transformer.layers.scores import (
    AdditiveScore,
    DotScore,
    GeneralScore,
    ConcatScore,
    LocationScore,
    ScaledDotScore,
    CosineScore,
)
from keras_transformer.layers.alignments import (
    SoftAlignment,
    LocalMonotonicAlignment,
    LocalPredictiveAlignment,
    HardAlignment,
    GumbelAlignment,
)

__all__ = [
    "Encoder",
    "EncoderLayer",
    "Decoder",
    "DecoderLayer",
    "Residual",
    "scaled_dot_product_attention",
    "SelfAttention",
    "CrossAttention",
    "PaddingMask",
    "CausalMask",
    "DecoderMask",
    "FeedForward",
    "TokenEmbedding",
    "sinusoidal_table",
    "SinusoidalPositionalEncoding",
    "LearnedPositionalEncoding",
    "PositionalSum",
    "RestrictedSelfAttention",
    "MaskedWordHead",
    "AdditiveScore",
    "DotScore",
    "GeneralScore",
    "ConcatScore",
    "LocationScore",
    "ScaledDotScore",
    "CosineScore",
    "SoftAlignment",
    "LocalMonotonicAlignment",
    "LocalPredictiveAlignment",
    "HardAlignment",
    "GumbelAlignment",
]
