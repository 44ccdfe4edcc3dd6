"""Training throughput on a GPU: this package on JAX beside PyTorch's compiled `nn.Transformer`.

Both train in bfloat16 on the same batches, in turns: the step that `model.fit` runs, under
mixed_bfloat16, and PyTorch's with autocast and wholly in bfloat16. Medians of the rounds count.
Needs Keras, JAX and, for the peer, PyTorch; TensorFlow is not imported.

Example: `python benchmarks/gpu_train.py --file batches.npz`

On a machine without a GPU: `python benchmarks/gpu_train.py --preset tiny --batches 2 --rounds 1`
"""

import argparse
import dataclasses
import importlib.util
import itertools
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"
# Two frameworks share the memory.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import keras
import numpy as np
from flops import training_flops
from gpu_batches import Batch, load, synthetic_batches

from keras_transformer import TrainingConfig, Transformer, TransformerConfig, compile_model


@dataclasses.dataclass
class Contestant:
    """An implementation that trains.

    Args:
        name: As the table has it.
        run: Trains on all batches once and waits for the end; returns the loss of the last one.
    """

    name: str
    run: Callable[[], float]
    seconds: list[float] = dataclasses.field(default_factory=list)

    def measure(self) -> None:
        """Runs once more and keeps the time."""
        start = time.perf_counter()
        loss = self.run()
        self.seconds.append(time.perf_counter() - start)
        if not np.isfinite(loss):
            sys.exit(f"gpu_train.py: error: the loss of {self.name} is {loss}")


def ours(config: TransformerConfig, batches: list[Batch]) -> Contestant:
    """The step of `model.fit`: Keras compiles it with all state donated."""
    # Keras's own `set_random_seed` imports TensorFlow where there is one.
    random.seed(0)
    model = Transformer(config, dtype="mixed_bfloat16")
    compile_model(model, TrainingConfig())
    # Metrics make their variables at the first use, which would change the state that is compiled.
    model.compute_metrics(None, np.zeros((1, 1)), np.zeros((1, 1, config.vocab_size)))
    model.reset_metrics()
    model.make_train_function()
    on_device = [
        jax.device_put(({n: b[n] for n in ("source", "target")}, b["labels"])) for b in batches
    ]
    parts = ("trainable_variables", "non_trainable_variables", "optimizer", "metrics_variables")
    owners = [getattr(model, part) for part in parts]
    owners[2] = owners[2].variables
    # Copies, because the step gives up what it is given.
    state = tuple([jax.numpy.copy(v.value) for v in variables] for variables in owners)

    def run() -> float:
        nonlocal state
        iterator = iter(on_device)
        for _ in on_device:
            logs, state = model.train_function(state, iterator)
        jax.block_until_ready(state)
        return float(logs["loss"])

    return Contestant("this package, JAX, mixed_bfloat16", run)


def torchs(
    config: TransformerConfig, batches: list[Batch], autocast: bool, compiled: bool
) -> Contestant:
    """PyTorch, with its fused Adam."""
    import torch
    from torch_transformer import TorchTransformer, smoothed_loss

    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    model = TorchTransformer(config).to(device, torch.float32 if autocast else torch.bfloat16)
    optimizer = torch.optim.Adam(
        model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True
    )
    on_device = [
        [torch.from_numpy(b[n]).long().to(device) for n in ("source", "target", "labels")]
        for b in batches
    ]

    def loss_of(source, target, labels):
        with torch.autocast(device, torch.bfloat16, enabled=autocast):
            logits = model(source, target)
        return smoothed_loss(logits, labels, TrainingConfig().label_smoothing)

    step = torch.compile(loss_of, dynamic=False) if compiled else loss_of

    def run() -> float:
        for batch in on_device:
            optimizer.zero_grad(set_to_none=True)
            loss = step(*batch)
            loss.backward()
            optimizer.step()
        if device == "cuda":
            torch.cuda.synchronize()
        return loss.item()

    name = f"PyTorch, {'autocast' if autocast else 'bfloat16'}{', compiled' * compiled}"
    return Contestant(name, run)


def matmul_flops(size: int, seconds: float = 1.0) -> float:
    """Measures the most operations a second of a bfloat16 product of two square matrices."""
    # Scaled so that a product of random matrices is as large as its factors.
    matrix = jax.random.normal(jax.random.key(0), (size, size), "bfloat16") * size**-0.5
    product = jax.jit(lambda x: x @ matrix)
    jax.block_until_ready(product(matrix))
    best, end = np.inf, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start, x = time.perf_counter(), matrix
        for _ in range(10):
            x = product(x)
        jax.block_until_ready(x)
        best = min(best, (time.perf_counter() - start) / 10)
    return 2 * size**3 / best


