"""Embeddings in 8 bits: the converter's own bytes, stored once."""

import numpy as np
import tensorflow as tf
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter
from random_models import vary

from keras_transformer import Transformer, TransformerConfig
from keras_transformer.export.tflite.weights import tables_in_int8

ROWS, WIDTH = 300, 32


def make_model():
    size = dict(num_layers=1, d_model=WIDTH, d_ff=8, num_heads=2, max_length=8)
    return vary(Transformer(TransformerConfig(ROWS, **size)), 0)


def test_rows_are_rounded_each_by_its_largest_entry():
    embedding = make_model().target_embedding
    matrix = embedding.embeddings.numpy()
    matrix[7] = 0.0
    embedding.embeddings.assign(matrix)
    ids = np.array([[5, 7], [299, 0]])
    before = embedding.rows(ids).numpy()
    model = make_model()
    model.target_embedding.embeddings.assign(matrix)
    with tables_in_int8([model]):
        found = model.target_embedding.rows(ids).numpy()
    steps = np.abs(before).max(-1, keepdims=True) / 127
    np.testing.assert_array_equal(found[0, 1], 0.0)
    assert (np.abs(found - before) <= steps / 2 + 1e-7).all()
    assert np.abs(found - before).max() > 0
    np.testing.assert_array_equal(model.target_embedding.rows(ids).numpy(), before)


def test_a_matrix_that_is_looked_up_and_multiplied_is_stored_once():
    """Which needs the very bytes that the converter makes of it."""
    model = make_model()
    embedding = model.target_embedding

    def function(ids):
        return embedding.logits(embedding(ids), embedding.output_kernel())

    spec = tf.TensorSpec([1, 4], tf.int32, "ids")
    with tables_in_int8([model]):
        concrete = tf.function(function, [spec], autograph=False).get_concrete_function()
    owner = tf.Module()
    owner.weights = [embedding.embeddings.value]
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], owner)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    content = converter.convert()
    buffers = schema.ModelT.InitFromPackedBuf(content).buffers
    sizes = [len(buffer.data) for buffer in buffers if buffer.data is not None]
    assert [size for size in sizes if size >= ROWS * WIDTH] == [ROWS * WIDTH]
    ids = np.array([[5, 7, 299, 0]], np.int32)
    [found] = Interpreter(model_content=content).get_signature_runner()(ids=ids).values()
    exact = function(tf.constant(ids)).numpy()
    assert np.abs(found - exact).max() < 0.02 * np.abs(exact).max()
