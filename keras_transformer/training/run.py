"""A run directory: everything that a training leaves behind.

run.json            configuration, batch shapes, versions, machine, fingerprints of the corpora, and
                    the run that it began with
source.model        SentencePiece models; with a joint vocabulary `joint.model` alone
target.model
history.csv         one line of metrics an epoch
logs/               TensorBoard
non_finite/         batches after which a loss was not finite, if that happened
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

# What may change between two calls of the same run: it decides how long to go on, what to keep, and
# how a step is computed, not what is computed.
_MAY_CHANGE = {
    f"training.{name}"
    for name in (
        "epochs",
        "max_steps",
        "micro_batches",
        "early_stopping",
        "patience",
        "checkpoint_steps",
        "checkpoint_minutes",
        "keep_checkpoints",
        "keep_best",
        "average_checkpoints",
        "average_best",
        "samples",
    )
}

_PACKAGES = (
    "keras_transformer",
    "keras",
    "tensorflow",
    "tensorflow-text",
    "sentencepiece",
    "numpy",
)


@dataclasses.dataclass(frozen=True)
class Run:
    """A run directory.

    Args:
        path: The directory.
        config: The configuration it was made with.
        source_tokenizer: Tokenizer of the source language.
        target_tokenizer: Tokenizer of the target language; the same object when it is joint.
        plan: The batch shapes.
        data: For each corpus, by what it is for, its fingerprint as plain values.
        init_from: The run whose tokenizers and weights it began with, if it did.
    """

    path: Path
    config: RunConfig
    source_tokenizer: SubwordTokenizer
    target_tokenizer: SubwordTokenizer
    plan: BucketPlan
    data: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    init_from: str | None = None

    @property
    def tokenizers(self) -> tuple[SubwordTokenizer, SubwordTokenizer]:
        """The tokenizers of source and target."""
        return self.source_tokenizer, self.target_tokenizer

    @property
    def checkpoints(self) -> Checkpoints:
        """The run's checkpoints."""
        training = self.config.training
        return Checkpoints(self.path / "checkpoints", training.keep_checkpoints, training.keep_best)

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
            "data": self.data,
            "init_from": self.init_from,
            "versions": versions(),
            "machine": machine(),
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
    plan = BucketPlan(content["plan"])
    return Run(path, config, source, target, plan, content["data"], content["init_from"])


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


def require_same_data(run: Run, data: Mapping[str, Mapping[str, Any]]) -> None:
    """Checks that the corpora are those that a run was made with.

    Args:
        run: The run.
        data: The fingerprints of the corpora as they are now.

    Raises:
        ValueError: If one differs; the message says which.

    Example:
        >>> require_same_data(run, run.data)
    """
    changed = [
        f"{name}: {_described(run.data.get(name))} there, {_described(data.get(name))} now"
        for name in sorted({*run.data, *data})
        if run.data.get(name) != data.get(name)
    ]
    if changed:
        raise ValueError(
            f"A run goes on with the corpora that it was made with; restore them or choose another "
            f"directory. Received: {run.path} with {'; '.join(changed)}"
        )


def _described(fingerprint: Mapping[str, Any] | None) -> str:
    if fingerprint is None:
        return "none"
    return ", ".join(f"{name} {value}" for name, value in fingerprint.items())


def log_header(run: Run) -> str:
    """Returns what a log says first: versions, machine, seed and the corpora's fingerprints."""
    packages = ", ".join(f"{name} {version}" for name, version in versions().items())
    lines = [packages, machine(), f"seed {run.config.training.seed}"]
    lines += [f"{name}: {_described(fingerprint)}" for name, fingerprint in run.data.items()]
    return "\n".join(lines)


def versions() -> dict[str, str]:
    """Returns the versions of Python and of the packages that results depend on."""
    packages = {name: importlib.metadata.version(name) for name in _PACKAGES}
    return {"python": platform.python_version(), **packages}


def machine() -> str:
    """Returns the platform and the processor, in words."""
    return f"{platform.platform()}, {_processor()}, {os.cpu_count()} CPUs"


def _processor() -> str:
    """Linux does not tell Python the model of its processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.machine())
