"""`metadata.json`: what an export is, and where it comes from. Every format has one."""

import dataclasses
import datetime
import importlib.metadata
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keras_transformer.files import write_atomically
from keras_transformer.text.vocabulary import EOS_ID

if TYPE_CHECKING:  # Who reads loads no TensorFlow.
    from keras_transformer.prediction.graph import PredictionGraph
    from keras_transformer.runs.run import Run
    from keras_transformer.translation.translator import Translator


def write_metadata(folder: Path, translator: "Translator", export_format: str, **more: Any) -> None:
    """Writes `folder/metadata.json`.

    Args:
        folder: Folder of the export.
        translator: What is exported.
        export_format: Its format.
        **more: Further entries, of the format.

    Example:
        >>> write_metadata(Path("."), translator, "tflite", quantization="int8")
    """
    save_metadata(folder, {**describe(translator), "format": export_format, **more})


def save_metadata(folder: Path, content: Mapping[str, Any]) -> None:
    """Writes `folder/metadata.json` as it is given.

    Args:
        folder: Folder of the export.
        content: What it says.

    Example:
        >>> save_metadata(Path("."), {"format": "saved_model"})
    """
    write_atomically(folder / "metadata.json", json.dumps(content, indent=2).encode())


def read_metadata(folder: Path) -> dict[str, Any]:
    """Reads `folder/metadata.json`.

    Args:
        folder: Folder of the export.

    Returns:
        What it says; nothing if there is none, as in a CTranslate2 export of an earlier version.

    Example:
        >>> read_metadata(Path("exports/none"))
        {}
    """
    path = folder / "metadata.json"
    return json.loads(path.read_text("utf-8")) if path.is_file() else {}


def eos_of(metadata: Mapping[str, Any]) -> str:
    """Returns the target vocabulary's piece for the end.

    Args:
        metadata: What `metadata.json` says; that of earlier versions does not say it.

    Example:
        >>> eos_of({"eos": "<eos>"}), eos_of({})
        ('<eos>', '</s>')
    """
    return metadata.get("eos", "</s>")


def require_translating(folder: Path) -> None:
    """Refuses an export that does something else than to translate.

    Raises:
        ValueError: If it predicts; the message names the command.

    Example:
        >>> require_translating(Path("exports/none"))
    """
    if "columns" in read_metadata(folder):
        raise ValueError(
            "An export must be one that translates; of one that predicts labels, answers or tags, "
            f"`keras-transformer predict` does so. Received: {folder}"
        )


def describe(translator: "Translator") -> dict[str, Any]:
    """Returns what the metadata say in every format that has them.

    Example:
        >>> describe(translator)["limits"]["max_length"]
        32
    """
    source, target = translator.source_tokenizer, translator.target_tokenizer
    return {
        **made_now(),
        "vocabulary": {"source": source.vocab_size, "target": target.vocab_size},
        "eos": target.pieces[EOS_ID],
        # In tokens, eos included; a longer source is translated in pieces, or cut where an export's
        # output says so.
        "limits": {"max_length": translator.graph.max_length},
        "decoding": dataclasses.asdict(translator.config),
        "models": len(translator.models),
        "parameters": sum(model.count_params() for model in translator.models),
        **translator.origin,
    }


def describe_predictor(run: "Run", graph: "PredictionGraph", **limits: int) -> dict[str, Any]:
    """Returns what the metadata say of what predicts from text, in every format.

    Args:
        run: What is exported.
        graph: What predicts.
        **limits: Of a text, beside the most tokens.
    """
    return {
        **made_now(),
        "task": run.config.task,
        "columns": list(graph.columns),
        "labels": list(run.config.data.labels),
        "limits": {"max_length": graph.max_length, **limits},
        "parameters": graph.model.count_params(),
        "run": run.path.name,
    }


def made_now() -> dict[str, Any]:
    """Returns when an export is made, and by what.

    Example:
        >>> sorted(made_now())
        ['exported', 'versions']
    """
    packages = ("keras_transformer", "keras", "tensorflow", "tensorflow-text")
    return {
        "exported": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "versions": {name: importlib.metadata.version(name) for name in packages},
    }
