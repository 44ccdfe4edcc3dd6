"""sacreBLEU's metrics by their names, and those of trees, each with its signature."""

from typing import TYPE_CHECKING

from keras_transformer.evaluation.bleu import make_bleu

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

METRICS = ("bleu", "chrf", "ter", "brackets", "well_formed")


def make_metric(name: str, tokenize: str = "13a") -> "Metric":
    """Makes a metric.

    Args:
        name: One of `METRICS`.
        tokenize: sacreBLEU's tokenizer, of BLEU; the others have their own ways.

    Raises:
        ValueError: If there is no such metric or tokenizer.

    Example:
        >>> make_metric("ter").corpus_score(["a dog"], [["the dog"]]).score
        50.0
    """
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.ter import TER

    from keras_transformer.evaluation.brackets import BracketF1, WellFormed

    match name:
        case "bleu":
            return make_bleu(tokenize)
        case "chrf":
            return CHRF()
        case "ter":
            return TER()
        case "brackets":
            return BracketF1()
        case "well_formed":
            return WellFormed()
    raise ValueError(f"`metrics` must be some of {', '.join(METRICS)}. Received: {name!r}")
