"""What was left open of a new run, decided: said as it is, and kept with the reasons.

In two steps, because how many steps a pass over the corpus takes is known only when there are a
vocabulary and batches.
"""

import collections
import dataclasses
import itertools

from keras_transformer.config import RunConfig, TrainingConfig
from keras_transformer.config.choices import Choices
from keras_transformer.console import say
from keras_transformer.data.sharing import Sharing
from keras_transformer.runs.run import Run
from keras_transformer.tasks.translation.defaults import Choice, choose
from keras_transformer.tasks.translation.inputs import training_batches
from keras_transformer.training.accelerator import find_accelerator
from keras_transformer.training.strategy import ONE_DEVICE

# Batches of an epoch that are made to estimate how many it has.
_SAMPLE = 500
_TRAPEZOID = "training.schedule trapezoid"


def choose_options(
    config: RunConfig, choices: Choices, pairs: int, start: Run | None
) -> tuple[RunConfig, dict[str, str]]:
    """Decides all but when the training ends.

    Args:
        config: The configuration.
        choices: What of it was asked for.
        pairs: Pairs of the corpus.
        start: The run to begin with, which has the model and the vocabulary.

    Returns:
        The configuration, and what was chosen by rules, with the reasons.

    Example:
        >>> choices = Choices(frozenset({"model.dropout"}), automatic=True)
        >>> config, chosen = choose_options(RunConfig(), choices, pairs=29_000, start=None)
        >>> config.model.d_model, config.model.dropout
        (128, 0.1)
    """
    if start is not None:
        inherited = choices.filled(config, start.config)
        config = dataclasses.replace(config, model=inherited.model, tokenizer=inherited.tokenizer)
        # A model is searched as it was: an imported one by its toolkit's rules.
        config = choices.inherited(config, start.config, "decoding")
    if not choices.automatic:
        return config, {}
    accelerator, training = find_accelerator(), config.training
    timed, limited = training.minutes is not None, training.max_steps is not None
    chosen = [
        choice
        for choice in choose(pairs, accelerator, timed, start is not None, limited)
        if not choice.options or any(map(choices.leaves_open, choice.options))
    ]
    say(f"Chosen for {pairs:,} pairs; what you ask for yourself has precedence:")
    for choice in chosen:
        say(f"  {choice}")
    values = itertools.chain.from_iterable(choice.options.items() for choice in chosen)
    reasons = {choice.name: choice.reason for choice in chosen}
    return choices.chosen(config, dict(values)), reasons


def choose_end(run: Run, choices: Choices, sharing: Sharing, made: RunConfig | None = None) -> Run:
    """Decides when the training ends, and that its learning rate has fallen to zero then.

    A run that goes on keeps its plan, unless another end is asked for.

    Args:
        run: The run, of which vocabulary and batch shapes are known.
        choices: What was asked for.
        sharing: Who shares a batch, which tells how many steps an epoch has.
        made: The configuration that a run which goes on was made with; None for a new run.

    Returns:
        The run, with its end and the reasons for it.

    Example:
        >>> run = choose_end(run, Choices(frozenset(), automatic=True), Sharing())
        >>> run.config.training.schedule
        'trapezoid'
    """
    training = run.config.training
    if not choices.leaves_open("training.schedule"):
        return run
    if made is None:
        unlimited = training.max_steps is None and not choices.leaves_open("training.max_steps")
        if unlimited and training.minutes is None:
            return run  # A trapezoid has to know its steps, and they are asked not to end it.
    elif _TRAPEZOID not in run.chosen or _ends(training) == _ends(made.training):
        return run
    epochs, steps = _end(run, choices, sharing)
    training = dataclasses.replace(training, schedule="trapezoid", epochs=epochs, max_steps=steps)
    run = dataclasses.replace(run, config=dataclasses.replace(run.config, training=training))
    if made is not None and _ends(training) == _ends(made.training):
        return run
    choice = Choice(_TRAPEZOID, {}, f"falls to zero {_described(training)}")
    say(f"{'Chosen as well' if made is None else 'Planned anew'}: {choice}")
    return dataclasses.replace(run, chosen={**run.chosen, choice.name: choice.reason})


def _ends(training: TrainingConfig) -> tuple[int | None, int | None]:
    return training.epochs, training.max_steps


def _end(run: Run, choices: Choices, sharing: Sharing) -> tuple[int | None, int | None]:
    """Returns epochs and steps of which the latter end the training, if time does not."""
    training = run.config.training
    asked = None if choices.leaves_open("training.max_steps") else training.max_steps
    by_rules = choices.leaves_open("training.epochs") and any(
        name.startswith("training.epochs ") for name in run.chosen
    )
    if training.epochs is None or (asked is not None and by_rules):
        return None, training.max_steps
    # The rate has to have fallen at whichever end comes first.
    steps = training.epochs * _steps_of_an_epoch(run, sharing)
    return training.epochs, steps if asked is None else min(asked, steps)


def _described(training: TrainingConfig) -> str:
    steps = None if training.max_steps is None else f"after {training.max_steps:,} steps"
    if training.minutes is None:
        return f"to its end {steps}"
    return "to the end of the time" + (f", or {steps} if that is sooner" if steps else "")


def _steps_of_an_epoch(run: Run, sharing: Sharing) -> int:
    """Counts them, or estimates them by the first ones; the same for the same run."""
    # Without a cache the batches are the same, and no worker has to wait for another one's files.
    data = dataclasses.replace(run.config.data, cache=None)
    run = dataclasses.replace(run, config=dataclasses.replace(run.config, data=data))
    batches = training_batches(run, ONE_DEVICE, sharing)
    collections.deque(itertools.islice(batches.epoch(0), _SAMPLE), maxlen=0)
    assert batches.epoch_length is not None
    return batches.epoch_length
