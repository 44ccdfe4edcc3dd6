"""Checkpoints: whole models on disk, of which the last good one survives whatever happens.

A checkpoint is a folder `epoch-0003/` that holds `model.keras`, optimizer included, and
`state.json`: the metrics, and what Keras does not save, the states of the dropouts' random numbers.
The folder gets its name when it is complete, so that every folder there is is good.
"""

import json
import math
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_transformer.files import atomic_directory


class Checkpoint(NamedTuple):
    """A saved model.

    Args:
        path: Its folder.
        epoch: Epochs that were completed.
        metrics: The metrics at the end of that epoch.
    """

    path: Path
    epoch: int
    metrics: Mapping[str, float]

    def load(self, compile: bool = True) -> keras.Model:
        """Returns the model; with `compile`, ready to train on, with the optimizer's state."""
        model = keras.saving.load_model(self.path / "model.keras", compile=compile)
        state = json.loads((self.path / "state.json").read_text())
        for variable, value in zip(_random_states(model), state["random"], strict=True):
            variable.assign(value)
        return model


class Checkpoints:
    """The checkpoints of a run: the newest ones and the best.

    The best has the highest `val_bleu` or, where that was not measured, the lowest `val_loss`, else
    the lowest `loss`.

    Args:
        directory: Folder of the checkpoints.
        keep: Newest checkpoints that are kept, besides the best.

    Example:
        >>> checkpoints = Checkpoints("checkpoints", keep=3)
        >>> saved = checkpoints.save(model, epoch=1, metrics={"val_bleu": 31.2})
        >>> model = checkpoints.latest().load()
    """

    def __init__(self, directory: str | os.PathLike, keep: int = 3):
        self.directory = Path(directory)
        self.keep = keep

    def save(self, model: keras.Model, epoch: int, metrics: Mapping[str, Any]) -> Checkpoint:
        """Saves a model, then removes checkpoints that are neither new nor best.

        Raises:
            OSError: If the disk is full, say; earlier checkpoints stay.
        """
        path = self.directory / f"epoch-{epoch:04d}"
        metrics = {name: float(value) for name, value in metrics.items()}
        with atomic_directory(path) as folder:
            model.save(folder / "model.keras")
            random = [ops.convert_to_numpy(value).tolist() for value in _random_states(model)]
            state = {"epoch": epoch, "metrics": metrics, "random": random}
            (folder / "state.json").write_text(json.dumps(state, indent=2))
        self._prune()
        return Checkpoint(path, epoch, metrics)

    def all(self) -> list[Checkpoint]:
        """Returns the checkpoints there are, oldest first."""
        found = []
        for path in self.directory.glob("epoch-*"):
            state = json.loads((path / "state.json").read_text())
            found.append(Checkpoint(path, state["epoch"], state["metrics"]))
        return sorted(found, key=lambda checkpoint: checkpoint.epoch)

    def latest(self) -> Checkpoint | None:
        """Returns the newest checkpoint, if there is one."""
        return max(self.all(), key=lambda checkpoint: checkpoint.epoch, default=None)

    def best(self) -> Checkpoint | None:
        """Returns the best checkpoint, if there is one."""
        return max(self.all(), key=_quality, default=None)

    def _prune(self) -> None:
        checkpoints = self.all()
        best = max(checkpoints, key=_quality)
        for checkpoint in checkpoints[: -self.keep]:
            if checkpoint != best:
                shutil.rmtree(checkpoint.path)
        for abandoned in self.directory.glob(".epoch-*.tmp"):
            shutil.rmtree(abandoned)


def _quality(checkpoint: Checkpoint) -> float:
    metrics = checkpoint.metrics
    if "val_bleu" in metrics:
        return metrics["val_bleu"]
    loss = metrics.get("val_loss", metrics.get("loss", 0.0))
    # Any comparison with NaN is false, which would make a diverged model the best for good.
    return -math.inf if math.isnan(loss) else -loss


def _random_states(model: keras.Model) -> list[keras.Variable]:
    return [value for value in model.variables if value.path.endswith("seed_generator_state")]
