"""An imported checkpoint is written as a run, whole or not at all."""

import dataclasses
import os
from pathlib import Path
from typing import Any

from keras_transformer.config import (
    DataConfig,
    DocumentsConfig,
    MaskedLMConfig,
    PiecesConfig,
    RunConfig,
)
from keras_transformer.config.run import RUN_CONFIGS
from keras_transformer.data.bucketing import BucketPlan, Shape
from keras_transformer.files import atomic_directory, require_local
from keras_transformer.importing.bert import BertCheckpoint, fill_fine_tuned
from keras_transformer.importing.bert import fill as fill_bert
from keras_transformer.importing.bert_heads import BertHead
from keras_transformer.importing.checkpoint import Checkpoint
from keras_transformer.importing.source import open_source
from keras_transformer.importing.weights import fill, require_sizes
from keras_transformer.models.masked_language_model import MaskedLanguageModel
from keras_transformer.models.transformer import Transformer
from keras_transformer.runs.progress import Progress
from keras_transformer.runs.run import Run
from keras_transformer.tasks.table import task_of


def import_run(
    source: str | os.PathLike[str],
    output: str | os.PathLike[str],
    source_language: str | None = None,
    target_language: str | None = None,
    task: str | None = None,
) -> Run:
    """Makes a run of another toolkit's checkpoint.

    Args:
        source: A folder of Hugging Face's, of Marian's, of Google's BERT or of KerasHub's, a zip of
            one, or `keras_hub:` and the name of a preset of BERT.
        output: The run's directory; it must not exist.
        source_language: Code of the source's language; None for what the source says. Of use for
            models that translate, like the next.
        target_language: Code of the target's, likewise; of a vocabulary with language tags, the one
            that is meant where a text has no tag.
        task: "pairs" for a BERT that tells the labels of pairs of texts: the source does not say
            whether it reads one or two. None for what it says, and for single texts.

    Returns:
        The run.

    Raises:
        FileExistsError: If `output` exists.
        FileNotFoundError: If `source` does not.
        ImportError: If a package that it takes is not installed.
        ValueError: If it is not whole, has no counterpart here, or a language is missing.

    Example:
        >>> run = import_run("opus-mt-en-de", "runs/en-de")  # doctest: +SKIP
    """
    require_local(output, "output")
    if Path(output).exists():
        raise FileExistsError(f"`output` must not exist yet. Received: {os.fspath(output)}")
    with open_source(source) as checkpoint:
        _require_task(task, checkpoint)
        if isinstance(checkpoint, BertCheckpoint):
            config, model, tokenizers = _bert(checkpoint, task)
        else:
            config, model, tokenizers = _translator(checkpoint, source_language, target_language)
    del checkpoint  # Its files are mapped into memory, of which saving takes as much again.
    with atomic_directory(output) as folder:
        run = Run(folder, config, tokenizers, _plan(config))
        run.write()
        run.checkpoints.save(model, Progress())
    return dataclasses.replace(run, path=Path(output))


def _require_task(task: str | None, checkpoint: Checkpoint | BertCheckpoint) -> None:
    head = checkpoint.head if isinstance(checkpoint, BertCheckpoint) else None
    if task is not None and (task != "pairs" or head is None or head.task != "classification"):
        raise ValueError(
            "`task` must be 'pairs', for a BERT that tells the labels of texts, or None, since all "
            f"others say what they are for. Received: {task!r}, of "
            + ("another model" if head is None else f"one of the task {head.task!r}")
        )


def _plan(config: Any) -> BucketPlan:
    """Returns one shape of batches, which a training finds others in place of."""
    most = config.model.max_length
    size = getattr(config.data, "batch_size", None) or max(1, config.data.batch_tokens // most)
    return BucketPlan((Shape(size, most, most),))


def _bert(checkpoint: BertCheckpoint, task: str | None) -> tuple[Any, Any, tuple[Any, Any]]:
    """Returns configuration, model and tokenizers of a run of BERT."""
    pieces = PiecesConfig(lowercase=checkpoint.tokenizer.lowercase)
    if checkpoint.head is None:
        config, model = _pretrained(checkpoint, pieces)
    else:
        config, model = _fine_tuned(checkpoint, checkpoint.head, task, pieces)
    return config, model, (checkpoint.tokenizer, checkpoint.tokenizer)


def _pretrained(checkpoint: BertCheckpoint, pieces: PiecesConfig) -> tuple[Any, Any]:
    """Returns configuration and model of a run of masked words."""
    model = MaskedLanguageModel(checkpoint.config, checkpoint.next_sentence)
    fill_bert(model, checkpoint.weights)
    data = DocumentsConfig(
        [],  # It was not trained here.
        valid=None,
        length=min(DocumentsConfig.length, checkpoint.config.max_length),
        next_sentence=checkpoint.next_sentence,
    )
    return MaskedLMConfig(checkpoint.config, tokenizer=pieces, data=data), model


def _fine_tuned(
    checkpoint: BertCheckpoint, head: BertHead, task: str | None, pieces: PiecesConfig
) -> tuple[Any, Any]:
    """Returns configuration and model of a run of labelled examples."""
    of_task: Any = RUN_CONFIGS[task or head.task]
    usual = of_task()
    # It was not trained here.
    data = dataclasses.replace(usual.data, train="", valid=None, labels=head.labels)
    if head.regression:
        data = dataclasses.replace(data, regression=True)
    config = dataclasses.replace(usual, model=checkpoint.config, tokenizer=pieces, data=data)
    of_its_kind = task_of(config)
    of_its_kind.check(config)
    model: Any = of_its_kind.model(config)
    fill_fine_tuned(model, checkpoint.weights, head.part)
    return config, model


def _translator(
    checkpoint: Checkpoint, source_language: str | None, target_language: str | None
) -> tuple[Any, Any, tuple[Any, Any]]:
    """Returns configuration, model and tokenizers of a run of translation."""
    config = _run_config(checkpoint, source_language, target_language)
    require_sizes(checkpoint.config, checkpoint.weights)
    model = Transformer(checkpoint.config)
    fill(model, checkpoint.weights)
    return config, model, checkpoint.tokenizers


def _run_config(checkpoint: Checkpoint, source: str | None, target: str | None) -> RunConfig:
    tags, decoding = checkpoint.tokenizers[0].tags, checkpoint.decoding
    if len(tags) == 1:
        target = target or next(iter(tags))
    if tags and target is not None:
        if target not in tags:
            raise ValueError(
                f"`target_language` must be one of those that the model knows: {', '.join(tags)}. "
                f"Received: {target!r}"
            )
        decoding = dataclasses.replace(decoding, target_language=target)
    told_source, told_target = checkpoint.languages
    data = DataConfig(
        [],  # It was not trained here.
        valid=None,
        source_language=_told("source_language", source, told_source),
        target_language=_told("target_language", target, told_target or ("mul" if tags else None)),
    )
    return RunConfig(checkpoint.config, data=data, decoding=decoding)


def _told(name: str, given: str | None, told: str | None) -> str:
    language = given or told
    if language is None:
        raise ValueError(
            f"`{name}` must be given, as in --{name} en: the source does not tell it. "
            "Received: None"
        )
    return language
