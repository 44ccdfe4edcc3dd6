"""Functions of columns, which all have the batch first, as graphs."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf


def compile_columns(
    function: Callable[..., Any], **columns: tf.DType
) -> tf.types.experimental.PolymorphicFunction:
    """Compiles a function of columns into one graph for all batches, as a signature is.

    Args:
        function: Takes tensors `[batch]`, in this order.
        **columns: Their types, by their names.

    Example:
        >>> lengths = compile_columns(tf.strings.length, text=tf.string)
        >>> lengths(tf.constant(["dog", ""])).numpy().tolist()
        [3, 0]
    """
    specs = [tf.TensorSpec([None], dtype, name) for name, dtype in columns.items()]
    return tf.function(function, input_signature=specs, autograph=False)
