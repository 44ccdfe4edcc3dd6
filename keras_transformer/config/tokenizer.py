"""How the subword vocabulary is learned."""

import dataclasses
from typing import Literal

from keras_transformer.config.checks import require, require_positive

NORMALIZATIONS = ("nmt_nfc", "nmt_nfkc", "nfkc", "identity")


@dataclasses.dataclass(frozen=True)
class TokenizerConfig:
    """How the subword vocabulary is learned; its size is the model's `vocab_size`.

    Args:
        algorithm: "bpe", as the paper's, or "unigram".
        character_coverage: Share of the text's characters that get a symbol of their own.
        byte_fallback: Spell an unknown character in UTF-8 bytes instead of the unknown symbol.
        normalization: What text becomes before it is cut: "nmt_nfc" changes nothing that can be
            seen, and drops what cannot, but for joiners where a script needs them; "nmt_nfkc" is
            SentencePiece's default, which replaces full-width punctuation, fractions and
            superscripts; "nfkc" and "identity" are SentencePiece's as well.
        max_sentences: Sentences sampled for training, which bounds its memory.
    """

    algorithm: Literal["bpe", "unigram"] = "bpe"
    character_coverage: float = 1.0
    byte_fallback: bool = False
    normalization: Literal["nmt_nfc", "nmt_nfkc", "nfkc", "identity"] = "nmt_nfc"
    max_sentences: int = 1_000_000

    def __post_init__(self) -> None:
        known = ("bpe", "unigram")
        require(self.algorithm in known, "algorithm", f"one of {known}", self.algorithm)
        rules = self.normalization
        require(rules in NORMALIZATIONS, "normalization", f"one of {NORMALIZATIONS}", rules)
        coverage = self.character_coverage
        require(0.0 < coverage <= 1.0, "character_coverage", "in (0, 1]", coverage)
        require_positive(self, "max_sentences")
