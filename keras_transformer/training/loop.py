"""From a configuration to a trained run: prepare, start or continue, fit."""

import functools
import gc
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import keras

from keras_transformer.config import RunConfig, Strategy, TrainingConfig
from keras_transformer.data.batches import TranslationBatches
from keras_transformer.data.mixing import open_training_corpus
from keras_transformer.evaluation import require_tokenizer
from keras_transformer.models import Transformer
from keras_transformer.training.averaging import average_run
from keras_transformer.training.callbacks import (
    OneEpoch,
    SaveCheckpoints,
    StopAtNonFinite,
    Throughput,
    TrackProgress,
    ValidateAverage,
    is_last_step,
)
from keras_transformer.training.fine_tuning import inherit_weights
from keras_transformer.training.freezing import freeze
from keras_transformer.training.history import forget_epochs
from keras_transformer.training.inputs import make_batches, of_unknown_length
from keras_transformer.training.interruption import Interruption
from keras_transformer.training.non_finite import NonFiniteGuard
from keras_transformer.training.optimizer import compile_model
from keras_transformer.training.preparation import fitted_to_memory, open_or_prepare
from keras_transformer.training.progress import Progress
from keras_transformer.training.run import Run, log_header, open_run
from keras_transformer.training.state import TrainingState
from keras_transformer.training.strategy import (
    Replicas,
    lost_workers_reported,
    make_strategy,
)
from keras_transformer.training.validation import Validation, validation_of

if TYPE_CHECKING:
    import tensorflow as tf


def train(
    output: str | os.PathLike,
    config: RunConfig,
    strategy: Strategy = "auto",
    init_from: str | os.PathLike | None = None,
) -> Run:
    """Trains a model, or continues to; prints what it does.

    SIGINT and SIGTERM end it after the running step and a checkpoint, from which the same call
    continues; a second one ends it at once.

    Args:
        output: The run directory; of several workers all must see it.
        config: The run's configuration.
        strategy: What to train on; see `make_strategy`.
        init_from: A run whose tokenizers and best weights a new run begins with; its vocabulary
            grows if the configuration's is larger.

    Returns:
        The run, with its checkpoints.

    Raises:
        ValueError: If the directory holds a run with another configuration, if a corpus is
            malformed, if what `strategy`, `init_from` or `bleu_tokenize` asks for is not there or
            does not fit, or if the loss is not finite.
        Interrupted: On a signal, when a checkpoint has been written.
        WorkerLostError: If another worker has ended; the same call continues.

    Example:
        >>> run = train("runs/demo", config)
        >>> model = run.checkpoints.best().load()
    """
    _require_tensorflow()
    _require_something_to_wait_for(config)
    require_tokenizer(config.training.bleu_tokenize)
    with lost_workers_reported():
        replicas = make_strategy(strategy)
        print(f"Training on {replicas.description}")
        keras.utils.set_random_seed(config.training.seed)
        run = open_or_prepare(Path(output), config, replicas, init_from)
        print(log_header(run))
        run = fitted_to_memory(run, replicas)
        corpus = open_training_corpus(config.data)
        batches = make_batches(config, corpus, run.tokenizers, run.plan, replicas=replicas)
        with Interruption() as interruption:
            _fit(run, _start(run, batches, replicas, interruption), batches)
        # An iterator over several devices that is still there when Python ends waits for a thread
        # of its own, which waits for Python.
        gc.collect()
        if replicas.is_chief:
            _average(run)
    return run


def _require_tensorflow() -> None:
    if keras.backend.backend() != "tensorflow":
        raise ValueError(
            "A run directory is trained on the TensorFlow backend; on another one use "
            "`compile_model` and `fit`, as docs/training.md shows. Received: "
            f"KERAS_BACKEND={keras.backend.backend()}"
        )


def _require_something_to_wait_for(config: RunConfig) -> None:
    training = config.training
    measured = config.data.valid is not None and (
        training.early_stopping == "loss" or training.bleu_sentences > 0
    )
    if training.patience is not None and not measured:
        raise ValueError(
            "`patience` needs a validation corpus, and with early_stopping='bleu' some "
            f"`bleu_sentences` as well. Received: patience={training.patience}, "
            f"early_stopping={training.early_stopping!r}, valid={config.data.valid!r}, "
            f"bleu_sentences={training.bleu_sentences}"
        )


