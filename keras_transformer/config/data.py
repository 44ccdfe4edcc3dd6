"""Which corpora there are, and how batches are made of them."""

import dataclasses
import math
import re

from keras_transformer.config.checks import require, require_fraction, require_positive

_HELD_OUT = re.compile(r"held_out(?::(?P<pairs>[1-9]\d*))?")


@dataclasses.dataclass(frozen=True)
class DataConfig:
    """The corpora of a run and how they become batches.

    A corpus is one of: `phrasebook[:SPLIT[:SIZE]]` (built in, as are `parses` and `dialogue`),
    `tfds:NAME[:SPLIT]` (a TFDS translation data set, or a local folder in TranslateFolder's
    layout), `FILE.tsv[.gz]`, the prefix of two parallel files (`PREFIX.en[.gz]` and
    `PREFIX.de[.gz]`), or a list of two files; or one of these in other languages:
    `reversed:CORPUS`, with its sides in each other's place, or `en-fr:CORPUS`.

    Args:
        train: Training corpus.
        valid: Corpus that is scored after each epoch; None for none. `held_out` holds a twentieth
            of `train` out of the training for it, at most 1,000 pairs; `held_out:PAIRS` so many.
        source_language: Language code of the source.
        target_language: Language code of the target.
        batch_tokens: Most source tokens, and most target tokens, of one batch.
        shuffle_buffer: Pairs held in memory for shuffling.
        max_ratio: Drop pairs with one side longer than the other by more than this factor.
        mix: Further training corpora, each with the number of its pairs that are read for one pair
            of `train`; 0.5 is one pair for every two. An epoch is one pass over `train`; the other
            corpora go on in the next epoch where they stopped.
        subword_dropout: Subword regularisation: probability with which a merge is left out when a
            training line is cut into pieces (BPE-dropout, arXiv 1910.13267), drawn anew in each
            epoch; with the unigram algorithm, alpha of its sampling (arXiv 1804.10959). 0 for none.
        noise: Word noise on the sources of training pairs (arXiv 1711.00043), drawn anew in each
            epoch: `drop` and `mask` are the probabilities with which a word is dropped or hidden,
            `swap` the most places by which one moves; {drop: 0.1, mask: 0.1, swap: 3} is usual.
        weights: Let training pairs count by weights of their own: a third column of a TSV, or a
            file `PREFIX.weights[.gz]` with a number a line beside the two of a prefix. Pairs of
            corpora without weights count 1.
        tags: Begin each source with a tag that says which language it is to be translated into, as
            in `>>de<< a dog`, for models that learn several; a text without a tag asks for
            `decoding.target_language`. With `mix: {"reversed:phrasebook": 1}` a model learns both
            directions, with `mix: {"en-fr:corpora/un": 1}` another language.
        cache: Folder in which the token ids of the training corpora are written once, by several
            processes, and read in every epoch; None to tokenize anew in each. The batches are the
            same. Not with `subword_dropout` and `noise`, which draw other ids in each epoch.
    """

    train: list[str] | str = "phrasebook:train"
    valid: list[str] | str | None = "held_out"
    source_language: str = "en"
    target_language: str = "de"
    batch_tokens: int = 4096
    shuffle_buffer: int = 200_000
    max_ratio: float | None = None
    mix: dict[str, float] = dataclasses.field(default_factory=dict)
    subword_dropout: float = 0.0
    noise: dict[str, float] = dataclasses.field(default_factory=dict)
    weights: bool = False
    tags: bool = False
    cache: str | None = None

    def __post_init__(self) -> None:
        require_positive(self, "batch_tokens", "shuffle_buffer")
        ratio = self.max_ratio
        require(ratio is None or ratio >= 1.0, "max_ratio", "at least 1, or None", ratio)
        for spec, weight in self.mix.items():
            require(weight > 0, "mix", "corpora with positive weights", {spec: weight})
        require_fraction(self, "subword_dropout")
        _check_noise(self.noise)
        same_ids = self.cache is None or not (self.subword_dropout or self.noise)
        expected = "None with `subword_dropout` and `noise`, which draw other ids in each epoch"
        require(same_ids, "cache", expected, self.cache)
        scheme = self.valid.partition(":")[0] if isinstance(self.valid, str) else None
        expected = "held_out or held_out:PAIRS, with at least one pair"
        require(scheme != "held_out" or self.holds_out, "valid", expected, self.valid)

    @property
    def holds_out(self) -> bool:
        """Whether a part of `train` is held out to validate on."""
        return isinstance(self.valid, str) and _HELD_OUT.fullmatch(self.valid) is not None

    def pairs_held_out(self, pairs: int) -> int:
        """Returns how many pairs of the training corpus are held out.

        Args:
            pairs: Pairs that it has.

        Example:
            >>> DataConfig().pairs_held_out(5000)
            250
            >>> DataConfig(valid="phrasebook:valid").pairs_held_out(5000)
            0
        """
        match = _HELD_OUT.fullmatch(self.valid) if isinstance(self.valid, str) else None
        if match is None:
            return 0
        return int(match["pairs"] or min(max(pairs // 20, 1), 1000))


def _check_noise(noise: dict[str, float]) -> None:
    for name, value in noise.items():
        require(name in ("drop", "mask", "swap"), "noise", "drop, mask or swap", name)
        if name == "swap":
            right, expected = (
                0 <= value < math.inf and value == int(value),
                "a whole number of places",
            )
        else:
            right, expected = 0.0 <= value < 1.0, "a probability in [0, 1)"
        require(right, f"noise.{name}", expected, value)
