"""What was left open of a new run, decided: said as it is, and kept with the reasons.

In two steps, because how many steps a pass over the corpus takes is known only when there are a
vocabulary and batches.
"""

import collections
import dataclasses
import itertools

from keras_transformer.config import RunConfig
from keras_transformer.config.choices import Choices
from keras_transformer.console import say
from keras_transformer.runs.run import Run
from keras_transformer.tasks.translation.defaults import Choice, choose
from keras_transformer.tasks.translation.inputs import training_batches
from keras_transformer.training.accelerator import find_accelerator
from keras_transformer.training.strategy import ONE_DEVICE

# Batches of an epoch that are made to estimate how many it has.
_SAMPLE = 500


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
    if not choices.automatic:
        return config, {}
    accelerator, timed = find_accelerator(), config.training.minutes is not None
    chosen = [
        choice
        for choice in choose(pairs, accelerator, timed, fine_tuned=start is not None)
        if not choice.options or any(map(choices.leaves_open, choice.options))
    ]
    say(f"Chosen for {pairs:,} pairs; what you ask for yourself has precedence:")
    for choice in chosen:
        say(f"  {choice}")
    values = itertools.chain.from_iterable(choice.options.items() for choice in chosen)
    reasons = {choice.name: choice.reason for choice in chosen}
    return choices.chosen(config, dict(values)), reasons


def choose_end(run: Run, choices: Choices) -> Run:
    """Decides when the training ends, and that its learning rate has fallen to zero then.

    Args:
        run: The run, of which vocabulary and batch shapes are known.
        choices: What was asked for.

    Returns:
        The run, with its end and the reasons for it.

    Example:
        >>> run = choose_end(run, Choices(frozenset(), automatic=True))
        >>> run.config.training.schedule
        'trapezoid'
    """
    if not choices.leaves_open("training.schedule"):
        return run
    training, values = run.config.training, {"training.schedule": "trapezoid"}
    reason = "to the end of the time"
    if training.minutes is None:
        steps = training.max_steps or training.epochs * _steps_of_an_epoch(run)
        values["training.max_steps"] = steps
        reason = f"to its end after {steps:,} steps"
    choice = Choice("training.schedule trapezoid", values, f"falls to zero {reason}")
    say(f"Chosen as well: {choice}")
    config = choices.chosen(run.config, values)
    return dataclasses.replace(
        run, config=config, chosen={**run.chosen, choice.name: choice.reason}
    )


def _steps_of_an_epoch(run: Run) -> int:
    """Counts them, or estimates them by the first ones; the same for the same run."""
    batches = training_batches(run, ONE_DEVICE)
    collections.deque(itertools.islice(batches.epoch(0), _SAMPLE), maxlen=0)
    assert batches.epoch_length is not None
    return batches.epoch_length
