"""What tells whether a corpus is still the same."""

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

from keras_transformer.data.corpora import LinePair
from keras_transformer.streams.chunking import chunked

_CHUNK = 1000


class Fingerprint(NamedTuple):
    """Number of pairs of a corpus, and the hash of their lines in order, in hexadecimal."""

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
        # The lengths before the lines keep apart two corpora that differ only in where lines end.
        text = "".join(f"{len(one)} {len(other)} {one}{other}" for one, other in chunk)
        digest.update(text.encode())
        pairs += len(chunk)
    return Fingerprint(pairs, digest.hexdigest())
