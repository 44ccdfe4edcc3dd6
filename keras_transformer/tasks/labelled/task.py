"""The tasks of labelled examples, as the training loop sees them: one, told apart by its `Kind`."""

import dataclasses
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_transformer.config.choices import ALL_GIVEN, Choices
from keras_transformer.config.labelled import (
    ClassificationConfig,
    LabelledConfig,
    PairsConfig,
    SpansConfig,
    TagsConfig,
)
from keras_transformer.console import say
from keras_transformer.data.bucketing import Shape
from keras_transformer.data.labelled.examples import Examples
from keras_transformer.data.sharing import Sharing
from keras_transformer.runs.run import Run, open_run
from keras_transformer.tasks.inheriting import model_to_begin_with, vocabulary_to_begin_with
from keras_transformer.tasks.labelled.batches import Arrays, ExampleBatches, plan_of
from keras_transformer.tasks.labelled.kind import Kind
from keras_transformer.tasks.labelled.spans import Spans
from keras_transformer.tasks.labelled.tags import Tags
from keras_transformer.tasks.labelled.texts import Numbers, Texts
from keras_transformer.tasks.labelled.validation import LabelledValidation
from keras_transformer.tasks.pieces import train_pieces
from keras_transformer.training.strategy import Replicas


class LabelledTask:
    """Fine-tuning on labelled examples; see `keras_transformer.training.task.Task`.

    Args:
        config: The class of its configurations.
        kind: Of its examples.
        numbers: Of its examples with `data.regression`; None where there is no such option.
    """

    def __init__(
        self, config: type[LabelledConfig], kind: Kind[Any], numbers: Kind[Any] | None = None
    ) -> None:
        self.name, self.config = config.task, config
        self._kind, self._numbers = kind, numbers

    def kind(self, config: LabelledConfig) -> Kind[Any]:
        """Returns the kind of a run's examples."""
        regression = getattr(config.data, "regression", False)
        return self._numbers if regression and self._numbers is not None else self._kind

    def completed(
        self,
        config: Any,
        init_from: str | os.PathLike[str] | None = None,
        choices: Choices = ALL_GIVEN,
    ) -> Any:
        """Fills in the labels of the training examples, and the model of the run to begin with."""
        config = choices.without_foreign_validation(config)
        kind, data = self.kind(config), config.data
        if init_from is not None:
            config = choices.inherited(config, open_run(init_from).config, "model")
        if not data.labels:
            labels = kind.labels(data, kind.open(data, data.train))
            config = dataclasses.replace(config, data=dataclasses.replace(data, labels=labels))
        return config

    def check(self, config: Any) -> None:
        config.model.require_segments(self.kind(config).segments)
        if config.training.label_smoothing:
            raise ValueError(
                "`label_smoothing` must be 0 here: a share of it would go to the label of nothing. "
                f"Received: label_smoothing={config.training.label_smoothing}"
            )
        if config.training.patience is not None and config.data.valid is None:
            raise ValueError(
                "`patience` needs examples to validate on. Received: patience="
                f"{config.training.patience}, valid=None"
            )

    def fingerprints(self, config: Any) -> dict[str, dict[str, int | str]]:
        return {name: examples.fingerprint() for name, examples in self._corpora(config)}

    def _corpora(self, config: Any) -> Iterator[tuple[str, Examples[Any]]]:
        kind, data = self.kind(config), config.data
        for name in ("train", "valid"):
            if getattr(data, name) is not None:
                yield name, kind.open(data, getattr(data, name))

    def prepare(
        self,
        path: Path,
        config: Any,
        data: Mapping[str, Mapping[str, Any]],
        init_from: str | None,
        choices: Choices = ALL_GIVEN,
    ) -> Run:
        kind, corpora = self.kind(config), dict(self._corpora(config))
        for examples in corpora.values():
            kind.check(config.data, examples)
        if config.data.valid is not None:
            kind.require_scoring()
        if init_from is not None:
            tokenizers = vocabulary_to_begin_with(config, init_from)
        else:
            texts = (text for example in corpora["train"] for text in kind.texts(example))
            config, tokenizers = train_pieces(texts, config, choices)
        rows = kind.rows(config, tokenizers[0], corpora["train"])
        size, longest = config.data.batch_size, config.model.max_length
        plan = plan_of(rows, size, longest, kind.label_count)
        say(f"{len(rows):,} rows of {len(corpora['train']):,} examples of {config.data.train}")
        if config.data.labels:
            say(f"Labels: {', '.join(config.data.labels)}")
        return Run(path, config, tokenizers, plan, data, init_from)

    def planned(self, run: Run, choices: Choices, sharing: Sharing, made: Any | None = None) -> Run:
        return run

    def batches(self, run: Run, replicas: Replicas) -> ExampleBatches:
        kind, config = self.kind(run.config), run.config
        sharing = dataclasses.replace(
            replicas.sharing,
            static_shapes=config.training.jit_compile or replicas.static_shapes,
        )
        return ExampleBatches(
            kind.rows(config, run.tokenizers[0], kind.open(config.data, config.data.train)),
            run.plan,
            run.tokenizers[0],
            label_type=kind.label_type,
            seed=config.training.seed,
            sharing=sharing,
        )

    def model(self, config: Any) -> keras.Model:
        return self.kind(config).make_model(config, dtype=config.training.precision)

    def loss(self, config: Any) -> keras.losses.Loss:
        return self.kind(config).loss(config)

    def metrics(self, config: Any) -> list[keras.metrics.Metric]:
        return self.kind(config).metrics(config)

    def validation(self, run: Run) -> LabelledValidation | None:
        kind, data = self.kind(run.config), run.config.data
        if data.valid is None:
            return None
        return LabelledValidation(run, kind, kind.open(data, data.valid))

    def inherit_weights(self, model: keras.Model, run: Run, start: Run) -> None:
        model.bert.set_weights(model_to_begin_with(start).bert.get_weights())

    def score_to_improve(self, metrics: Mapping[str, float]) -> float | None:
        """Returns the first metric of the ranking that was measured."""
        for name in self.config.ranking:
            if name in metrics:
                return metrics[name]
        return None

    def example_batch(self, config: Any, shape: Shape) -> Arrays:
        rng = np.random.default_rng(0)
        ids = rng.integers(1, config.model.vocab_size, (shape.batch, shape.source), np.int32)
        labels = np.ones((shape.batch, shape.target), self.kind(config).label_type)
        return {"ids": ids, "segments": np.zeros_like(ids)}, labels

    def floats_of(self, config: Any, shape: Shape) -> int:
        return config.model.floats_of_text(shape.source)


LABELLED_TASKS = (
    LabelledTask(ClassificationConfig, Texts(pairs=False), Numbers(pairs=False)),
    LabelledTask(PairsConfig, Texts(pairs=True), Numbers(pairs=True)),
    LabelledTask(SpansConfig, Spans()),
    LabelledTask(TagsConfig, Tags()),
)
