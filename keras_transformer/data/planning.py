"""Batch shapes for a corpus, fitted before the first step."""

import numpy as np

from keras_transformer.config.checks import require
from keras_transformer.data.bucketing import BucketPlan
from keras_transformer.data.corpora import Corpus
from keras_transformer.data.mixing import Mixture
from keras_transformer.data.preprocessing import PairPreprocessor
from keras_transformer.streams.shuffling import sampled


def fit_plan(
    corpus: Corpus | Mixture,
    preprocess: PairPreprocessor,
    *,
    batch_tokens: int,
    seed: int = 0,
    sample: int = 100_000,
) -> tuple[BucketPlan, str]:
    """Fits batch shapes to a sample of a corpus.

    The whole corpus is read once, so that a malformed line is found before the first step.

    Args:
        corpus: The pairs of lines.
        preprocess: Makes ids of them, as in training.
        batch_tokens: Most source tokens, and most target tokens, in a batch.
        seed: Seed of the sample, and of the pieces that are drawn.
        sample: Pairs in the sample.

    Returns:
        The shapes, and what was kept and dropped of the sample, in a line.

    Raises:
        CorpusError: If the corpus is malformed.
        ValueError: If no pair of the sample is kept, or an argument is out of its range.

    Example:
        >>> preprocess = PairPreprocessor((tokenizer, tokenizer), max_length=32)
        >>> plan, summary = fit_plan(corpus, preprocess, batch_tokens=64)
        >>> summary
        'kept 8 of 8 pairs (dropped: 0 empty, 0 longer than 32 tokens)'
        >>> plan.shapes[-1]
        Shape(batch=2, source=32, target=32)
    """
    require(batch_tokens >= 1, "batch_tokens", "at least 1", batch_tokens)
    require(sample >= 1, "sample", "at least 1", sample)
    usable = preprocess.new_filter()
    lines = sampled(corpus, sample, np.random.default_rng(seed))
    lengths = list(map(preprocess.lengths, preprocess(lines, usable, (seed,))))
    usable.require_any(corpus.name)
    plan = BucketPlan.fit(lengths, tokens=batch_tokens, max_length=preprocess.max_length)
    return plan, usable.summary()
