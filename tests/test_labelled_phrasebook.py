"""Labels of the phrasebook against rules of another kind, which read the finished text."""

import itertools
import re
from collections import Counter

import pytest

from phrasebook import (
    LABELLED,
    PAIRS,
    SPLITS,
    documents,
    is_held_out,
    labelled,
    morphology,
    questions,
    tagged,
)
from phrasebook.grammar import combinations
from phrasebook.labelled import examples
from phrasebook.lexicon import NAMES, NOUNS
from phrasebook.morphology import CASES

_AUXILIARIES = {"do", "does", "did", "has", "have", "am", "is", "are", "can", "must", "should"} | {
    "may",
    "would",
    "will",
}


def test_a_question_begins_with_its_auxiliary():
    found = {text.split()[0].lower() in _AUXILIARIES for label, text, _ in _of("question", True)}
    others = {text.split()[0].lower() in _AUXILIARIES for label, text, _ in _of("question", False)}
    assert (found, others) == ({True}, {False})


def _of(kind, asks):
    return [one for one in labelled(kind, size=400) if (one.label == "question") == asks]


def test_a_negative_sentence_has_a_negative_word():
    for label, text, _ in labelled("negation", size=600):
        negative = re.search(r"\b(not|cannot|never|[Nn]o)\b", text) is not None
        assert negative == (label == "negative"), text


_TENSES = {
    "modal": r"can|cannot|must|have to|should|may|wants? to|would (not )?like to|will",
    "progressive": r"(am|is|are)\b.* \w+ing",
    "perfect": r"has|have",
}


def test_tenses_have_their_auxiliaries():
    for label, text, _ in labelled("tense", size=600):
        found = [tense for tense in _TENSES if re.search(rf"\b({_TENSES[tense]})\b", text)]
        if label in ("present", "past"):
            assert found in ([], ["perfect"]), text  # "they have seven red hats"
            assert re.search(r"\bdid\b", text) is None or label == "past"
            assert re.search(r"\bdo(es)?\b", text) is None or label == "present"
        else:
            assert label in found, text
            assert found[0] == label, text


def test_what_follows_is_part_of_what_was_said():
    for label, premise, said in labelled("follows", size=500):
        words = iter(premise.rstrip(".").split())
        is_part = all(word in words for word in said.rstrip(".").split())
        assert is_part == (label == "follows"), (premise, said)


# Verbs as well.
_NOUNS = [noun for noun in NOUNS.values() if noun.english not in ("cook", "plan")]


def _forms(noun):
    numbers = [False, True] if noun.german_plural else [False]
    return (morphology.noun(noun, plural, case) for plural in numbers for case in CASES)


def test_a_translation_has_the_same_name_and_the_same_things():
    for label, english, german in labelled("translation", size=500):
        names = [{name for name in NAMES if name in text} for text in (english, german)]
        words, others = ({*text.rstrip(".").split()} for text in (english, german))
        missing = [
            noun.english
            for noun in _NOUNS
            if words & {noun.english, noun.english_plural} and not others & {*_forms(noun)}
        ]
        same = names[0] == names[1] and not missing
        assert same == (label == "translation"), (english, german, missing)


def test_an_answer_stands_where_it_is_said_to_and_nobody_else_did_the_same():
    found = questions(size=400, unanswerable=0.3)
    kinds = Counter()
    for question, context, answer, start in found:
        if start < 0:
            assert answer == ""
            kinds["none"] += 1
            continue
        assert context[start : start + len(answer)] == answer
        kinds[question.split()[0]] += 1
        [sentence] = [s for s in context.split(". ") if start in _span(context, s)]
        # What the question says besides is said in the sentence of the answer, verbs aside.
        [*_, last] = question.rstrip("?").split()
        assert question.startswith("Who") or any(name in sentence for name in NAMES)
        assert question.split()[0] != "Who" or last in sentence.rstrip(".").split()
    assert {"Who", "What", "Where", "When", "none"} == set(kinds)
    assert 0.2 < kinds["none"] / len(found) < 0.4


def _span(context, sentence):
    start = context.index(sentence)
    return range(start, start + len(sentence))


def test_a_clause_has_one_verb_and_one_more_behind_to():
    both = Counter()
    for words, tags in tagged(size=800):
        assert len(words) == len(tags)
        infinitives = sum(pair == ("to", "PART") for pair in zip(words, tags, strict=True))
        assert tags.count("VERB") == 1 + infinitives, words
        assert tags[-1] == "PUNCT"
        # An adjective or a noun is in a phrase; what follows a determiner is one of the two.
        for tag, after in itertools.pairwise(tags):
            assert tag != "DET" or after in ("ADJ", "NOUN", "NUM", "DET")
        both.update(zip(words, tags, strict=True))
    assert both["cook", "NOUN"]
    assert both["cook", "VERB"]
    assert both["have", "VERB"]
    assert both["have", "AUX"]


def test_a_document_is_about_one_person():
    for sentences in documents(size=200):
        assert 4 <= len(sentences) <= 8
        subjects = {sentence.split()[0] for sentence in sentences}
        names = subjects & set(NAMES)
        assert len(names) == 1
        assert subjects - names <= {"She" if NAMES[names.pop()] == "f" else "He"}


@pytest.mark.parametrize("kind", LABELLED)
def test_combinations_are_held_out_of_all_other_splits(kind):
    def draw(dice):
        example, clauses = LABELLED[kind](dice)
        return (example, tuple(clauses)), clauses

    for split in SPLITS:
        for _, clauses in examples(draw, split, 12, seed=1):
            held_out = any(is_held_out(c) for clause in clauses for c in combinations(clause))
            assert held_out == (split == "combinations")


def test_splits_do_not_overlap_and_sizes_are_beginnings():
    for make in (tagged, questions, documents, *(_labelled(kind) for kind in LABELLED)):
        train, test = map(str, make("train", size=200)), map(str, make("test", size=12))
        assert not {*train} & {*test}
        assert make("valid", size=8)[:4] == make("valid", size=4)


def _labelled(kind):
    return lambda *args, **options: labelled(kind, *args, **options)


def test_labels_are_balanced_enough_to_learn_from():
    for kind in LABELLED:
        counts = Counter(one.label for one in labelled(kind, size=1000))
        assert min(counts.values()) > 1000 / len(counts) / 3
        assert all(bool(one.text_pair) == (kind in PAIRS) for one in labelled(kind, size=5))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: labelled("mood"), "`kind`.*question, negation.*kind='mood'"),
        (lambda: labelled("tense", "dev"), "`split`.*split='dev'"),
        (lambda: tagged(size=0), "`size`.*size=0"),
    ],
)
def test_what_there_is_not(call, message):
    with pytest.raises(ValueError, match=message):
        call()
