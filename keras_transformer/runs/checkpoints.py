"""Checkpoints: models on disk, of which the last good one survives whatever happens.

A checkpoint is a folder `step-00001234/` that holds

    model.keras     the model without its optimizer: what is exported, evaluated and averaged
    state.json      how far the training was, and the metrics if it was scored
    training.npz    in the newest checkpoint alone: what only continuing needs

The folder gets its name when it is complete and loses it before it is removed, so that every folder
there is is good. `average/` beside them has the same layout; it is the mean of several.
"""

import contextlib
import json
import math
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from keras_transformer.config import RunConfig
from keras_transformer.files import atomic_directory, write_atomically
from keras_transformer.runs.progress import Progress

# Keras takes seconds to load; to tell which checkpoints there are, it is not needed.
if TYPE_CHECKING:
    import keras

_AVERAGE = "average"


class Checkpoint(NamedTuple):
    """A saved model.

    Args:
        path: Its folder.
        progress: How far the training was.
        metrics: Its scores; none if it was written to resume from and nothing else.
        averaged: Steps of the checkpoints that it is the mean of, in order; none if it is no mean.
    """

    path: Path
    progress: Progress
    metrics: Mapping[str, float]
    averaged: tuple[int, ...] = ()

    @property
    def step(self) -> int:
        """Batches that were trained on."""
        return self.progress.step

    @property
    def epoch(self) -> int:
        """Epochs that were completed."""
        return self.progress.epoch

    def load(self) -> "keras.Model":
        """Returns the model."""
        import keras

        import keras_transformer.models.families  # noqa: F401  registers the models

        return keras.saving.load_model(self.path / "model.keras", compile=False)

    def arrays(self) -> dict[str, np.ndarray]:
        """Returns what only continuing needs, by name.

        Raises:
            FileNotFoundError: If a newer checkpoint has been written since.
        """
        with np.load(self.path / "training.npz") as file:
            return dict(file)


