"""Padding, shapes and rate of the input pipeline on a corpus.

`python benchmarks/batches.py DIR/train --vocab-size 8000`, with DIR/train.en and DIR/train.de.
"""

import argparse
import itertools
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from keras_transformer.data.batches import TranslationBatches, padding_fraction
from keras_transformer.data.corpora import open_corpus
from keras_transformer.text.tokenizer import SubwordTokenizer


def main() -> None:
    """Measures one epoch for each batch size and prints a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", help="As in `train.py --data.train`.")
    parser.add_argument("--source-language", default="en")
    parser.add_argument("--target-language", default="de")
    parser.add_argument("--vocab-size", type=int, default=8000)
    parser.add_argument("--tokens", type=int, nargs="+", default=[2048, 4096])
    parser.add_argument("--max-length", type=int, default=256)
    arguments = parser.parse_args()

    languages = (arguments.source_language, arguments.target_language)
    corpus = open_corpus(arguments.corpus, *languages)
    tokenizer = SubwordTokenizer.train(itertools.chain.from_iterable(corpus), arguments.vocab_size)
    for tokens in arguments.tokens:
        batches = TranslationBatches(
            corpus, tokenizer, tokenizer, batch_tokens=tokens, max_length=arguments.max_length
        )
        start = time.perf_counter()
        epoch = list(batches.epoch(0))
        seconds = time.perf_counter() - start
        positions = sum(ids.size for inputs, _ in epoch for ids in inputs.values())
        padding = padding_fraction(epoch)
        print(
            f"{tokens} tokens: {len(epoch)} batches in {len(batches.plan.shapes)} planned shapes, "
            f"padding {padding:.2%}, {positions * (1 - padding) / seconds:,.0f} source and target "
            "tokens/s"
        )


if __name__ == "__main__":
    main()
