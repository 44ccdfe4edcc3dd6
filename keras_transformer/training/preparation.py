"""Before the first step: a run directory that is made, or opened and compared."""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_transformer.config import RunConfig
from keras_transformer.data.mixing import open_training_corpus
from keras_transformer.training.fine_tuning import inherit_tokenizers
from keras_transformer.training.inputs import fingerprints, make_batches, train_tokenizers
from keras_transformer.training.memory import fewest_micro_batches
from keras_transformer.training.run import (
    Run,
    exists,
    open_run,
    require_same_data,
    resume_run,
)
from keras_transformer.training.strategy import Replicas


def open_or_prepare(
    output: Path, config: RunConfig, replicas: Replicas, init_from: str | os.PathLike | None
) -> Run:
    """Opens the run, which the chief makes if it is not there."""
    # Compared before the corpus is read, which can take a while.
    run = resume_run(output, config) if exists(output) else None
    data = fingerprints(config.data)
    if replicas.is_chief and run is None:
        _prepare(output, config, data, init_from)
    # The others wait here until it is made.
    replicas.agree(True)
    if not exists(output):
        raise ValueError(
            "`output` must be in a file system that all workers share; the chief has made the run "
            f"there, and worker {replicas.worker} sees none. Received: {output}"
        )
    run = run or resume_run(output, config)
    require_same_data(run, data)
    if init_from is not None and os.fspath(init_from) != run.init_from:
        raise ValueError(
            "`output` holds a run that began otherwise; choose another directory or repeat the "
            f"option it was made with. Received: init_from={os.fspath(init_from)!r}, and "
            f"{run.init_from!r} there"
        )
    return run


def _prepare(
    output: Path,
    config: RunConfig,
    data: Mapping[str, Mapping[str, Any]],
    init_from: str | os.PathLike | None,
) -> None:
    """Trains or takes over the tokenizers, fits the batch shapes and makes the run directory."""
    corpus = open_training_corpus(config.data)
    if init_from is None:
        print(f"Training the vocabulary on {corpus.name}")
        tokenizers = train_tokenizers(config, corpus)
    else:
        print(f"Taking over the vocabulary of {init_from}")
        tokenizers = inherit_tokenizers(open_run(init_from), config, corpus)
        init_from = os.fspath(init_from)
    batches = make_batches(config, corpus, tokenizers, plan=None)
    print(f"Fitting batches to a sample of {corpus.name}: {batches.filter_summary}")
    print(f"Batches of {config.data.batch_tokens} tokens in {len(batches.plan.shapes)} shapes")
    Run(output, config, *tokenizers, batches.plan, data, init_from).write()


def fitted_to_memory(run: Run, replicas: Replicas) -> Run:
    """Finds the number of micro-batches if it is left open."""
    training = run.config.training
    if training.micro_batches:
        return run
    plan = run.plan.shared(replicas.workers * replicas.local)
    training = dataclasses.replace(training, micro_batches=fewest_micro_batches(run.config, plan))
    return dataclasses.replace(run, config=dataclasses.replace(run.config, training=training))
