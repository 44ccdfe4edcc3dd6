"""BLEU and chrF against their formulas, written from the papers in plain Python."""

import math
from collections import Counter

import pytest

from keras_transformer.evaluation import require_tokenizer, score_corpus

HYPOTHESES = [
    "the small dog sleeps in the garden",
    "a king reads a good book in the house",
    "the the the cat",
]
REFERENCES = [
    "the small dog sleeps in a big garden today",
    "the king reads a good book in the house",
    "the cat sat on the mat",
]


def ngrams(items, n):
    return Counter(tuple(items[i : i + n]) for i in range(len(items) - n + 1))


def bleu(hypotheses, references):
    """Papineni et al. (2002): clipped precisions over the corpus, and the brevity penalty."""
    pairs = [(h.split(), r.split()) for h, r in zip(hypotheses, references, strict=True)]
    logs = []
    for n in range(1, 5):
        matches = sum((ngrams(h, n) & ngrams(r, n)).total() for h, r in pairs)
        logs.append(math.log(matches / sum(ngrams(h, n).total() for h, _ in pairs)))
    hypothesis_length = sum(len(h) for h, _ in pairs)
    reference_length = sum(len(r) for _, r in pairs)
    penalty = min(1.0, math.exp(1 - reference_length / hypothesis_length))
    return 100 * penalty * math.exp(sum(logs) / 4)


def chrf2(hypotheses, references):
    """Popovic (2015): the mean precision and recall of character 1- to 6-grams, F with beta 2."""
    pairs = [
        (h.replace(" ", ""), r.replace(" ", ""))
        for h, r in zip(hypotheses, references, strict=True)
    ]
    precision = recall = 0.0
    for n in range(1, 7):
        matches = sum((ngrams(h, n) & ngrams(r, n)).total() for h, r in pairs)
        precision += matches / sum(ngrams(h, n).total() for h, _ in pairs) / 6
        recall += matches / sum(ngrams(r, n).total() for _, r in pairs) / 6
    return 100 * 5 * precision * recall / (4 * precision + recall)


def test_scores_are_those_of_the_papers():
    score = score_corpus(HYPOTHESES, REFERENCES, tokenize="none")
    assert score.bleu == pytest.approx(bleu(HYPOTHESES, REFERENCES))
    assert score.chrf == pytest.approx(chrf2(HYPOTHESES, REFERENCES))
    assert 0 < score.bleu < 100


def test_order_of_the_arguments():
    """A short translation pays the brevity penalty, and a long one does not."""
    short, long = ["the king reads a book"], ["the king reads a book in the house"]
    assert score_corpus(short, long, "none").bleu == pytest.approx(100 * math.exp(1 - 8 / 5))
    swapped = score_corpus(long, short, "none").bleu
    assert swapped == pytest.approx(bleu(long, short))
    assert swapped != pytest.approx(score_corpus(short, long, "none").bleu)


def test_same_lines():
    score = score_corpus(REFERENCES, REFERENCES)
    assert (score.bleu, score.chrf) == (pytest.approx(100), pytest.approx(100))


def test_13a_splits_punctuation_off():
    hypotheses, references = ["a b c d, e"], ["a b c d , e"]
    assert score_corpus(hypotheses, references).bleu == pytest.approx(100)
    assert score_corpus(hypotheses, references, "none").bleu < 99


def test_case_counts():
    assert score_corpus(["A Small Dog Sleeps"], ["a small dog sleeps"]).bleu < 50


def test_chinese_is_scored_by_characters():
    hypotheses, references = ["我们在家里看书。", "狗睡觉"], ["我们在家里读书。", "小狗睡觉"]
    score = score_corpus(hypotheses, references, "zh")
    assert score.bleu == pytest.approx(
        bleu(*(map(" ".join, side) for side in (hypotheses, references)))
    )
    assert score.bleu > 2 * score_corpus(hypotheses, references).bleu


@pytest.mark.parametrize(
    "check", [require_tokenizer, lambda name: score_corpus(["a"], ["a"], name)]
)
def test_unknown_tokenizer(check):
    with pytest.raises(ValueError, match=r"`tokenize` must be one of .*'zh'.*Received: 'moses'"):
        check("moses")


def test_tokenizer_that_needs_more(monkeypatch):
    import sacrebleu

    def without_mecab(**options):
        raise RuntimeError("pip install sacrebleu[ja]")

    without_mecab.TOKENIZERS = sacrebleu.metrics.BLEU.TOKENIZERS
    monkeypatch.setattr(sacrebleu.metrics, "BLEU", without_mecab)
    with pytest.raises(ValueError, match=r"`tokenize` 'ja-mecab' .*pip install sacrebleu\[ja\]"):
        require_tokenizer("ja-mecab")


@pytest.mark.parametrize("tokenize", ["13a", "none"])
def test_signature(tokenize):
    import sacrebleu

    score = score_corpus(HYPOTHESES, REFERENCES, tokenize)
    version = sacrebleu.__version__
    expected = f"nrefs:1|case:mixed|eff:no|tok:{tokenize}|smooth:exp|version:{version}"
    assert score.signature == expected
    assert str(score) == f"BLEU {score.bleu:.2f}  chrF2 {score.chrf:.2f}  ({expected})"


def test_empty_translations():
    score = score_corpus(["", ""], ["a dog", "a cat"])
    assert (score.bleu, score.chrf) == (0, 0)


def test_already_tokenised_text_gives_no_warning(caplog):
    score_corpus(["a dog sleeps ."] * 200, ["a dog sleeps ."] * 200, "none")
    assert not caplog.records


@pytest.mark.parametrize("lines", [(["a"], ["a", "b"]), (["a", "b"], ["a"]), ([], []), ([], ["a"])])
def test_as_many_lines_and_at_least_one(lines):
    hypotheses, references = lines
    received = f"{len(hypotheses)} hypotheses, {len(references)} references"
    with pytest.raises(ValueError, match=f"`hypotheses` and `references` .*Received: {received}"):
        score_corpus(hypotheses, references)
