"""Which format a source is of; a zip is unpacked first, into a folder that does not stay."""

import contextlib
import lzma
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from keras_transformer.importing.archives import require_bounded
from keras_transformer.importing.bert import BertCheckpoint, read_bert, read_google_bert
from keras_transformer.importing.checkpoint import Checkpoint, read_json
from keras_transformer.importing.huggingface import read_huggingface
from keras_transformer.importing.keras_hub import BACKBONE, PREFIX, read_keras_hub
from keras_transformer.importing.marian import read_marian

_FAULTS = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError),
    *(EOFError, NotImplementedError, RuntimeError),
)


@contextlib.contextmanager
def open_source(
    source: str | os.PathLike[str],
) -> Iterator[Checkpoint | BertCheckpoint]:
    """Reads a checkpoint; its weights are there within the block.

    Args:
        source: A folder of Hugging Face's, of Marian's, of Google's BERT or of KerasHub's, a zip of
            one, or `keras_hub:` and the name of a preset of BERT.

    Raises:
        FileNotFoundError: If there is no such thing.
        ImportError: If a package that it takes is not installed.
        ValueError: If it is neither, not whole, or has no counterpart here.

    Example:
        >>> with open_source("opus-mt-en-de") as checkpoint:  # doctest: +SKIP
        ...     print(checkpoint.config)
    """
    name = os.fspath(source)
    if name.startswith(PREFIX):
        yield read_keras_hub(name.removeprefix(PREFIX))
        return
    source = Path(source)
    if not source.exists():
        raise FileNotFoundError(
            f"`source` must be a folder or a zip, or {PREFIX} and the name of a preset. Received: "
            f"{source}"
        )
    if source.is_dir():
        yield _read(source)
        return
    with tempfile.TemporaryDirectory() as folder:
        _unpack(source, Path(folder))
        yield _read(_innermost(Path(folder)))


def _read(folder: Path) -> Checkpoint | BertCheckpoint:
    if (folder / "config.json").is_file():
        options = read_json(folder / "config.json")
        if options.get("class_name") == BACKBONE:
            return read_keras_hub(folder)
        is_bert = options.get("model_type") == "bert"
        return read_bert(folder) if is_bert else read_huggingface(folder)
    if (folder / "bert_config.json").is_file():
        return read_google_bert(folder)
    if (folder / "decoder.yml").is_file() or any(folder.glob("*.npz")):
        return read_marian(folder)
    raise ValueError(
        "`source` must hold config.json, as Hugging Face's models do, decoder.yml and an .npz, as "
        "Marian's do, or bert_config.json, as Google's BERT does. Received: "
        f"{folder} with {', '.join(sorted(file.name for file in folder.iterdir())) or 'nothing'}"
    )


def _unpack(path: Path, folder: Path) -> None:
    try:
        require_bounded(path)
        with zipfile.ZipFile(path) as archive:
            names = []
            for name in archive.namelist():
                place = PurePosixPath(name.replace("\\", "/"))
                if place.parts:  # "./" has none: it is the folder itself.
                    names.append(name)
                if place.is_absolute() or ".." in place.parts or ":" in "".join(place.parts[:1]):
                    raise ValueError(
                        "`source` must be a zip whose files stay within its folder; do not trust "
                        f"this one. Received: {name!r} in {path}"
                    )
            archive.extractall(folder, names)
    except _FAULTS as error:
        raise ValueError(
            f"`source` must be a folder or a whole zip; copy it anew. Received: {path}, {error}"
        ) from error


def _innermost(folder: Path) -> Path:
    """Some zips hold one folder with all in it."""
    inside = list(folder.iterdir())
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else folder
