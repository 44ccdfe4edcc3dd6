"""From a configuration to a trained run: prepare, resume, fit."""

import itertools
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import keras

from keras_transformer.config import DataConfig, RunConfig
from keras_transformer.data.batches import TranslationBatches
from keras_transformer.data.bucketing import BucketPlan
from keras_transformer.data.corpora import Corpus, open_corpus
from keras_transformer.export.translator import Translator
from keras_transformer.models import Transformer
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.training.callbacks import (
    AverageWeights,
    SaveCheckpoints,
    Throughput,
    ValidationBleu,
)
from keras_transformer.training.optimizer import compile_model
from keras_transformer.training.run import Run, exists, resume_run


def train(output: str | os.PathLike, config: RunConfig) -> Run:
    """Trains a model, or continues to; prints what it does.

    Args:
        output: The run directory.
        config: The run's configuration.

    Returns:
        The run, with its checkpoints.

    Raises:
        ValueError: If the directory holds a run with another configuration, or a corpus is
            malformed.

    Example:
        >>> run = train("runs/demo", config)
        >>> model = run.checkpoints.best().load()
    """
    keras.utils.set_random_seed(config.training.seed)
    # Compared before the corpus is opened, which can take a while.
    run = resume_run(output, config) if exists(output) else None
    corpus = _open(config.data, config.data.train)
    run = run or _prepare(Path(output), config, corpus)
    checkpoint = run.checkpoints.latest()
    if checkpoint is None:
        model = Transformer(config.model, dtype=config.training.precision)
        model, first_epoch = compile_model(model, config.training), 0
    else:
        model, first_epoch = checkpoint.load(), checkpoint.epoch
        print(f"Continuing {run.path} after epoch {first_epoch}")
    print(f"Model: {model.count_params():,} parameters")
    _fit(run, model, corpus, first_epoch)
    return run


def _open(data: DataConfig, spec: list[str] | str) -> Corpus:
    return open_corpus(spec, data.source_language, data.target_language)


def _prepare(output: Path, config: RunConfig, corpus: Corpus) -> Run:
    """Trains the tokenizers, fits the batch shapes and makes the run directory."""
    print(f"Training the vocabulary on {corpus.name}")
    source_tokenizer, target_tokenizer = _train_tokenizers(config, corpus)
    batches = _batches(config, corpus, source_tokenizer, target_tokenizer, plan=None)
    print(f"Fitting batches to a sample of {corpus.name}: {batches.filter_summary}")
    print(f"Batches of {config.data.batch_tokens} tokens in {len(batches.plan.shapes)} shapes")
    run = Run(output, config, source_tokenizer, target_tokenizer, batches.plan)
    run.write()
    return run


def _train_tokenizers(
    config: RunConfig, corpus: Corpus
) -> tuple[SubwordTokenizer, SubwordTokenizer]:
    options = {
        "algorithm": config.tokenizer.algorithm,
        "character_coverage": config.tokenizer.character_coverage,
        "byte_fallback": config.tokenizer.byte_fallback,
        "max_sentences": config.tokenizer.max_sentences,
        "seed": config.training.seed,
    }

    def side(index: int) -> Iterator[str]:
        return (pair[index] for pair in corpus)

    if config.model.joint_vocabulary:
        lines = itertools.chain.from_iterable(corpus)
        joint = SubwordTokenizer.train(lines, config.model.vocab_size, **options)
        return joint, joint
    return (
        SubwordTokenizer.train(side(0), config.model.source_vocab_size, **options),
        SubwordTokenizer.train(side(1), config.model.vocab_size, **options),
    )


def _batches(
    config: RunConfig,
    corpus: Corpus,
    source_tokenizer: SubwordTokenizer,
    target_tokenizer: SubwordTokenizer,
    plan: BucketPlan | None,
    shuffle: bool = True,
) -> TranslationBatches:
    return TranslationBatches(
        corpus,
        source_tokenizer,
        target_tokenizer,
        batch_tokens=config.data.batch_tokens,
        max_length=config.model.max_length,
        shuffle_buffer=config.data.shuffle_buffer if shuffle else 0,
        seed=config.training.seed,
        max_ratio=config.data.max_ratio if shuffle else None,
        # XLA compiles the step once for each shape, so there must be few.
        static_shapes=config.training.jit_compile,
        plan=plan,
    )


def _fit(run: Run, model: keras.Model, corpus: Corpus, first_epoch: int) -> None:
    config, tokenizers = run.config, (run.source_tokenizer, run.target_tokenizer)
    batches = _batches(config, corpus, *tokenizers, plan=run.plan)
    validation, callbacks = None, [Throughput()]
    if config.training.ema_momentum is not None:
        callbacks.append(AverageWeights(resumed=first_epoch > 0))
    if config.data.valid is not None:
        valid = _open(config.data, config.data.valid)
        validation = _batches(config, valid, *tokenizers, plan=run.plan, shuffle=False).dataset()
        pairs = list(itertools.islice(valid, config.training.bleu_sentences))
        if pairs:
            translator = Translator(model, *tokenizers, config.decoding.greedy())
            callbacks.append(ValidationBleu(translator, pairs, config.training.samples))
    callbacks += [
        keras.callbacks.TensorBoard(run.path / "logs", write_graph=False),
        keras.callbacks.CSVLogger(run.path / "history.csv", append=True),
        SaveCheckpoints(run.checkpoints),
    ]
    with warnings.catch_warnings():
        # A streamed corpus has no known number of batches; Keras warns at the end of each epoch.
        warnings.filterwarnings("ignore", message="Your input ran out of data")
        model.fit(
            batches.dataset(first_epoch),
            epochs=config.training.epochs,
            initial_epoch=first_epoch,
            validation_data=validation,
            callbacks=callbacks,
            shuffle=False,
        )
    print(f"Training corpus, last epoch: {batches.filter_summary}")
