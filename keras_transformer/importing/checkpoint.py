"""What a format makes of its files, for a run to be written of."""

import dataclasses
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from keras_transformer.config import DecodingConfig, TransformerConfig
from keras_transformer.importing.vocabulary import read_file
from keras_transformer.importing.weights import Weights
from keras_transformer.text.tokenizer import SubwordTokenizer


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """A checkpoint of another toolkit.

    Args:
        config: The model.
        decoding: How that toolkit searches by default.
        tokenizers: Those of source and target; one object twice only for a vocabulary of ours.
        weights: The weights.
        languages: Codes of source and target, as far as the files tell them.
    """

    config: TransformerConfig
    decoding: DecodingConfig
    tokenizers: tuple[SubwordTokenizer, SubwordTokenizer]
    weights: Weights
    languages: tuple[str | None, str | None] = (None, None)


def read_json(path: Path, may_lack: bool = False) -> dict[str, Any]:
    """Reads a JSON object.

    Args:
        path: The file.
        may_lack: Whether a file that is not there is as an empty one.

    Raises:
        ValueError: If it is missing, or holds something else.

    Example:
        >>> _ = Path("config.json").write_text('{"d_model": 8}')
        >>> read_json(Path("config.json"))
        {'d_model': 8}
    """
    if may_lack and not path.is_file():
        return {}
    stored = read_file(path)
    try:
        content = json.loads(stored.decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"`source` must hold JSON in {path.name}; copy it anew. Received: {path}, {error}"
        ) from error
    if not isinstance(content, dict):
        raise ValueError(
            f"`source` must hold a JSON object in {path.name}; copy it anew. Received: {path}, a "
            f"{type(content).__name__}"
        )
    return content


def require_supported(
    options: Mapping[str, Any], supported: Mapping[str, Collection[Any]], path: Path
) -> None:
    """Refuses a model that is none of ours.

    Args:
        options: The options of the model; one that is not there has the first supported value.
        supported: For each option that matters the values that can be imported.
        path: Where they stand, for the message.

    Raises:
        ValueError: If an option has another value; the message names it.

    Example:
        >>> require_supported({"type": "transformer"}, {"type": ["transformer"]}, Path("a.yml"))
    """
    for name, values in supported.items():
        value = options.get(name, next(iter(values)))
        if value not in list(values):  # A file's value may be one that no mapping takes.
            raise ValueError(
                f"`source` must have {name} {' or '.join(map(repr, values))} to be imported; such "
                f"a model has no counterpart here. Received: {name}={value!r} in {path}"
            )


def required_options(
    options: Mapping[str, Any], kinds: Mapping[str, type], path: Path
) -> dict[str, Any]:
    """Reads options that every model has.

    Args:
        options: The options.
        kinds: For each its type.
        path: Where they stand, for the message.

    Raises:
        ValueError: If one is missing or of another type.

    Example:
        >>> required_options({"d_model": 8}, {"d_model": int}, Path("config.json"))
        {'d_model': 8}
    """
    for name, kind in kinds.items():
        if not _is(options.get(name), kind):
            raise ValueError(
                f"`source` must tell {name}; copy the whole of it. Received: "
                f"{options.get(name)!r} in {path}"
            )
    return {name: options[name] for name in kinds}


def optional(options: Mapping[str, Any], name: str, default: Any, path: Path) -> Any:
    """Reads an option that a model may leave out, or have as null.

    Args:
        options: The options.
        name: Its name.
        default: What it is then; it must have the default's type otherwise. A default of 0.0 or
            another float takes whole numbers as well.
        path: Where they stand, for the message.

    Raises:
        ValueError: If it is of another type.

    Example:
        >>> optional({"beam-size": None}, "beam-size", 12, Path("decoder.yml"))
        12
    """
    value, kind = options.get(name), type(default)
    if value is None:
        return default
    if not _is(value, kind):
        raise ValueError(
            f"`source` must have {name} of the type {kind.__name__}; copy it anew, or mend it. "
            f"Received: {value!r} in {path}"
        )
    return kind(value)


def _is(value: object, kind: type) -> bool:
    """Returns whether a file's value is of a type; to Python, but to no file, True is 1."""
    kinds = (int, float) if kind is float else kind
    return isinstance(value, kinds) and (kind is bool or not isinstance(value, bool))
