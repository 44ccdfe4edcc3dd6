"""Swapped sides and other languages, planted among thousands of pairs."""

import math
from collections import Counter

import numpy as np
import pytest
from french import FRENCH

from keras_transformer.data.inspection.identification import can_identify, find_languages
from keras_transformer.data.inspection.languages import Languages
from keras_transformer.data.inspection.letters import letters_of
from keras_transformer.data.inspection.trigrams import TrigramModel
from phrasebook import phrasebook

RUSSIAN = ["Мы не хотим идти в музей завтра.", "Когда приходит поезд?"]
GREEK = ["Πότε φτάνει το τρένο στον σταθμό;"]


@pytest.fixture(scope="module")
def pairs():
    return phrasebook("train", size=3000)


def lines_of(languages, planted):
    languages.read(1, planted)
    found = {tally.name: tally.count for tally in languages.tallies()}
    return {name: count for name, count in found.items() if count}


def test_clean_text_has_nothing(pairs):
    found = lines_of(Languages(pairs[:1500]), pairs)
    assert sum(found.values()) <= 0.001 * len(pairs), found


@pytest.mark.parametrize("share", [0.01, 0.3])
def test_swapped_sides(pairs, share):
    """They are found even where the sample that tells what is usual has many of them."""
    swapped = {index for index in range(len(pairs)) if index % 100 < 100 * share}
    corpus = [pair[::-1] if index in swapped else pair for index, pair in enumerate(pairs)]
    languages = Languages(corpus)
    found = lines_of(languages, corpus)
    assert found["swapped"] == pytest.approx(len(swapped), rel=0.05)
    assert sum(found.values()) - found["swapped"] <= 0.005 * len(pairs)
    [tally] = [tally for tally in languages.tallies() if tally.name == "swapped"]
    assert {example.line - 1 for example in tally.examples} <= swapped


def test_one_side_in_the_language_of_the_other(pairs):
    copied = [(source, source) for source, _ in pairs[:50] if len(source) > 20]
    found = lines_of(Languages([*pairs, *copied]), copied)
    assert found == {"target_language": len(copied)}
    turned = [(target, target) for _, target in pairs[:50] if len(target) > 20]
    assert lines_of(Languages([*pairs, *turned]), turned) == {"source_language": len(turned)}


def test_another_script(pairs):
    planted = [(pairs[0][0], RUSSIAN[0]), (RUSSIAN[1], pairs[1][1]), (pairs[2][0], GREEK[0])]
    corpus = [*pairs, *planted]
    assert lines_of(Languages(corpus), planted) == {"script": 3}
    # A name in another script is no other language.
    assert lines_of(Languages(corpus), [("He is called Пётр.", "Er heißt Пётр.")]) == {}


def test_a_third_language_of_the_same_script(pairs):
    planted = [(source, french) for (source, _), french in zip(pairs, FRENCH, strict=False)]
    found = lines_of(Languages([*pairs, *planted]), planted)
    assert found == {"unlike": pytest.approx(len(FRENCH), abs=1)}


def test_languages_by_name(pairs):
    if not can_identify():
        pytest.skip("py3langid is not installed")
    planted = [(source, french) for (source, _), french in zip(pairs, FRENCH, strict=False)]
    sample = [*enumerate([*pairs[:300], *planted], 1)]
    counts, tally = find_languages(sample, ("en", "de"))
    assert counts[1]["fr"] == len(FRENCH)
    assert [count.most_common(1)[0][0] for count in counts] == ["en", "de"]
    assert {example.note for example in tally.examples} == {"target: fr"}
    assert tally.count == len(FRENCH)
    # A code that it does not know is taken for what most lines are.
    assert find_languages(sample, ("xx", "yy"))[1].count == len(FRENCH)
    # The whole side is another language than it is said to be.
    _, wrong = find_languages(sample, ("en", "nl"))
    assert wrong.count == sum(counts[1].values())


def test_likelihoods_by_hand():
    """Against the definition: three letters or spaces around each letter, half a count before."""
    sides = [["Ab, ab", "b"], ["ba c"]]
    lines = ["ab ba", "", "1 2"]

    def trigrams(line):
        text = "".join(one if one.isalpha() else " " for one in f" {line.lower()} ")
        return [text[i - 1 : i + 2] for i, one in enumerate(text) if one != " "]

    model = TrigramModel(*map(letters_of, sides))
    found = model.likelihoods(letters_of(lines), len(lines))
    for values, side in zip(found, sides, strict=True):
        counts = Counter(trigram for line in side for trigram in trigrams(line))
        total = counts.total() + 0.5 * 2**17
        expected = [
            sum(math.log((counts[one] + 0.5) / total) for one in trigrams(line))
            / max(1, len(trigrams(line)))
            for line in lines
        ]
        np.testing.assert_allclose(values, expected, rtol=1e-12)


def test_letters_of_odd_lines():
    """Lines with line feeds, without letters, or whose letters become two in lower case."""
    lines = ["a\nb", "", "\u0130x", "12", "日本"]
    letters = letters_of(lines)
    text = [chr(code) for code in letters.codes[letters.places]]
    of_line = ["".join(np.array(text)[letters.lines == index]) for index in range(len(lines))]
    assert of_line == ["ab", "", "ix", "", "日本"]
