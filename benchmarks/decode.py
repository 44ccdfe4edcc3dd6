"""Decoding speed beside CTranslate2, Hugging Face Marian and KerasHub, on the same weights.

`python benchmarks/decode.py` runs random weights of base size: 24 source tokens, 32 forced output
tokens, 32 sentences and one sentence, greedy and beam 4. `--run RUN --corpus PREFIX` runs a trained
model on a corpus instead, whole and as 50 single sentences. Each number of threads has a process of
its own with all peers; peers and processes take their turns in each of `--rounds` rounds. Printed
are the medians of each peer at its own best number of threads, which stands beside it with those of
the others, ratios to CTranslate2 float32 at its best, and the machine's own limit, measured in the
same run: for one sentence the time to read the weights of all steps from memory, for batches that
of the matrix products. At the end, versions and what memory each process took at most: that of one
peer with `--peers NAME`. Needs `pip install -e ".[benchmarks]"`.
"""

import argparse
import importlib.metadata
import json
import os
import resource
import subprocess
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
from tqdm import tqdm

REFERENCE = "CTranslate2 float32"
# By the name of its function in `decoding_peers`.
PEERS = {
    "keras_transformer": "ours",
    "the same, --compile": "ours_compiled",
    REFERENCE: "ctranslate2",
    "CTranslate2 int8": "ctranslate2_int8",
    "Hugging Face Marian": "marian",
    "KerasHub": "keras_hub",
}


