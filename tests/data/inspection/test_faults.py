"""Faults of single pairs: what has them, and what only looks as if it had."""

import pytest

from keras_transformer.data.inspection.faults import Faults
from keras_transformer.data.inspection.mojibake import MOJIBAKE
from phrasebook import phrasebook


def found(source, target="ein Hund"):
    faults = Faults()
    faults.read(1, [(source, target)])
    return {tally.name for tally in faults.tallies() if tally.count}


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("a dog", "ein Hund", set()),
        ("", "ein Hund", {"empty"}),
        ("a dog", " \u3000\u200b", {"empty"}),
        ("\u201ca dog\u201d", "\u2026", set()),
        ("Berlin", "Berlin", {"identical"}),
        (" ", " ", {"empty"}),
        ("Berlin.", "BERLIN!", {"nearly_identical"}),
        ("one two three four five", "one two three four fünf", {"nearly_identical"}),
        ("one two three four five", "one two three vier fünf", set()),
        ("...", "!!!", set()),
        ("Tom &amp; Ann", "Tom und Ann", {"html"}),
        ("a dog", "ein&#160;Hund", {"html"}),
        ("a dog", "ein <b>Hund", {"html"}),
        ("AT&T; R & D; 1 < 2 > 0; I <3 it", "so", set()),
        ("a\x07dog", "ein Hund", {"control"}),
        ("a dog", "ein\x85Hund", {"control"}),
        ("a\tdog", "ein Hund", set()),
        ("a dog", "ein Hund\ufffd", {"mojibake"}),
        ("a dog \x93here\x94", "ein Hund", {"control"}),
    ],
)
def test_faults(source, target, expected):
    assert found(source, target) == expected
    assert found(target, source) == expected


TEXTS = [
    *(
        "Zürich",
        "naïve café",
        "Größe",
        "“quoted”",
        "it\u2019s \u2013 ok…",
        "łódź",
        "Šťastný",
        "5 €",
        "25 °C",
    ),
    *("Привет", "Ελλάδα", "שלום", "مرحبا", "\ufeffa dog", "a\xa0dog", "¿qué?"),
]


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1"])
@pytest.mark.parametrize("text", TEXTS)
def test_mojibake_of_what_is_written(text, encoding):
    """As a program makes it that reads UTF-8 in the wrong encoding."""
    assert MOJIBAKE.search(text.encode().decode(encoding, "ignore"))
    assert not MOJIBAKE.search(text)


def test_no_mojibake_in_whole_text():
    lines = [line for pair in phrasebook("train", size=2000) for line in pair]
    lines += ["CAFÉ»", "„MENÜ“", "SÃO PAULO", "NÃO", "Å“", "5 Å \u2013 6 Å", "Âge", "Ñandú", "«Å»"]
    assert not [line for line in lines if MOJIBAKE.search(line)]
    misread = [line.encode().decode("cp1252", "ignore") for line in lines]
    changed = [line for line, before in zip(misread, lines, strict=True) if line != before]
    assert len(changed) > 300
    assert sum(bool(MOJIBAKE.search(line)) for line in changed) > 0.99 * len(changed)


def test_the_first_examples_with_their_lines():
    faults = Faults()
    faults.read(1, [("a", "b"), ("", "c")])
    faults.read(3, [("", str(number)) for number in range(5)])
    [empty] = [tally for tally in faults.tallies() if tally.name == "empty"]
    assert empty.count == 6
    assert [(one.line, one.target) for one in empty.examples] == [(2, "c"), (3, "0"), (4, "1")]
    assert empty.finding(of=12).share == 0.5
