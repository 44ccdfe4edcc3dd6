"""Word noise: sources that have lost words, have blanks for some, or some in another place.

Noise is added to ids, after a pair has been kept and cut into pieces. It never makes a source
longer, so neither what is trained on nor the largest batch depends on what is drawn.
"""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from keras_transformer.text.vocabulary import UNK_ID

if TYPE_CHECKING:
    from keras_transformer.text.tokenizer import SubwordTokenizer

IdArray = npt.NDArray[np.int32]

_SPACE = "\u2581"


@dataclasses.dataclass(frozen=True)
class WordNoise:
    """Drops, masks and swaps the words of a sentence, in this order.

    A word is what white space parts, with its punctuation; in scripts without spaces it may be a
    whole sentence. A language tag at the start stays where it is, and so does eos.

    Args:
        begins_word: For each piece of the vocabulary, whether a word begins with it.
        is_tag: For each piece, whether it is a language tag.
        drop: Probability with which a word is dropped; one is always left.
        mask: Probability with which unk takes the place of a word.
        swap: Most places by which a word moves, among those that are left.

    Example:
        >>> noise = WordNoise.of(tokenizer, {"drop": 0.1, "mask": 0.1, "swap": 3})
        >>> [ids] = tokenizer.tokenize(["a small dog"]).to_list()
        >>> noisy = noise(np.array(ids), np.random.default_rng(0)).tolist()
        >>> len(noisy) <= len(ids), noisy[-1:] == ids[-1:]
        (True, True)

    Reference:
        "Unsupervised Machine Translation Using Monolingual Corpora Only", arXiv 1711.00043;
        "Understanding Back-Translation at Scale", arXiv 1808.09381.
    """

    begins_word: npt.NDArray[np.bool_]
    is_tag: npt.NDArray[np.bool_]
    drop: float = 0.0
    mask: float = 0.0
    swap: float = 0

    @classmethod
    def of(cls, tokenizer: "SubwordTokenizer", noise: Mapping[str, float]) -> "WordNoise":
        """Makes the noise for the ids of a tokenizer.

        Args:
            tokenizer: The source's.
            noise: Any of "drop", "mask" and "swap".
        """
        pieces = tokenizer.pieces
        begins_word = np.array([piece.startswith(_SPACE) for piece in pieces])
        is_tag = np.isin(np.arange(len(pieces)), list(tokenizer.tags.values()))
        return cls(begins_word, is_tag, **noise)

    def __call__(self, ids: IdArray, rng: np.random.Generator) -> IdArray:
        """Returns the noisy ids of a sentence.

        Args:
            ids: int32 `[tokens]`, ending with eos.
            rng: Source of the draws.
        """
        first = int(self.is_tag[ids[0]])
        tag, text, eos = ids[:first], ids[first:-1], ids[-1:]
        if not len(text):
            return ids
        words = np.split(text, np.flatnonzero(self.begins_word[text[1:]]) + 1)
        left = np.flatnonzero(rng.random(len(words)) >= self.drop)
        if not len(left):
            left = rng.integers(len(words), size=1)
        masked = rng.random(len(left)) < self.mask
        # Words that are further apart than `swap` cannot change their order.
        order = np.argsort(np.arange(len(left)) + rng.uniform(0, self.swap + 1, len(left)))
        unk = np.array([UNK_ID], ids.dtype)
        drawn = (unk if masked[place] else words[left[place]] for place in order)
        return np.concatenate([tag, *drawn, eos])
