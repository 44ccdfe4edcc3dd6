"""How translations of the validation corpus are scored and shown."""

import dataclasses

from keras_transformer.config.checks import require


@dataclasses.dataclass(frozen=True)
class ValidationConfig:
    """What is measured and shown of a translator beside its loss.

    Args:
        bleu_sentences: Validation sentences that are translated for BLEU; 0 for none.
        bleu_tokenize: sacreBLEU's tokenizer: "13a" for raw text, "none" for text that is tokenised
            already, "zh", "ja-mecab" or "ko-mecab" where the target language writes no spaces.
        samples: Translations shown with each BLEU.
    """

    bleu_sentences: int = 1000
    bleu_tokenize: str = "13a"
    samples: int = 3

    def __post_init__(self) -> None:
        for name in ("bleu_sentences", "samples"):
            require(getattr(self, name) >= 0, name, "at least 0", getattr(self, name))
