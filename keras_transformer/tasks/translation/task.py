"""The task "translation", as the training loop sees it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_transformer.config import RunConfig
from keras_transformer.data.batches import Arrays, TranslationBatches
from keras_transformer.data.bucketing import Shape
from keras_transformer.data.mixing import open_training_corpus
from keras_transformer.data.planning import fit_plan
from keras_transformer.evaluation import require_tokenizer
from keras_transformer.runs.run import Run, open_run
from keras_transformer.tasks.translation.fine_tuning import inherit_tokenizers, inherit_weights
from keras_transformer.tasks.translation.inputs import (
    fingerprints,
    train_tokenizers,
    training_batches,
    training_preprocessor,
)
from keras_transformer.tasks.translation.validation import TranslationValidation
from keras_transformer.text.vocabulary import EOS_ID
from keras_transformer.training.loss import LabelSmoothedCrossEntropy
from keras_transformer.training.metrics import Perplexity, TokenAccuracy
from keras_transformer.training.strategy import Replicas


class Translation:
    """Translation of one language into another; see `keras_transformer.training.task.Task`."""

    name = RunConfig.task
    config = RunConfig

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

    def fingerprints(self, config: RunConfig) -> dict[str, dict[str, int | str]]:
        return fingerprints(config.data)

    def prepare(
        self,
        path: Path,
        config: RunConfig,
        data: Mapping[str, Mapping[str, Any]],
        init_from: str | None,
    ) -> Run:
        corpus = open_training_corpus(config.data)
        model, tokenizer, seed = config.model, config.tokenizer, config.training.seed
        if init_from is None:
            print(f"Training the vocabulary on {corpus.name}")
            tokenizers = train_tokenizers(corpus, model, tokenizer, seed)
        else:
            print(f"Taking over the vocabulary of {init_from}")
            tokenizers = inherit_tokenizers(open_run(init_from), corpus, model, tokenizer, seed)
        plan, summary = fit_plan(
            corpus,
            training_preprocessor(tokenizers, config.data, model.max_length),
            batch_tokens=config.data.batch_tokens,
            seed=seed,
        )
        print(f"Fitting batches to a sample of {corpus.name}: {summary}")
        print(f"Batches of {config.data.batch_tokens} tokens in {len(plan.shapes)} shapes")
        return Run(path, config, tokenizers, plan, data, init_from)

    def batches(self, run: Run, replicas: Replicas) -> TranslationBatches:
        return training_batches(run, replicas)

    def loss(self, config: RunConfig) -> keras.losses.Loss:
        return LabelSmoothedCrossEntropy(config.training.label_smoothing)

    def metrics(self, config: RunConfig) -> list[keras.metrics.Metric]:
        return [TokenAccuracy(), Perplexity()]

    def validation(self, run: Run) -> TranslationValidation | None:
        return None if run.config.data.valid is None else TranslationValidation(run)

    def inherit_weights(self, model: keras.Model, run: Run, start: Run) -> None:
        inherit_weights(model, start, *run.tokenizers)

    def score_to_improve(self, metrics: Mapping[str, float]) -> float | None:
        return metrics.get("val_bleu")

    def example_batch(self, config: RunConfig, shape: Shape) -> Arrays:
        model, rng = config.model, np.random.default_rng(0)

        def ids(length: int, vocab_size: int) -> np.ndarray:
            return rng.integers(EOS_ID, vocab_size, (shape.batch, length), np.int32)

        target = ids(shape.target, model.vocab_size)
        source = ids(shape.source, model.source_vocab_size or model.vocab_size)
        return {"source": source, "target": target}, target

    def floats_of(self, config: RunConfig, shape: Shape) -> int:
        return config.model.floats_of_pair(shape.source, shape.target)
