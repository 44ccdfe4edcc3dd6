"""What a run's vocabulary makes of a corpus: tokens, unknown characters, and what is dropped."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from keras_transformer.data.corpora import LinePair
from keras_transformer.data.filtering import Pair
from keras_transformer.data.inspection.findings import Tally
from keras_transformer.data.preprocessing import PairPreprocessor
from keras_transformer.streams.chunking import chunked
from keras_transformer.text.vocabulary import UNK_ID

if TYPE_CHECKING:
    from keras_transformer.text.tokenizer import SubwordTokenizer

_CHUNK = 1000


class Tokens(NamedTuple):
    """The tokens of a sample.

    Attributes:
        source: Mean number of a source, eos left out.
        target: Of a target, likewise.
        unknown: Characters without a piece, each with how often it occurs.
    """

    source: float
    target: float
    unknown: Counter[str]


def against_vocabulary(
    sample: Sequence[tuple[int, LinePair]], preprocess: PairPreprocessor
) -> tuple[Tokens, list[Tally]]:
    """Looks at a sample as a training would.

    Args:
        sample: Pairs with their lines.
        preprocess: Makes ids of pairs, and tells which are kept.

    Returns:
        The tokens; and the pairs with unknown characters and those that are dropped, by the reason.

    Example:
        >>> preprocess = PairPreprocessor((tokenizer, tokenizer), max_length=32)
        >>> pairs = [(1, ("the dog", "der Hund")), (2, ("the dog", "der \\U0001f415"))]
        >>> tokens, tallies = against_vocabulary(pairs, preprocess)
        >>> [(tally.name, tally.count) for tally in tallies]
        [('unknown', 1), ('dropped_empty', 0), ('dropped_too_long', 0)]
    """
    unknown = Tally("unknown", "with characters that the vocabulary lacks")
    dropped = {
        "empty": Tally("dropped_empty", "dropped in training: a side has no token"),
        "too_long": Tally(
            "dropped_too_long", f"dropped in training: over {preprocess.max_length} tokens"
        ),
    }
    if (most := preprocess.max_ratio) is not None:
        dropped["ratio"] = Tally("dropped_ratio", f"dropped in training: ratio over {most:g}")
    lengths, characters = np.zeros(2), (Counter[str](), Counter[str]())
    for chunk in chunked(sample, _CHUNK):
        sides = [
            tokenizer.tokenize([pair[side] for _, pair in chunk]).to_list()
            for side, tokenizer in enumerate(preprocess.tokenizers)
        ]
        lengths += [sum(map(len, side)) - len(side) for side in sides]
        for (line, pair), ids in zip(chunk, zip(*sides, strict=True), strict=True):
            reason = _reason_to_drop(ids, preprocess)
            if reason in dropped:
                dropped[reason].add(line, pair)
            lacking = [side for side in (0, 1) if UNK_ID in ids[side]]
            if lacking:
                unknown.add(line, pair)
            for side in lacking:
                characters[side].update(pair[side])
    found = [*map(_without_piece, characters, preprocess.tokenizers)]
    source, target = lengths / max(1, len(sample))
    tokens = Tokens(float(source), float(target), found[0] + found[1])
    return tokens, [unknown, *dropped.values()]


def _reason_to_drop(ids: Pair, preprocess: PairPreprocessor) -> str:
    """Returns what the filter of the training counts a pair as."""
    usable = preprocess.new_filter()
    usable.keeps(ids)
    return next(iter(+usable.counts))


def _without_piece(characters: Counter[str], tokenizer: "SubwordTokenizer") -> Counter[str]:
    rows = tokenizer.tokenize(list(characters)).to_list()
    return Counter(
        {one: characters[one] for one, row in zip(characters, rows, strict=True) if UNK_ID in row}
    )