def _start(
    run: Run, batches: TranslationBatches, replicas: Replicas, interruption: Interruption
) -> TrainingState:
    """Makes the model, and takes over the newest checkpoint if there is one."""
    config, checkpoint = run.config, run.checkpoints.latest()
    with replicas.scope():
        model = Transformer(config.model, dtype=config.training.precision)
        freeze(model, config.training.freeze)
        compile_model(model, config.training)
    folder = run.path / "non_finite"
    guard = NonFiniteGuard(folder, batches.batch_at, *run.tokenizers, replicas.worker)
    state = TrainingState(model, run.checkpoints, interruption, guard.require, replicas)
    if checkpoint is not None:
        state.restore(checkpoint)
        print(f"Continuing {run.path} after {_described(state.progress)}")
    elif run.init_from is not None:
        inherit_weights(model, open_run(run.init_from), *run.tokenizers)
        print(f"Starting with the weights of {run.init_from}")
    replicas.spread_random_states(model)
    print(f"Model: {model.count_params():,} parameters")
    return state


def _described(progress: Progress) -> str:
    text = f"step {progress.step}, epoch {progress.epoch}"
    if progress.batch:
        text += f" and {progress.batch} batches of the next, which are passed over"
    return text


def _fit(run: Run, state: TrainingState, batches: TranslationBatches) -> None:
    """Trains until it is done, with a `fit` for each epoch: see `OneEpoch`."""
    training, replicas = run.config.training, state.replicas
    validation = validation_of(run, replicas)
    callbacks = _callbacks(run, state, validation)
    for epoch in range(state.progress.epoch, training.epochs):
        if _is_done(state, training):
            break
        if replicas.is_chief:
            forget_epochs(run.path / "history.csv", epoch)
        with of_unknown_length():
            state.model.fit(
                replicas.distribute(functools.partial(_rest_of_epoch, batches, state, training)),
                initial_epoch=epoch,
                epochs=training.epochs,
                validation_data=None if validation is None else validation.dataset(),
                callbacks=callbacks,
                shuffle=False,
                verbose="auto" if replicas.is_chief else 0,
            )
        print(f"Training corpus, epoch {epoch + 1}: {batches.filter_summary}")


def _rest_of_epoch(
    batches: TranslationBatches, state: TrainingState, training: TrainingConfig
) -> "tf.data.Dataset":
    dataset = batches.dataset(state.progress.epoch, state.progress.batch)
    # Stopped between the last step and its validation, a training has no batch left.
    return dataset.take(0) if is_last_step(state.progress, training) else dataset


def _is_done(state: TrainingState, training: TrainingConfig) -> bool:
    if training.patience is not None and state.progress.waited >= training.patience:
        print(f"No better {training.early_stopping} for {state.progress.waited} epochs")
        return True
    return is_last_step(state.progress, training) and state.is_scored


def _callbacks(
    run: Run, state: TrainingState, validation: Validation | None
) -> Sequence[keras.callbacks.Callback]:
    """Makes the callbacks, in the order in which each needs what the ones before it did."""
    training = run.config.training
    bleu = None
    if validation is not None:
        bleu = validation.bleu(state.model, state.average, state.stop_if_interrupted)
    return [
        TrackProgress(state),
        Throughput(),
        StopAtNonFinite(state),
        ValidateAverage(state.average),
        *([] if bleu is None else [bleu]),
        *(_logs(run) if state.replicas.is_chief else []),
        SaveCheckpoints(state, training, dict if bleu is None else bleu.score),
        OneEpoch(),
    ]


def _logs(run: Run) -> Sequence[keras.callbacks.Callback]:
    return [
        keras.callbacks.TensorBoard(run.path / "logs", write_graph=False),
        keras.callbacks.CSVLogger(run.path / "history.csv", append=True),
    ]


def _average(run: Run) -> None:
    """Saves the mean of checkpoints, if the run is to have one."""
    training = run.config.training
    if training.average_checkpoints:
        average_run(run, training.average_checkpoints, training.average_best)
