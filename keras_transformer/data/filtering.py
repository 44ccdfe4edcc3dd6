"""The pairs that a model can learn from.

Over-long pairs are dropped and counted, never cut: a cut target teaches the model not to stop.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

Ids = Sequence[int] | npt.NDArray[np.int32]
Pair = tuple[Ids, Ids]


class PairFilter:
    """Keeps usable pairs of token ids, and counts the others by the reason.

    Both sides end with eos. That is the source as the encoder reads it, and as long as the target
    that the decoder reads, which gains bos and loses eos.

    Args:
        max_length: Longest side, eos included.
        max_ratio: Longest ratio of one side to the other, without eos; None for any.

    Example:
        >>> keep = PairFilter(max_length=4)
        >>> list(keep([([5, 3], [6, 3]), ([3], [6, 3]), ([5, 3], [6, 6, 6, 6, 3])]))
        [([5, 3], [6, 3])]
        >>> keep.summary()
        'kept 1 of 3 pairs (dropped: 1 empty, 1 longer than 4 tokens)'
    """

    def __init__(self, max_length: int, max_ratio: float | None = None) -> None:
        if max_length < 2:
            raise ValueError(
                f"`max_length` must be at least 2, a token and eos. Received: {max_length}"
            )
        if max_ratio is not None and max_ratio < 1:
            raise ValueError(f"`max_ratio` must be at least 1, or None. Received: {max_ratio}")
        self.max_length = max_length
        self.max_ratio = max_ratio
        self.counts: Counter[str] = Counter(kept=0, empty=0, too_long=0, ratio=0)

    def __call__(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Returns the pairs to keep, as a stream."""
        return filter(self.keeps, pairs)

    def keeps(self, pair: Pair) -> bool:
        """Tells whether to keep a pair, and counts it."""
        return bool(self.kept([(len(pair[0]), len(pair[1]))])[0])

    def kept(self, lengths: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Tells which of many pairs to keep, and counts them.

        Args:
            lengths: Of source and target, eos included; shape [pairs, 2].

        Returns:
            Whether to keep each pair, shape [pairs].

        Example:
            >>> PairFilter(max_length=4).kept([(2, 2), (1, 2), (2, 5)]).tolist()
            [True, False, False]
        """
        shorter, longer = np.sort(lengths, axis=1).T
        faults = {"empty": shorter <= 1, "too_long": longer > self.max_length}
        if self.max_ratio is not None:
            faults["ratio"] = longer - 1 > self.max_ratio * (shorter - 1)
        kept = np.ones(len(shorter), bool)
        # A pair counts for the first of its faults.
        for fault, has_it in faults.items():
            self.counts[fault] += int(np.count_nonzero(kept & has_it))
            kept &= ~has_it
        self.counts["kept"] += int(np.count_nonzero(kept))
        return kept

    def summary(self) -> str:
        """Says in one line what was kept and what was dropped."""
        counts = self.counts
        dropped = [
            f"{counts['empty']:,} empty",
            f"{counts['too_long']:,} longer than {self.max_length} tokens",
        ]
        if self.max_ratio is not None:
            dropped.append(f"{counts['ratio']:,} with a length ratio above {self.max_ratio:g}")
        reasons = ", ".join(dropped)
        return f"kept {counts['kept']:,} of {counts.total():,} pairs (dropped: {reasons})"

    def require_any(self, corpus: str, purpose: str = "train on") -> None:
        """Checks, once a corpus has been read, that something of it was kept.

        Args:
            corpus: Its name.
            purpose: What it is for.

        Raises:
            ValueError: If nothing was kept.
        """
        if not self.counts["kept"]:
            raise ValueError(
                f"No pair of {corpus} is left to {purpose}; choose another corpus, or a larger "
                f"`max_length`. Received: {self.summary()}"
            )
