"""Token embeddings, shared with the logits (Section 3.4), and the embedding sums (Section 3.5)."""

import math

import keras
from keras import ops

from keras_transformer.layers.positional_encoding import (
    LearnedPositionalEncoding,
    SinusoidalPositionalEncoding,
)
from keras_transformer.layers.rows import as_rows
from keras_transformer.layers.serialization import register

_ENCODINGS = {
    "sinusoidal": SinusoidalPositionalEncoding,
    "learned": LearnedPositionalEncoding,
}


@register
class TokenEmbedding(keras.layers.Layer):
    """Looks up token vectors, scaled by sqrt(d_model); the same matrix gives logits.

    Args:
        vocab_size: Rows of the matrix.
        d_model: Columns of the matrix.

    Call arguments:
        x: int `[batch, length]`; with `reverse`, float `[batch, length, d_model]`.
        reverse: Map vectors to logits instead of ids to vectors.

    Returns:
        float `[batch, length, d_model]`; with `reverse`, float32 logits
        `[batch, length, vocab_size]`.

    Example:
        >>> embedding = TokenEmbedding(vocab_size=1000, d_model=128)
        >>> logits = embedding(embedding(np.array([[5, 3]])), reverse=True)

    Reference:
        "Attention Is All You Need", Section 3.4.
    """

    def __init__(self, vocab_size, d_model, **kwargs):
        super().__init__(**kwargs)
        self.vocab_size = vocab_size
        self.d_model = d_model

    def build(self, input_shape=None):
        # After the scaling by sqrt(d_model) the components have unit variance.
        self.embeddings = self.add_weight(
            shape=(self.vocab_size, self.d_model),
            initializer=keras.initializers.RandomNormal(stddev=self.d_model**-0.5),
            name="embeddings",
        )

    def call(self, x, reverse=False):
        if reverse:
            return self.logits(x, self.output_kernel())
        return ops.take(self.embeddings, x, axis=0) * math.sqrt(self.d_model)

    def output_kernel(self):
        """Returns the matrix transposed, `[d_model, vocab_size]`, of the compute dtype."""
        return ops.transpose(ops.cast(self.embeddings, self.compute_dtype))

    def logits(self, x, output_kernel):
        """Maps vectors to logits by a kernel that is at hand.

        A product with few rows is up to twice as fast in this layout as in that of the embeddings,
        so decoding transposes them once and not at every step.

        Args:
            x: float `[batch, length, d_model]`.
            output_kernel: From `output_kernel`.

        Returns:
            float32 logits `[batch, length, vocab_size]`.
        """
        rows = ops.matmul(as_rows(x), output_kernel)
        logits = ops.reshape(rows, (-1, ops.shape(x)[1], self.vocab_size))
        return ops.cast(logits, "float32")

    def get_config(self):
        return {
            **super().get_config(),
            "vocab_size": self.vocab_size,
            "d_model": self.d_model,
        }


@register
class EmbeddingSum(keras.layers.Layer):
    """Adds positions to token vectors and drops out the sum (Section 5.4).

    Args:
        positions: "sinusoidal", "learned" or "none".
        max_length: Positions there are.
        dropout: Dropout rate of the sum.

    Call arguments:
        x: float `[batch, length, d_model]`, token vectors.
        start: int scalar, position of the first token.
        training: Whether dropout is active.

    Returns:
        float `[batch, length, d_model]`.

    Example:
        >>> summed = EmbeddingSum("sinusoidal", 256, 0.1)(keras.ops.zeros((2, 5, 128)))

    Reference:
        "Attention Is All You Need", Sections 3.5 and 5.4.
    """

    def __init__(self, positions, max_length, dropout, **kwargs):
        super().__init__(**kwargs)
        self.positions = positions
        self.max_length = max_length
        self.dropout_rate = dropout
        self.encoding = None
        if positions != "none":
            self.encoding = _ENCODINGS[positions](
                max_length, dtype=self.dtype_policy, name="positions"
            )
        self.dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def build(self, input_shape):
        if self.encoding is not None:
            self.encoding.build(input_shape)

    def call(self, x, start=0, training=None):
        if self.encoding is not None:
            x = self.encoding(x, start=start)
        return self.dropout(x, training=training)

    def get_config(self):
        return {
            **super().get_config(),
            "positions": self.positions,
            "max_length": self.max_length,
            "dropout": self.dropout_rate,
        }
