"""Equal vectors of a file are stored once, where kernels can read them."""

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from keras_transformer.export.tflite.packing import pack, share

ROWS = 1000


def model_of(matrices, scales):
    """A file of graphs that have a matrix each."""
    model = schema.ModelT()
    model.buffers, model.subgraphs = [], []
    for number, (matrix, scale) in enumerate(zip(matrices, scales, strict=True)):
        buffer, tensor, graph = schema.BufferT(), schema.TensorT(), schema.SubGraphT()
        buffer.data = matrix.view(np.uint8).ravel()
        tensor.buffer, tensor.quantization = number, schema.QuantizationParametersT()
        tensor.quantization.scale = scale
        tensor.quantization.zeroPoint = np.zeros(ROWS, np.int64)
        graph.tensors = [tensor]
        model.buffers.append(buffer)
        model.subgraphs.append(graph)
    return model


def test_equal_vectors_are_stored_once():
    matrix = np.random.default_rng(0).integers(-127, 128, (ROWS, 3), np.int8)
    one, other = (np.linspace(1, last, ROWS, dtype=np.float32) for last in (2, 3))
    content = pack(model_of([matrix, matrix, matrix[::-1].copy()], [one, one, other]))
    # Two matrices, two vectors of scales, one of zero points; and a little for the tables.
    stored = 2 * matrix.size + 2 * 4 * ROWS + 8 * ROWS
    assert stored <= len(content) < stored + 1000
    assert len(share(content)) == len(content)

    model = schema.ModelT.InitFromPackedBuf(content)
    for buffer, expected in zip(model.buffers, [matrix, matrix, matrix[::-1]], strict=True):
        np.testing.assert_array_equal(buffer.data.view(np.int8).reshape(ROWS, 3), expected)
    for graph, expected in zip(model.subgraphs, [one, one, other], strict=True):
        np.testing.assert_array_equal(graph.tensors[0].quantization.scale, expected)
        assert not graph.tensors[0].quantization.zeroPoint.any()


def test_vectors_begin_at_multiples_of_16():
    """As the schema says of a buffer's data."""
    content = pack(model_of([np.arange(3, dtype=np.int8), np.arange(5, dtype=np.int8)], [None] * 2))
    for numbers in (bytes(range(3)), bytes(range(5))):
        # With its length before it.
        place = content.index(len(numbers).to_bytes(4, "little") + numbers) + 4
        assert place % 16 == 0
