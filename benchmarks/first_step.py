"""Time from calling `fit` to the end of its first step, and how often the step is traced.

`python benchmarks/first_step.py --preset tiny` measures once, in a process of its own; repeat it.
"""

import argparse
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

from keras_transformer import TrainingConfig, Transformer, TransformerConfig, compile_model

LENGTHS = (8, 12, 16, 24, 32)


class StepTimes(keras.callbacks.Callback):
    """Notes when each step ended."""

    def on_train_begin(self, logs=None):
        self.ends = []

    def on_train_batch_end(self, batch, logs=None):
        self.ends.append(time.perf_counter())


def batches(vocab_size: int, tokens: int, steps: int) -> tf.data.Dataset:
    """Random batches of several shapes, as the bucketing gives them."""
    rng = np.random.default_rng(0)

    def generate():
        for step in range(steps):
            length = LENGTHS[step % len(LENGTHS)]
            shape = (tokens // length, length)
            source, target, labels = (
                rng.integers(4, vocab_size, shape, np.int32) for _ in range(3)
            )
            yield {"source": source, "target": target}, labels

    ids = tf.TensorSpec([None, None], tf.int32)
    signature = ({"source": ids, "target": ids}, ids)
    return tf.data.Dataset.from_generator(generate, output_signature=signature).prefetch(2)


def main() -> None:
    """Measures and prints one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--vocab-size", type=int, default=8000)
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--steps", type=int, default=20)
    arguments = parser.parse_args()

    config = TransformerConfig.preset(arguments.preset, vocab_size=arguments.vocab_size)
    model = compile_model(Transformer(config), TrainingConfig())
    traces, step, times = [], model.train_step, StepTimes()

    def traced_step(data):
        traces.append(1)
        return step(data)

    model.train_step = traced_step
    dataset = batches(arguments.vocab_size, arguments.tokens, arguments.steps)
    start = time.perf_counter()
    model.fit(dataset, verbose=0, callbacks=[times], shuffle=False)
    steps = np.diff(times.ends)
    print(
        f"{arguments.preset}: first step after {times.ends[0] - start:.1f} s, then "
        f"{np.median(steps):.3f} s a step; {len(traces)} trace(s) for {len(LENGTHS)} batch shapes; "
        f"{model.count_params():,} parameters, {len(model.trainable_variables)} variables; "
        f"TensorFlow {tf.__version__}, Keras {keras.__version__}"
    )


if __name__ == "__main__":
    main()
