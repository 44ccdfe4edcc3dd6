"""How good answers are that stand in a text, as SQuAD scores them."""

import collections
import re
import string
from collections.abc import Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


def score_answers(
    predictions: Sequence[str], references: Sequence[Sequence[str]]
) -> dict[str, float]:
    """Scores answers against those that people gave, of which the nearest counts.

    Case, punctuation and articles count for nothing. A question without references has no answer,
    and "" is right for it alone.

    Args:
        predictions: The answers that were predicted.
        references: For each, the right ones.

    Returns:
        "exact", the share of answers that are one of the right ones, and "f1", the mean F1 of their
        words.

    Example:
        >>> score_answers(["the old dog", ""], [["a dog", "an old dog!"], []])
        {'exact': 1.0, 'f1': 1.0}

    Reference:
        "SQuAD: 100,000+ Questions for Machine Comprehension of Text", arXiv 1606.05250;
        "Know What You Don't Know", arXiv 1806.03822.
    """
    exact = f1 = 0.0
    for prediction, right in zip(predictions, references, strict=True):
        found = _words(prediction)
        exact += max(float(found == _words(one)) for one in right or [""])
        f1 += max(_f1(found, _words(one)) for one in right or [""])
    return {"exact": exact / len(predictions), "f1": f1 / len(predictions)}


def _words(answer: str) -> list[str]:
    return _ARTICLES.sub(" ", answer.lower().translate(_WITHOUT_PUNCTUATION)).split()


def _f1(found: Sequence[str], right: Sequence[str]) -> float:
    """Returns the harmonic mean of precision and recall: shared words by the mean number."""
    if not found or not right:
        return float(found == right)
    shared = (collections.Counter(found) & collections.Counter(right)).total()
    return 2 * shared / (len(found) + len(right))
