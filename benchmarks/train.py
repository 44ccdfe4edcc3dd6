"""Training speed beside PyTorch's `nn.Transformer` and KerasHub, on the same batches of a corpus.

`python benchmarks/train.py DIR/train --preset tiny`, with DIR/train.en and DIR/train.de. All take
their turns in one process, each with all batches in each round; medians count. Tokens are real, not
padding. What the hardware does includes padding; it is compared with the fastest matrix product of
TensorFlow or PyTorch in the same run. `--levers` measures, in place of the peers, what single
choices in this package's step bring. What TensorFlow reads when it starts is set from outside:
`TF_ENABLE_ONEDNN_OPTS=0 python benchmarks/train.py DIR/train --models keras_transformer`.
Needs `pip install -e ".[benchmarks]"`.
"""

import argparse
import collections
import importlib.metadata
import itertools
import os
import time
from collections.abc import Callable, Iterator, Sequence

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
import training_levers as levers
import training_peers as peers
from flops import training_flops
from training_peers import Arrays, Options, translation_batches
from turns import measure

from keras_transformer import TransformerConfig
from keras_transformer.data.batches import padding_fraction

REFERENCE = "keras_transformer"
MODELS = {
    REFERENCE: peers.ours,
    "PyTorch": peers.pytorch,
    "PyTorch compiled": peers.compiled_pytorch,
    "KerasHub": peers.keras_hub,
}
LEVERS = {
    REFERENCE: peers.ours,
    "projections of their own": levers.separate_projections,
    "loss and accuracy by plain operations": levers.plain_loss,
    "no metrics": levers.without_metrics,
    "no dropout": levers.without_dropout,
    "XLA": levers.xla,
    "8 steps per execution": levers.steps_per_execution,
    "batches made ahead of the step": levers.batches_ahead,
    "batches made in the step": levers.batches_in_step,
}


def corpus_batches(arguments: argparse.Namespace) -> Callable[[], Iterator[Arrays]]:
    """Returns a function that makes the batches to train on, the same ones each time."""
    batches = translation_batches(arguments, 256, static_shapes=arguments.shapes is not None)
    counts = collections.Counter(map(shape, batches.epoch(0)))
    kept = {common for common, _ in counts.most_common(arguments.shapes)}

    def make() -> Iterator[Arrays]:
        chosen = (batch for batch in batches.epoch(0) if shape(batch) in kept)
        return itertools.islice(chosen, arguments.batches)

    return make


def shape(batch: Arrays) -> tuple[int, int, int]:
    """Returns rows, source length and target length."""
    inputs, labels = batch
    return (*inputs["source"].shape, labels.shape[1])


def peak_flops(precision: str, batch_tokens: int) -> float:
    """Measures the most operations a second of a product in TensorFlow or PyTorch."""
    import torch

    dtype = "float32" if precision == "float32" else "bfloat16"
    best = 0.0
    for m, k, n in ((2048, 2048, 2048), (batch_tokens, 512, 2048), (batch_tokens, 512, 512)):
        a, b = (tf.cast(tf.random.normal(size), dtype) for size in ((m, k), (k, n)))
        c, d = (torch.randn(size).to(getattr(torch, dtype)) for size in ((m, k), (k, n)))
        for product in (lambda a=a, b=b: tf.matmul(a, b), lambda c=c, d=d: c @ d):
            end = time.perf_counter() + 0.3
            while time.perf_counter() < end:
                start = time.perf_counter()
                product()
                best = max(best, 2 * m * k * n / (time.perf_counter() - start))
    return best


def report(
    seconds: dict[str, list[float]], batches: Sequence[Arrays], flops: float, peak: float
) -> None:
    """Prints a Markdown table."""
    target = sum(np.count_nonzero(labels) for _, labels in batches)
    both = target + sum(np.count_nonzero(inputs["source"]) for inputs, _ in batches)
    first = next(iter(seconds))
    reference = np.median(seconds[first])
    print(
        f"\n| | target tokens/s | range | source and target | ms a step | of {first} | GFLOP/s | "
        "of the peak |\n|---|---|---|---|---|---|---|---|"
    )
    for name, times in seconds.items():
        median = np.median(times)
        rate = flops / median
        print(
            f"| {name} | {target / median:,.0f} | {target / max(times):,.0f}-"
            f"{target / min(times):,.0f} | {both / median:,.0f} | "
            f"{median / len(batches) * 1e3:.0f} | {reference / median:.2f} | {rate / 1e9:.0f} | "
            f"{rate / peak:.0%} |"
        )


def parse_arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", help="As in `train.py --data.train`.")
    parser.add_argument("--source_language", default="en")
    parser.add_argument("--target_language", default="de")
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--layers", type=int, help="In place of the preset's.")
    parser.add_argument("--vocab_size", type=int, default=8000)
    parser.add_argument("--batch_tokens", type=int, default=2048)
    parser.add_argument("--batches", type=int, default=24, help="Of each round.")
    parser.add_argument(
        "--shapes", type=int, help="Batches of so many static shapes; 4 with `--levers`."
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--precision", default="float32", choices=["float32", "mixed_bfloat16"])
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="Of one operation.")
    parser.add_argument(
        "--inter_threads", type=int, default=0, help="Operations at once in TensorFlow; 0: its own."
    )
    parser.add_argument("--levers", action="store_true")
    parser.add_argument("--models", nargs="+", choices=[*MODELS, *LEVERS], metavar="NAME")
    arguments = parser.parse_args()
    if arguments.levers and arguments.shapes is None:
        arguments.shapes = 4
    return arguments


def main() -> None:
    """Measures and prints."""
    arguments = parse_arguments()
    tf.config.threading.set_intra_op_parallelism_threads(arguments.threads)
    tf.config.threading.set_inter_op_parallelism_threads(arguments.inter_threads)
    layers = {} if arguments.layers is None else {"num_layers": arguments.layers}
    config = TransformerConfig.preset(
        arguments.preset, vocab_size=arguments.vocab_size, dropout=0.1, **layers
    )
    make = corpus_batches(arguments)
    options = Options(arguments.precision, arguments.threads, make_batches=make)
    batches = list(make())
    packages = ("keras", "tensorflow", "torch", "keras-hub")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    print(
        f"{arguments.preset}, {arguments.precision}, {arguments.threads} threads; {len(batches)} "
        f"batches of at most {arguments.batch_tokens} tokens, {len(set(map(shape, batches)))} "
        f"shapes, padding {padding_fraction(batches):.1%}; {versions}"
    )
    known = LEVERS if arguments.levers else MODELS
    chosen = arguments.models or list(known)
    trains = {name: {**MODELS, **LEVERS}[name](config, options) for name in chosen}
    before = peak_flops(arguments.precision, arguments.batch_tokens)
    seconds = measure(trains, batches, arguments.rounds)
    peak = max(before, peak_flops(arguments.precision, arguments.batch_tokens))
    print(f"Fastest matrix product: {peak / 1e9:.0f} GFLOP/s")
    flops = sum(training_flops(config, *shape(batch)) for batch in batches)
    report(seconds, batches, flops, peak)


if __name__ == "__main__":
    main()
