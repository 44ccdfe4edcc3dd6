"""A new run that starts from the best checkpoint of another one.

It takes over the tokenizers, so that ids mean the same, and the weights. The optimizer starts anew.
With a larger `vocab_size` the vocabulary grows: old pieces keep their ids and their vectors.
"""

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import keras
import numpy as np
import numpy.typing as npt

from keras_transformer.config import TokenizerConfig
from keras_transformer.config.model import ModelConfig, Seq2SeqConfig
from keras_transformer.data.corpora import Corpus
from keras_transformer.data.mixing import Mixture
from keras_transformer.models.families import family_of
from keras_transformer.runs.run import Run
from keras_transformer.tasks.translation.inputs import in_terms_of_options
from keras_transformer.text.enlargement import cut_new_pieces, enlarge_sentencepiece
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import UNK_ID

Floats = npt.NDArray[np.floating[Any]]

_MAY_GROW = {"vocab_size", "source_vocab_size"}


def inherit_tokenizers(
    run: Run,
    corpus: Corpus | Mixture,
    model: Seq2SeqConfig,
    tokenizer: TokenizerConfig,
    seed: int,
) -> tuple[SubwordTokenizer, SubwordTokenizer]:
    """Returns the tokenizers of a run, with pieces for a new corpus where a vocabulary grows.

    Args:
        run: The run to start from.
        corpus: The new run's training pairs; read only if a vocabulary grows.
        model: The new run's model. It must be that of the old run, except for dropout and
            `max_length`, and for vocabularies, which may be larger.
        tokenizer: How further pieces are learned; its algorithm is that of the old vocabulary.
        seed: Seed of the sample of sentences that they are learned on.

    Returns:
        The source and the target tokenizer; the same object when the vocabulary is joint.

    Raises:
        ValueError: If the models do not fit together, or the corpus cannot give so many pieces.

    Example:
        >>> run = open_run("runs/general")
        >>> source, target = inherit_tokenizers(run, corpus, config.model, config.tokenizer, seed=0)
    """
    _check_same_model(run.config.model, model)

    def enlarged(
        old: SubwordTokenizer, vocab_size: int, lines: Iterable[str], size: str = "vocab_size"
    ) -> SubwordTokenizer:
        if vocab_size == old.vocab_size:
            return old
        if old.segmentation is not None:
            raise ValueError(
                "`vocab_size` must be that of the run it starts from, whose vocabulary is another "
                "toolkit's: new pieces would not be those that cut its text. Received: "
                f"{old.vocab_size} there, {vocab_size} now"
            )
        with in_terms_of_options(size, corpus.name):
            larger = enlarge_sentencepiece(
                old.model,
                lines,
                vocab_size,
                character_coverage=tokenizer.character_coverage,
                max_sentences=tokenizer.max_sentences,
                seed=seed,
            )
        return SubwordTokenizer(larger)

    if run.source_tokenizer is run.target_tokenizer:
        lines = itertools.chain.from_iterable(corpus)
        joint = enlarged(run.target_tokenizer, model.vocab_size, lines)
        return joint, joint
    sources = (source for source, _ in corpus)
    targets = (target for _, target in corpus)
    source_size = model.source_vocab_size or model.vocab_size
    return (
        enlarged(run.source_tokenizer, source_size, sources, "source_vocab_size"),
        enlarged(run.target_tokenizer, model.vocab_size, targets),
    )


def inherit_weights(
    model: keras.Model,
    run: Run,
    source_tokenizer: SubwordTokenizer,
    target_tokenizer: SubwordTokenizer,
) -> None:
    """Gives a model the weights of a run's best checkpoint.

    A new piece starts with the mean of the vectors of the old pieces that spelled it, so that text
    reads at first as it did before. A piece with a character that was unknown keeps its initial
    vector, since all unknown characters shared one. The common part of learned positions is copied.

    Args:
        model: The new model, freshly initialized.
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
    new_pieces = {
        "source": cut_new_pieces(run.source_tokenizer.model, source_tokenizer.model),
        "target": cut_new_pieces(run.target_tokenizer.model, target_tokenizer.model),
    }
    # A matrix that both sides share comes twice; the vocabulary is joint then, and its parts equal.
    parts = {
        id(matrix): new_pieces[side]
        for side, matrices in model.vocabulary_matrices().items()
        for matrix in matrices
    }
    # Paired by order, since layers without a name are numbered on from model to model.
    for new, old in zip(model.weights, checkpoint.load().weights, strict=True):
        new.assign(_grown(new.numpy(), old.numpy(), parts.get(id(new), {})))


def _check_same_model(old: ModelConfig, new: ModelConfig) -> None:
    if family_of(old) is not family_of(new):
        raise ValueError(
            "`model` must be of the family of the run it starts from. Received: "
            f"{family_of(old).name} there, {family_of(new).name} now"
        )
    there, now = old.meaning(), new.meaning()
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


def _grown(new: Floats, old: Floats, parts: Mapping[int, list[int]]) -> Floats:
    """Copies the rows that both have, and gives each new row the mean of the rows of its parts."""
    grown = new.copy()
    common = min(len(new), len(old))
    grown[:common] = old[:common]
    for row, ids in parts.items():
        if UNK_ID not in ids:
            grown[row] = old[ids].mean(axis=0)
    return grown
