"""Prepared token ids beside text that is tokenized in each epoch.

`python benchmarks/prepared.py DIR/train --cache DIR/cache` prepares DIR/train.en and DIR/train.de
and measures tokens a second, the way to the first batch at 0 and at 90 percent of an epoch, memory
and size. `--compare` reads a whole epoch from the text as well, and compares the batches.

Each measurement has processes of its own. Memory is what a process grows by after its imports, at
most; a part of it are pages of the mapped files, which the system takes back when it needs them.
"""

import argparse
import concurrent.futures
import hashlib
import itertools
import json
import multiprocessing
import os
import re
import time
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

from keras_transformer.data.batches import TranslationBatches
from keras_transformer.data.bucketing import BucketPlan
from keras_transformer.data.corpora import open_corpus
from keras_transformer.data.fingerprint import remembered_fingerprint
from keras_transformer.data.planning import fit_plan
from keras_transformer.data.prepared.origin import Origin
from keras_transformer.data.prepared.pairs import PreparedPairs, places_of
from keras_transformer.data.prepared.preparing import prepare
from keras_transformer.data.preprocessing import PairPreprocessor
from keras_transformer.data.sharing import Sharing
from keras_transformer.text.tokenizer import SubwordTokenizer


def main() -> None:
    """Prepares the corpus and measures."""
    arguments = parse()
    arguments.cache.mkdir(parents=True, exist_ok=True)
    vocabulary = arguments.cache / "joint.model"
    if not vocabulary.exists():
        lines = itertools.chain.from_iterable(open_corpus(arguments.corpus, *arguments.languages))
        SubwordTokenizer.train(lines, arguments.vocab_size).save(vocabulary)
    seconds, fingerprint = timed(lambda: fingerprint_of(arguments))
    print(f"{fingerprint.pairs:,} pairs; fingerprint in {seconds:.2f} s")
    seconds, corpus = timed(lambda: prepared(arguments))
    size = sum(file.stat().st_size for file in arguments.cache.rglob("*.npy"))
    print(
        f"prepared {corpus.tokens:,} tokens in {seconds:.1f} s: {size / 2**20:,.0f} MiB", flush=True
    )
    plan = arguments.cache / "plan.json"
    if not plan.exists():
        fitted, _ = fit_plan(*input_of(arguments, True), batch_tokens=arguments.tokens)
        plan.write_text(json.dumps(fitted.shapes))

    [epoch] = measured(arguments, from_ids=True, workers=1)
    print(f"an epoch of one reader: {epoch}", flush=True)
    for first in (0, round(0.9 * epoch.batches)):
        [start] = measured(arguments, True, 1, first, first + 1)
        print(f"from nothing to batch {first:,}: {start}", flush=True)
    whole = arguments.compare
    for from_ids, last in ((True, None), (False, None if whole else arguments.batches)):
        readers = measured(arguments, from_ids, arguments.readers, 0, last)
        rate = sum(reader.tokens / reader.seconds for reader in readers)
        print(f"{'ids' if from_ids else 'text'}, {len(readers)} readers: {rate:,.0f} tokens/s")
        for reader in readers:
            print(f"  {reader}", flush=True)


class Reading(NamedTuple):
    """What a process has read, source and target tokens, and what it took."""

    batches: int
    tokens: int
    seconds: float
    cpu_seconds: float
    memory: float
    digest: str

    def __str__(self) -> str:
        return (
            f"{self.batches:,} batches, {self.tokens:,} tokens, {self.seconds:.2f} s "
            f"({self.cpu_seconds:.2f} s of a core), {self.memory:,.0f} MiB, sha256 {self.digest}"
        )


def parse() -> argparse.Namespace:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", help="As in `train.py --data.train`.")
    parser.add_argument("--cache", type=Path, required=True, help="What is there is used again.")
    parser.add_argument("--languages", nargs=2, default=["en", "de"])
    parser.add_argument("--vocab-size", type=int, default=8000)
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--max-length", type=int, default=256)
    parser.add_argument("--readers", type=int, default=2)
    parser.add_argument("--batches", type=int, default=2000, help="Read so many from the text.")
    parser.add_argument("--compare", action="store_true", help="Read a whole epoch from the text.")
    return parser.parse_args()


def fingerprint_of(arguments):
    """Reads the corpus, or remembers."""
    corpus = open_corpus(arguments.corpus, *arguments.languages)
    return remembered_fingerprint(corpus, arguments.cache)


def prepared(arguments):
    """Opens the prepared corpus, which is made if it is not there."""
    tokenizer = SubwordTokenizer.load(arguments.cache / "joint.model")
    origin = Origin(arguments.corpus, fingerprint_of(arguments), (tokenizer, tokenizer))
    corpus = open_corpus(arguments.corpus, *arguments.languages)
    return prepare(corpus, origin, arguments.cache)


def input_of(arguments, from_ids):
    """Returns corpus and preprocessor: of places and ids, or of lines."""
    corpus = open_corpus(arguments.corpus, *arguments.languages)
    tokenizer = SubwordTokenizer.load(arguments.cache / "joint.model")
    preprocess = PairPreprocessor((tokenizer, tokenizer), arguments.max_length)
    if not from_ids:
        return corpus, preprocess
    stored = [prepared(arguments)]
    return places_of(corpus, stored), PreparedPairs(stored, preprocess)


def measured(arguments, from_ids, workers, first=0, last=None):
    """Reads batches in processes that share the corpus; returns what each has measured."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(workers, context) as processes:
        jobs = [
            processes.submit(read, arguments, from_ids, Sharing(worker, workers), first, last)
            for worker in range(workers)
        ]
        return [job.result() for job in jobs]


def read(arguments, from_ids, sharing, first, last):
    """Opens the corpus and reads some of the batches of an epoch."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    SubwordTokenizer.load(arguments.cache / "joint.model").tokenize([""])
    # From here on the peak is counted anew.
    Path("/proc/self/clear_refs").write_text("5")
    memory, start, cpu = memory_of("VmRSS"), time.perf_counter(), time.process_time()
    plan = BucketPlan(json.loads((arguments.cache / "plan.json").read_text()))
    batches = TranslationBatches(*input_of(arguments, from_ids), plan, seed=1, sharing=sharing)
    count = tokens = 0
    digest = hashlib.sha256()
    for inputs, labels in itertools.islice(batches.epoch(1, first), last and last - first):
        count += 1
        tokens += int(np.count_nonzero(inputs["source"]) + np.count_nonzero(labels))
        if arguments.compare:
            for ids in (*inputs.values(), labels):
                digest.update(ids)
    return Reading(
        count,
        tokens,
        time.perf_counter() - start,
        time.process_time() - cpu,
        memory_of("VmHWM") - memory,
        digest.hexdigest()[:12] if arguments.compare else "not compared",
    )


def timed(function):
    """Calls a function; returns the seconds it took and its result."""
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def memory_of(kind):
    """Returns the memory of this process, now (VmRSS) or at most (VmHWM), in MiB."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(rf"{kind}:\s+(\d+) kB", status)[1]) / 2**10


if __name__ == "__main__":
    main()
