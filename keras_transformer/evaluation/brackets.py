"""How good parse trees are that were written as brackets: labelled bracket F1, and well-formedness.

Both are metrics of sacreBLEU's kind, so that confidence intervals and the test between systems are
those of every other metric.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from sacrebleu.metrics.base import Metric, Score

# A constituent: its label, and the places of its first word and of what follows its last one.
Span = tuple[str, int, int]


def spans_of(tree: str) -> Counter[Span] | None:
    """Returns the constituents of a tree; None if it is not well-formed.

    Args:
        tree: `(LABEL` and `)` around constituents, with spaces between all tokens, and any other
            token for a word. Well-formed is what is one constituent with all words in it, each of
            which holds at least one word.

    Example:
        >>> sorted(spans_of("(S (NP XX ) (VP XX XX ) )"))
        [('NP', 0, 1), ('S', 0, 3), ('VP', 1, 3)]
        >>> spans_of("(S XX ) (S XX )") is None
        True
    """
    found: Counter[Span] = Counter()
    begun: list[tuple[str, int]] = []
    words, tokens = 0, tree.split()
    for number, token in enumerate(tokens):
        if number and not begun:
            return None
        if token.startswith("("):
            begun.append((token[1:], words))
        elif token == ")":
            label, first = begun.pop() if begun else ("", words)
            if first == words:
                return None
            found[label, first, words] += 1
        else:
            words += 1
    return None if begun or not found else found


def _words(tree: str) -> int:
    return sum(token != ")" and not token.startswith("(") for token in tree.split())


class _TreeMetric(Metric):
    """What both metrics need of sacreBLEU's class: statistics of a sentence that can be added."""

    _NAME: str

    def _preprocess_segment(self, sent: str) -> str:
        return sent

    def _extract_reference_info(self, refs: Sequence[str]) -> dict[str, Any]:
        [reference] = refs
        return {"reference": reference}

    def _aggregate_and_compute(self, stats: Iterable[Iterable[int]]) -> Score:
        return self._compute_score_from_stats([sum(column) for column in zip(*stats, strict=True)])

    def _compute_score_from_stats(self, stats: list[int]) -> Score:
        matched, all_of_both = stats
        return Score(self._NAME, 100 * matched / all_of_both if all_of_both else 100.0)


class BracketF1(_TreeMetric):
    """Labelled bracket F1: the share of constituents that both trees have, in [0, 100].

    A tree that is not well-formed, or has another number of words than its reference, has no
    constituents. Marks of punctuation are words, and the outermost constituent counts, which tools
    for treebanks leave out.

    Example:
        >>> reference = "(S (NP XX ) (VP XX XX ) )"
        >>> metric = BracketF1()
        >>> round(metric.corpus_score(["(S (NP XX XX ) (VP XX ) )"], [[reference]]).score, 2)
        33.33

    Reference:
        Black et al., "A Procedure for Quantitatively Comparing the Syntactic Coverage of English
        Grammars", HLT 1991.
    """

    _NAME = "Brackets"

    def _compute_segment_statistics(self, hypothesis: str, ref_kwargs: dict[str, Any]) -> list[int]:
        reference = ref_kwargs["reference"]
        expected = spans_of(reference)
        if expected is None:
            raise ValueError(
                "`references` must be well-formed trees, as in `(S (NP XX ) (VP XX ) )`. Received: "
                f"{reference!r}"
            )
        found = spans_of(hypothesis)
        if found is None or _words(hypothesis) != _words(reference):
            found = Counter()
        # F1 is what both have, over the mean of what each has.
        return [2 * (found & expected).total(), found.total() + expected.total()]


class WellFormed(_TreeMetric):
    """The share of trees that are well-formed and have as many words as the reference, in percent.

    Example:
        >>> hypotheses, references = ["(S XX )", "(S XX"], ["(NP XX )", "(NP XX )"]
        >>> WellFormed().corpus_score(hypotheses, [references]).score
        50.0
    """

    _NAME = "WellFormed"

    def _compute_segment_statistics(self, hypothesis: str, ref_kwargs: dict[str, Any]) -> list[int]:
        whole = _words(hypothesis) == _words(ref_kwargs["reference"])
        return [int(whole and spans_of(hypothesis) is not None), 1]
