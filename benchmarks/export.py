"""Compares exported models: size, load, first translation, latency, throughput, memory.

`python benchmarks/export.py RUN --corpus PREFIX` exports a trained run; with `--preset base` in
place of RUN, a model of that size at random, which translates the corpus's sentences, cut to 24
tokens, to 32. Each model lives in a process of its own; they take turns in each round.

Needs `pip install -e ".[benchmarks]"`.
"""

import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
from tqdm import tqdm

from keras_transformer import DecodingConfig, Transformer, TransformerConfig
from keras_transformer.data.corpora import open_corpus
from keras_transformer.export.ctranslate2 import export_ctranslate2
from keras_transformer.export.opening import languages_of, open_runs
from keras_transformer.export.saved_model import export_saved_model
from keras_transformer.export.tflite import export_tflite
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.translation.translator import Translator

# Kind of `exported.py`, how it is exported, and as what.
MODELS = {
    "SavedModel float32": ("saved_model", export_saved_model, None),
    "SavedModel float16": ("saved_model", export_saved_model, "float16"),
    "TFLite float32": ("tflite", export_tflite, None),
    "TFLite float16": ("tflite", export_tflite, "float16"),
    "TFLite int8": ("tflite", export_tflite, "int8"),
    "TFLite int8, ids": ("tflite_ids", export_tflite, "int8"),
    "CTranslate2 float32": ("ctranslate2", export_ctranslate2, None),
    "CTranslate2 int8": ("ctranslate2", export_ctranslate2, "int8"),
}
SOURCE_TOKENS, OUTPUT_TOKENS, BATCH = 24, 32, 32


class Process:
    """A process of `exported.py`."""

    def __init__(self, *arguments):
        worker = Path(__file__).with_name("exported.py")
        self._process = subprocess.Popen(
            [sys.executable, worker, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.load = self._read()

    def translate(self, lines, size):
        """Returns the answer to one question."""
        self._process.stdin.write(json.dumps({"lines": lines, "size": size}) + "\n")
        self._process.stdin.flush()
        return self._read()

    def close(self):
        """Ends the process."""
        self._process.stdin.close()
        self._process.wait()

    def _read(self):
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._process.args} ended with {self._process.wait()}")
        return json.loads(line)


def trained(arguments):
    """Returns the translator of a run, its sentences and the length of their translations."""
    options = {"beam_size": arguments.beam_size, "length_penalty": 0.0}
    translator = open_runs([arguments.run], "best", options)
    corpus = open_corpus(arguments.corpus, *languages_of(arguments.run))
    return translator, [source for source, _ in corpus][: arguments.sentences], 0


def at_random(arguments):
    """Returns the same for a model at random: no eos before the limit, so that all are as long."""
    pairs = list(open_corpus(arguments.corpus, "en", "de"))
    tokenizer = SubwordTokenizer.train(
        (line for pair in pairs for line in pair), arguments.vocab_size
    )
    config = TransformerConfig.preset(
        arguments.preset, vocab_size=arguments.vocab_size, max_length=128
    )
    decoding = DecodingConfig(
        beam_size=arguments.beam_size,
        length_penalty=0.0,
        min_length=OUTPUT_TOKENS,
        max_extra_tokens=OUTPUT_TOKENS - SOURCE_TOKENS,
    )
    ids = tokenizer.tokenize([source for source, _ in pairs])
    cut = tokenizer.detokenize(ids[:, : SOURCE_TOKENS - 1])
    fits = tokenizer.tokenize(cut).row_lengths().numpy() == SOURCE_TOKENS
    lines = [line.decode() for line in cut.numpy()[fits]]
    translator = Translator(Transformer(config), tokenizer, config=decoding)
    return translator, lines[: arguments.sentences], OUTPUT_TOKENS


def size_of(folder, kind):
    """Returns the bytes of what an app would ship."""
    left_out = {"tflite": "translator_ids.tflite", "tflite_ids": "translator.tflite"}.get(kind)
    return sum(
        path.stat().st_size
        for path in folder.rglob("*")
        if path.is_file() and path.name != left_out
    )


def measure(processes, lines, rounds):
    """Lets each process take its turn in each round.

    Returns:
        For each the seconds of its first sentence; the seconds a sentence, one by one, and those of
        batches, both `[rounds]`; its outputs; its peak memory in MiB.
    """
    found = {}
    for name, process in processes.items():
        first = process.load["seconds"] + process.translate(lines[:1], 1)["seconds"]
        found[name] = {"first": first, "single": [], "batch": []}
        process.translate(lines, BATCH)
    for _ in tqdm(range(rounds), leave=False):
        for name, process in processes.items():
            single = process.translate(lines[: min(len(lines), 50)], 1)
            found[name]["single"].append(single["seconds"] / len(single["outputs"]))
        for name, process in processes.items():
            batch = process.translate(lines, BATCH)
            found[name]["batch"].append(batch["seconds"] / len(lines))
            found[name] |= {"outputs": batch["outputs"], "peak": batch["peak"]}
    return found


def main() -> None:
    """Parses the command line, measures and prints a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", nargs="?", help="A run directory.")
    parser.add_argument("--preset", help="A size, in place of a run.")
    parser.add_argument("--vocab_size", type=int, default=8000, help="With --preset.")
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--beam_size", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--max_length", type=int, help="Room of TFLite's models, in tokens.")
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    arguments = parser.parse_args()
    if (arguments.run is None) == (arguments.preset is None):
        parser.error("give a run or --preset")

    translator, lines, length = (at_random if arguments.run is None else trained)(arguments)
    packages = ("tensorflow", "ai-edge-litert", "ctranslate2")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    parameters = sum(model.count_params() for model in translator.models)
    print(f"{arguments.threads} threads; {versions}; {parameters / 1e6:.1f} million parameters")
    with tempfile.TemporaryDirectory() as folder:
        processes, sizes, paths = {}, {}, {}
        for name in arguments.models:
            kind, export, quantization = MODELS[name]
            key = export, quantization
            if key not in paths:
                options = {"quantization": quantization}
                if export is export_tflite:
                    options["max_length"] = arguments.max_length
                paths[key] = export(translator, Path(folder) / name, **options)
            path = paths[key]
            sizes[name] = size_of(path, kind)
            processes[name] = Process(kind, path, arguments.threads, arguments.beam_size, length)
        found = measure(processes, lines, arguments.rounds)
        for process in processes.values():
            process.close()
    search = "greedy" if arguments.beam_size == 1 else f"beam {arguments.beam_size}"
    print(f"\n{len(lines)} sentences, {search}, {arguments.rounds} rounds\n")
    print("| | MB | load s | first s | one sentence ms | range | sentences/s | peak MiB | same |")
    print("|---|---|---|---|---|---|---|---|---|")
    reference = next(iter(found.values()))["outputs"]
    for name, values in found.items():
        single = np.array(values["single"]) * 1e3
        same = np.mean([a == b for a, b in zip(values["outputs"], reference, strict=True)])
        print(
            f"| {name} | {sizes[name] / 1e6:.1f} | {processes[name].load['seconds']:.2f} | "
            f"{values['first']:.2f} | {np.median(single):.1f} | {single.min():.1f}-"
            f"{single.max():.1f} | {1 / np.median(values['batch']):.0f} | {values['peak']:.0f} | "
            f"{same:.1%} |"
        )


if __name__ == "__main__":
    main()
