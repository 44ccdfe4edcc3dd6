"""Padding, shapes, rate and memory of the input pipeline on a corpus.

`python benchmarks/batches.py DIR/train --vocab-size 8000`, with DIR/train.en and DIR/train.de.
Memory is the growth of the process's peak since the start, so give `--tokenizer FILE` to leave the
training of a vocabulary out of it.
"""

import argparse
import functools
import itertools
import os
import resource
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

from keras_transformer.data.batches import TranslationBatches
from keras_transformer.data.corpora import open_corpus
from keras_transformer.data.fingerprint import fingerprint
from keras_transformer.data.planning import fit_plan
from keras_transformer.data.preprocessing import PairPreprocessor
from keras_transformer.text.tokenizer import SubwordTokenizer


def main() -> None:
    """Measures one epoch for each batch size, with the usual pieces and with drawn ones."""
    arguments = _parse()
    start = _peak_memory()
    languages = (arguments.source_language, arguments.target_language)
    corpus = open_corpus(arguments.corpus, *languages)
    seconds, (pairs, _) = _timed(functools.partial(fingerprint, corpus))
    print(f"fingerprint: {pairs:,} pairs, {pairs / seconds:,.0f} pairs/s")
    if arguments.tokenizer is None:
        lines = itertools.chain.from_iterable(corpus)
        seconds, tokenizer = _timed(
            functools.partial(SubwordTokenizer.train, lines, arguments.vocab_size)
        )
        print(f"vocabulary: {seconds:.0f} s, {_peak_memory() - start:,.0f} MiB")
    else:
        tokenizer = SubwordTokenizer.load(arguments.tokenizer)
    for tokens, dropout in itertools.product(arguments.tokens, (0.0, arguments.subword_dropout)):
        preprocess = PairPreprocessor(
            (tokenizer, tokenizer), arguments.max_length, subword_dropout=dropout
        )
        seconds, (plan, _) = _timed(
            functools.partial(fit_plan, corpus, preprocess, batch_tokens=tokens)
        )
        batches = TranslationBatches(
            corpus, preprocess, plan, shuffle_buffer=arguments.shuffle_buffer
        )
        print(
            f"{tokens} tokens, subword dropout {dropout:g}: {len(plan.shapes)} shapes "
            f"fitted in {seconds:.0f} s, {_measured(batches, arguments.batches)}, "
            f"{_peak_memory() - start:,.0f} MiB"
        )


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", help="As in `train.py --data.train`.")
    parser.add_argument("--source-language", default="en")
    parser.add_argument("--target-language", default="de")
    parser.add_argument("--tokenizer", help="A SentencePiece model; by default one is trained.")
    parser.add_argument("--vocab-size", type=int, default=8000)
    parser.add_argument("--tokens", type=int, nargs="+", default=[2048, 4096])
    parser.add_argument("--max-length", type=int, default=256)
    parser.add_argument("--shuffle-buffer", type=int, default=200_000)
    parser.add_argument("--subword-dropout", type=float, default=0.1)
    parser.add_argument("--batches", type=int, help="Measure so many, and not a whole epoch.")
    return parser.parse_args()


def _measured(batches: TranslationBatches, most: int | None) -> str:
    """Reads an epoch, and says how many batches it has, their padding and the rate."""
    start, count, positions, tokens = time.perf_counter(), 0, 0, 0
    for inputs, _ in itertools.islice(batches.epoch(0), most):
        count += 1
        positions += sum(ids.size for ids in inputs.values())
        tokens += sum(np.count_nonzero(ids) for ids in inputs.values())
    rate = tokens / (time.perf_counter() - start)
    return (
        f"{count:,} batches, padding {1 - tokens / positions:.2%}, {rate:,.0f} source and target "
        "tokens/s"
    )


def _timed(function):
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def _peak_memory() -> float:
    """Returns the most memory that the process has had, in MiB."""
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


if __name__ == "__main__":
    main()
