"""Weights stored in half precision: half the size on disk and in memory, computed in float32."""

from collections.abc import Callable, Sequence

import keras
import numpy as np
import tensorflow as tf

from keras_transformer.models import Transformer

HALF_TYPES = ("float16", "bfloat16")


class StoredWeights:
    """The weights of models as an export keeps them.

    Args:
        models: The models.
        quantization: "float16" or "bfloat16" for matrices of half the size, cast back in each call;
            None for the weights as they are. Vectors stay as they are in any case: they are few.

    Raises:
        ValueError: If `quantization` is another, or a weight is beyond float16's range.

    Example:
        >>> stored = StoredWeights([model], "float16")
        >>> encode = stored.compile(model.encode)
    """

    def __init__(self, models: Sequence[Transformer], quantization: str | None = None):
        if quantization not in (None, *HALF_TYPES):
            raise ValueError(
                f"`quantization` must be one of {', '.join(HALF_TYPES)} or None here. Received: "
                f"{quantization!r}"
            )
        # Not what else a model owns: states of random numbers, metrics.
        self._variables = [
            variable
            for model in models
            for variable in model.weights
            if "float" in keras.backend.standardize_dtype(variable.dtype)
        ]
        self.stored = [_store(variable, quantization) for variable in self._variables]
        for model in models:
            for part in (model.source_sum, model.target_sum):
                if part.positions == "sinusoidal":
                    # One constant for all graphs; an array would be written into each.
                    part.encoding.table = tf.convert_to_tensor(part.encoding.table)

    def compile(self, function: Callable) -> tf.types.experimental.PolymorphicFunction:
        """Compiles a function of tensors that calls the models, to compute with what is stored."""

        def computed(*args, **kwargs):
            values = [
                (variable, tf.cast(stored, variable.dtype))
                for variable, stored in zip(self._variables, self.stored, strict=True)
                if stored is not variable.value
            ]
            with keras.StatelessScope(state_mapping=values):
                return function(*args, **kwargs)

        return tf.function(computed, autograph=False, reduce_retracing=True)


def _store(variable: keras.Variable, dtype: str | None) -> tf.Variable:
    if dtype is None or len(variable.shape) < 2:
        return variable.value
    value = keras.ops.convert_to_numpy(variable)
    largest = np.abs(value).max(initial=0.0)
    if dtype == "float16" and largest > np.finfo(np.float16).max:
        raise ValueError(
            f"`quantization` must be 'bfloat16' or None for these weights: {variable.path} holds "
            f"{largest:g}, which float16 cannot. Received: {dtype!r}"
        )
    return tf.Variable(tf.cast(value, dtype), trainable=False)
