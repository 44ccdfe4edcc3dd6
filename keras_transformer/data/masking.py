"""Masked words: which tokens are to be predicted, and what a model sees in their places.

Of those that are chosen eight tenths are hidden, one tenth replaced by another piece at random and
one tenth left as they are, so that a model has to know all words and not only hidden ones.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from keras_transformer.text.vocabulary import PAD_ID

Ids = npt.NDArray[np.int32]

_HIDDEN, _REPLACED = 0.8, 0.1


@dataclasses.dataclass(frozen=True)
class Masking:
    """Chooses and hides tokens.

    Args:
        share: Share of an input's tokens that are chosen; at least one is, but for whole words that
            are all longer.
        mask_id: The piece in place of a hidden one.
        special_ids: Pieces that are never chosen, nor put in the place of others.
        begins_word: For each piece of the vocabulary, whether a word begins with it, bool
            `[vocab_size]`.
        whole_words: Choose words as a whole. One that would be more than `share` is left out.

    Example:
        >>> masking = Masking(0.5, 4, (0, 1, 2, 3, 4), np.full(10, True))
        >>> ids = np.array([[2, 5, 6, 3, 0]], np.int32)
        >>> seen, places, labels = masking(ids, np.random.default_rng(0))
        >>> sorted(zip(places[0].tolist(), labels[0].tolist()))
        [(1, 5), (2, 6)]

    Reference:
        arXiv 1810.04805, "Masked LM" and Appendix A.1; of whole words, the README of
        google-research/bert.
    """

    share: float
    mask_id: int
    special_ids: Sequence[int]
    begins_word: npt.NDArray[np.bool_]
    whole_words: bool = False

    def count(self, length: int) -> int:
        """Returns how many tokens are chosen of an input, special ones counted.

        Args:
            length: Its tokens.

        Example:
            >>> masking = Masking(0.15, 4, (0, 1, 2, 3, 4), np.full(10, True))
            >>> masking.count(3), masking.count(128)
            (1, 19)
        """
        return max(1, round(self.share * length))

    def __call__(self, ids: Ids, rng: np.random.Generator) -> tuple[Ids, Ids, Ids]:
        """Chooses and hides tokens of a batch.

        Args:
            ids: int32 `[batch, length]`, 0 at padding.
            rng: Source of the draws.

        Returns:
            What the model sees, int32 `[batch, length]`; the places that were chosen, ascending,
            and the tokens that stood there, both int32 `[batch, places]`, 0 where an input has
            fewer.
        """
        chosen = self._chosen(ids, rng)
        places, labels = _gathered(chosen, ids)
        fate = rng.random(ids.shape)
        ordinary = np.setdiff1d(np.arange(len(self.begins_word), dtype=np.int32), self.special_ids)
        seen = np.where(chosen & (fate < _HIDDEN), self.mask_id, ids)
        replaced = chosen & (fate >= _HIDDEN) & (fate < _HIDDEN + _REPLACED)
        seen[replaced] = rng.choice(ordinary, np.count_nonzero(replaced))
        return seen.astype(np.int32), places, labels

    def _chosen(self, ids: Ids, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
        """Draws tokens of each row, bool of the shape of `ids`."""
        ordinary = ~np.isin(ids, self.special_ids)
        counts = np.array([self.count(n) for n in np.count_nonzero(ids != PAD_ID, axis=1)])
        if self.whole_words:
            rows = zip(ids, ordinary, counts, strict=True)
            return np.array([self._chosen_words(*row, rng) for row in rows])
        # The first ones of a random order in which special pieces come last.
        order = np.argsort(np.where(ordinary, rng.random(ids.shape), 2.0), axis=1)
        first = np.arange(ids.shape[1]) < counts[:, None]
        chosen = np.zeros_like(ordinary)
        np.put_along_axis(chosen, order, first, axis=1)
        return chosen & ordinary

    def _chosen_words(
        self, ids: Ids, ordinary: npt.NDArray[np.bool_], count: int, rng: np.random.Generator
    ) -> npt.NDArray[np.bool_]:
        """Draws words of a row, as long as they have at most `count` tokens together."""
        # Numbered through; a special piece stands by itself, and no word goes on after it.
        begins = self.begins_word[ids] | ~ordinary
        begins[1:] |= ~ordinary[:-1]
        words = np.cumsum(begins)
        lengths = np.bincount(words)
        chosen = np.zeros_like(ordinary)
        for word in rng.permutation(np.unique(words[ordinary])):
            if lengths[word] <= count:
                chosen |= words == word
                count -= lengths[word]
        return chosen & ordinary


def _gathered(chosen: npt.NDArray[np.bool_], ids: Ids) -> tuple[Ids, Ids]:
    """Returns the places of each row and the ids there, filled up with 0."""
    most = int(chosen.sum(axis=1).max(initial=0))
    # A stable sort keeps the places ascending.
    places = np.argsort(~chosen, axis=1, kind="stable")[:, :most]
    there = np.take_along_axis(chosen, places, axis=1)
    labels = np.take_along_axis(ids, places, axis=1)
    return np.where(there, places, 0).astype(np.int32), np.where(there, labels, 0)
