"""The ids of a prepared corpus, in files that are mapped into memory."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_transformer.data.filtering import Pair
from keras_transformer.data.prepared.shards import SIDES
from keras_transformer.data.weights import WeightedPair

IntArray = npt.NDArray[np.int64]


class PreparedCorpus:
    """Pairs of ids by their place in the corpus.

    Args:
        path: Its folder.

    Attributes:
        lengths: Tokens of source and target, eos included; int32, shape [pairs, 2].

    Raises:
        ValueError: If it is damaged.

    Example:
        >>> prepared = prepare(corpus, origin, "cache")
        >>> [(source, target)] = prepared.pairs(np.array([0]))
        >>> [len(source), len(target)] == prepared.lengths[0].tolist()
        True
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        path = Path(path)
        try:
            about = json.loads((path / "index" / "about.json").read_text("utf-8"))
            self._shard_pairs: int = about["shard_pairs"]
            self.lengths = _mapped(path / "index" / "lengths.npy")
            self._bounds = _mapped(path / "index" / "bounds.npy")
            weights = path / "index" / "weights.npy"
            self._weights = _mapped(weights) if weights.exists() else None
            self._shards = [
                [_mapped(path / f"shard-{number:05}" / f"{side}.npy") for side in SIDES]
                for number in range(-(-len(self) // self._shard_pairs))
            ]
            self._require_whole()
        except (OSError, ValueError) as error:
            raise ValueError(
                "`path` must be a prepared corpus as it was written; remove the folder, and it is "
                f"prepared anew. Received: {path} ({error})"
            ) from error

    def __len__(self) -> int:
        """Returns the number of pairs."""
        return len(self.lengths)

    @property
    def tokens(self) -> int:
        """Number of tokens of both sides."""
        return int(self._bounds[-1].sum())

    def pairs(self, places: IntArray) -> list[Pair]:
        """Looks pairs up.

        Args:
            places: Their places in the corpus, shape [n].

        Returns:
            Source and target of each, both ending with eos: views of the files, shape [tokens]. Of
            a corpus with weights each is a `WeightedPair`.
        """
        shards = places // self._shard_pairs
        starts = self._bounds[places] - self._bounds[shards * self._shard_pairs]
        located = np.column_stack([shards, starts, starts + self.lengths[places]]).tolist()
        pairs: list[Pair] = [
            (self._shards[shard][0][source:source_end], self._shards[shard][1][target:target_end])
            for shard, source, target, source_end, target_end in located
        ]
        if self._weights is None:
            return pairs
        return list(map(WeightedPair, pairs, self._weights[places].tolist()))

    def _require_whole(self) -> None:
        ends = [*range(0, len(self), self._shard_pairs), len(self._bounds) - 1]
        expected = np.diff(self._bounds[ends], axis=0).tolist()
        found = [list(map(len, sides)) for sides in self._shards]
        if found != expected:
            raise ValueError("the shards have not as many ids as the index says")


def _mapped(path: Path) -> npt.NDArray[Any]:
    # As a plain array, of which a slice costs a tenth of what one of `np.memmap` does.
    return np.asarray(np.load(path, mmap_mode="r"))
