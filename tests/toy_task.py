"""A task that exists in the tests alone: the words of a line, backwards.

It has a section and lines of its own, a plain cross-entropy, and is judged by the share of lines
that come out right. What trains, keeps, resumes and averages a run is told nothing else of it.
"""

import dataclasses
import random

from keras_transformer.config import (
    DecodingConfig,
    RunSections,
    TrainingConfig,
    TransformerConfig,
)
from keras_transformer.config.choices import ALL_GIVEN
from keras_transformer.data.batches import TranslationBatches
from keras_transformer.data.corpora import Corpus
from keras_transformer.data.fingerprint import fingerprint
from keras_transformer.data.planning import fit_plan
from keras_transformer.data.preprocessing import PairPreprocessor
from keras_transformer.runs.run import Run
from keras_transformer.tasks.translation import Translation
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.training.loss import LabelSmoothedCrossEntropy
from keras_transformer.training.metrics import TokenAccuracy
from keras_transformer.training.task import Scoring
from keras_transformer.translation.translator import Translator

WORDS = ["red", "blue", "green", "black", "white", "brown"]


@dataclasses.dataclass(frozen=True)
class LinesConfig:
    """The lines to turn round.

    Args:
        lines: How many to train on.
        held_out: How many to validate on.
        source_language: What an export says of the lines.
        target_language: What an export says of the lines turned round.
    """

    lines: int = 200
    held_out: int = 20
    source_language: str = "en"
    target_language: str = "ne"


@dataclasses.dataclass(frozen=True)
class ReversalConfig(RunSections):
    """Everything that determines a run of the task "reversal"."""

    task = "reversal"
    ranking = ("val_right", "-val_loss")

    model: TransformerConfig
    training: TrainingConfig
    data: LinesConfig = LinesConfig()
    decoding: DecodingConfig = DecodingConfig()


def corpus_of(count, seed):
    draws = random.Random(seed)
    lines = [draws.choices(WORDS, k=draws.randint(1, 4)) for _ in range(count)]
    pairs = [(" ".join(words), " ".join(reversed(words))) for words in lines]
    return Corpus(f"{count} lines", lambda: iter(pairs))


class ValidationRight(Scoring):
    """Adds `val_right`, the share of lines that come out right."""

    def __init__(self, translate, corpus):
        super().__init__()
        self.translate = translate
        self.sources, self.targets = zip(*corpus, strict=True)

    def on_epoch_end(self, epoch, logs=None):
        logs.update(self.score())

    def score(self):
        found = self.translate(self.sources)
        right = [one == other for one, other in zip(found, self.targets, strict=True)]
        return {"val_right": sum(right) / len(right)}


class ReversalValidation:
    def __init__(self, run):
        self.run = run
        self.corpus = corpus_of(run.config.data.held_out, seed=2)

    def dataset(self, replicas):
        batches = batches_of(self.run, self.corpus, replicas, shuffle_buffer=0)
        return replicas.distribute(batches.dataset)

    def scoring(self, model, average=None, check=lambda: None):
        translator = Translator(model, *self.run.tokenizers, self.run.config.decoding)

        def translate(lines):
            check()
            if average is None:
                return translator(lines)
            with average.in_model():
                return translator(lines)

        return ValidationRight(translate, self.corpus)


def batches_of(run, corpus, replicas, shuffle_buffer):
    preprocess = PairPreprocessor(run.tokenizers, run.config.model.max_length)
    options = {"shuffle_buffer": shuffle_buffer, "seed": run.config.training.seed}
    return TranslationBatches(corpus, preprocess, run.plan, sharing=replicas.sharing, **options)


class Reversal:
    """The task."""

    name = "reversal"
    config = ReversalConfig

    # The model, a batch of ids at random, and the size of one, are as in translation.
    model = Translation.model
    completed = Translation.completed
    example_batch = Translation.example_batch
    floats_of = Translation.floats_of

    def check(self, config):
        if config.data.lines < 1:
            raise ValueError(f"`lines` must be at least 1. Received: lines={config.data.lines}")

    def fingerprints(self, config):
        return {"lines": fingerprint(corpus_of(config.data.lines, seed=1))._asdict()}

    def prepare(self, path, config, data, init_from, choices=ALL_GIVEN):
        corpus = corpus_of(config.data.lines, seed=1)
        tokenizer = SubwordTokenizer.train(
            [source for source, _ in corpus], config.model.vocab_size
        )
        preprocess = PairPreprocessor((tokenizer, tokenizer), config.model.max_length)
        plan, _ = fit_plan(corpus, preprocess, batch_tokens=256)
        return Run(path, config, (tokenizer, tokenizer), plan, data, init_from)

    def planned(self, run, choices, sharing, made=None):
        return run

    def batches(self, run, replicas):
        corpus = corpus_of(run.config.data.lines, seed=1)
        return batches_of(run, corpus, replicas, shuffle_buffer=1000)

    def loss(self, config):
        return LabelSmoothedCrossEntropy(0.0)

    def metrics(self, config):
        return [TokenAccuracy()]

    def validation(self, run):
        return ReversalValidation(run)

    def inherit_weights(self, model, run, start):
        raise ValueError("`init_from` must be None: lines are turned round from scratch.")

    def score_to_improve(self, metrics):
        return metrics.get("val_right")
