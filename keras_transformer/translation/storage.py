"""Weights stored in half precision: half the size on disk and in memory, computed in float32."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import keras
import numpy as np
import tensorflow as tf

from keras_transformer.layers import SinusoidalPositionalEncoding
from keras_transformer.models.seq2seq import Seq2Seq

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

    def __init__(self, models: Sequence[Seq2Seq], quantization: str | None = None) -> None:
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
        # One constant for all graphs; an array would be written into each.
        self._tables = [
            (layer, layer.table, tf.constant(layer.table))
            for model in cast("Sequence[keras.Model]", models)
            for layer in model._flatten_layers()
            if isinstance(layer, SinusoidalPositionalEncoding)
        ]

    def compile(
        self, function: Callable[..., Any], jit_compile: bool | None = None
    ) -> tf.types.experimental.PolymorphicFunction:
        """Compiles a function of tensors that calls the models, to compute with what is stored.

        Args:
            function: The function.
            jit_compile: Whether XLA compiles it, for each shape of its arguments.
        """

        def computed(*args: Any, **kwargs: Any) -> Any:
            values = [
                (variable, tf.cast(stored, variable.dtype))
                for variable, stored in zip(self._variables, self.stored, strict=True)
                if stored is not variable.value
            ]
            with keras.StatelessScope(state_mapping=values), self._shared_tables():
                return function(*args, **kwargs)

        return tf.function(
            computed,
            autograph=False,
            jit_compile=jit_compile,
            # XLA wants each shape as it is.
            reduce_retracing=not jit_compile,
        )

    @contextlib.contextmanager
    def _shared_tables(self) -> Iterator[None]:
        """Has the sinusoids as tensors while a graph is traced; the models stay as they are."""
        try:
            for layer, _, tensor in self._tables:
                layer.table = tensor
            yield
        finally:
            for layer, array, _ in self._tables:
                layer.table = array


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
