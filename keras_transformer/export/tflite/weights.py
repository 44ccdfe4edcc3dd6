"""A matrix is stored once, in 8 bits, for rows that are looked up and for the products of logits.

The converter quantizes a matrix of a product row by row, and a table that is looked up with one
scale for all of it, which it then turns to float32 in memory. So the table is quantized here, row
by row as a product's is: of constants that are byte for byte the same, the converter stores one.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import keras
import numpy as np
import tensorflow as tf

from keras_transformer.layers import TokenEmbedding
from keras_transformer.models.seq2seq import Seq2Seq


@contextlib.contextmanager
def tables_in_int8(models: Sequence[Seq2Seq]) -> Iterator[None]:
    """Has embeddings looked up in int8 while a graph is traced; the models stay as they are.

    Example:
        >>> with tables_in_int8([model]):
        ...     memory = model.encode(np.array([[5, 6, 3]]))
    """
    embeddings: list[Any] = [
        layer
        for model in cast("Sequence[keras.Model]", models)
        for layer in model._flatten_layers()
        if isinstance(layer, TokenEmbedding)
    ]
    for layer in embeddings:
        layer.rows = _rows_in_int8(keras.ops.convert_to_numpy(layer.embeddings))
    try:
        yield
    finally:
        for layer in embeddings:
            del layer.rows


def _rows_in_int8(matrix: np.ndarray) -> Callable[[tf.Tensor], tf.Tensor]:
    largest = np.abs(matrix).max(axis=1, initial=0.0)
    # In float64, as the converter does, which makes the same bytes of the same matrix.
    scales = np.where(largest > 0, largest, 1.0).astype(np.float64) / 127
    table = np.rint(matrix / scales[:, None]).astype(np.int8)
    # As bits: the converter would quantize the scales.
    bits = scales.astype(np.float32).view(np.int32)

    def rows(ids: tf.Tensor) -> tf.Tensor:
        scale = tf.bitcast(tf.gather(bits, ids), tf.float32)
        return tf.cast(tf.gather(table, ids), tf.float32) * scale[..., None]

    return rows
