"""Whether a difference is more than chance: sacreBLEU's paired bootstrap resampling."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from keras_transformer.evaluation.bleu import require_as_many

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A score with how far chance alone would move it.

    Args:
        score: Of the whole corpus.
        mean: Mean over the resampled corpora.
        interval: Half the width of the 95 percent confidence interval around `mean`.
        p_value: How likely a difference from the first system as large as this one is if there is
            none; None for the first system.
    """

    score: float
    mean: float
    interval: float
    p_value: float | None


@dataclasses.dataclass(frozen=True)
class Comparison:
    """What a metric says of several systems.

    Args:
        name: The metric, as sacreBLEU calls it.
        signature: sacreBLEU's signature, with seed and samples.
        estimates: For each system, in the order in which they were given.
    """

    name: str
    signature: str
    estimates: tuple[Estimate, ...]


def compare_systems(
    systems: Mapping[str, Sequence[str]],
    references: Sequence[str],
    metrics: Sequence["Metric"],
    samples: int = 1000,
) -> list[Comparison]:
    """Scores systems and compares each with the first one.

    Args:
        systems: Translations by the name of the system, the baseline first.
        references: As many references.
        metrics: From `make_metric`.
        samples: Resampled corpora.

    Returns:
        A comparison for each metric.

    Raises:
        ValueError: If the numbers of lines differ or are 0.

    Example:
        >>> from keras_transformer.evaluation.metrics import make_metric
        >>> references = ["the dog sleeps", "a cat"]
        >>> systems = {"good": references, "bad": ["the dog", "a dog"]}
        >>> [ter] = compare_systems(systems, references, [make_metric("ter")], samples=10)
        >>> [estimate.score for estimate in ter.estimates]
        [0.0, 40.0]

    Reference:
        Koehn, "Statistical Significance Tests for Machine Translation Evaluation", EMNLP 2004.
    """
    from sacrebleu.significance import PairedTest

    for translations in systems.values():
        require_as_many(translations, references)
    named: list[Any] = [(name, list(lines)) for name, lines in systems.items()]
    test = PairedTest(
        named,
        {str(number): metric for number, metric in enumerate(metrics)},
        [list(references)],
        test_type="bs",
        n_samples=samples,
    )
    signatures, found = test()
    return [
        Comparison(name, str(signature), tuple(_estimates(found[name])))
        for name, signature in signatures.items()
    ]


def _estimates(results: Sequence[Any]) -> Iterator[Estimate]:
    for one in results:
        p_value = None if one.p_value is None else float(one.p_value)
        if p_value is not None and one.score == results[0].score:
            # sacreBLEU counts differences that are larger, of which there may be none.
            p_value = 1.0
        # NumPy's numbers are none for JSON.
        yield Estimate(float(one.score), float(one.mean), float(one.ci), p_value)
