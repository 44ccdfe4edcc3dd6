"""Prepares batches for `gpu_train.py`, which may run where there is no TensorFlow.

Each batch fills one static shape. Without `--corpus` the ids are random and the sentences have the
lengths that a bucket of like lengths has: between four fifths of the shape's and all of it.

Example: `python benchmarks/gpu_batches.py --lengths 24 48 --output batches.npz`

With `--corpus`, the vocabulary is learned from it, and the batches are those of its most frequent
shapes, as many as there are `--lengths`.
"""

import argparse
import itertools
from collections import defaultdict
from pathlib import Path

import numpy as np

BOS_ID, EOS_ID, FIRST_ID = 2, 3, 4
NAMES = ("source", "target", "labels")
Batch = dict[str, np.ndarray]


def synthetic_batches(
    lengths: list[int], tokens: int, vocab_size: int, count: int, seed: int = 0
) -> list[Batch]:
    """Makes batches of random ids, of each length in turn.

    Args:
        lengths: Length of source and target, for each shape.
        tokens: Most source tokens, and most target tokens, in a batch.
        vocab_size: Ids that there are.
        count: Batches.
        seed: Seed of ids and lengths.

    Returns:
        Dicts of "source", "target" and "labels", int32 `[rows, length]`, padded with 0.

    Example:
        >>> synthetic_batches([32], tokens=1024, vocab_size=100, count=1)[0]["source"].shape
        (32, 32)
    """
    rng = np.random.default_rng(seed)

    def sequences(rows: int, length: int) -> np.ndarray:
        """Tokens and eos, then padding."""
        last = rng.integers(length * 4 // 5 - 1, length, (rows, 1))
        position = np.arange(length)
        ids = rng.integers(FIRST_ID, vocab_size, (rows, length))
        return np.select([position < last, position == last], [ids, EOS_ID], 0).astype(np.int32)

    def batch(length: int) -> Batch:
        # Whole eights of rows, which a GPU's matrix units divide among themselves.
        rows = max(8, tokens // length // 8 * 8)
        source, labels = sequences(rows, length), sequences(rows, length)
        target = np.where(labels == EOS_ID, 0, labels)
        target = np.concatenate([np.full((rows, 1), BOS_ID, np.int32), target[:, :-1]], axis=1)
        return {"source": source, "target": target, "labels": labels}

    return [batch(lengths[i % len(lengths)]) for i in range(count)]


def corpus_batches(arguments: argparse.Namespace) -> list[Batch]:
    """Takes the full batches of a corpus in its most frequent shapes; needs TensorFlow."""
    from keras_transformer.data.batches import TranslationBatches
    from keras_transformer.data.corpora import open_corpus
    from keras_transformer.data.planning import fit_plan
    from keras_transformer.data.preprocessing import PairPreprocessor
    from keras_transformer.text.tokenizer import SubwordTokenizer

    corpus = open_corpus(arguments.corpus, arguments.source_language, arguments.target_language)
    lines = itertools.chain.from_iterable(corpus)
    tokenizer = SubwordTokenizer.train(lines, arguments.vocab_size)
    preprocess = PairPreprocessor((tokenizer, tokenizer), max_length=256)
    plan, _ = fit_plan(corpus, preprocess, batch_tokens=arguments.tokens)
    batches = TranslationBatches(corpus, preprocess, plan)
    by_shape = defaultdict(list)
    for inputs, labels in batches.epoch(0):
        shape = (*inputs["source"].shape, labels.shape[1])
        if shape in plan.shapes:
            by_shape[shape].append({**inputs, "labels": labels})
    frequent = sorted(by_shape.values(), key=len, reverse=True)[: len(arguments.lengths)]
    each = arguments.count // len(frequent)
    return [batch for group in frequent for batch in group[:each]]


def save(path: Path, batches: list[Batch], vocab_size: int) -> None:
    """Writes batches into one file."""
    arrays = {f"{name}_{i}": batch[name] for i, batch in enumerate(batches) for name in NAMES}
    np.savez_compressed(path, vocab_size=vocab_size, **arrays)


def load(path: Path) -> tuple[list[Batch], int]:
    """Reads batches and the size of their vocabulary."""
    with np.load(path) as file:
        count = (len(file.files) - 1) // len(NAMES)
        batches = [{name: file[f"{name}_{i}"] for name in NAMES} for i in range(count)]
        return batches, int(file["vocab_size"])


def main() -> None:
    """Writes the file and prints what is in it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default="gpu_batches.npz")
    parser.add_argument("--corpus", help="A corpus as `data.train` takes it.")
    parser.add_argument("--source_language", default="en")
    parser.add_argument("--target_language", default="de")
    parser.add_argument("--lengths", type=int, nargs="+", default=[32])
    parser.add_argument("--vocab_size", type=int, default=37000)
    parser.add_argument("--tokens", type=int, default=25000)
    parser.add_argument("--count", type=int, default=8)
    arguments = parser.parse_args()
    if arguments.corpus is None:
        batches = synthetic_batches(
            arguments.lengths, arguments.tokens, arguments.vocab_size, arguments.count
        )
    else:
        batches = corpus_batches(arguments)
    save(arguments.output, batches, arguments.vocab_size)
    for batch in batches:
        rows, source = batch["source"].shape
        real = np.mean([np.mean(batch[name] != 0) for name in ("source", "labels")])
        print(f"{rows} x {source} + {batch['labels'].shape[1]} ids, {real:.0%} of them real")


if __name__ == "__main__":
    main()
