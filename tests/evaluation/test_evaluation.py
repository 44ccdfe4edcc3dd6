"""Comparisons, slices and examples against counts by hand and brute force."""

import html.parser
import json
import random
import sys

import numpy as np
import pytest
import sacrebleu

from keras_transformer.evaluation import System, as_page, as_text, evaluate
from keras_transformer.evaluation.comet import score_comet
from keras_transformer.evaluation.examples import most_different, score_sentences, worst
from keras_transformer.evaluation.metrics import make_metric
from keras_transformer.evaluation.significance import compare_systems
from keras_transformer.evaluation.slices import count_words, scores_by_frequency, scores_by_length

WORDS = ["the", "a", "dog", "cat", "sleeps", "runs", "in", "garden", "house", "small", ",", "."]


def corpus(size, seed):
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(3, 25))) for _ in range(size)]


def spoiled(lines, share, seed):
    rng = random.Random(seed)
    return [
        " ".join(rng.choice(WORDS) if rng.random() < share else word for word in line.split())
        for line in lines
    ]


REFERENCES = corpus(30, seed=1)
SYSTEMS = {"good": spoiled(REFERENCES, 0.2, seed=2), "bad": spoiled(REFERENCES, 0.5, seed=3)}


def test_a_comparison_is_the_paired_bootstrap():
    """Resampled by the generator that the signature names, and scored one corpus after another."""
    bleu, ter = compare_systems(SYSTEMS, REFERENCES, [make_metric("bleu"), make_metric("ter")], 40)
    size, both = len(REFERENCES), list(SYSTEMS.values())
    draws = np.random.default_rng(12345).choice(size, size=(40, size))

    def score_of(lines, draw):
        lines, references = ([side[i] for i in draw] for side in (lines, REFERENCES))
        return sacrebleu.corpus_bleu(lines, [references]).score

    samples = np.array([[score_of(lines, draw) for draw in draws] for lines in both])
    scores = [score_of(lines, range(size)) for lines in both]
    assert "bs:40|seed:12345" in bleu.signature
    assert [one.score for one in bleu.estimates] == pytest.approx(scores)
    assert [one.mean for one in bleu.estimates] == pytest.approx(samples.mean(axis=1), rel=1e-5)
    # All but one of 40 at either end.
    ordered = np.sort(samples)
    expected = (ordered[:, -2] - ordered[:, 1]) / 2
    assert [one.interval for one in bleu.estimates] == pytest.approx(expected, rel=1e-4)
    differences = np.abs(samples[1] - samples[0])
    larger = np.sum(differences - differences.mean() > abs(scores[1] - scores[0]))
    assert [one.p_value for one in bleu.estimates] == [None, pytest.approx((larger + 1) / 41)]
    expected = [sacrebleu.corpus_ter(lines, [REFERENCES]).score for lines in both]
    assert [one.score for one in ter.estimates] == pytest.approx(expected)
    assert (bleu.name, ter.name) == ("BLEU", "TER")


def test_the_same_system_twice_is_no_better_than_itself():
    systems = {"a": SYSTEMS["good"], "b": SYSTEMS["good"]}
    [bleu] = compare_systems(systems, REFERENCES, [make_metric("bleu")], 50)
    assert bleu.estimates[1].p_value == pytest.approx(1.0)


def test_by_length():
    """Classes by the words of the reference, each with the BLEU of its sentences alone."""
    found = scores_by_length(SYSTEMS, REFERENCES)
    classes = {"1-10": range(1, 11), "11-20": range(11, 21), "21-30": range(21, 31)}
    assert [one.label for one in found] == list(classes)
    for one in found:
        rows = [i for i, line in enumerate(REFERENCES) if len(line.split()) in classes[one.label]]
        assert one.size == len(rows)
        for score, lines in zip(one.scores, SYSTEMS.values(), strict=True):
            expected = sacrebleu.corpus_bleu(
                [lines[i] for i in rows], [[REFERENCES[i] for i in rows]]
            )
            assert score == pytest.approx(expected.score)


def test_by_length_of_chinese_and_without_a_bound():
    """Characters are Chinese's words; 51 and more are the last class."""
    lines = ["我" * 10, "我" * 11, "我" * 51]
    found = scores_by_length({"same": lines}, lines, tokenize="zh")
    assert [(one.label, one.size) for one in found] == [("1-10", 1), ("11-20", 1), ("51+", 1)]


def test_by_frequency():
    """Counted by hand: "the" 5 times, "dog" and "cat" 2 times, "a" once in the references."""
    references = ["the dog the", "the cat the dog", "the a cat"]
    systems = {"one": ["the dog", "the the cat cat", "the cat x"]}
    rare, some, frequent = scores_by_frequency(systems, references, "none")
    assert [one.label for one in (rare, some, frequent)] == ["1", "2-4", "5-9"]
    assert [one.size for one in (rare, some, frequent)] == [1, 4, 5]
    assert rare.scores == (0.0,)
    # dog 1, cat 1, cat 1 are right, of 4 given and 4 wanted; the: 4 right of 4 and 5.
    assert some.scores == (pytest.approx(100 * 2 * 3 / 8),)
    assert frequent.scores == (pytest.approx(100 * 2 * 4 / 9),)


def test_words_counted_elsewhere():
    """What the corpus lacks has a frequency of 0, whatever the references have."""
    found = scores_by_frequency({"one": ["a b"]}, ["a c"], "none", counted=["a a", "b"] * 600)
    assert [(one.label, one.size, one.scores) for one in found] == [
        ("0", 1, (0.0,)),
        ("1000+", 1, (100.0,)),
    ]
    counts = count_words(iter(["a a", "b"] * 600), "none")
    assert scores_by_frequency({"one": ["a b"]}, ["a c"], "none", counted=counts) == found


