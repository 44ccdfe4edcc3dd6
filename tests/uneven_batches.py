"""Batches of sentences of unlike lengths, and a model that trains on them by Keras's own step."""

import keras
import numpy as np
import tensorflow as tf

from keras_transformer import Transformer, TransformerConfig

CONFIG = TransformerConfig(
    vocab_size=40, num_layers=1, d_model=16, d_ff=32, num_heads=2, dropout=0.0, max_length=16
)


class Plain(Transformer):
    """Trains and evaluates by the steps that Keras has."""

    train_step = keras.Model.train_step
    test_step = keras.Model.test_step


def batches_of(rows, number):
    """Yields inputs and labels of random sentences."""
    rng = np.random.default_rng(3)

    def sentences(length):
        ids = rng.integers(4, CONFIG.vocab_size, (rows, length))
        ids[np.arange(length) >= rng.integers(1, length + 1, (rows, 1))] = 0
        return ids.astype("int32")

    for _ in range(number):
        labels = sentences(8)
        target = np.concatenate([np.full((rows, 1), 2, "int32"), labels[:, :-1]], axis=1)
        yield {"source": sentences(9), "target": target}, labels


def dataset_of(generate, weighted=False):
    """Makes a dataset that takes its batches from `generate()`, with weights of the rows or not."""
    ids = tf.TensorSpec([None, None], "int32")
    weights = (tf.TensorSpec([None], "float32"),) if weighted else ()
    return tf.data.Dataset.from_generator(
        generate, output_signature=({"source": ids, "target": ids}, ids, *weights)
    )
