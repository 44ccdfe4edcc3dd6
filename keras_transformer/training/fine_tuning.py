"""A new run that starts from the best checkpoint of another one.

It takes over the tokenizers, so that ids mean the same, and the weights. The optimizer starts anew.
With a larger `vocab_size` the vocabulary grows: old pieces keep their ids and their vectors.
"""

import dataclasses
import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import keras
import numpy as np

from keras_transformer.config import RunConfig, TransformerConfig
from keras_transformer.text.enlargement import cut_new_pieces, enlarge_sentencepiece
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import UNK_ID
from keras_transformer.training.run import Run

# What does not change the meaning of a weight.
_MAY_DIFFER = {"dropout", "attention_dropout", "label_smoothing", "max_length"}
_MAY_GROW = {"vocab_size", "source_vocab_size"}


def inherit_tokenizers(
    run: Run, config: RunConfig, corpus: Iterable[tuple[str, str]]
) -> tuple[SubwordTokenizer, SubwordTokenizer]:
    """Returns the tokenizers of a run, with pieces for a new corpus where a vocabulary grows.

    Args:
        run: The run to start from.
        config: The new run's configuration. Its model must be that of the old run, except for
            dropout, label smoothing and `max_length`, and for vocabularies, which may be larger.
        corpus: The new run's training pairs; read only if a vocabulary grows.

    Returns:
        The source and the target tokenizer; the same object when the vocabulary is joint.

    Raises:
        ValueError: If the models do not fit together, or the corpus cannot give so many pieces.

    Example:
        >>> source, target = inherit_tokenizers(open_run("runs/general"), config, corpus)
    """
    _check_same_model(run.config.model, config.model)
    model = config.model
    if model.joint_vocabulary:
        lines = itertools.chain.from_iterable(corpus)
        joint = _enlarged(run.target_tokenizer, model.vocab_size, lines, config)
        return joint, joint
    sources = (source for source, _ in corpus)
    targets = (target for _, target in corpus)
    return (
        _enlarged(run.source_tokenizer, model.source_vocab_size, sources, config),
        _enlarged(run.target_tokenizer, model.vocab_size, targets, config),
    )


def inherit_weights(
    model: keras.Model,
    run: Run,
    source_tokenizer: SubwordTokenizer,
    target_tokenizer: SubwordTokenizer,
) -> None:
    """Gives a model the weights of a run's best checkpoint.

    A new piece starts with the mean of the vectors of the old pieces that spelled it, so that text
    reads at first as it did before. One with a character that was unknown keeps its initial vector:
    all unknown characters had the same one. Of learned positions the common part is copied.

    Args:
        model: The new `Transformer`, freshly initialized.
        run: The run to start from.
        source_tokenizer: The new run's, from `inherit_tokenizers`.
        target_tokenizer: The new run's, likewise.

    Raises:
        ValueError: If the models do not fit together, or the run has no checkpoint.

    Example:
        >>> model = Transformer(config.model)
        >>> inherit_weights(model, open_run("runs/general"), source, target)
    """
    _check_same_model(run.config.model, model.config)
    checkpoint = run.checkpoints.best()
    if checkpoint is None:
        raise ValueError(
            f"`run` must have a checkpoint to start from; train it first. Received: {run.path}"
        )
    source_parts = cut_new_pieces(run.source_tokenizer.model, source_tokenizer.model)
    target_parts = cut_new_pieces(run.target_tokenizer.model, target_tokenizer.model)
    parts = {
        id(model.output_embedding.embeddings): target_parts,
        id(model.target_embedding.embeddings): target_parts,
        # With tied embeddings the same matrix, and then the vocabulary is joint.
        id(model.source_embedding.embeddings): source_parts,
    }
    # By order: layers of no name are numbered through, so that paths differ between two models.
    for new, old in zip(model.weights, checkpoint.load().weights, strict=True):
        new.assign(_grown(new.numpy(), old.numpy(), parts.get(id(new), {})))


def _check_same_model(old: TransformerConfig, new: TransformerConfig) -> None:
    there, now = _meaning(old), _meaning(new)
    changes = [
        f"{name}: {there[name]!r} there, {now[name]!r} now"
        for name in there
        if not _compatible(name, there[name], now[name])
    ]
    if changes:
        raise ValueError(
            "`model` must be that of the run it starts from, with vocabularies of at least its "
            f"size; repeat the options it was made with. Received: {'; '.join(changes)}"
        )


def _compatible(name: str, old: Any, new: Any) -> bool:
    if name in _MAY_GROW and None not in (old, new):
        return new >= old
    return old == new


def _meaning(config: TransformerConfig) -> dict[str, Any]:
    """Returns what gives weights their shapes and their meaning, with defaults resolved."""
    values = dataclasses.asdict(config)
    values |= {"key_dim": config.head_key_dim, "value_dim": config.head_value_dim}
    return {name: value for name, value in values.items() if name not in _MAY_DIFFER}


def _enlarged(
    tokenizer: SubwordTokenizer, vocab_size: int, lines: Iterable[str], config: RunConfig
) -> SubwordTokenizer:
    if vocab_size == tokenizer.vocab_size:
        return tokenizer
    options = {
        "character_coverage": config.tokenizer.character_coverage,
        "max_sentences": config.tokenizer.max_sentences,
        "seed": config.training.seed,
    }
    return SubwordTokenizer(enlarge_sentencepiece(tokenizer.model, lines, vocab_size, **options))


def _grown(new: np.ndarray, old: np.ndarray, parts: Mapping[int, list[int]]) -> np.ndarray:
    """Copies the rows of `old` that `new` has too, and makes the new rows of their parts' rows."""
    grown = new.copy()
    common = min(len(new), len(old))
    grown[:common] = old[:common]
    for row, ids in parts.items():
        if UNK_ID not in ids:
            grown[row] = old[ids].mean(axis=0)
    return grown
