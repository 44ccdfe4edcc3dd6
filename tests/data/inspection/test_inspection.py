"""Corpora with planted faults: each is found, counted, named, and shown with its lines."""

import itertools
import json

import pytest
from french import FRENCH

from keras_transformer.commands.main import main
from keras_transformer.data.corpora import Corpus
from keras_transformer.data.inspection import find_overlaps, inspect_corpus, inspection
from keras_transformer.data.inspection.report import as_text, findings_as_text, first_impression
from phrasebook import phrasebook


def _different(pairs, side):
    """The last one of the pairs that have the same line on a side."""
    return {pair[side]: pair for pair in pairs}.values()


# None of them has a fault of its own.
PAIRS = [pair for pair in phrasebook("train", size=3000) if len(pair[0]) > 25]
PAIRS = [*_different(_different(PAIRS, 0), 1)]
TRAIN, TEST = PAIRS[:1500], PAIRS[1500:1600]
# What is not of interest where a line is written twice.
REPEATS = {"repeated", "repeated_source", "repeated_target"}


def write(path, pairs):
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), "utf-8")
    return str(path)


@pytest.fixture
def inspect(capsys):
    """Runs the command, and gives what it writes as JSON."""

    def inspect(*arguments):
        main(["inspect", *arguments, "--json"])
        return json.loads(capsys.readouterr().out)

    return inspect


def found(corpus):
    """Counts and lines of what was found, by name."""
    return {
        finding["name"]: (finding["count"], [example["line"] for example in finding["examples"]])
        for finding in corpus["findings"]
        if finding["count"]
    }


def test_weights_are_no_part_of_the_lines(inspect, tmp_path):
    path = tmp_path / "train.tsv"
    path.write_text("".join(f"{en}\t{de}\t0.5\n" for en, de in TRAIN[:300]), "utf-8")
    [weighted] = inspect(str(path))["corpora"]
    [plain] = inspect(write(tmp_path / "plain.tsv", TRAIN[:300]))["corpora"]
    assert [weighted[side] for side in ("source", "target")] == [plain["source"], plain["target"]]


def test_swapped_columns(inspect, tmp_path):
    pairs = [*TRAIN]
    pairs[100:150] = [pair[::-1] for pair in pairs[100:150]]
    [corpus] = inspect(write(tmp_path / "train.tsv", pairs))["corpora"]
    assert corpus["pairs"] == len(TRAIN)
    count, lines = found(corpus)["swapped"]
    assert count >= 48
    assert {*lines} <= {*range(101, 151)}
    assert {*found(corpus)} <= {"swapped", "other_language"}


def test_duplicates_and_the_test_in_the_training(inspect, tmp_path):
    pairs = [*TRAIN, *TRAIN[:40], *TEST[10:25], (TEST[50][0], "Etwas ganz anderes steht hier.")]
    train, test = write(tmp_path / "train.tsv", pairs), write(tmp_path / "test.tsv", TEST)
    seen = inspect(train, "--test", test)
    lines = [1501, 1502, 1503]
    corpus, other = seen["corpora"]
    assert found(corpus) == dict.fromkeys(REPEATS, (40, lines))
    repeated = next(one for one in corpus["findings"] if one["name"] == "repeated")
    example = repeated["examples"][0]
    assert (example["source"], example["note"]) == (TRAIN[0][0], "as in line 1")
    assert found(other) == {}
    [overlap] = seen["overlaps"]
    assert (overlap["of"], overlap["in"]) == (test, train)
    expected = {"overlap": 15, "overlap_source": 16, "overlap_target": 15}
    assert found(overlap) == {name: (count, [11, 12, 13]) for name, count in expected.items()}


