"""How fast a model learns beside PyTorch's `nn.Transformer`, by the step and not by the clock.

`python benchmarks/learning.py DIR/train`, with DIR/train.en and DIR/train.de: both get the same
batches, the paper's schedule and dropout in the same places, so that what is left to differ is the
initial weights. `--gain` sets the factor on Glorot's bound for queries, keys and values,
`--norm_first` measures this package's pre-norm, which the peer has not.
Needs `pip install -e ".[benchmarks]"`.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from training_peers import Arrays, Options, pytorch, translation_batches

from keras_transformer import TrainingConfig, Transformer, TransformerConfig, compile_model
from keras_transformer.layers import attention

Step = Callable[[Arrays], float]


def ours(config: TransformerConfig, schedule: TrainingConfig) -> Step:
    """Returns this package's step, which gives the loss of its batch."""
    keras.utils.set_random_seed(0)
    model = compile_model(Transformer(config), schedule)
    ids = tf.TensorSpec([None, None], tf.int32)
    signature = [({"source": ids, "target": ids}, ids)]
    train_step = tf.function(model.train_step, input_signature=signature)

    def step(batch: Arrays) -> float:
        model.reset_metrics()
        return float(train_step(batch)["loss"])

    return step


def peer(config: TransformerConfig, schedule: TrainingConfig, threads: int) -> Step:
    """Returns PyTorch's step, which gives the loss of its batch."""
    import torch

    torch.manual_seed(0)
    train = pytorch(config, Options(threads=threads, schedule=schedule))
    return lambda batch: train([batch])


def epochs(arguments: argparse.Namespace) -> Iterator[Arrays]:
    """Yields the batches of the corpus, epoch after epoch."""
    batches = translation_batches(arguments, max_length=128)
    epoch = 0
    while True:
        yield from batches.epoch(epoch)
        epoch += 1


def learn(step: Step, batches: Iterator[Arrays], steps: int, every: int) -> None:
    """Trains and prints the mean loss of the last steps, again and again."""
    losses, start = [], time.perf_counter()
    for number in range(1, steps + 1):
        losses.append(step(next(batches)))
        if number % every == 0:
            seconds = time.perf_counter() - start
            mean = np.mean(losses[-every:])
            print(
                f"steps {number - every + 1}-{number}: loss {mean:.3f}, {seconds:.0f} s", flush=True
            )


def parse_arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", help="As in `train.py --data.train`.")
    parser.add_argument("--source_language", default="en")
    parser.add_argument("--target_language", default="de")
    parser.add_argument(
        "--model", default="keras_transformer", choices=["keras_transformer", "PyTorch"]
    )
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--vocab_size", type=int, default=6000)
    parser.add_argument("--batch_tokens", type=int, default=1024)
    parser.add_argument("--dropout", type=float, default=0.2)
    parser.add_argument("--norm_first", action="store_true")
    parser.add_argument("--gain", type=float, default=attention.PROJECTION_GAIN)
    parser.add_argument("--learning_rate", type=float, default=0.7, help="Factor on Equation 3.")
    parser.add_argument("--warmup_steps", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--every", type=int, default=250)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    return parser.parse_args()


def main() -> None:
    """Trains and prints."""
    arguments = parse_arguments()
    tf.config.threading.set_intra_op_parallelism_threads(arguments.threads)
    attention.PROJECTION_GAIN = arguments.gain
    config = TransformerConfig.preset(
        arguments.preset,
        vocab_size=arguments.vocab_size,
        dropout=arguments.dropout,
        norm_first=arguments.norm_first,
        max_length=128,
    )
    schedule = TrainingConfig(
        learning_rate_factor=arguments.learning_rate, warmup_steps=arguments.warmup_steps
    )
    if arguments.model == "PyTorch":
        step = peer(config, schedule, arguments.threads)
    else:
        step = ours(config, schedule)
    learn(step, epochs(arguments), arguments.steps, arguments.every)


if __name__ == "__main__":
    main()
