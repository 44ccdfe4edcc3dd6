"""Corpus BLEU and chrF, by sacreBLEU."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU


@dataclasses.dataclass(frozen=True)
class CorpusScore:
    """A corpus score with the signature that makes it comparable.

    Args:
        bleu: BLEU, in [0, 100].
        chrf: chrF2, in [0, 100].
        signature: sacreBLEU's signature of the BLEU.
    """

    bleu: float
    chrf: float
    signature: str

    def __str__(self) -> str:
        return f"BLEU {self.bleu:.2f}  chrF2 {self.chrf:.2f}  ({self.signature})"


def score_corpus(
    hypotheses: Sequence[str], references: Sequence[str], tokenize: str = "13a"
) -> CorpusScore:
    """Scores translations against one reference each.

    Args:
        hypotheses: The translations.
        references: As many references.
        tokenize: sacreBLEU's tokenizer: "13a" for raw text, "none" for text that is tokenised, "zh"
            for Chinese.

    Returns:
        BLEU, chrF2 and the signature.

    Raises:
        ValueError: If the numbers of lines differ or are 0, or there is no such tokenizer.

    Example:
        >>> score = score_corpus(["ein kleiner Hund schläft"], ["ein kleiner Hund schläft"])
        >>> round(score.bleu)
        100

    Reference:
        Post, "A Call for Clarity in Reporting BLEU Scores", arXiv 1804.08771.
    """
    require_as_many(hypotheses, references)
    from sacrebleu.metrics.chrf import CHRF

    bleu = make_bleu(tokenize)
    score = bleu.corpus_score(list(hypotheses), [list(references)])
    chrf = CHRF().corpus_score(list(hypotheses), [list(references)])
    return CorpusScore(score.score, chrf.score, str(bleu.get_signature()))


def require_tokenizer(tokenize: str) -> None:
    """Raises the error that `score_corpus` would, before what there is to score is translated.

    Args:
        tokenize: As for `score_corpus`.

    Raises:
        ValueError: If sacreBLEU has no such tokenizer, or needs something more for it.

    Example:
        >>> require_tokenizer("zh")
    """
    make_bleu(tokenize)


def require_as_many(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Checks that there is a translation for each reference, and one at least.

    Raises:
        ValueError: If not.

    Example:
        >>> require_as_many(["ein Hund"], ["ein Hund"])
    """
    if len(hypotheses) != len(references) or not references:
        raise ValueError(
            "`hypotheses` and `references` must be as many lines, and at least one. Received: "
            f"{len(hypotheses)} hypotheses, {len(references)} references"
        )


def make_bleu(tokenize: str) -> "BLEU":
    """Makes sacreBLEU's BLEU.

    Args:
        tokenize: As for `score_corpus`.

    Raises:
        ValueError: As from `require_tokenizer`.

    Example:
        >>> make_bleu("13a").tokenizer("a dog, a cat")
        'a dog , a cat'
    """
    from sacrebleu.metrics.bleu import BLEU

    known = [*BLEU.TOKENIZERS]
    if tokenize not in known:
        raise ValueError(f"`tokenize` must be one of {known}. Received: {tokenize!r}")
    try:
        # Text that is tokenised already is meant to be: `force` keeps sacreBLEU from warning of it.
        return BLEU(tokenize=tokenize, force=tokenize == "none")
    except (RuntimeError, OSError) as error:
        raise ValueError(
            f"`tokenize` {tokenize!r} is a tokenizer that sacreBLEU cannot set up: "
            f"{' '.join(str(error).split())}"
        ) from error