def test_wrong_language_html_and_mojibake(inspect, tmp_path):
    pairs = [*TRAIN]
    for line, french in enumerate(FRENCH, 201):
        pairs[line - 1] = (pairs[line - 1][0], french)
    for line in range(301, 321):
        source, target = pairs[line - 1]
        pairs[line - 1] = (source, f"{target} &nbsp; &quot;{line}&quot;")
    umlauts = [index for index, (_, target) in enumerate(pairs) if "ü" in target][-30:]
    for index in umlauts:
        source, target = pairs[index]
        pairs[index] = (source, target.encode().decode("cp1252", "replace"))
    pairs[400] = ("", pairs[400][1])
    pairs[401] = (pairs[401][0] * 9, pairs[401][1])
    pairs[402] = (pairs[402][0] + "\x1b[0m", pairs[402][1])
    pairs[403] = (pairs[403][0] + " a\u00adb", pairs[403][1])
    [corpus] = inspect(write(tmp_path / "train.tsv", pairs))["corpora"]
    planted = found(corpus)
    assert planted.pop("unlike")[0] >= 7
    if "other_language" in planted:
        assert planted.pop("other_language")[0] >= 7
    assert planted["html"] == (20, [301, 302, 303])
    assert planted["mojibake"] == (30, [index + 1 for index in umlauts[:3]])
    assert planted["empty"] == (1, [401])
    assert planted["ratio"] == (1, [402])
    assert planted["control"] == (1, [403])
    assert planted["normalized_source"][0] == 2
    assert "U+00AD SOFT HYPHEN (1)" in corpus["normalization"]["source"]
    assert {*planted} <= {"html", "mojibake", "empty", "ratio", "control", "normalized_source"}


def test_chunks_and_samples_do_not_matter(monkeypatch):
    """But for what is usual, which a sample of another size tells otherwise."""
    pairs = [*TRAIN[:300], *TRAIN[:20], ("", "leer"), ("a &amp; b", "a und b")]
    corpus = Corpus("pairs", lambda: iter(pairs))
    whole = inspect_corpus(corpus)
    monkeypatch.setattr(inspection, "_CHUNK", 7)
    parts = inspect_corpus(corpus)
    assert parts.findings == whole.findings
    assert (parts.source, parts.target) == (whole.source, whole.target)
    monkeypatch.setattr(inspection, "_SAMPLE", 50)
    sampled = inspect_corpus(corpus)
    assert (sampled.sample, sampled.pairs) == (50, 322)
    counts = [{one.name: one.count for one in seen.findings} for seen in (whole, sampled)]
    for name in ("empty", "html", "repeated", "repeated_source"):
        assert counts[0][name] == counts[1][name]


def test_a_small_or_empty_corpus():
    for pairs in ([], [("", "")], [("a", "b")]):
        seen = inspect_corpus(Corpus("pairs", lambda pairs=pairs: iter(pairs)))
        assert seen.pairs == len(pairs)
        assert f"pairs: {len(pairs)} pairs" in as_text(seen)
        assert [one.count for one in find_overlaps(seen, seen)] == [len(pairs)] * 3


def test_text_fits_80_columns():
    nasty = ("x\x00\x1b[31m\t\u202e\u2028 " * 40, "ein Hund " * 40)
    pairs = [*TRAIN[:200], *TRAIN[:9], nasty, ("", "leer")]
    seen = inspect_corpus(Corpus("pairs", lambda: iter(pairs)))
    text = as_text(seen)
    assert max(map(len, text.splitlines())) <= 79
    assert not [one for one in text if not one.isprintable() and one != "\n"]
    assert "        200" not in text.split("\n\n")[0]
    assert f"          9    {9 / 211:.2%}  pairs that were there before" in text
    assert "          line 201  " in text
    assert "(as in line 1)" in text
    assert findings_as_text([one for one in seen.findings if not one.count]).startswith("Not found")


def test_the_first_impression_reads_no_more_than_it_says():
    read = []
    corpus = Corpus("endless", lambda: (read.append(1) or pair for pair in itertools.cycle(TRAIN)))
    said = first_impression(corpus, pairs=300)
    assert said.startswith("The first 300 pairs of endless: ")
    assert said.endswith("Nothing odd.")
    assert len(read) <= 3 * 300
