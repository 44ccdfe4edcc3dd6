"""The standard check of a layer: what every layer of the package must do, whatever it computes."""

import dataclasses
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops
from references import to_numpy

TOLERANCE = {"mixed_bfloat16": 0.1, "mixed_float16": 0.02}


@dataclasses.dataclass(frozen=True)
class Case:
    """A layer and what to call it with.

    Args:
        make: Makes the layer from keyword arguments, such as `dtype`.
        inputs: NumPy arrays, the positional call arguments. Floats are in the unit range.
        shapes: The shapes of the outputs, in order.
        dtypes: For each output its dtype, or "compute" for that of the policy.
    """

    make: Callable[..., keras.layers.Layer]
    inputs: tuple[np.ndarray, ...]
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...] = ("compute",)

    def outputs(self, layer) -> list[Any]:
        """Calls the layer and returns a flat list of its outputs."""
        return flat(layer(*self.inputs, training=False))


def flat(outputs):
    return keras.tree.flatten(outputs)


def check_shapes_and_dtypes(case, layer, outputs):
    expected = {"compute": layer.compute_dtype}
    assert [tuple(output.shape) for output in outputs] == list(case.shapes)
    dtypes = case.dtypes * (len(outputs) if len(case.dtypes) == 1 else 1)
    assert [keras.backend.standardize_dtype(output.dtype) for output in outputs] == [
        expected.get(dtype, dtype) for dtype in dtypes
    ]
    assert all(variable.dtype == "float32" for variable in layer.trainable_variables)


def check_config_round_trip(case):
    """A copy made from the configuration, given the weights, does the same."""
    layer = case.make()
    outputs = case.outputs(layer)
    check_shapes_and_dtypes(case, layer, outputs)
    copy = type(layer).from_config(layer.get_config())
    assert copy.get_config() == layer.get_config()
    case.outputs(copy)
    copy.set_weights(layer.get_weights())
    for output, expected in zip(case.outputs(copy), outputs, strict=True):
        np.testing.assert_array_equal(to_numpy(output), to_numpy(expected))


def check_mixed_precision(case, policy):
    """Computes in the policy's dtype, with float32 weights, near what float32 gives."""
    layer, mixed = case.make(), case.make(dtype=policy)
    outputs = case.outputs(layer)
    case.outputs(mixed)
    mixed.set_weights(layer.get_weights())
    mixed_outputs = case.outputs(mixed)
    check_shapes_and_dtypes(case, mixed, mixed_outputs)
    for output, expected in zip(mixed_outputs, outputs, strict=True):
        output, expected = to_numpy(output), to_numpy(expected)
        assert np.isfinite(output).all()
        np.testing.assert_allclose(output, expected, TOLERANCE[policy], TOLERANCE[policy])


def check_symbolic_outputs(case, policy):
    """Tells from shapes what it gives, as a functional model and `summary` ask."""
    layer = case.make(dtype=policy)
    symbols = [keras.KerasTensor(array.shape, str(array.dtype)) for array in case.inputs]
    check_shapes_and_dtypes(case, layer, flat(layer(*symbols)))


def check_gradients(case, gradients):
    """Every trainable variable gets a gradient that is finite and not zero throughout."""
    layer = case.make()
    generator = np.random.default_rng(0)
    # Random factors, because the plain sum of a normalized vector has no gradient.
    factors = [
        generator.normal(size=output.shape).astype("float32") for output in case.outputs(layer)
    ]

    def scalar(outputs):
        return sum(
            ops.sum(output * factor) for output, factor in zip(flat(outputs), factors, strict=True)
        )

    if not layer.trainable_variables:
        return
    for path, gradient in gradients(layer, scalar, *case.inputs).items():
        assert gradient is not None, path
        assert np.isfinite(gradient).all(), path
        assert np.any(gradient), path


SAVED_OUTPUTS_CODE = """
import pathlib, sys
import keras, numpy as np
import keras_transformer
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.keras")):
    arrays = np.load(path.with_suffix(".npz"))
    inputs = [arrays[name] for name in arrays.files if name.startswith("input")]
    expected = [arrays[name] for name in arrays.files if name.startswith("output")]
    outputs = keras.tree.flatten(keras.models.load_model(path)(inputs, training=False))
    assert len(outputs) == len(expected), path
    for output, value in zip(outputs, expected, strict=True):
        output = np.asarray(keras.ops.convert_to_numpy(output))
        np.testing.assert_allclose(output, value, 1e-5, 1e-5, err_msg=str(path))
    print(path.stem)
"""


def save_with_outputs(name, case, directory):
    """Saves a functional model around the layer, and beside it what it reads and gives."""
    symbols = [keras.Input(array.shape[1:], dtype=str(array.dtype)) for array in case.inputs]
    model = keras.Model(symbols, flat(case.make()(*symbols)))
    outputs = flat(model(list(case.inputs), training=False))
    model.save(directory / f"{name}.keras")
    arrays = {f"input{i}": array for i, array in enumerate(case.inputs)}
    arrays |= {f"output{i:02}": to_numpy(output) for i, output in enumerate(outputs)}
    np.savez(directory / f"{name}.npz", **arrays)
