"""An evaluation as tables: what the text and the page have in common."""

from collections.abc import Sequence
from typing import NamedTuple

from keras_transformer.evaluation.evaluation import Evaluation
from keras_transformer.evaluation.examples import Example
from keras_transformer.evaluation.significance import Estimate

# A difference of which chance is less likely than this is marked.
_SIGNIFICANT = 0.05


class Table(NamedTuple):
    """A table.

    Args:
        title: What it says.
        head: A name for each column.
        rows: The first cell of each is what the row is of.
        notes: What is said below it.
    """

    title: str
    head: list[str]
    rows: list[list[str]]
    notes: Sequence[str] = ()


def tables_of(evaluation: Evaluation) -> list[Table]:
    """Makes the tables of an evaluation: scores, by length, by frequency.

    Args:
        evaluation: From `evaluate`.

    Example:
        >>> from keras_transformer.evaluation import System, evaluate
        >>> found = evaluate("toy", ["x"], ["a dog"], [System("a", ["a dog"])], samples=10)
        >>> tables_of(found)[0].rows[0][0]
        'a'
    """
    names = evaluation.names

    def by(title: str, head: list[str], slices: str) -> Table:
        rows = [
            [one.label, f"{one.size:,}", *(f"{score:.1f}" for score in one.scores)]
            for one in getattr(evaluation, slices)
        ]
        return Table(title, [*head, *names], rows)

    return [
        _scores(evaluation),
        by("BLEU by length of the reference", ["words", "sentences"], "by_length"),
        by("F1 of words by frequency", ["frequency", "words"], "by_frequency"),
    ]


def examples_of(evaluation: Evaluation) -> list[tuple[str, list[Example]]]:
    """Returns the sentences to look at under their titles, without a title that has none.

    Args:
        evaluation: From `evaluate`.

    Example:
        >>> from keras_transformer.evaluation import System, evaluate
        >>> found = evaluate("toy", ["x"], ["a dog"], [System("a", ["a dog"])], samples=10)
        >>> [title for title, _ in examples_of(found)]
        ['The worst sentences, by chrF']
    """
    listed = [
        ("The worst sentences, by chrF", list(evaluation.worst)),
        ("The sentences on which systems differ most, by chrF", list(evaluation.most_different)),
    ]
    return [(title, found) for title, found in listed if found]


def _scores(evaluation: Evaluation) -> Table:
    measured = {
        "COMET": ("comet", ".4f"),
        "perplexity": ("perplexity", ".3f"),
        "sentences/s": ("sentences_per_second", ",.1f"),
    }
    shown = {
        name: (key, form)
        for name, (key, form) in measured.items()
        if any(system[key] is not None for system in evaluation.systems)
    }
    rows = [
        [
            system["name"],
            *(_estimate(one.estimates[number]) for one in evaluation.comparisons),
            *(
                "-" if system[key] is None else format(system[key], form)
                for key, form in shown.values()
            ),
        ]
        for number, system in enumerate(evaluation.systems)
    ]
    notes = [f"{one.name}: {one.signature}" for one in evaluation.comparisons]
    notes.append("±: half of the 95% confidence interval, by bootstrap resampling.")
    if len(rows) > 1:
        notes.append(
            f"p: of a difference from {evaluation.names[0]} as large as this one by chance; * "
            f"below {_SIGNIFICANT}."
        )
    head = ["system", *(one.name for one in evaluation.comparisons), *shown]
    return Table(f"{evaluation.corpus}: {evaluation.sentences:,} sentences", head, rows, notes)


def _estimate(one: Estimate) -> str:
    text = f"{one.score:.2f} ± {one.interval:.2f}"
    if one.p_value is None:
        return text
    return f"{text} (p={one.p_value:.4f}{'*' if one.p_value < _SIGNIFICANT else ''})"
