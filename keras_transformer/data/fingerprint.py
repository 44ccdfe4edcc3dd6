"""What tells whether a corpus is still the same."""

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from keras_transformer.data.corpora import Corpus, LinePair
from keras_transformer.data.weights import WeightedPair
from keras_transformer.files import write_atomically
from keras_transformer.streams.chunking import chunked

_CHUNK = 1000


class Fingerprint(NamedTuple):
    """Number of pairs of a corpus, and the hash of their lines and weights in order."""

    pairs: int
    sha256: str


def fingerprint(corpus: Iterable[LinePair]) -> Fingerprint:
    """Reads a corpus once, as a stream.

    Args:
        corpus: The pairs of lines.

    Returns:
        Its fingerprint, which does not depend on how the lines are stored.

    Example:
        >>> fingerprint([("a dog", "ein Hund")]).pairs
        1
    """
    digest, pairs = hashlib.sha256(), 0
    for chunk in chunked(corpus, _CHUNK):
        digest.update("".join(map(_record, chunk)).encode())
        pairs += len(chunk)
    return Fingerprint(pairs, digest.hexdigest())


def remembered_fingerprint(corpus: Corpus, folder: str | os.PathLike[str]) -> Fingerprint:
    """Returns the fingerprint of a corpus, which is read only if its files are not those it had.

    A file is taken for the same while its path, its size and the times of its last change are: the
    time that a program can set, and the one that only the system does.

    Args:
        corpus: The corpus; one that does not come from files is always read.
        folder: Where fingerprints are remembered.

    Example:
        >>> remembered_fingerprint(corpus, "cache") == fingerprint(corpus)
        True
    """
    if not corpus.files:
        return fingerprint(corpus)
    states = [(os.path.abspath(file), *_state(file)) for file in corpus.files]
    name = hashlib.sha256(json.dumps([corpus.weighted, states]).encode()).hexdigest()
    record = Path(folder) / f"{name}.json"
    if not record.exists():
        found = fingerprint(corpus)
        record.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(record, json.dumps(found._asdict()).encode())
    return Fingerprint(**json.loads(record.read_text("utf-8")))


def _state(file: Path) -> tuple[int, int, int]:
    status = file.stat()
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _record(pair: LinePair) -> str:
    source, target = pair
    weight = f" {pair.weight}" if isinstance(pair, WeightedPair) else ""
    # The lengths before the lines keep apart two corpora that differ only in where lines end.
    return f"{len(source)} {len(target)}{weight} {source}{target}"
