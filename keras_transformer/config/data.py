"""Which corpora there are, and how batches are made of them."""

import dataclasses

from keras_transformer.config.checks import require, require_fraction, require_positive


@dataclasses.dataclass(frozen=True)
class DataConfig:
    """The corpora of a run and how they become batches.

    A corpus is one of: `phrasebook[:SPLIT[:SIZE]]` (built in), `tfds:NAME[:SPLIT]` (a TFDS
    translation data set, or a local folder in TranslateFolder's layout), `FILE.tsv[.gz]`, the
    prefix of two parallel files (`PREFIX.en[.gz]` and `PREFIX.de[.gz]`), or a list of two files.

    Args:
        train: Training corpus.
        valid: Corpus that is scored after each epoch; None for none.
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
    """

    train: list[str] | str = "phrasebook:train"
    valid: list[str] | str | None = "phrasebook:valid"
    source_language: str = "en"
    target_language: str = "de"
    batch_tokens: int = 4096
    shuffle_buffer: int = 200_000
    max_ratio: float | None = None
    mix: dict[str, float] = dataclasses.field(default_factory=dict)
    subword_dropout: float = 0.0

    def __post_init__(self) -> None:
        require_positive(self, "batch_tokens", "shuffle_buffer")
        ratio = self.max_ratio
        require(ratio is None or ratio >= 1.0, "max_ratio", "at least 1, or None", ratio)
        for spec, weight in self.mix.items():
            require(weight > 0, "mix", "corpora with positive weights", {spec: weight})
        require_fraction(self, "subword_dropout")
