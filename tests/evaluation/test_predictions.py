"""Scores of predictions against their definitions, written another way."""

import itertools
import math
import random
import re
import string

import numpy as np
import pytest

from keras_transformer.evaluation.answers import score_answers
from keras_transformer.evaluation.labels import score_labels, score_numbers
from keras_transformer.evaluation.tags import entities_of, score_tags


def test_labels_by_the_confusion_matrix():
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(0)
    right, found = rng.integers(0, 3, (2, 200))
    found = np.where(rng.random(200) < 0.5, right, found)
    matrix = np.zeros((3, 3))
    np.add.at(matrix, (right, found), 1)
    f1 = [2 * matrix[k, k] / (matrix[k].sum() + matrix[:, k].sum()) for k in range(3)]
    # Matthews' coefficient is the correlation of the indicators of all classes.
    one_hot = [np.eye(3)[x] - np.eye(3)[x].mean(axis=0) for x in (right, found)]
    covariance = (one_hot[0] * one_hot[1]).sum()
    matthews = covariance / math.sqrt(math.prod((x**2).sum() for x in one_hot))
    scores = score_labels([*map(str, found)], [*map(str, right)])
    expected = {"accuracy": np.trace(matrix) / 200, "f1": np.mean(f1), "matthews": matthews}
    assert scores == pytest.approx(expected)


def test_numbers_by_ranks():
    pytest.importorskip("scipy")
    rng = np.random.default_rng(0)
    right = rng.normal(size=50)
    found = right**3 + rng.normal(size=50)
    ranks = [np.argsort(np.argsort(x)) for x in (found, right)]
    scores = score_numbers(found.tolist(), right.tolist())
    assert scores["pearson"] == pytest.approx(np.corrcoef(found, right)[0, 1])
    assert scores["spearman"] == pytest.approx(np.corrcoef(*ranks)[0, 1])
    assert score_numbers([1.0, 1.0], [1.0, 2.0]) == {"pearson": 0.0, "spearman": 0.0}


def squad_oracle(prediction, reference):
    """Exact match and F1, word by word and with a list that is used up."""

    def words(text):
        text = "".join(c for c in text.lower() if c not in string.punctuation)
        return [word for word in re.split(r"\s+", text) if word and word not in ("a", "an", "the")]

    found, right = words(prediction), words(reference)
    left, shared = list(right), 0
    for word in found:
        if word in left:
            left.remove(word)
            shared += 1
    if not found or not right:
        return float(found == right), float(found == right)
    if not shared:
        return float(found == right), 0.0
    precision, recall = shared / len(found), shared / len(right)
    return float(found == right), 2 * precision * recall / (precision + recall)


def test_answers_by_an_oracle():
    draws = random.Random(0)
    vocabulary = ["the", "The", "old", "old,", "dog", "DOG.", "an", "apple", "Köln", "a-b", "'s"]

    def answer():
        return " ".join(draws.choices(vocabulary, k=draws.randint(0, 4)))

    for _ in range(500):
        prediction, references = answer(), [answer() for _ in range(draws.randint(0, 3))]
        oracle = [squad_oracle(prediction, one) for one in references or [""]]
        scores = score_answers([prediction], [references])
        assert scores["exact"] == max(exact for exact, _ in oracle)
        assert scores["f1"] == pytest.approx(max(f1 for _, f1 in oracle))
    both = score_answers(["old dog", "apple"], [["dog"], []])
    assert both == {"exact": 0.0, "f1": pytest.approx((2 / 3 + 0.0) / 2)}


def entities_oracle(tags):
    """All spans of one type that cannot be made longer, by trying each."""
    for start, end in itertools.combinations_with_replacement(range(len(tags)), 2):
        kind = tags[start][2:]
        inside = all(tag == f"I-{kind}" for tag in tags[start + 1 : end + 1])
        begins = tags[start][0] == "B" or start == 0 or tags[start - 1][2:] != kind
        ends = end + 1 == len(tags) or tags[end + 1] != f"I-{kind}"
        if kind and inside and begins and ends:
            yield kind, start, end


def test_entities_by_brute_force():
    for tags in itertools.product(["O", "B-X", "I-X", "I-Y", "B-Y"], repeat=4):
        assert sorted(entities_of(list(tags))) == sorted(entities_oracle(tags)), tags


def test_tags_as_the_shared_task_counts():
    right = [["B-PER", "I-PER", "O"], ["B-LOC", "O", "B-ORG"]]
    found = [["B-PER", "I-PER", "B-PER"], ["B-LOC", "I-LOC", "B-ORG"]]
    scores = score_tags(found, right)
    # Of 4 entities 2 are right, of which there are 3.
    assert scores == pytest.approx(
        {"accuracy": 4 / 6, "precision": 2 / 4, "recall": 2 / 3} | {"f1": 4 / 7}
    )
    assert score_tags([["NOUN", "VERB"]], [["NOUN", "NOUN"]]) == {"accuracy": 0.5}
    assert score_tags([["O"]], [["O"]])["f1"] == 0.0
    with pytest.raises(ValueError, match="longer"):
        score_tags([["O"]], [["O", "O"]])
