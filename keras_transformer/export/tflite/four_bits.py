"""Matrices in 4 bits: those that the converter has stored in 8 are quantized once more.

The converter itself writes 4 bits only for models that were trained with them; the runtime
multiplies by such matrices as fast as by those of 8 bits. Rows that are looked up stay in 8.
"""

import numpy as np
from tensorflow.lite.python import schema_py_generated as schema

from keras_transformer.export.tflite.packing import pack

_MOST_8, _MOST_4 = 127, 7
# A row's largest entries may be cut, which leaves finer steps to all others.
_CUTS = np.linspace(0.6, 1.0, 9)


def to_four_bits(content: bytes) -> bytes:
    """Stores what a file multiplies by in half the size.

    Args:
        content: A file of the converter, with matrices in int8, quantized row by row.

    Returns:
        The same file but for these matrices. Those that are read otherwise as well stay.

    Example:
        >>> from keras_transformer.export.tflite import export_tflite
        >>> path = export_tflite(translator, "exports/app", quantization="int8")
        >>> content = (path / "translator_ids.tflite").read_bytes()
        >>> to_four_bits(content)[4:8]
        b'TFL3'
    """
    model = schema.ModelT.InitFromPackedBuf(content)
    steps = {}
    for buffer, tensor in _matrices(model).items():
        matrix = model.buffers[buffer].data.view(np.int8).reshape(tensor.shape)
        numbers, steps[buffer] = _quantized(matrix)
        model.buffers[buffer].data = _packed(numbers)
    for tensor in (tensor for graph in model.subgraphs for tensor in graph.tensors):
        if tensor.buffer in steps:
            tensor.type = schema.TensorType.INT4
            scale = np.asarray(tensor.quantization.scale) * steps[tensor.buffer]
            tensor.quantization.scale = scale.astype(np.float32)
    return pack(model)


def _matrices(model: schema.ModelT) -> dict[int, schema.TensorT]:
    """Returns matrices of 8 bits that are for products alone, by the buffers that hold them."""
    found: dict[int, schema.TensorT] = {}
    others = set()
    for graph in model.subgraphs:
        for operator in graph.operators:
            code = model.operatorCodes[operator.opcodeIndex].builtinCode
            is_product = code == schema.BuiltinOperator.FULLY_CONNECTED
            for place, number in enumerate(operator.inputs):
                if number < 0:  # An input that is left out.
                    continue
                tensor = graph.tensors[number]
                if is_product and place == 1 and tensor.type == schema.TensorType.INT8:
                    found[tensor.buffer] = tensor
                else:
                    others.add(tensor.buffer)
    return {buffer: tensor for buffer, tensor in found.items() if buffer not in others}


def _quantized(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Quantizes each row with the step, of some, whose squared error is the least.

    Args:
        matrix: int8 `[rows, columns]`.

    Returns:
        int8 from -7 to 7 `[rows, columns]`, and the steps, float64 `[rows]`.
    """
    tried = []
    for step in _CUTS * _MOST_8 / _MOST_4:
        numbers = np.clip(np.rint(matrix / step), -_MOST_4, _MOST_4).astype(np.int8)
        tried.append((((numbers * step - matrix) ** 2).sum(1), step, numbers))
    best = np.argmin([errors for errors, _, _ in tried], axis=0)
    steps = np.array([step for _, step, _ in tried])[best]
    return np.stack([numbers for *_, numbers in tried])[best, np.arange(len(best))], steps


def _packed(numbers: np.ndarray) -> np.ndarray:
    """Puts two numbers into each byte, the first into its lower half."""
    halves = np.append(numbers.ravel(), np.zeros(numbers.size % 2, np.int8)).view(np.uint8) & 15
    return halves[::2] | halves[1::2] << 4