class Checkpoints:
    """The checkpoints of a run: the newest ones, the best, and the newest of all to resume from.

    The best is the best by the first metric of `ranking` that any of them has; of two that are as
    good by it, by the next one; of two that are as good by all, the older one. The average competes
    with the others by the same rule.

    Args:
        directory: Folder of the checkpoints.
        keep: Newest scored checkpoints that are kept.
        keep_best: Best checkpoints that are kept besides.
        ranking: Metrics that tell how good one is, the most telling first; with a minus before the
            name of one of which less is better.
        floors: Values of metrics, of which more is better, below which a difference tells nothing.

    Example:
        >>> checkpoints = Checkpoints("checkpoints", keep=3, ranking=("val_bleu", "-val_loss"))
        >>> checkpoints.save(model, Progress(step=100, epoch=1), {"val_bleu": 31.2})
        >>> model = checkpoints.latest().load()
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        keep: int = 3,
        keep_best: int = 1,
        ranking: Sequence[str] = RunConfig.ranking,
        floors: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        self.directory = Path(directory)
        self.keep = keep
        self.keep_best = keep_best
        self.ranking = ranking
        self.floors = floors

    def save(
        self,
        model: "keras.Model",
        progress: Progress,
        metrics: Mapping[str, Any] | None = None,
        arrays: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        """Saves a model, then removes what need not be kept.

        The weights of a step are the same whenever they are saved, so a second save of a step adds
        its metrics to the first.

        Args:
            model: The model; its optimizer is left out.
            progress: How far the training is.
            metrics: Its scores; none for a checkpoint to resume from and nothing else.
            arrays: What continuing needs besides.

        Raises:
            OSError: If the disk is full, say; earlier checkpoints stay.
        """
        path = self.directory / f"step-{progress.step:08d}"
        if path.exists():
            metrics = {**_read(path).metrics, **(metrics or {})}
            write_atomically(path / "state.json", _state(progress, metrics))
        else:
            with atomic_directory(path) as folder:
                _save_without_optimizer(model, folder / "model.keras")
                if arrays is not None:
                    # Its one option, `allow_pickle`, is no name of ours.
                    np.savez(folder / "training.npz", **arrays)  # type: ignore[arg-type]
                (folder / "state.json").write_bytes(_state(progress, metrics or {}))
        self._prune()

    def save_average(
        self, model: "keras.Model", averaged: Sequence[Checkpoint], metrics: Mapping[str, Any]
    ) -> Checkpoint:
        """Saves the mean of several checkpoints in place of an older mean, and returns it.

        Args:
            model: A model with the mean of their weights.
            averaged: The checkpoints.
            metrics: The scores of the mean.
        """
        path, (*_, newest) = self.directory / _AVERAGE, sorted(averaged, key=_step)
        _remove(path)
        steps = sorted(map(_step, averaged))
        with atomic_directory(path) as folder:
            _save_without_optimizer(model, folder / "model.keras")
            (folder / "state.json").write_bytes(_state(newest.progress, metrics, steps))
        return _read(path)

    def all(self) -> list[Checkpoint]:
        """Returns the checkpoints there are, oldest first, without the average."""
        found = map(_read_if_there, self.directory.glob("step-*"))
        return sorted(filter(None, found), key=_step)

    def newest(self, count: int) -> list[Checkpoint]:
        """Returns the newest checkpoints that were scored, oldest first."""
        scored = [checkpoint for checkpoint in self.all() if checkpoint.metrics]
        return scored[-count:] if count else []

    def ranked(self, count: int) -> list[Checkpoint]:
        """Returns the best checkpoints that were scored, the best first."""
        scored = [checkpoint for checkpoint in self.all() if checkpoint.metrics]
        return sorted(scored, key=self._quality, reverse=True)[:count]

    def latest(self) -> Checkpoint | None:
        """Returns the newest checkpoint, scored or not, if there is one."""
        return max(self.all(), key=_step, default=None)

    def best(self) -> Checkpoint | None:
        """Returns the best checkpoint or the average, if there is one."""
        candidates = [*self.all(), *filter(None, [self.average()])]
        return max(candidates, key=self._quality, default=None)

    def average(self) -> Checkpoint | None:
        """Returns the mean of several checkpoints, if it was made."""
        return _read_if_there(self.directory / _AVERAGE)

    def _quality(self, checkpoint: Checkpoint) -> tuple[float, ...]:
        """What each metric of the ranking says, of which more is better."""
        return tuple(self._value(checkpoint.metrics, name) for name in self.ranking)

    def _value(self, metrics: Mapping[str, float], ranked: str) -> float:
        name = ranked.removeprefix("-")
        value = metrics.get(name, math.nan)
        if math.isnan(value):
            # Not measured; or any comparison with it is false, and a diverged model would be the
            # best for good.
            return -math.inf
        return -value if ranked.startswith("-") else max(value, self.floors.get(name, value))

    def _prune(self) -> None:
        *_, latest = everything = self.all()
        kept = {c.path for c in [latest, *self.newest(self.keep), *self.ranked(self.keep_best)]}
        for checkpoint in everything:
            if checkpoint.path not in kept:
                _remove(checkpoint.path)
            elif checkpoint.path != latest.path:
                (checkpoint.path / "training.npz").unlink(missing_ok=True)
        for abandoned in self.directory.glob(".step-*"):
            shutil.rmtree(abandoned)


def _step(checkpoint: Checkpoint) -> int:
    return checkpoint.step


def _read(path: Path) -> Checkpoint:
    state = json.loads((path / "state.json").read_text("utf-8"))
    progress, averaged = Progress(**state["progress"]), tuple(state["averaged"])
    return Checkpoint(path, progress, state["metrics"], averaged)


def _read_if_there(path: Path) -> Checkpoint | None:
    """Reads a checkpoint; a training that goes on meanwhile may have removed it."""
    with contextlib.suppress(FileNotFoundError):
        return _read(path)
    return None


def _state(progress: Progress, metrics: Mapping[str, Any], averaged: Sequence[int] = ()) -> bytes:
    state = {
        "progress": progress._asdict(),
        "metrics": {name: float(value) for name, value in metrics.items()},
        "averaged": averaged,
    }
    return json.dumps(state, indent=2).encode()


def _save_without_optimizer(model: "keras.Model", path: Path) -> None:
    """Keras leaves the optimizer out only where there is none."""
    optimizer = getattr(model, "optimizer", None)
    try:
        if optimizer is not None:
            model.optimizer = None
        model.save(path)
    finally:
        if optimizer is not None:
            model.optimizer = optimizer


def _remove(path: Path) -> None:
    """Removes a folder, which loses its name first: killed in the midst, none is half there."""
    if path.exists():
        removed = path.with_name(f".{path.name}.removed")
        shutil.rmtree(removed, ignore_errors=True)
        os.rename(path, removed)
        shutil.rmtree(removed)