def test_examples():
    references = ["the dog sleeps", "a cat", "the big house"]
    systems = {
        "one": ["the dog sleeps", "a dog", "the old house"],
        "two": ["xyz", "a cat", "the old house"],
    }
    examples = score_sentences(systems, ["s1", "s2", "s3"], references)
    assert examples[0].translations == ("the dog sleeps", "xyz")
    for one, reference in zip(examples, references, strict=True):
        for score, text in zip(one.scores, one.translations, strict=True):
            assert score == pytest.approx(sacrebleu.sentence_chrf(text, [reference]).score)
    means = [np.mean(one.scores) for one in examples]
    assert [one.line for one in worst(examples, 2)] == (np.argsort(means)[:2] + 1).tolist()
    # Of the third line, both say the same.
    assert [one.line for one in most_different(examples)] == [1, 2]
    assert [one.line for one in most_different(examples, 1)] == [1]


HOSTILE = '<script>alert("1")</script>&amp;'


@pytest.fixture(scope="module")
def evaluation():
    systems = [
        System("<b>one</b>", [HOSTILE, "שלום dog", "c"], seconds=2.0, perplexity=3.25),
        System("two", ["a dog", "b dog", "c"], comet=0.75),
    ]
    sources = [HOSTILE, "y\u2028y", "z"]
    return evaluate("toy<i>", sources, ["a dog", "b dog", "c"], systems, samples=20)


class Page(html.parser.HTMLParser):
    """Collects the tags, their attributes and the text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes += [(tag, *attribute) for attribute in attributes]

    def handle_data(self, data):
        self.text.append(data)


def test_a_page_shows_all_text_as_text_and_loads_nothing(evaluation):
    page = Page(as_page([evaluation]))
    for shown in (HOSTILE, "<b>one</b>", "toy<i>", "y\u2028y", "שלום dog"):
        assert shown in page.text
    assert {"script", "img", "link", "b", "i", "a"}.isdisjoint(page.tags)
    assert not [one for one in page.attributes if one[1] in ("src", "href", "style")]
    assert "url(" not in as_page([evaluation])
    assert ("td", "dir", "auto") in page.attributes


def test_page_and_text_tell_the_same_numbers(evaluation):
    texts = as_text(evaluation), " ".join(Page(as_page([evaluation])).text)
    for text in texts:
        for shown in ("3.250", "1.5", "0.7500", "BLEU", "chrF2", "nrefs:1|bs:20", "line 1"):
            assert shown in text
        for one in evaluation.comparisons:
            for estimate in one.estimates:
                assert f"{estimate.score:.2f} ± {estimate.interval:.2f}" in text
    assert "by frequency" not in as_text(evaluation, details=False)
    assert as_text(evaluation, details=False) == texts[0][: len(as_text(evaluation, False))]


def test_json_is_plain(evaluation):
    values = json.loads(json.dumps(evaluation.to_dict(), allow_nan=False))
    assert values["systems"][0] == {
        "name": "<b>one</b>",
        "sentences_per_second": 1.5,
        "perplexity": 3.25,
        "comet": None,
    }
    assert values["comparisons"][0]["estimates"][1]["score"] == pytest.approx(
        sacrebleu.corpus_bleu(["a dog", "b dog", "c"], [["a dog", "b dog", "c"]]).score
    )
    assert values["most_different"][0]["translations"] == [HOSTILE, "a dog"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"systems": [System("a", ["x"]), System("a", ["x"])]}, "`systems` must have a name each"),
        ({"systems": [System("a", ["x", "y"])]}, "must be as many lines"),
        ({"metrics": ["meteor"]}, "some of bleu, chrf, ter, .*Received: 'meteor'"),
        ({"tokenize": "moses"}, "`tokenize` must be one of"),
    ],
)
def test_errors(change, words):
    given = {"systems": [System("a", ["x"])], "samples": 5, **change}
    with pytest.raises(ValueError, match=words):
        evaluate("toy", ["s"], ["x"], **given)


COMET = """#!{python}
import sys, os
arguments = sys.argv[1:]
number = arguments.index("-t")
names = arguments[number + 1 : arguments.index("-r")]
lines = {{name: open(name).read().splitlines() for name in ["source", "reference", *names]}}
if "{fails}":
    sys.exit("no such model")
assert arguments[-4:] == ["Unbabel/wmt22-comet-da", "--gpus", "0", "--quiet"]
for name in names:
    same = [a == b for a, b in zip(lines[name], lines["reference"], strict=True)]
    print("Fetching", "ü")
    print(f"{{name}}\\tscore: {{sum(same) / len(same):.4f}}")
"""


@pytest.mark.parametrize("fails", ["", "yes"])
def test_comet_by_its_program(tmp_path, fails):
    program = tmp_path / "comet-score"
    program.write_text(COMET.format(python=sys.executable, fails=fails), "utf-8")
    program.chmod(0o755)
    systems = {"good": ["ä", "b\nb"], "half": ["ä", "c"]}
    arguments = systems, ["1", "2"], ["ä", "b b"], str(program)
    if fails:
        with pytest.raises(OSError, match=r"gave no scores \(exit code 1\): no such model"):
            score_comet(*arguments)
    else:
        assert score_comet(*arguments) == [1.0, 0.5]


def test_comet_by_a_relative_path(tmp_path, monkeypatch):
    """The program runs in another folder."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "comet-score"
    program.write_text(COMET.format(python=sys.executable, fails=""), "utf-8")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert score_comet({"good": ["ä"]}, ["1"], ["ä"], "bin/comet-score") == [1.0]


def test_without_comet():
    with pytest.raises(FileNotFoundError, match=r"pip install unbabel-comet.*Received: 'no-comet'"):
        score_comet({}, [], [], "no-comet")
