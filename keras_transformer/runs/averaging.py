"""The mean of checkpoints (Section 6.1), which translates better than any of them."""

from collections.abc import Callable, Mapping, Sequence

import keras

from keras_transformer.console import say
from keras_transformer.runs.checkpoints import Checkpoint
from keras_transformer.runs.run import Run


def average(checkpoints: Sequence[Checkpoint]) -> keras.Model:
    """Returns a model whose weights are the mean of those of checkpoints.

    Summed in float64, and one checkpoint in memory at a time.

    Args:
        checkpoints: At least one.

    Raises:
        ValueError: If there is none.

    Example:
        >>> model = average(run.checkpoints.newest(5))

    Reference:
        "Attention Is All You Need", Section 6.1.
    """
    if not checkpoints:
        raise ValueError("`checkpoints` must be at least one. Received: none")
    model = checkpoints[0].load()
    sums = [weight.astype("float64") for weight in model.get_weights()]
    for checkpoint in checkpoints[1:]:
        model = checkpoint.load()
        for total, weight in zip(sums, model.get_weights(), strict=True):
            total += weight
    for variable, total in zip(model.weights, sums, strict=True):
        variable.assign((total / len(checkpoints)).astype(variable.dtype))
    return model


def average_run(
    run: Run,
    count: int,
    best: bool = False,
    score: Callable[[keras.Model], Mapping[str, float]] | None = None,
) -> Checkpoint:
    """Averages checkpoints of a run and saves the mean.

    Args:
        run: The run.
        count: How many; all there are if they are fewer.
        best: Take the best in place of the newest.
        score: Gives the metrics of the mean; None for none.

    Returns:
        The mean, saved. If it is of these checkpoints already, it is left as it is.

    Raises:
        ValueError: If no checkpoint was scored yet.

    Example:
        >>> saved = average_run(open_run("runs/demo"), count=5)
    """
    checkpoints = run.checkpoints
    chosen = checkpoints.ranked(count) if best else checkpoints.newest(count)
    if not chosen:
        raise ValueError(
            "`run` must have a checkpoint to average; train it for an epoch first. Received: "
            f"{run.path}"
        )
    steps = sorted(checkpoint.step for checkpoint in chosen)
    found = checkpoints.average()
    if found is None or found.averaged != tuple(steps):
        say(f"Averaging {len(steps)} checkpoints: steps {', '.join(map(str, steps))}")
        model = average(chosen)
        found = checkpoints.save_average(model, chosen, {} if score is None else score(model))
    return found
