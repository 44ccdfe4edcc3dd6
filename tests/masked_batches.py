"""Random batches of masked words and next sentences, and a small model compiled for them."""

import numpy as np

from keras_transformer import BertConfig, MaskedLanguageModel, TrainingConfig, compile_model
from keras_transformer.training.loss import LabelSmoothedCrossEntropy
from keras_transformer.training.metrics import CrossEntropy, TokenAccuracy

NAMES = ("masked", "next")
CONFIG = BertConfig(
    vocab_size=40, num_layers=1, d_model=16, d_ff=32, num_heads=2, max_length=16,
    dropout=0.0, attention_dropout=0.0,
)  # fmt: skip


def compiled(micro_batches=1):
    """Makes the model."""
    training = TrainingConfig(
        peak_learning_rate=0.01, warmup_steps=1, clip_norm=0.3, micro_batches=micro_batches
    )
    losses = {name: LabelSmoothedCrossEntropy(0.0) for name in NAMES}
    metrics = {name: [TokenAccuracy(), CrossEntropy()] for name in NAMES}
    return compile_model(MaskedLanguageModel(CONFIG), training, losses, metrics)


def masked_batches(rows, number):
    """Yields inputs and labels; rows have from none to five words to predict."""
    rng = np.random.default_rng(3)
    for _ in range(number):
        ids = rng.integers(4, 40, (rows, 9)).astype("int32")
        ids[::2, 6:] = 0
        labels = rng.integers(4, 40, (rows, 5)).astype("int32")
        labels[np.arange(5) >= rng.integers(0, 6, (rows, 1))] = 0
        inputs = {
            "ids": ids,
            "segments": np.tile(np.arange(9) > 3, (rows, 1)).astype("int32"),
            "places": rng.integers(0, 6, (rows, 5)).astype("int32"),
        }
        yield inputs, {"masked": labels, "next": rng.integers(1, 3, (rows, 1)).astype("int32")}


def masked_dataset(generate):
    """Makes a dataset that takes its batches from `generate()`."""
    import tensorflow as tf

    ids = tf.TensorSpec([None, None], "int32")
    signature = dict.fromkeys(("ids", "segments", "places"), ids), dict.fromkeys(NAMES, ids)
    return tf.data.Dataset.from_generator(generate, output_signature=signature)
