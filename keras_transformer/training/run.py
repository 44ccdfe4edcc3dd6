"""A run directory: everything that a training leaves behind.

run.json            configuration, batch shapes, versions
source.model        SentencePiece models; with a joint vocabulary `joint.model` alone
target.model
history.csv         one line of metrics an epoch
logs/               TensorBoard
checkpoints/        see `keras_transformer.training.checkpoints`
"""

import dataclasses
import importlib.metadata
import json
import os
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from keras_transformer.config import RunConfig
from keras_transformer.data.bucketing import BucketPlan
from keras_transformer.files import write_atomically
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.training.checkpoints import Checkpoints

# What may change between two calls of the same run: it decides how long to go on and what to keep,
# not what is computed.
_MAY_CHANGE = {"training.epochs", "training.keep_checkpoints", "training.samples"}


@dataclasses.dataclass(frozen=True)
class Run:
    """A run directory.

    Args:
        path: The directory.
        config: The configuration it was made with.
        source_tokenizer: Tokenizer of the source language.
        target_tokenizer: Tokenizer of the target language; the same object when it is joint.
        plan: The batch shapes.
    """

    path: Path
    config: RunConfig
    source_tokenizer: SubwordTokenizer
    target_tokenizer: SubwordTokenizer
    plan: BucketPlan

    @property
    def checkpoints(self) -> Checkpoints:
        """The run's checkpoints."""
        return Checkpoints(self.path / "checkpoints", self.config.training.keep_checkpoints)

    def write(self) -> None:
        """Writes tokenizers and `run.json`, the latter last: it says that the run is complete."""
        self.path.mkdir(parents=True, exist_ok=True)
        if self.config.model.joint_vocabulary:
            self.source_tokenizer.save(self.path / "joint.model")
        else:
            self.source_tokenizer.save(self.path / "source.model")
            self.target_tokenizer.save(self.path / "target.model")
        content = {
            "config": self.config.to_dict(),
            "plan": self.plan.shapes,
            "versions": _versions(),
        }
        write_atomically(self.path / "run.json", json.dumps(content, indent=2).encode())


def exists(path: str | os.PathLike) -> bool:
    """Returns whether a directory holds a run."""
    return (Path(path) / "run.json").is_file()


def open_run(path: str | os.PathLike) -> Run:
    """Opens a run directory.

    Args:
        path: The directory.

    Raises:
        FileNotFoundError: If it holds no run.

    Example:
        >>> model = open_run("runs/demo").checkpoints.best().load()
    """
    path = Path(path)
    if not exists(path):
        raise FileNotFoundError(
            f"`path` must be a run directory, as train.py makes; it has no run.json. Received: "
            f"{path}"
        )
    content = json.loads((path / "run.json").read_text())
    config = RunConfig.from_dict(content["config"])
    if config.model.joint_vocabulary:
        source = target = SubwordTokenizer.load(path / "joint.model")
    else:
        source = SubwordTokenizer.load(path / "source.model")
        target = SubwordTokenizer.load(path / "target.model")
    return Run(path, config, source, target, BucketPlan(content["plan"]))


def resume_run(path: str | os.PathLike, config: RunConfig) -> Run:
    """Opens a run directory to continue it.

    Args:
        path: The directory.
        config: The configuration to continue with.

    Returns:
        The run, with `config` in place of its own.

    Raises:
        ValueError: If the run was made with another configuration; the message lists what differs.

    Example:
        >>> run = resume_run("runs/demo", config)
    """
    run = open_run(path)
    old, new = _flat(run.config.to_dict()), _flat(config.to_dict())
    changes = [
        f"{name}: {old.get(name)!r} there, {new.get(name)!r} now"
        for name in sorted({*old, *new} - _MAY_CHANGE)
        if old.get(name) != new.get(name)
    ]
    if changes:
        raise ValueError(
            f"`output` holds a run with another configuration; choose another directory or repeat "
            f"the options it was made with. Received: {run.path} with {'; '.join(changes)}"
        )
    return dataclasses.replace(run, config=config)


def _flat(sections: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    def items() -> Iterator[tuple[str, Any]]:
        for section, values in sections.items():
            for name, value in values.items():
                yield f"{section}.{name}", value

    # Through JSON, as the run's own went: a tuple compares unequal to the list it is written as.
    return json.loads(json.dumps(dict(items())))


def _versions() -> dict[str, str]:
    packages = ("keras_transformer", "keras", "tensorflow", "tensorflow-text", "sentencepiece")
    versions = {name: importlib.metadata.version(name) for name in packages}
    return {"python": platform.python_version(), **versions}
