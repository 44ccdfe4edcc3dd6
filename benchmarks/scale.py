"""How training scales: workers beside one, and memory over many steps.

`python benchmarks/scale.py workers DIR/train` trains with one and with two workers on this machine,
each with a core of its own and as many tokens a batch, in turns. Their ratio is what the sum over
workers, on loopback, and the unlike batches of a step leave.

`python benchmarks/scale.py memory DIR/train` trains for 2,000 steps in one process.
"""

import argparse
import csv
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
MIB = 1024


def main() -> None:
    """Parses the command line and measures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    for name, measure, steps, tokens in (
        ("workers", measure_workers, 60, 2048),
        ("memory", measure_memory, 2000, 512),
    ):
        command = commands.add_parser(name, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
        command.set_defaults(measure=measure)
        command.add_argument("corpus", help="Prefix of two parallel files.")
        command.add_argument("--preset", default="tiny")
        command.add_argument("--vocab_size", type=int, default=6000)
        command.add_argument("--batch_tokens", type=int, default=tokens, help="Of each worker.")
        command.add_argument("--steps", type=int, default=steps)
        command.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    arguments.measure(arguments)


def measure_workers(arguments: argparse.Namespace) -> None:
    """Prints tokens a second of one and of two workers."""
    rates: dict[int, list[float]] = {1: [], 2: []}
    for number in range(arguments.rounds):
        for workers, found in rates.items():
            with tempfile.TemporaryDirectory() as folder:
                found.append(train_with_workers(arguments, workers, Path(folder)))
            print(f"round {number + 1}, {workers} worker(s): {found[-1]:,.0f} tokens/s", flush=True)
    one, two = (statistics.median(found) for found in rates.values())
    print(f"medians: {one:,.0f} and {two:,.0f} target tokens/s, {two / one:.2f} times")


def train_with_workers(arguments: argparse.Namespace, workers: int, folder: Path) -> float:
    """Trains, and returns the real target tokens a second of all workers together."""
    addresses = free_addresses(workers)
    processes = []
    for index in range(workers):
        task = {"type": "worker", "index": index}
        config = {"cluster": {"worker": addresses}, "task": task}
        processes.append(
            subprocess.Popen(
                ["taskset", "--cpu-list", str(index), *command_of(arguments, workers, folder)],
                env={**os.environ, "TF_CONFIG": json.dumps(config)},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )
    codes = [process.wait() for process in processes]
    if any(codes):
        raise RuntimeError(f"A worker failed; run it by hand: {command_of(arguments, 1, folder)}")
    with open(folder / "run" / "history.csv", newline="") as file:
        # The chief counts its own tokens.
        return workers * float(next(csv.DictReader(file))["tokens_per_second"])


def command_of(arguments: argparse.Namespace, workers: int, folder: Path) -> list[str]:
    """Returns the command line of a worker."""
    options = {
        "--preset": arguments.preset,
        "--model.vocab_size": arguments.vocab_size,
        "--data.train": arguments.corpus,
        "--data.valid": "null",
        "--data.batch_tokens": arguments.batch_tokens * workers,
        "--training.max_steps": arguments.steps,
        "--strategy": "multi_worker",
        "--output": folder / "run",
    }
    pairs = [f"{name}={value}" for name, value in options.items()]
    return [sys.executable, str(ROOT / "train.py"), *pairs]


def free_addresses(count: int) -> list[str]:
    """Returns addresses of free ports of this machine."""
    sockets = [socket.create_server(("localhost", 0)) for _ in range(count)]
    addresses = [f"localhost:{one.getsockname()[1]}" for one in sockets]
    for one in sockets:
        one.close()
    return addresses


def measure_memory(arguments: argparse.Namespace) -> None:
    """Prints the memory of this process while it trains."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import keras

    from keras_transformer import TrainingConfig, Transformer, TransformerConfig, compile_model
    from keras_transformer.config import DataConfig
    from keras_transformer.data.batches import TranslationBatches
    from keras_transformer.data.mixing import open_training_corpus
    from keras_transformer.data.planning import fit_plan
    from keras_transformer.data.preprocessing import PairPreprocessor
    from keras_transformer.text.tokenizer import SubwordTokenizer

    class Memory(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            self.steps = 0

        def on_train_batch_end(self, batch, logs=None):
            self.steps += 1
            if self.steps % (arguments.steps // 10) == 0:
                print(f"step {self.steps}: {resident_memory() / MIB:,.0f} MiB", flush=True)
            self.model.stop_training = self.steps >= arguments.steps

    corpus = open_training_corpus(DataConfig(train=arguments.corpus))
    lines = (line for pair in corpus for line in pair)
    tokenizer = SubwordTokenizer.train(lines, arguments.vocab_size)
    config = TransformerConfig.preset(arguments.preset, vocab_size=arguments.vocab_size)
    preprocess = PairPreprocessor((tokenizer, tokenizer), config.max_length)
    plan, _ = fit_plan(corpus, preprocess, batch_tokens=arguments.batch_tokens)
    batches = TranslationBatches(corpus, preprocess, plan)
    model = compile_model(Transformer(config), TrainingConfig())
    model.fit(batches.dataset(), epochs=1000, verbose=0, shuffle=False, callbacks=[Memory()])


def resident_memory() -> int:
    """Returns the memory of this process in KiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


if __name__ == "__main__":
    main()
