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
        attention: Draw in TensorBoard what the translation of the first validation sentence attends
            to, after each epoch. Takes matplotlib, and some seconds of the first epoch.
    """

    bleu_sentences: int = 1000
    bleu_tokenize: str = "13a"
    samples: int = 3
    attention: bool = False

    def __post_init__(self) -> None:
        for name in ("bleu_sentences", "samples"):
            require(getattr(self, name) >= 0, name, "at least 0", getattr(self, name))
