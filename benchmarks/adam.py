"""Time of one Adam update of a base model: `FusedAdam` beside `keras.optimizers.Adam`.

`python benchmarks/adam.py` alternates the two and prints medians and their ratio.
"""

import argparse
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

from keras_transformer import FusedAdam, Transformer, TransformerConfig


def compiled_update(optimizer: keras.optimizers.Optimizer, model: keras.Model):
    """Returns a compiled update of all the model's variables by fixed gradients."""
    optimizer.build(model.trainable_variables)
    gradients = [tf.random.normal(variable.shape) for variable in model.trainable_variables]
    update = tf.function(lambda: optimizer.apply(gradients))
    start = time.perf_counter()
    update()
    print(f"{type(optimizer).__name__}: first update {time.perf_counter() - start:.1f} s")
    return update


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", default="base")
    parser.add_argument("--vocab-size", type=int, default=8000)
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()

    config = TransformerConfig.preset(arguments.preset, vocab_size=arguments.vocab_size)
    model = Transformer(config)
    updates = [
        compiled_update(optimizer(1e-4), model) for optimizer in (FusedAdam, keras.optimizers.Adam)
    ]
    seconds = np.empty((arguments.rounds, 2))
    for row in seconds:
        for i, update in enumerate(updates):
            start = time.perf_counter()
            update()
            row[i] = time.perf_counter() - start
    fused, plain = np.median(seconds, axis=0)
    print(
        f"{model.count_params():,} parameters: FusedAdam {fused * 1e3:.0f} ms, Adam "
        f"{plain * 1e3:.0f} ms, ratio {plain / fused:.2f}; TensorFlow {tf.__version__}, Keras "
        f"{keras.__version__}"
    )


if __name__ == "__main__":
    main()
