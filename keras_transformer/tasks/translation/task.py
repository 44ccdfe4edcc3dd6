"""The task "translation", as the training loop sees it."""

import dataclasses
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_transformer.config import RunConfig
from keras_transformer.config.choices import ALL_GIVEN, Choices
from keras_transformer.console import say
from keras_transformer.data.batches import Arrays, TranslationBatches
from keras_transformer.data.bucketing import Shape
from keras_transformer.data.corpora import Corpus, LinePair
from keras_transformer.data.held_out import hold_out
from keras_transformer.data.inspection.report import first_impression
from keras_transformer.data.mixing import languages_of, open_training_corpus
from keras_transformer.data.planning import fit_plan
from keras_transformer.data.sharing import Sharing
from keras_transformer.evaluation import require_tokenizer
from keras_transformer.files import require_local
from keras_transformer.models.families import make_model
from keras_transformer.runs.run import Run, open_run
from keras_transformer.tasks.translation.choosing import choose_end, choose_options
from keras_transformer.tasks.translation.fine_tuning import inherit_tokenizers, inherit_weights
from keras_transformer.tasks.translation.inputs import (
    Tokenizers,
    fingerprints,
    open_of,
    require_languages,
    train_tokenizers,
    training_batches,
    training_preprocessor,
    validation_corpus,
    write_held_out,
)
from keras_transformer.tasks.translation.validation import TranslationValidation
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import EOS_ID
from keras_transformer.training.loss import LabelSmoothedCrossEntropy
from keras_transformer.training.metrics import Perplexity, TokenAccuracy
from keras_transformer.training.strategy import Replicas


class Translation:
    """Translation of one language into another; see `keras_transformer.training.task.Task`."""

    name = RunConfig.task
    config = RunConfig

    def completed(
        self, config: RunConfig, init_from: str | os.PathLike[str] | None, choices: Choices
    ) -> RunConfig:
        return config

    def check(self, config: RunConfig) -> None:
        training, validation = config.training, config.validation
        measured = config.data.valid is not None and (
            training.early_stopping == "loss" or validation.bleu_sentences > 0
        )
        if training.patience is not None and not measured:
            raise ValueError(
                "`patience` needs a validation corpus, and with early_stopping='score' some "
                f"`bleu_sentences` as well. Received: patience={training.patience}, "
                f"early_stopping={training.early_stopping!r}, valid={config.data.valid!r}, "
                f"bleu_sentences={validation.bleu_sentences}"
            )
        require_tokenizer(validation.bleu_tokenize)
        _require_whole_batches(config)
        if config.data.cache is not None:
            require_local(config.data.cache, "cache")
        if validation.attention:
            import keras_transformer.plotting  # noqa: F401 - to fail now, if at all.

    def fingerprints(self, config: RunConfig) -> dict[str, dict[str, int | str]]:
        return fingerprints(config.data)

    def prepare(
        self,
        path: Path,
        config: RunConfig,
        data: Mapping[str, Mapping[str, Any]],
        init_from: str | None,
        choices: Choices = ALL_GIVEN,
    ) -> Run:
        require_languages(config.data)
        pairs, start = data["train"]["pairs"], None if init_from is None else open_run(init_from)
        train = open_of(config.data, config.data.train, config.data.weights)
        say(first_impression(train))
        held_out = _hold_out(config, train, pairs)
        config, chosen = choose_options(config, choices, pairs, start)
        corpus = open_training_corpus(config.data, held_out or ())
        config, tokenizers = _with_vocabulary(config, held_out or (), choices, start)
        plan, summary = fit_plan(
            corpus,
            training_preprocessor(tokenizers, config.data, config.model.max_length),
            batch_tokens=config.data.batch_tokens,
            seed=config.training.seed,
        )
        say(f"Fitting batches to a sample of {corpus.name}: {summary}")
        say(f"Batches of {config.data.batch_tokens} tokens in {len(plan.shapes)} shapes")
        run = Run(path, config, tokenizers, plan, data, init_from, chosen)
        valid = held_out or validation_corpus(run)
        if valid:
            TranslationValidation(run, valid)  # An error in it comes before the run is there.
        if held_out:
            write_held_out(path, held_out, config.data)
        return run

    def planned(
        self, run: Run, choices: Choices, sharing: Sharing, made: RunConfig | None = None
    ) -> Run:
        return choose_end(run, choices, sharing, made)

    def batches(self, run: Run, replicas: Replicas) -> TranslationBatches:
        # Only now is known what the batches are shared by, and cut into.
        _require_whole_batches(run.config, replicas.workers * replicas.local)
        return training_batches(run, replicas)

    def model(self, config: RunConfig) -> keras.Model:
        return make_model(config.model, dtype=config.training.precision)

    def loss(self, config: RunConfig) -> keras.losses.Loss:
        return LabelSmoothedCrossEntropy(config.training.label_smoothing)

    def metrics(self, config: RunConfig) -> list[keras.metrics.Metric]:
        return [TokenAccuracy(), Perplexity()]

    def validation(self, run: Run) -> TranslationValidation | None:
        corpus = validation_corpus(run)
        if corpus is None:
            return None
        validation = TranslationValidation(run, corpus)
        say(validation.summary)
        return validation

    def inherit_weights(self, model: keras.Model, run: Run, start: Run) -> None:
        inherit_weights(model, start, *run.tokenizers)

    def score_to_improve(self, metrics: Mapping[str, float]) -> float | None:
        """Returns BLEU; while that tells nothing, how likely the model finds the references.

        A model learns for a while before BLEU is more than chance. Until it reaches
        `RunConfig.floors`, the score is `exp(-val_loss)`, which is below 1 and so below any BLEU
        that follows: an improvement of the loss is one of the score.
        """
        bleu, loss = metrics.get("val_bleu"), metrics.get("val_loss")
        if bleu is None or loss is None or bleu >= RunConfig.floors["val_bleu"]:
            return bleu
        return math.exp(-loss)

    def example_batch(self, config: RunConfig, shape: Shape) -> Arrays:
        model, rng = config.model, np.random.default_rng(0)

        def ids(length: int, vocab_size: int) -> np.ndarray:
            return rng.integers(EOS_ID, vocab_size, (shape.batch, length), np.int32)

        target = ids(shape.target, model.vocab_size)
        source = ids(shape.source, model.source_vocab_size or model.vocab_size)
        return {"source": source, "target": target}, target

    def floats_of(self, config: RunConfig, shape: Shape) -> int:
        return config.model.floats_of_pair(shape.source, shape.target)


