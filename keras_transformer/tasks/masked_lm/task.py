"""The task "masked_lm", as the training loop sees it."""

import dataclasses
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from keras_transformer.config import MaskedLMConfig
from keras_transformer.config.choices import ALL_GIVEN, Choices
from keras_transformer.console import say
from keras_transformer.data.bucketing import Shape
from keras_transformer.data.documents import open_documents
from keras_transformer.data.pretraining import Batch, PretrainingBatches, fit_plan
from keras_transformer.data.sharing import Sharing
from keras_transformer.models.masked_language_model import MaskedLanguageModel
from keras_transformer.runs.run import Run, open_run
from keras_transformer.tasks.inheriting import model_to_begin_with, vocabulary_to_begin_with
from keras_transformer.tasks.pieces import train_pieces
from keras_transformer.training.loss import LabelSmoothedCrossEntropy
from keras_transformer.training.metrics import CrossEntropy, TokenAccuracy
from keras_transformer.training.moving_average import MovingAverage
from keras_transformer.training.strategy import Replicas

if TYPE_CHECKING:
    import tensorflow as tf


class MaskedLM:
    """Pre-training of BERT on documents; see `keras_transformer.training.task.Task`."""

    name = MaskedLMConfig.task
    config = MaskedLMConfig

    def completed(
        self,
        config: MaskedLMConfig,
        init_from: str | os.PathLike[str] | None = None,
        choices: Choices = ALL_GIVEN,
    ) -> MaskedLMConfig:
        """Takes over the model's shape of the run to begin with."""
        config = choices.without_foreign_validation(config)
        if init_from is None:
            return config
        return choices.inherited(config, open_run(init_from).config, "model")

    def check(self, config: MaskedLMConfig) -> None:
        if config.data.length > config.model.max_length:
            raise ValueError(
                "`data.length` must be at most `model.max_length`, the positions there are. "
                f"Received: length={config.data.length}, max_length={config.model.max_length}"
            )
        config.model.require_segments(2 if config.data.next_sentence else 1)
        if config.training.patience is not None and config.data.valid is None:
            raise ValueError(
                "`patience` needs validation documents. Received: "
                f"patience={config.training.patience}, valid=None"
            )

    def fingerprints(self, config: MaskedLMConfig) -> dict[str, dict[str, int | str]]:
        specs = {"train": config.data.train, "valid": config.data.valid}
        return {
            name: open_documents(spec).fingerprint()
            for name, spec in specs.items()
            if spec is not None
        }

    def prepare(
        self,
        path: Path,
        config: MaskedLMConfig,
        data: Mapping[str, Mapping[str, Any]],
        init_from: str | None,
        choices: Choices = ALL_GIVEN,
    ) -> Run:
        documents = open_documents(config.data.train)
        if init_from is None:
            config, tokenizers = train_pieces(documents.sentences(), config, choices)
        else:
            tokenizers = vocabulary_to_begin_with(config, init_from)
        plan = fit_plan(documents, tokenizers[0], config.data, seed=config.training.seed)
        say(f"Batches of {config.data.batch_tokens} tokens in {len(plan.shapes)} shapes")
        return Run(path, config, tokenizers, plan, data, init_from)

    def planned(
        self, run: Run, choices: Choices, sharing: Sharing, made: MaskedLMConfig | None = None
    ) -> Run:
        return run

    def batches(self, run: Run, replicas: Replicas) -> PretrainingBatches:
        data = run.config.data
        return _batches(run, replicas, data.train, data.shuffle_buffer)

    def model(self, config: MaskedLMConfig) -> keras.Model:
        next_sentence, precision = config.data.next_sentence, config.training.precision
        return MaskedLanguageModel(config.model, next_sentence, dtype=precision)

    def loss(self, config: MaskedLMConfig) -> dict[str, keras.losses.Loss]:
        smoothing = config.training.label_smoothing
        return {
            name: LabelSmoothedCrossEntropy(smoothing if name == "masked" else 0.0)
            for name in _outputs(config)
        }

    def metrics(self, config: MaskedLMConfig) -> dict[str, list[keras.metrics.Metric]]:
        outputs = _outputs(config)
        # Keras puts the names of several outputs before those of metrics, and not that of one.
        prefix = f"{outputs[0]}_" if len(outputs) == 1 else ""
        return {
            name: [TokenAccuracy(f"{prefix}accuracy"), CrossEntropy(f"{prefix}loss")]
            for name in outputs
        }

    def validation(self, run: Run) -> "MaskedLMValidation | None":
        return None if run.config.data.valid is None else MaskedLMValidation(run)

    def inherit_weights(self, model: keras.Model, run: Run, start: Run) -> None:
        found = model_to_begin_with(start)
        model.bert.set_weights(found.bert.get_weights())
        for head in ("masked_words", "next_sentence"):
            ours, theirs = getattr(model, head), getattr(found, head, None)
            if ours is not None and theirs is not None:
                ours.set_weights(theirs.get_weights())

    def score_to_improve(self, metrics: Mapping[str, float]) -> float | None:
        loss = metrics.get("val_loss")
        return None if loss is None else -loss

    def example_batch(self, config: MaskedLMConfig, shape: Shape) -> Batch:
        rng = np.random.default_rng(0)

        def drawn(length: int, below: int) -> np.ndarray:
            return rng.integers(1, below, (shape.batch, length), np.int32)

        ids, places = drawn(shape.source, config.model.vocab_size), drawn(shape.target, 2)
        labels = {"masked": drawn(shape.target, config.model.vocab_size), "next": drawn(1, 2)}
        inputs = {"ids": ids, "segments": np.zeros_like(ids), "places": places}
        return inputs, {name: labels[name] for name in _outputs(config)}

    def floats_of(self, config: MaskedLMConfig, shape: Shape) -> int:
        logits = 3 * shape.target * config.model.vocab_size
        return logits + config.model.floats_of_text(shape.source)


class MaskedLMValidation:
    """The documents that a run is validated on; see `keras_transformer.training.task.Validation`.

    Texts and masks are the same each time.

    Args:
        run: The run.
    """

    def __init__(self, run: Run) -> None:
        self.run = run

    def dataset(self, replicas: Replicas) -> "tf.data.Dataset":
        batches = _batches(self.run, replicas, self.run.config.data.valid, shuffle_buffer=0)
        return replicas.distribute(batches.dataset)

    def scoring(
        self,
        model: keras.Model,
        average: MovingAverage | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """Nothing is measured that `fit` does not measure."""


def _outputs(config: MaskedLMConfig) -> list[str]:
    return ["masked", *(["next"] if config.data.next_sentence else [])]


def _batches(
    run: Run, replicas: Replicas, spec: list[str] | str, shuffle_buffer: int
) -> PretrainingBatches:
    training, sharing = run.config.training, replicas.sharing
    # XLA compiles the step once for each shape, so there must be few.
    static = training.jit_compile or sharing.static_shapes
    return PretrainingBatches(
        open_documents(spec),
        run.tokenizers[0],
        run.config.data,
        run.plan,
        shuffle_buffer=shuffle_buffer,
        seed=training.seed,
        sharing=dataclasses.replace(sharing, static_shapes=static),
    )