def contest(
    config: TransformerConfig, batches: list[Batch], arguments: argparse.Namespace
) -> list[Contestant]:
    """Warms all contestants up, which compiles them, then measures them in turns."""
    contestants = [ours(config, batches)]
    if arguments.peer:
        contestants += [torchs(config, batches, auto, arguments.compile) for auto in (True, False)]
    for contestant in contestants:
        start = time.perf_counter()
        contestant.run()
        print(f"{contestant.name}: ready after {time.perf_counter() - start:.0f} s", flush=True)
    for _, contestant in itertools.product(range(arguments.rounds), contestants):
        contestant.measure()
    return contestants


def rows(
    preset: str, config: TransformerConfig, batches: list[Batch], arguments: argparse.Namespace
) -> Iterator[str]:
    """Yields the lines of the table for one size."""
    tokens = sum(np.count_nonzero(batch["labels"]) for batch in batches)
    flops = sum(
        training_flops(config, *batch["source"].shape, batch["target"].shape[1])
        for batch in batches
    )
    for contestant in contest(config, batches, arguments):
        seconds = statistics.median(contestant.seconds)
        rate = flops / seconds
        yield (
            f"| {preset} | {contestant.name} | {tokens / seconds:,.0f} | "
            f"{1000 * seconds / len(batches):.1f} | {rate / 1e12:.3g} | "
            f"{rate / (1e12 * arguments.peak_tflops):.1%} | {rate / arguments.measured:.1%} |"
        )


def parse_arguments() -> argparse.Namespace:
    """Reads the command line; sizes follow the device where they are not given."""
    has_torch = importlib.util.find_spec("torch") is not None
    on_gpu = jax.default_backend() == "gpu"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", nargs="+", default=["base", "big"])
    parser.add_argument("--layers", type=int, help="In place of the preset's.")
    parser.add_argument("--file", type=Path, help="From gpu_batches.py; by default random ids.")
    parser.add_argument("--batches", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--length", type=int, default=32, help="Of random sequences.")
    parser.add_argument("--tokens", type=int, default=25000 if on_gpu else 512)
    parser.add_argument("--vocab_size", type=int, default=37000 if on_gpu else 1000)
    parser.add_argument("--peer", action=argparse.BooleanOptionalAction, default=has_torch)
    parser.add_argument("--compile", action=argparse.BooleanOptionalAction, default=on_gpu)
    parser.add_argument("--peak_tflops", type=float, default=989.0, help="Dense bf16; H100, H200.")
    parser.add_argument("--matmul", type=int, default=8192 if on_gpu else 512)
    return parser.parse_args()


def main() -> None:
    """Measures and prints a Markdown table."""
    arguments = parse_arguments()
    if arguments.file is None:
        vocab_size = arguments.vocab_size
        batches = synthetic_batches(
            [arguments.length], arguments.tokens, vocab_size, arguments.batches
        )
    else:
        batches, vocab_size = load(arguments.file)
        batches = batches[: arguments.batches]
    arguments.measured = matmul_flops(arguments.matmul)
    device = jax.devices()[0].device_kind
    shapes = sorted({(*b["source"].shape, b["target"].shape[1]) for b in batches})
    print(
        f"{device}; JAX {jax.__version__}, Keras {keras.__version__}; batches of {shapes}; a "
        f"product of size {arguments.matmul} runs at {arguments.measured / 1e12:.3g} TFLOP/s"
    )
    lines = []
    layers = {} if arguments.layers is None else {"num_layers": arguments.layers}
    for preset in arguments.preset:
        config = TransformerConfig.preset(preset, vocab_size=vocab_size, **layers)
        lines += rows(preset, config, batches, arguments)
    print(
        "\n| model | implementation | real target tokens/s | ms a step | TFLOP/s | "
        f"of {arguments.peak_tflops:g} | of the product |\n|---|---|---|---|---|---|---|"
    )
    print("\n".join(lines))
    # A name that is None is one whose import was forbidden.
    imported = [name for name in ("tensorflow", "tensorflow_text") if sys.modules.get(name)]
    if imported:
        sys.exit(f"gpu_train.py: error: imported {', '.join(imported)}")


if __name__ == "__main__":
    main()
