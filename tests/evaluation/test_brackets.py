"""Parse trees: constituents counted by hand, and trees that are none."""

import random

import pytest

from keras_transformer.evaluation.brackets import BracketF1, WellFormed, spans_of
from keras_transformer.evaluation.evaluation import System, evaluate

# "The dog sees a cat ." with the place of each word: 0 1 2 3 4 5.
REFERENCE = "(S (NP XX XX ) (VP XX (NP XX XX ) ) XX )"
EXPECTED = [("NP", 0, 2), ("NP", 3, 5), ("S", 0, 6), ("VP", 2, 5)]


def score(hypothesis, reference=REFERENCE, metric=BracketF1):
    return metric().sentence_score(hypothesis, [reference]).score


def test_constituents_are_labels_with_their_words():
    assert sorted(spans_of(REFERENCE)) == EXPECTED
    assert spans_of("(NP (NP XX ) )") == {("NP", 0, 1): 2}


@pytest.mark.parametrize(
    ("tree", "matched", "found"),
    [
        (REFERENCE, 4, 4),
        ("(S (NP XX XX ) (VP XX (PP XX XX ) ) XX )", 3, 4),  # another label
        ("(S (NP XX XX ) (VP XX (NP XX ) XX ) XX )", 3, 4),  # other words
        ("(S (NP XX XX ) (VP XX XX XX ) XX )", 3, 3),  # one is missing
        ("(S (NP (NP XX XX ) ) (VP XX (NP XX XX ) ) XX )", 4, 5),  # one is there twice
        ("(X XX XX XX XX XX XX )", 0, 1),
    ],
)
def test_f1_of_trees_that_are_well_formed(tree, matched, found):
    precision, recall = matched / found, matched / 4
    expected = 200 * precision * recall / (precision + recall) if matched else 0.0
    assert score(tree) == pytest.approx(expected)
    assert score(tree, metric=WellFormed) == 100.0


@pytest.mark.parametrize(
    "tree",
    [
        "",
        ")",
        "XX XX XX XX XX XX",
        REFERENCE[:-2],
        f"{REFERENCE} )",
        f"{REFERENCE} XX",
        "(S XX XX XX ) (S XX XX XX )",
        "(S (NP ) XX XX XX XX XX XX )",
        "XX (S XX XX XX XX XX )",
        "(S XX XX XX XX XX )",  # a word too few
    ],
)
def test_what_is_no_tree_of_the_sentence_has_no_constituents(tree):
    assert score(tree) == 0.0
    assert score(tree, metric=WellFormed) == 0.0


def test_of_a_corpus_constituents_are_counted_and_not_scores():
    small = "(S XX )"
    # 4 of 4 and 4, 0 of 0 and 1: 2 * 4 / (4 + 0 + 4 + 1).
    pair = BracketF1().corpus_score([REFERENCE, "(S"], [[REFERENCE, small]])
    assert pair.score == pytest.approx(100 * 8 / 9)
    assert WellFormed().corpus_score([REFERENCE, "(S"], [[REFERENCE, small]]).score == 50.0


def test_brute_force_over_random_trees():
    rng = random.Random(4)

    def tree(words, label="S"):
        if words == 1 and rng.random() < 0.5:
            return ["XX"], []
        parts, spans = [], []
        left = words
        while left:
            size = rng.randint(1, left)
            inner, inside = tree(size, rng.choice("ABC")) if size < words else (["XX"] * size, [])
            spans += [(name, a + words - left, b + words - left) for name, a, b in inside]
            parts += inner
            left -= size
        return [f"({label}", *parts, ")"], [*spans, (label, 0, words)]

    for _ in range(200):
        tokens, spans = tree(rng.randint(2, 9))
        assert sorted(spans_of(" ".join(tokens)).elements()) == sorted(spans)


def test_systems_are_compared_by_trees_as_by_any_metric():
    references = [REFERENCE] * 20
    systems = [System("good", references), System("bad", ["(S (NP XX"] * 10 + references[10:])]
    found = evaluate(
        "toy", references, references, systems, ["brackets", "well_formed"], samples=20
    )
    brackets, well_formed = found.comparisons
    assert [round(one.score, 6) for one in brackets.estimates] == [100.0, round(100 * 4 / 6, 6)]
    assert [one.score for one in well_formed.estimates] == [100.0, 50.0]


def test_a_reference_that_is_no_tree_is_named():
    with pytest.raises(ValueError, match=r"`references` must be well-formed trees.*'ein Hund'"):
        score(REFERENCE, "ein Hund")
