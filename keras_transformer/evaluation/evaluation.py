"""All that is measured of systems on a corpus, in one object that reports are made of."""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from keras_transformer.evaluation.examples import Example, most_different, score_sentences, worst
from keras_transformer.evaluation.metrics import make_metric
from keras_transformer.evaluation.significance import Comparison, compare_systems
from keras_transformer.evaluation.slices import Slice, scores_by_frequency, scores_by_length


@dataclasses.dataclass(frozen=True)
class System:
    """The translations of one system.

    Args:
        name: Its name.
        translations: A translation of each source.
        seconds: What they took; None for translations that were there.
        perplexity: exp of the mean cross-entropy of the references' tokens, in the system's own
            vocabulary; None if it gives no probabilities.
        comet: COMET; None if it was not asked for.
    """

    name: str
    translations: Sequence[str]
    seconds: float | None = None
    perplexity: float | None = None
    comet: float | None = None


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """What is known of systems on a corpus.

    Args:
        corpus: Its name.
        sentences: Its sentences.
        systems: What was measured of each system beside its scores: "name",
            "sentences_per_second", "perplexity" and "comet".
        comparisons: The scores, by metric.
        by_length: BLEU by length of the references.
        by_frequency: F1 of words by their frequency.
        worst: The worst sentences.
        most_different: Those on which the systems differ most.
    """

    corpus: str
    sentences: int
    systems: tuple[Mapping[str, Any], ...]
    comparisons: tuple[Comparison, ...]
    by_length: tuple[Slice, ...]
    by_frequency: tuple[Slice, ...]
    worst: tuple[Example, ...]
    most_different: tuple[Example, ...]

    @property
    def names(self) -> list[str]:
        """The systems' names."""
        return [system["name"] for system in self.systems]

    def to_dict(self) -> dict[str, Any]:
        """Returns nested plain values, for JSON."""
        return dataclasses.asdict(self)


def evaluate(
    corpus: str,
    sources: Sequence[str],
    references: Sequence[str],
    systems: Sequence[System],
    metrics: Sequence[str] = ("bleu", "chrf"),
    tokenize: str = "13a",
    samples: int = 1000,
    counted: Iterable[str] | Counter[str] | None = None,
) -> Evaluation:
    """Measures systems on a corpus, and compares them with the first one.

    Args:
        corpus: Its name.
        sources: Its sources.
        references: A reference for each.
        systems: The systems, the baseline first; no two of one name.
        metrics: Some of `METRICS`.
        tokenize: sacreBLEU's tokenizer.
        samples: Resampled corpora of the bootstrap.
        counted: Lines in which words are counted, or the counts, as of `scores_by_frequency`.

    Raises:
        ValueError: If the numbers of lines differ or are 0, if two systems have one name, or there
            is no such metric or tokenizer.

    Example:
        >>> systems = [System("good", ["a dog", "a cat"]), System("bad", ["dog", "a cat"])]
        >>> found = evaluate("toy", ["x", "y"], ["a dog", "a cat"], systems, samples=10)
        >>> found.names, [one.line for one in found.most_different]
        (['good', 'bad'], [1])
    """
    by_name = {system.name: system.translations for system in systems}
    if len(by_name) < len(systems):
        raise ValueError(
            f"`systems` must have a name each. Received: {[system.name for system in systems]}"
        )
    made = [make_metric(name, tokenize) for name in metrics]
    comparisons = compare_systems(by_name, references, made, samples)
    examples = score_sentences(by_name, sources, references)
    return Evaluation(
        corpus,
        len(references),
        tuple(
            {
                "name": system.name,
                "sentences_per_second": system.seconds and len(references) / system.seconds,
                "perplexity": system.perplexity,
                "comet": system.comet,
            }
            for system in systems
        ),
        tuple(comparisons),
        tuple(scores_by_length(by_name, references, tokenize)),
        tuple(scores_by_frequency(by_name, references, tokenize, counted)),
        tuple(worst(examples)),
        tuple(most_different(examples)),
    )
