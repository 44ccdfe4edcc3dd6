"""Traced functions become the bytes of a TFLite file, in which weights are constants."""

import contextlib
from collections.abc import Sequence
from typing import Any, TypeAlias

import keras
import tensorflow as tf

from keras_transformer.export.tflite.four_bits import to_four_bits
from keras_transformer.export.tflite.packing import share
from keras_transformer.export.tflite.weights import tables_in_int8
from keras_transformer.translation.storage import StoredWeights

Signature: TypeAlias = tf.types.experimental.PolymorphicFunction

QUANTIZATIONS = ("float16", "int8", "int4")


def require_quantization(quantization: str | None) -> None:
    """Checks the type that weights are to be stored in.

    Raises:
        ValueError: If there is no such type.

    Example:
        >>> require_quantization("int8")
    """
    if quantization not in (None, *QUANTIZATIONS):
        raise ValueError(
            f"`quantization` must be one of {', '.join(QUANTIZATIONS)} or None for TFLite. "
            f"Received: {quantization!r}"
        )


def traced(
    signatures: Sequence[Signature], models: Sequence[keras.Model], quantization: str | None
) -> list[Any]:
    """Traces functions to graphs of their own.

    Args:
        signatures: The functions.
        models: The models that they call.
        quantization: As for `converted`.
    """
    is_integer = quantization in ("int8", "int4")
    with tables_in_int8(models) if is_integer else contextlib.nullcontext():
        return [signature.get_concrete_function() for signature in signatures]


def converted(
    functions: Sequence[Any],
    weights: StoredWeights,
    quantization: str | None,
    custom: bool = False,
) -> bytes:
    """Converts traced functions; the weights become constants of the file, which these share.

    Args:
        functions: The functions, one for each signature.
        weights: Of the models that they call.
        quantization: One of `QUANTIZATIONS`, or None for float32.
        custom: Whether operations beside TFLite's own may be in it.
    """
    # What owns the variables: with it, the file has signatures with names.
    owner = tf.Module()
    owner.weights = weights.stored
    converter = tf.lite.TFLiteConverter.from_concrete_functions(functions, owner)
    converter.allow_custom_ops = custom
    if quantization is not None:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if quantization == "float16":
        converter.target_spec.supported_types = [tf.float16]
    content = converter.convert()
    return to_four_bits(content) if quantization == "int4" else share(content)