class Worker:
    """A process with a number of threads: asked a JSON object a line, it answers with one."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        command = [sys.executable, __file__, *sys.argv[1:], "--worker", str(threads)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)

    def ask(self, **question):
        """Returns the answer."""
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def measure(workers, peers, part, beam_size, rounds):
    """Lets each peer of each worker take its turn in each round.

    Returns seconds `[rounds]` by peer and number of threads, and outputs by peer.
    """
    turns = [(peer, worker) for peer in peers for worker in workers]
    question = {"part": part, "beam_size": beam_size}
    outputs = {peer: worker.ask(peer=peer, **question)["outputs"] for peer, worker in turns}
    seconds = {peer: {worker.threads: np.empty(rounds) for worker in workers} for peer in peers}
    for i in tqdm(range(rounds), leave=False):
        for peer, worker in turns:
            seconds[peer][worker.threads][i] = worker.ask(peer=peer, **question)["seconds"]
    return seconds, outputs


def report(title, seconds, outputs, limit, single=False):
    """Prints a Markdown table."""
    medians = {
        peer: {threads: np.median(times) for threads, times in by_threads.items()}
        for peer, by_threads in seconds.items()
    }
    best = {peer: min(by_threads, key=by_threads.get) for peer, by_threads in medians.items()}
    first = REFERENCE if REFERENCE in seconds else next(iter(seconds))
    reference, same = medians[first][best[first]], outputs[first]
    print(f"\n{title}; the machine's limit: {limit * 1e3:.1f} ms\n")
    print(
        f"| | threads | median | range | with other threads | output tokens/s | of {first} | "
        "of the limit | same output |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for peer, threads in best.items():
        per = len(outputs[peer]) if single else 1
        median, times = medians[peer][threads], seconds[peer][threads] / per * 1e3
        tokens = sum(map(len, outputs[peer]))
        equal = np.mean([a == b for a, b in zip(outputs[peer], same, strict=True)])
        others = ", ".join(
            f"{n}: {other / per * 1e3:.1f} ms" for n, other in medians[peer].items() if n != threads
        )
        print(
            f"| {peer} | {threads} | {median / per * 1e3:.1f} ms | {min(times):.1f}-"
            f"{max(times):.1f} | {others} | {tokens / median:.0f} | {reference / median:.2f} | "
            f"{limit * per / median:.0%} | {equal:.1%} |"
        )


def limit_of(config, sentences, outputs, beam_size, machine, single):
    """Computes the least seconds of a call that outputs these tokens.

    Args:
        config: The model's.
        sentences: Ids of the sources.
        outputs: Ids of the translations.
        beam_size: Hypotheses that are extended.
        machine: "bandwidth", bytes a second, and "peak", operations a second.
        single: Whether each sentence is a call: then the weights are read anew for each step.
    """
    from flops import training_flops

    if single:
        read = sum(4 * weights_of_a_step(config) * len(output) for output in outputs)
        return read / machine["bandwidth"] / len(outputs)
    operations = 0.0
    for source, output in zip(sentences, outputs, strict=True):
        encoder, both = (
            training_flops(config, 1, len(source), target) / 3 for target in (0, len(output))
        )
        operations += encoder + beam_size * (both - encoder)
    return operations / machine["peak"]


def weights_of_a_step(config):
    """Counts the weights that a step multiplies with: the decoder's, and the logits' matrix."""
    d = config.d_model
    keys, values = (config.num_heads * dim for dim in (config.head_key_dim, config.head_value_dim))
    attention = d * (2 * keys + 2 * values) + d * (keys + values)
    return config.decoder_layers * (attention + 2 * d * config.d_ff) + d * config.vocab_size


def measure_machine(rounds=10):
    """Measures bytes a second of a one-row product, and operations a second of a square one."""
    matrix = np.ones((16_000, 4_096), np.float32)
    vector, square = np.ones(4_096, np.float32), np.ones((2_048, 2_048), np.float32)

    def fastest(run):
        seconds = []
        for _ in range(rounds):
            start = time.perf_counter()
            run()
            seconds.append(time.perf_counter() - start)
        return min(seconds)

    return {
        "bandwidth": matrix.nbytes / fastest(lambda: matrix @ vector),
        "peak": 2 * len(square) ** 3 / fastest(lambda: square @ square),
    }


def one_by_one(translate):
    """Makes a translator that gets one sentence at a time."""

    def run(sentences, beam_size, length):
        return [translate([sentence], beam_size, length)[0] for sentence in sentences]

    return run


def random_workloads(arguments):
    """Returns a model of random weights, and its workloads."""
    import keras

    from keras_transformer import Transformer, TransformerConfig
    from keras_transformer.text.vocabulary import EOS_ID

    keras.utils.set_random_seed(1)
    config = TransformerConfig.preset(arguments.preset, vocab_size=arguments.vocab_size)
    rng = np.random.default_rng(0)
    sentences = [
        [*rng.integers(4, config.vocab_size, arguments.source_length - 1).tolist(), EOS_ID]
        for _ in range(32)
    ]
    return (
        Transformer(config),
        (
            (f"32 sentences to {arguments.length} tokens", sentences, arguments.length, False),
            (f"one sentence to {arguments.length} tokens", sentences[:1], arguments.length, True),
        ),
    )


def trained_workloads(arguments):
    """Returns the model of a run, and the workloads of a corpus."""
    from keras_transformer.data.corpora import open_corpus
    from keras_transformer.runs.run import open_run

    run = open_run(arguments.run)
    data = run.config.data
    corpus = open_corpus(arguments.corpus, data.source_language, data.target_language)
    sources = [source for source, _ in corpus]
    sentences = run.source_tokenizer.tokenize(sources).to_list()
    some = sentences[:: max(1, len(sentences) // 50)][:50]
    return (
        run.checkpoints.best().load(),
        (
            (f"{len(sentences)} sentences", sentences, None, False),
            (f"{len(some)} sentences one by one, each", some, None, True),
        ),
    )


def work(arguments) -> None:
    """Answers questions until standard input ends."""
    answers = sys.stdout
    sys.stdout = sys.stderr

    def answer(**content):
        answers.write(json.dumps(content) + "\n")
        answers.flush()

    import decoding_peers
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(arguments.worker)
    model, parts = (trained_workloads if arguments.run else random_workloads)(arguments)
    translators = {}
    for question in map(json.loads, sys.stdin):
        if "part" not in question:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            titles = [(title, single) for title, _, _, single in parts]
            answer(titles=titles, norm_first=model.config.norm_first, peak=peak)
            continue
        peer, beam_size = question["peer"], question["beam_size"]
        if peer not in translators:
            make = getattr(decoding_peers, PEERS[peer])
            translators[peer] = make(model, arguments.worker)
        _, sentences, length, single = parts[question["part"]]
        translate = one_by_one(translators[peer]) if single else translators[peer]
        start = time.perf_counter()
        outputs = translate(sentences, beam_size, length)
        seconds = time.perf_counter() - start
        limit = None
        if question.get("machine"):
            limit = limit_of(
                model.config, sentences, outputs, beam_size, question["machine"], single
            )
        answer(seconds=seconds, outputs=outputs, limit=limit)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", default="base")
    parser.add_argument("--vocab_size", type=int, default=16000)
    parser.add_argument("--run", help="A run directory, in place of random weights.")
    parser.add_argument("--corpus", help="The corpus that the run translates.")
    parser.add_argument("--source_length", type=int, default=24, help="At most `--length`.")
    parser.add_argument("--length", type=int, default=32, help="Output tokens, of random weights.")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 4])
    parser.add_argument(
        "--workloads", nargs="+", choices=["batch", "one"], default=["batch", "one"]
    )
    parser.add_argument("--threads", type=int, nargs="+", default=sorted({1, os.cpu_count()}))
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker is not None:
        return work(arguments)

    packages = ("keras", "tensorflow", "ctranslate2", "torch", "transformers", "keras-hub")
    print(", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages))
    workers = [Worker(threads) for threads in arguments.threads]
    about = workers[0].ask()
    chosen = set(arguments.peers)
    if arguments.run:
        # Its twin has random weights.
        chosen.discard("KerasHub")
    if about["norm_first"]:
        # It has post-norm alone.
        chosen.discard("Hugging Face Marian")
    peers = [peer for peer in PEERS if peer in chosen]
    for part, (title, single) in enumerate(about["titles"]):
        if ("one" if single else "batch") not in arguments.workloads:
            continue
        for beam_size in arguments.beams:
            seconds, outputs = measure(workers, peers, part, beam_size, arguments.rounds)
            machine = measure_machine()
            question = {"peer": peers[0], "part": part, "beam_size": beam_size}
            limit = workers[0].ask(machine=machine, **question)["limit"]
            search = "greedy" if beam_size == 1 else f"beam {beam_size}"
            report(f"{title}, {search}", seconds, outputs, limit, single)
            print(
                f"\n{machine['bandwidth'] / 1e9:.1f} GB/s of a product with one row, "
                f"{machine['peak'] / 1e9:.0f} GFLOP/s of a square one"
            )
    for worker in workers:
        print(f"\nPeak memory, {worker.threads} threads: {worker.ask()['peak']:.0f} MiB")
    return None


if __name__ == "__main__":
    main()
