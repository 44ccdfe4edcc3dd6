"""A run directory: everything that a training leaves behind.

run.json            family, task, configuration and what of it was chosen by rules, batch shapes,
                    versions, machine, fingerprints of the corpora, and the run that it began with
source.model        SentencePiece models; with a joint vocabulary `joint.model` alone
target.model
held_out.LANGUAGE   pairs held out of the training to validate on, if there is no corpus for it
training.lock       names the process that trains the run, while it does
history.csv         one line of metrics an epoch
logs/               TensorBoard
non_finite/         batches after which a loss was not finite, if that happened
checkpoints/        see `keras_transformer.runs.checkpoints`
"""

import dataclasses
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from keras_transformer.config.choices import ALL_GIVEN, Choices
from keras_transformer.config.run import RUN_CONFIGS
from keras_transformer.config.sections import RunSections
from keras_transformer.data.bucketing import BucketPlan
from keras_transformer.files import write_atomically
from keras_transformer.models.families import FAMILIES, family_of
from keras_transformer.runs.checkpoints import Checkpoints
from keras_transformer.runs.machine import machine, versions
from keras_transformer.runs.upgrade import upgraded
from keras_transformer.text.folder import load_tokenizers, save_tokenizers
from keras_transformer.text.tokenizer import SubwordTokenizer

# What may change between two calls of the same run: it decides how long to go on, what to keep, and
# how a step is computed, not what is computed.
_MAY_CHANGE = {
    f"training.{name}"
    for name in (
        "epochs",
        "max_steps",
        "minutes",
        "micro_batches",
        "early_stopping",
        "patience",
        "checkpoint_steps",
        "checkpoint_minutes",
        "keep_checkpoints",
        "keep_best",
        "average_checkpoints",
        "average_best",
    )
} | {
    "validation.samples",
    "data.cache",
    "validation.attention",
    # The vocabulary is there; runs of 0.1.0 have one of another default.
    "tokenizer.normalization",
}


@dataclasses.dataclass(frozen=True)
class Run:
    """A run directory.

    Args:
        path: The directory.
        config: The configuration it was made with, of the task's class.
        tokenizers: Those of source and target; one object twice when the vocabulary is joint.
        plan: The batch shapes.
        data: For each corpus, by what it is for, its fingerprint as plain values.
        init_from: The run whose tokenizers and weights it began with, if it did.
        chosen: What of the configuration was chosen by rules, with the reasons.
    """

    path: Path
    config: Any
    tokenizers: tuple[SubwordTokenizer, SubwordTokenizer]
    plan: BucketPlan
    data: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    init_from: str | None = None
    chosen: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def source_tokenizer(self) -> SubwordTokenizer:
        """The tokenizer of the source language."""
        return self.tokenizers[0]

    @property
    def target_tokenizer(self) -> SubwordTokenizer:
        """The tokenizer of the target language."""
        return self.tokenizers[1]

    @property
    def checkpoints(self) -> Checkpoints:
        """The run's checkpoints."""
        training = self.config.training
        return Checkpoints(
            self.path / "checkpoints",
            training.keep_checkpoints,
            training.keep_best,
            self.config.ranking,
            self.config.floors,
        )

    def write(self) -> None:
        """Writes tokenizers and `run.json`, the latter last: it says that the run is complete."""
        self.path.mkdir(parents=True, exist_ok=True)
        save_tokenizers(self.path, self.tokenizers)
        content = {
            "family": family_of(self.config.model).name,
            "task": self.config.task,
            "config": self.config.to_dict(),
            "chosen": self.chosen,
            "plan": self.plan.shapes,
            "data": self.data,
            "init_from": self.init_from,
            "versions": versions(),
            "machine": machine(),
        }
        write_atomically(self.path / "run.json", json.dumps(content, indent=2).encode())


def exists(path: str | os.PathLike[str]) -> bool:
    """Returns whether a directory holds a run."""
    return (Path(path) / "run.json").is_file()


def open_run(path: str | os.PathLike[str]) -> Run:
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
    content = upgraded(json.loads((path / "run.json").read_text("utf-8")))
    sections = _known(RUN_CONFIGS, "task", content["task"], path)
    family = _known(FAMILIES, "family", content["family"], path)
    config = sections.from_dict(content["config"], family.config)
    plan, tokenizers = BucketPlan(content["plan"]), load_tokenizers(path)
    return Run(
        path,
        config,
        tokenizers,
        plan,
        content["data"],
        content["init_from"],
        content.get("chosen", {}),
    )


def _known(table: Mapping[str, Any], kind: str, name: str, path: Path) -> Any:
    if name not in table:
        raise ValueError(
            f"`path` holds a run of a {kind} that this version does not know; it knows "
            f"{', '.join(table)}. Received: {path} with {kind} {name!r}"
        )
    return table[name]


def resume_run(run: Run, config: RunSections, choices: Choices = ALL_GIVEN) -> Run:
    """Gives a run the configuration to continue it with.

    Args:
        run: The run as it was made.
        config: The configuration to continue with.
        choices: What of it was asked for; what is open is the run's own.

    Returns:
        The run, with `config` in place of its own.

    Raises:
        ValueError: If the run was made with another configuration; the message lists what differs.

    Example:
        >>> run = resume_run(open_run("runs/demo"), config)
    """
    config = choices.filled(config, run.config)
    if run.init_from is not None:  # Whose decoding it took over.
        config = choices.inherited(config, run.config, "decoding")
    old, new = _flat(run.config), _flat(config)
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


def _flat(config: RunSections) -> dict[str, Any]:
    """Returns all options by their dotted names, with what decides which there are."""

    def items() -> Iterator[tuple[str, Any]]:
        yield "task", config.task
        yield "family", family_of(config.model).name
        for section, values in config.to_dict().items():
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
