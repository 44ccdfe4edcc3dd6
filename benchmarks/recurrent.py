"""Time of the recurrent decoders, forward and backward, beside Keras's own RNN layer.

`python benchmarks/recurrent.py` prints CPU time of one thread: medians, and their ratio to that of
`keras.layers.RNN(GRUCell)` or `LSTMCell` with as many units, whose input is as wide as what the
decoder's cell reads. What is beyond a ratio of 1 is the attention.
"""

import argparse
import os
import time
from collections.abc import Callable

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

from keras_transformer import RECURRENT_PRESETS, RecurrentConfig
from keras_transformer.layers.recurrent_decoder import make_decoder

CELLS = {"gru": keras.layers.GRUCell, "lstm": keras.layers.LSTMCell}


def compiled(function: Callable, layer: keras.layers.Layer, x: np.ndarray) -> Callable:
    """Compiles a function's gradients by a layer's variables, for sentences of any length."""

    @tf.function(input_signature=[tf.TensorSpec((None, None, x.shape[-1]))])
    def gradients(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = tf.reduce_sum(function(x))
        sources = [x, *(variable.value for variable in layer.trainable_variables)]
        return tape.gradient(value, sources, unconnected_gradients="zero")

    gradients(x)
    return lambda: gradients(x)


def decoding(config: RecurrentConfig, batch: int, length: int) -> tuple[Callable, Callable]:
    """Returns the step of a decoder, and that of Keras's layer."""
    random, annotation = np.random.default_rng(0), 2 * config.encoder_units
    annotations = random.normal(size=(batch, length, annotation)).astype("float32")
    decoder, real = make_decoder(config), np.ones((batch, length), bool)
    decoder.build()

    def decode(x):
        memory = decoder.attention.memory(annotations, annotations[:, 0], real)
        states = decoder.initial_states(annotations[:, 0, : config.encoder_units])
        return decoder(x, memory, states)[0]

    width = decoder.cells.cells[0].kernel.shape[0]
    rnn = keras.layers.RNN(CELLS[config.cell](config.decoder_units), return_sequences=True)
    rnn.build((None, None, width))
    x = random.normal(size=(batch, length, width)).astype("float32")
    return (
        compiled(decode, decoder, x[:, :, : config.embedding_dim]),
        compiled(rnn, rnn, x),
    )


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=68)
    parser.add_argument("--length", type=int, default=15)
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    for preset in RECURRENT_PRESETS:
        config = RecurrentConfig.preset(preset)
        steps = decoding(config, arguments.batch, arguments.length)
        seconds = np.empty((arguments.rounds, 2))
        for row in seconds:
            for i, step in enumerate(steps):
                start = time.process_time()
                step()
                row[i] = time.process_time() - start
        ours, keras_own = np.median(seconds, axis=0)
        print(
            f"{preset}: {ours * 1e3:.0f} ms, RNN({CELLS[config.cell].__name__}) "
            f"{keras_own * 1e3:.0f} ms, ratio {ours / keras_own:.2f}"
        )


if __name__ == "__main__":
    main()
