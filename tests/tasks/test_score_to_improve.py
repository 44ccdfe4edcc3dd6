"""Early stopping by BLEU: an improvement of the loss counts while BLEU is near 0."""

import math

import pytest

from keras_transformer.runs.progress import Progress
from keras_transformer.tasks.translation import Translation


def waited(epochs):
    """Epochs without improvement, after each epoch of a BLEU and a loss."""
    progress, found = Progress(), []
    for bleu, loss in epochs:
        score = Translation().score_to_improve({"val_bleu": bleu, "val_loss": loss})
        progress = progress.after_epoch(score)
        found.append(progress.waited)
    return found


@pytest.mark.parametrize(
    ("epochs", "expected"),
    [
        # A long warm-up: chance makes BLEU go up and down, and the loss falls.
        ([(0.0, 9.0), (0.0, 8.0), (0.04, 7.0), (0.01, 6.0)], [0, 0, 0, 0]),
        # The loss stands still as well.
        ([(0.0, 9.0), (0.2, 9.0), (0.3, 9.5), (0.1, 8.9)], [0, 1, 2, 0]),
        # From there on BLEU alone counts, whatever the loss.
        ([(0.5, 0.01), (1.0, 6.0), (0.9, 0.001), (0.9, 5.0), (1.1, 7.0)], [0, 0, 1, 2, 0]),
        ([(30.0, 3.0), (29.0, 2.0), (30.0, 1.0), (30.5, 9.0)], [0, 1, 2, 0]),
        ([(0.0, 9.0), (0.0, math.nan), (0.0, math.inf), (0.0, 8.0)], [0, 1, 2, 0]),
    ],
)
def test_epochs_without_improvement(epochs, expected):
    assert waited(epochs) == expected


def test_what_was_not_measured():
    assert Translation().score_to_improve({"val_loss": 3.0}) is None
    assert Translation().score_to_improve({"val_bleu": 0.3}) == 0.3