def _require_whole_batches(config: RunConfig, replicas: int = 1) -> None:
    """Refuses what hard alignments do not learn under as they do without it.

    The reward of a draw is part of the loss of the step that drew: it knows no weights of pairs,
    and its baseline moves with each part of a batch.
    """
    model, parts = config.model, config.training.micro_batches
    # A family need not have such a choice; one without attention makes no use of it.
    kind, attention = (getattr(model, name, None) for name in ("alignment", "attention"))
    draws = kind == "hard" and attention != "none"
    if draws and (replicas > 1 or parts > 1 or config.data.weights):
        raise ValueError(
            "`alignment` must be another than 'hard', such as 'gumbel', with several replicas, "
            "several micro-batches or weights of pairs, as the reward of its draws knows none of "
            "them; or train with --strategy none --training.micro_batches 1 and without "
            f"`data.weights`. Received: alignment='hard', replicas={replicas}, "
            f"micro_batches={parts}, weights={config.data.weights}"
        )


def _with_vocabulary(
    config: RunConfig, held_out: Iterable[LinePair], choices: Choices, start: Run | None
) -> tuple[RunConfig, Tokenizers]:
    """Returns the tokenizers, and the configuration with the size that their vocabulary has."""
    model, tokenizer, seed = config.model, config.tokenizer, config.training.seed
    # A tag is a piece of its own, and no text to learn pieces from.
    corpus = open_training_corpus(dataclasses.replace(config.data, tags=False), held_out)
    languages = languages_of(corpus) if config.data.tags else []
    if start is not None:
        say(f"Taking over the vocabulary of {start.path}")
        tokenizers = inherit_tokenizers(start, corpus, model, tokenizer, seed)
        _require_tags(tokenizers[0], languages)
        return config, tokenizers
    say(f"Training the vocabulary on {corpus.name}")
    fit = choices.leaves_open("model.vocab_size")
    tokenizers = train_tokenizers(corpus, model, tokenizer, seed, fit, languages)
    size = {"model.vocab_size": tokenizers[1].vocab_size}
    return choices.chosen(config, size), tokenizers


def _require_tags(tokenizer: SubwordTokenizer, languages: Iterable[str]) -> None:
    unknown = sorted({*languages} - {*tokenizer.tags})
    if unknown:
        raise ValueError(
            "`tags` needs a vocabulary that has them, so it must be true for the run to begin with "
            f"as well. Received: one without a tag for {', '.join(unknown)}"
        )


def _hold_out(config: RunConfig, train: Corpus, pairs: int) -> Corpus | None:
    """Chooses what of the training corpus is validated on, if that is to be."""
    if not config.data.holds_out:
        return None
    chosen = hold_out(train, config.data.pairs_held_out(pairs))
    say(f"Holding {len(chosen):,} of {pairs:,} pairs of {train.name} out to validate on")
    name = f"what is held out of {train.name}"
    return Corpus(name, lambda: iter(chosen), target_language=train.target_language)
