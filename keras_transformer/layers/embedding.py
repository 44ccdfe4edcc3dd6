"""Token embeddings, whose matrix gives the logits as well (Section 3.4)."""

import math
from typing import Any

import keras
from keras import ops

from keras_transformer.layers.gather import gather
from keras_transformer.layers.ids import checked_ids
from keras_transformer.layers.rows import as_rows
from keras_transformer.layers.serialization import register
from keras_transformer.tensors import Shape, Tensor
from keras_transformer.text.vocabulary import BOS_ID


@register
class TokenEmbedding(keras.layers.Layer):
    """Looks up token vectors, scaled by sqrt(d_model); the same matrix gives logits.

    Args:
        vocab_size: Rows of the matrix.
        d_model: Columns of the matrix.
        scale: Multiply the vectors by sqrt(d_model), as the paper does.
        zero_start: Give bos a vector of zeros.
        output_bias: Add a bias to the logits.

    Call arguments:
        x: int `[batch, length]`; with `reverse`, float `[batch, length, d_model]`.
        reverse: Map vectors to logits instead of ids to vectors.

    Returns:
        float `[batch, length, d_model]`; with `reverse`, float32 logits
        `[batch, length, vocab_size]`.

    Raises:
        ValueError: If ids are no integers, or if they have values and one is not below
            `vocab_size`; see `layers/ids.py`.

    Example:
        >>> embedding = TokenEmbedding(vocab_size=1000, d_model=128)
        >>> logits = embedding(embedding(np.array([[5, 3]])), reverse=True)

    Reference:
        "Attention Is All You Need", Section 3.4.
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        scale: bool = True,
        zero_start: bool = False,
        output_bias: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.vocab_size = vocab_size
        self.d_model = d_model
        self.scale = scale
        self.zero_start = zero_start
        self.output_bias = output_bias

    def build(self, input_shape: Shape | None = None) -> None:
        # After the scaling by sqrt(d_model) the components have unit variance.
        self.embeddings = self.add_weight(
            shape=(self.vocab_size, self.d_model),
            initializer=keras.initializers.RandomNormal(stddev=self.d_model**-0.5),
            name="embeddings",
        )
        self.bias = None
        if self.output_bias:
            # Not rounded in a call, as it is not where decoding takes the kernel at hand: logits
            # are float32 in both.
            self.bias = self.add_weight(
                shape=(self.vocab_size,), initializer="zeros", autocast=False, name="bias"
            )

    def call(self, x: Tensor, reverse: bool = False) -> Tensor:
        if reverse:
            return self.logits(x, self.output_kernel())
        ids = checked_ids(x, self.vocab_size)
        vectors = self.rows(ids)
        if self.scale:
            vectors = vectors * math.sqrt(self.d_model)
        if self.zero_start:
            vectors = ops.where(ops.expand_dims(ops.equal(ids, BOS_ID), -1), 0.0, vectors)
        return vectors

    def rows(self, ids: Tensor) -> Tensor:
        """Looks up rows of the matrix; an export may have them in another form."""
        return gather(ops.convert_to_tensor(self.embeddings), ids)

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return (*input_shape, self.d_model)

    def compute_output_spec(self, x: Tensor, reverse: bool = False) -> keras.KerasTensor:
        if reverse:
            return keras.KerasTensor((*x.shape[:-1], self.vocab_size), "float32")
        return keras.KerasTensor(self.compute_output_shape(x.shape), self.compute_dtype)

    def output_kernel(self) -> Tensor:
        """Returns the matrix transposed, `[d_model, vocab_size]`, of the compute dtype."""
        return ops.transpose(ops.cast(self.embeddings, self.compute_dtype))

    def logits(self, x: Tensor, output_kernel: Tensor) -> Tensor:
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
        logits = ops.cast(logits, "float32")
        return logits if self.bias is None else logits + ops.cast(self.bias, "float32")

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "vocab_size": self.vocab_size,
            "d_model": self.d_model,
            "scale": self.scale,
            "zero_start": self.zero_start,
            "output_bias": self.output_bias,
        }
