"""What a vocabulary makes of a corpus, against what the training's own steps say."""

import json

import pytest
from untrained_run import untrained_run

from keras_transformer.commands.main import main
from keras_transformer.data.inspection.vocabulary import against_vocabulary
from keras_transformer.data.preprocessing import PairPreprocessor
from keras_transformer.text.tokenizer import SubwordTokenizer
from phrasebook import phrasebook

PAIRS = phrasebook("train", size=300)
ODD = [
    ("a dog \U0001f415 and a cat", "ein Hund"),
    ("Пётр is here", "Пётр и Пётр"),
    ("", "leer"),
    ("word " * 40, "Wort"),
    ("a dog and a cat are here", "ja"),
]


@pytest.fixture(scope="module")
def tokenizers():
    sides = zip(*PAIRS, strict=True)
    return tuple(SubwordTokenizer.train(lines, size) for lines, size in zip(sides, (150, 160)))  # noqa: B905


def test_tokens_unknown_characters_and_what_is_dropped(tokenizers):
    preprocess = PairPreprocessor(tokenizers, max_length=40, max_ratio=4.0)
    pairs = [*PAIRS, *ODD]
    tokens, tallies = against_vocabulary([*enumerate(pairs, 1)], preprocess)
    sides = zip(*pairs, strict=True)
    means = [
        sum(len(ids) - 1 for ids in tokenizer.tokenize(lines).to_list()) / len(pairs)
        for tokenizer, lines in zip(tokenizers, sides, strict=True)
    ]
    assert (tokens.source, tokens.target) == pytest.approx(means)
    usable = preprocess.new_filter()
    kept = list(preprocess(pairs, usable))
    counts = {tally.name: tally.count for tally in tallies}
    assert counts.pop("unknown") == 2
    reasons = ("empty", "too_long", "ratio")
    assert counts == {f"dropped_{reason}": usable.counts[reason] for reason in reasons}
    assert min(counts.values()) > 0
    assert sum(counts.values()) == len(pairs) - len(kept)
    lines = {tally.name: [example.line for example in tally.examples] for tally in tallies}
    assert lines["unknown"] == [301, 302]
    assert lines["dropped_empty"] == [303]
    assert tokens.unknown == {"\U0001f415": 1, "и": 1, **dict.fromkeys("Пётр", 3)}


def test_the_command_with_a_run(tmp_path, capsys):
    run = untrained_run(tmp_path / "run", bleu=())
    corpus = tmp_path / "odd.tsv"
    pairs = [*PAIRS[:20], ("", "leer"), ("Пётр", "Peter"), ("a dog " * 30, "ein Hund")]
    corpus.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), "utf-8")
    capsys.readouterr()
    main(["inspect", str(corpus), "--run", str(run.path), "--json", "--plot", f"{tmp_path}/a.svg"])
    [seen] = json.loads(capsys.readouterr().out)["corpora"]
    counts = {finding["name"]: finding["count"] for finding in seen["findings"]}
    assert (counts["dropped_empty"], counts["unknown"]) == (1, 1)
    assert counts["dropped_too_long"] > 1
    assert {*"Пётр"} <= {*seen["tokens"]["unknown"]}
    assert "words" in (tmp_path / "a.svg").read_text("utf-8")
    main(["inspect", str(corpus), "--run", str(run.path)])
    text = capsys.readouterr().out
    assert "pairs dropped in training: over 12 tokens" in text
    assert "Characters that the vocabulary lacks: П U+041F (1)" in text
