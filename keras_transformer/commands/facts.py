"""What a run or an export tells of itself, read from its files without loading a model."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_transformer.commands.quiet import load_tensorflow
from keras_transformer.config.run import RUN_CONFIGS
from keras_transformer.config.sections import RunSections
from keras_transformer.export.formats import MARKS
from keras_transformer.export.metadata import read_metadata
from keras_transformer.export.versions import find_export
from keras_transformer.runs.checkpoints import Checkpoint, Checkpoints
from keras_transformer.runs.size import count_parameters
from keras_transformer.runs.upgrade import upgraded


def facts_of(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns what a run or an export is, as plain values.

    Args:
        path: A run directory, an export, or a folder of versions, of which the highest is meant.

    Raises:
        FileNotFoundError: If it is neither.

    Example:
        >>> facts_of("runs/demo")["family"]
        'transformer'
    """
    path = Path(path)
    if (path / "run.json").is_file():
        return _facts_of_run(path)
    export = find_export(path)
    if export is not None:
        return _facts_of_export(*export)
    raise FileNotFoundError(
        f"`path` must be a run directory, which has a run.json, or an export, which has one of "
        f"{', '.join(MARKS.values())}. Received: {path}"
    )


def _facts_of_run(path: Path) -> dict[str, Any]:
    content = upgraded(json.loads((path / "run.json").read_text("utf-8")))
    config = content["config"]
    sections = RUN_CONFIGS.get(content["task"], RunSections)
    checkpoints = Checkpoints(
        path / "checkpoints", ranking=sections.ranking, floors=sections.floors
    )
    latest, best = checkpoints.latest(), checkpoints.best()
    average = checkpoints.average()
    return {
        "kind": "run",
        "path": str(path),
        "family": content["family"],
        "task": content["task"],
        "languages": _languages(config.get("data", {})),
        "parameters": None if best is None else count_parameters(best.path / "model.keras"),
        "model": config["model"],
        "vocabulary": _vocabulary(config["model"]),
        "epochs": 0 if latest is None else latest.epoch,
        "epochs_wanted": config["training"]["epochs"],
        "steps": 0 if latest is None else latest.step,
        "ranking": list(sections.ranking),
        "checkpoints": [
            _facts_of_checkpoint(one, one == best)
            for one in [*checkpoints.all(), *([] if average is None else [average])]
        ],
        "init_from": content["init_from"],
        "corpora": content["data"],
        "versions": content["versions"],
        "machine": content["machine"],
    }


def _languages(data: Mapping[str, Any]) -> dict[str, str] | None:
    names = {"source": "source_language", "target": "target_language"}
    found = {side: data[name] for side, name in names.items() if name in data}
    return found or None


def _vocabulary(model: Mapping[str, Any]) -> dict[str, int] | None:
    target = model.get("vocab_size")
    if target is None:
        return None
    return {"source": model.get("source_vocab_size") or target, "target": target}


def _facts_of_checkpoint(checkpoint: Checkpoint, best: bool) -> dict[str, Any]:
    return {
        "name": checkpoint.path.name,
        "epoch": checkpoint.epoch,
        "step": checkpoint.step,
        "best": best,
        "averaged": list(checkpoint.averaged),
        "metrics": dict(checkpoint.metrics),
    }


def _facts_of_export(folder: Path, export_format: str) -> dict[str, Any]:
    files = {
        str(file.relative_to(folder)): file.stat().st_size
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }
    found: dict[str, Any] = {
        "kind": "export",
        "path": str(folder),
        "format": export_format,
        "for_serving": "assets.extra/tf_serving_warmup_requests" in files,
    }
    # What its format is, the file says again.
    found = {**read_metadata(folder), **found}
    if export_format == "saved_model":
        load_tensorflow()
        from keras_transformer.export.signatures import describe_signatures

        found["signatures"] = describe_signatures(folder)
    if export_format == "ctranslate2":
        found["vocabulary"] = _vocabulary_of_ctranslate2(folder)
        found["config"] = json.loads((folder / "config.json").read_text("utf-8"))
    return {**found, "files": files}


def _vocabulary_of_ctranslate2(folder: Path) -> dict[str, int]:
    def size(side: str) -> int:
        path = folder / f"{side}_vocabulary.json"
        path = path if path.exists() else folder / "shared_vocabulary.json"
        return len(json.loads(path.read_text("utf-8")))

    return {side: size(side) for side in ("source", "target")}
