"""Decoding speed beside CTranslate2, Hugging Face Marian and KerasHub, on the same weights.

`python benchmarks/decode.py` runs random weights of base size: 24 source tokens, 32 forced output
tokens, 32 sentences and one sentence, greedy and beam 4. `--run RUN --corpus PREFIX` runs a trained
model on a corpus instead, whole and as 50 single sentences. All peers take their turns in one
process; medians of `--rounds` rounds and ratios to CTranslate2 float32 are printed, with the
versions, and what memory the process took at most: that of one peer with `--peers NAME`. Needs
`pip install -e ".[benchmarks]"`.
"""

import argparse
import importlib.metadata
import os
import resource
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import decoding_peers as peers
import keras
import numpy as np
import tensorflow as tf
from tqdm import tqdm

from keras_transformer import Transformer, TransformerConfig
from keras_transformer.text.vocabulary import EOS_ID

REFERENCE = "CTranslate2 float32"
PEERS = {
    "keras_transformer": peers.ours,
    REFERENCE: peers.ctranslate2,
    "CTranslate2 int8": peers.ctranslate2_int8,
    "Hugging Face Marian": peers.marian,
    "KerasHub": peers.keras_hub,
}


def measure(translators, sentences, beam_size, length, rounds):
    """Lets each translator take its turn in each round; returns seconds `[rounds]` and outputs."""
    outputs = {
        name: translate(sentences, beam_size, length) for name, translate in translators.items()
    }
    seconds = {name: np.empty(rounds) for name in translators}
    for i in tqdm(range(rounds), leave=False):
        for name, translate in translators.items():
            start = time.perf_counter()
            translate(sentences, beam_size, length)
            seconds[name][i] = time.perf_counter() - start
    return seconds, outputs


def report(title, seconds, outputs, single=False):
    """Prints a Markdown table."""
    first = REFERENCE if REFERENCE in seconds else next(iter(seconds))
    reference, same = np.median(seconds[first]), outputs[first]
    print(f"\n{title}\n")
    print(f"| | median | range | output tokens/s | of {first} | same output |")
    print("|---|---|---|---|---|---|")
    for name, times in seconds.items():
        median, tokens = np.median(times), sum(map(len, outputs[name]))
        equal = np.mean([a == b for a, b in zip(outputs[name], same, strict=True)])
        per = len(outputs[name]) if single else 1
        print(
            f"| {name} | {median / per * 1e3:.0f} ms | {min(times) / per * 1e3:.0f}-"
            f"{max(times) / per * 1e3:.0f} | {tokens / median:.0f} | {reference / median:.2f} | "
            f"{equal:.1%} |"
        )


def one_by_one(translate):
    """Makes a translator that gets one sentence at a time."""

    def run(sentences, beam_size, length):
        return [translate([sentence], beam_size, length)[0] for sentence in sentences]

    return run


def random_workloads(arguments):
    """Yields the model and the workloads of random weights."""
    keras.utils.set_random_seed(1)
    config = TransformerConfig.preset(arguments.preset, vocab_size=arguments.vocab_size)
    rng = np.random.default_rng(0)
    sentences = [
        [*rng.integers(4, config.vocab_size, arguments.source_length - 1).tolist(), EOS_ID]
        for _ in range(32)
    ]
    yield (
        Transformer(config),
        (
            (f"32 sentences to {arguments.length} tokens", sentences, arguments.length, False),
            (f"one sentence to {arguments.length} tokens", sentences[:1], arguments.length, True),
        ),
    )


def trained_workloads(arguments):
    """Yields the model and the workloads of a run and a corpus."""
    from keras_transformer.data.corpora import open_corpus
    from keras_transformer.runs.run import open_run

    run = open_run(arguments.run)
    data = run.config.data
    corpus = open_corpus(arguments.corpus, data.source_language, data.target_language)
    sources = [source for source, _ in corpus]
    sentences = run.source_tokenizer.tokenize(sources).to_list()
    yield (
        run.checkpoints.best().load(),
        (
            (f"{len(sentences)} sentences", sentences, None, False),
            ("50 sentences one by one, each", sentences[:: len(sentences) // 50][:50], None, True),
        ),
    )


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
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    arguments = parser.parse_args()

    tf.config.threading.set_intra_op_parallelism_threads(arguments.threads)
    packages = ("keras", "tensorflow", "ctranslate2", "torch", "transformers", "keras-hub")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    print(f"{arguments.threads} threads; {versions}")
    workloads = trained_workloads if arguments.run else random_workloads
    for model, parts in workloads(arguments):
        chosen = set(arguments.peers)
        if arguments.run:
            # Its twin has random weights.
            chosen.discard("KerasHub")
        if model.config.norm_first:
            # It has post-norm alone.
            chosen.discard("Hugging Face Marian")
        chosen = [name for name in PEERS if name in chosen]
        translators = {name: PEERS[name](model, arguments.threads) for name in chosen}
        for title, sentences, length, single in parts:
            turns = {
                name: one_by_one(translate) if single else translate
                for name, translate in translators.items()
            }
            for beam_size in arguments.beams:
                seconds, outputs = measure(turns, sentences, beam_size, length, arguments.rounds)
                search = "greedy" if beam_size == 1 else f"beam {beam_size}"
                report(f"{title}, {search}", seconds, outputs, single)
    print(f"\nPeak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
