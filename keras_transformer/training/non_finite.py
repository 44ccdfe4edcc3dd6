"""A loss that is not finite: training stops, and the batch is there to be looked at."""

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.files import write_atomically
from keras_transformer.runs.progress import Progress


class NonFiniteError(ValueError):
    """A loss or a weight has become infinite or not a number."""


class NonFiniteGuard:
    """Stops at the first value that is not finite, and saves the batches that led to it.

    Args:
        folder: Where to save them, as `step-00000123.json`.
        described: Gives the batch of an epoch by its index, as plain values.
        worker: This process among the workers, of which each has batches of its own.

    Example:
        >>> guard = NonFiniteGuard("runs/demo/non_finite", batches.described)
        >>> guard.require(Progress(step=1, batch=1), "loss", [2.5])
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        described: Callable[[int, int], dict[str, Any]],
        worker: int = 0,
    ) -> None:
        self.folder = Path(folder)
        self.described = described
        self.worker = worker

    def require(self, progress: Progress, name: str, values: Iterable[Any]) -> None:
        """Checks numbers after a step.

        Args:
            progress: The place after the step.
            name: What they are.
            values: Arrays or numbers.

        Raises:
            NonFiniteError: If one is not finite; the message says where and which batch it was.
        """
        if all(np.isfinite(value).all() for value in values):
            return
        worker = f"-worker-{self.worker}" if self.worker else ""
        path = self.folder / f"step-{progress.step:08d}{worker}.json"
        self._save(path, progress)
        raise NonFiniteError(
            f"The {name} is not finite at step {progress.step}, batch {progress.batch} of epoch "
            f"{progress.epoch + 1}. The batch and the one before it are in {path}; the last "
            "checkpoint is from before. Lower the learning rate, set `clip_norm`, or look for what "
            "is unusual in the batch."
        )

    def _save(self, path: Path, progress: Progress) -> None:
        # A gradient that is not finite shows in the loss of the next batch.
        indices = range(max(progress.batch - 2, 0), progress.batch)
        content = {
            "step": progress.step,
            "epoch": progress.epoch,
            "batches": [self.described(progress.epoch, index) for index in indices],
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(content, ensure_ascii=False, indent=1).encode())
