"""A shard: the ids of so many pairs, in a folder that is whole or not there."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from keras_transformer.data.corpora import LinePair
from keras_transformer.data.weights import WeightedPair, weight_of
from keras_transformer.files import atomic_directory, written_once
from keras_transformer.streams.chunking import chunked

if TYPE_CHECKING:
    from keras_transformer.text.tokenizer import SubwordTokenizer

SIDES = ("source", "target")

# Lines in one call of a tokenizer.
_CHUNK = 10_000


def write_shard(
    path: str | os.PathLike[str],
    pairs: Sequence[LinePair],
    tokenizers: "Iterable[SubwordTokenizer]",
) -> int:
    """Writes a shard if it is not there.

    Args:
        path: Its folder.
        pairs: The pairs of lines.
        tokenizers: Those of source and target.

    Returns:
        The number of pairs.

    Example:
        >>> write_shard("cache/shard-00000", [("a dog", "ein Hund")], (tokenizer, tokenizer))
        1
        >>> np.load("cache/shard-00000/lengths.npy").shape
        (1, 2)
    """
    path = Path(path)
    if path.exists():
        return len(pairs)
    lengths = []
    # Another process that prepares the same corpus may be the first.
    with written_once(path), atomic_directory(path) as folder:
        for side, tokenizer, lines in zip(SIDES, tokenizers, zip(*pairs, strict=True), strict=True):
            ids, side_lengths = _tokenized(tokenizer, lines)
            np.save(folder / f"{side}.npy", ids)
            lengths.append(side_lengths)
        np.save(folder / "lengths.npy", np.stack(lengths, axis=1))
        if isinstance(pairs[0], WeightedPair):
            np.save(folder / "weights.npy", np.array(list(map(weight_of, pairs)), np.float32))
    return len(pairs)


def _tokenized(
    tokenizer: "SubwordTokenizer", lines: Sequence[str]
) -> tuple[npt.NDArray[np.integer], npt.NDArray[np.int32]]:
    """Returns the ids of all lines, and the length of each."""
    dtype = np.uint16 if tokenizer.vocab_size <= np.iinfo(np.uint16).max + 1 else np.int32
    rows = [tokenizer.tokenize(chunk) for chunk in chunked(lines, _CHUNK)]
    ids = np.concatenate([ragged.values.numpy().astype(dtype) for ragged in rows])
    return ids, np.concatenate([ragged.row_lengths().numpy().astype(np.int32) for ragged in rows])
