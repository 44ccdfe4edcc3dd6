"""The phrasebook's parse trees: of every kind, what their words are, and whose they are."""

import itertools

import pytest

from keras_transformer.data.corpora import CorpusError, open_corpus
from keras_transformer.evaluation.brackets import spans_of
from phrasebook import grammar, is_held_out, trees
from phrasebook.dice import Dice
from phrasebook.grammar import Clause
from phrasebook.lexicon import ADJECTIVES, DETERMINERS, NOUNS, TIMES, VERBS

ROOTS = {trees._yes_no_question: "SQ", trees._why_question: "SBARQ"}
ONE = {
    trees._yes_no_question: lambda one: [grammar.question(one)],
    trees._why_question: lambda one: [grammar.question(one, ("why", "warum"))],
    trees._statement: lambda one: [
        grammar.statement(one),
        *([grammar.statement(one, "time")] if one.time else []),
    ],
}
# What two clauses are joined by, as the plain rules say them.
TWO = {
    trees._reason: ["{} because {}", "{} although {}"],
    trees._condition: ["if {}, {}"],
    trees._that: ["{} that {}"],
    trees._coordination: ["{} and {}", "{}, but {}"],
}


def words_of(text):
    for mark in ",.?":
        text = text.replace(mark, f" {mark}")
    return text.lower().split()


@pytest.mark.parametrize("kind", trees._TEMPLATES)
def test_a_tree_is_one_constituent_with_the_sentences_words(kind):
    for seed in range(40):
        text, tree = trees.parse_of(kind(Dice(seed))[0])
        words, spans = len(words_of(text)), spans_of(tree)
        assert tree.split().count("XX") == words
        assert [label for label, *place in spans if place == [0, words]] == [ROOTS.get(kind, "S")]


def plain(kind, clauses):
    """What a sentence of a kind may be, by the grammar's rules alone."""
    if kind in ONE:
        return [one.english for one in ONE[kind](*clauses)]
    if kind in TWO:
        said = [grammar.statement(one).english for one in clauses]
        return [pattern.format(*said) for pattern in TWO[kind]]
    about, main = clauses
    person = grammar.with_relative(main.subject, grammar.relative(about, "subject"))
    return [grammar.statement(main._replace(subject=person)).english]


@pytest.mark.parametrize("kind", trees._TEMPLATES)
def test_marks_change_no_word(kind):
    for seed in range(40):
        marked, clauses = kind(Dice(seed))
        *words, _ = words_of(trees.parse_of(marked).text)
        assert words in [words_of(text) for text in plain(kind, clauses)]


def noun(english, determiner, case="accusative", adjective=None):
    adjective = ADJECTIVES[adjective] if adjective else None
    return grammar.noun_phrase(NOUNS[english], DETERMINERS[determiner], case, adjective)


GIVING = Clause(
    grammar.name("Anna"),
    VERBS["give"],
    "perfect",
    dative=grammar.pronoun("he", "dative"),
    accusative=noun("book", "a", adjective="old"),
    time=grammar.adverbial(TIMES["on Monday"]),
)
BEING = Clause(
    noun("man", "the", "nominative"), VERBS["be"], complement=grammar.predicate(ADJECTIVES["tired"])
)


@pytest.mark.parametrize(
    ("marked", "text", "tree"),
    [
        (
            trees._finished("S", grammar.statement(trees._marked(GIVING)).english),
            "Anna has given him an old book on Monday.",
            "(S (NP XX ) (VP XX XX (NP XX ) (NP XX XX XX ) (PP XX (NP XX ) ) ) XX )",
        ),
        (
            trees._finished("SQ", grammar.question(trees._marked(GIVING)).english, "?"),
            "Has Anna given him an old book on Monday?",
            "(SQ XX (NP XX ) (VP XX (NP XX ) (NP XX XX XX ) (PP XX (NP XX ) ) ) XX )",
        ),
        (
            trees._finished("S", f"{trees._subordinate(BEING, 'if')}, {trees._clause_of(BEING)}"),
            "If the man is tired, the man is tired.",
            "(S (SBAR XX (S (NP XX XX ) (VP XX (ADJP XX ) ) ) ) XX "
            "(S (NP XX XX ) (VP XX (ADJP XX ) ) ) XX )",
        ),
    ],
)
def test_trees_written_by_hand(marked, text, tree):
    assert trees.parse_of(marked) == (text, tree)


def test_a_relative_clause_lies_within_its_noun_phrase():
    for seed in range(20):
        marked, _ = trees._relative(Dice(seed))
        # A noun phrase of a noun phrase and "who ...", and a verb phrase behind it.
        assert marked.startswith("(S (NP (NP ")
        assert ") (SBAR (WHNP who ) (S (VP " in marked
        tree = trees.parse_of(marked).tree
        starts = [span for span in spans_of(tree) if span[1] == 0]
        inner, outer, whole = sorted(starts, key=lambda span: span[2])
        assert (inner[0], outer[0], whole[0]) == ("NP", "NP", "S")
        assert ("SBAR", inner[2], outer[2]) in spans_of(tree)


def test_combinations_never_occur_in_the_other_splits():
    pairs = {split: trees.parses(split, size=60) for split in ("train", "test", "combinations")}
    for one, other in itertools.combinations(pairs.values(), 2):
        assert not {parse.text for parse in one} & {parse.text for parse in other}
    assert pairs["train"][:20] == trees.parses("train", size=20)
    attributes = {(a.english, n.english) for a in ADJECTIVES.values() for n in NOUNS.values()}
    held_out = {f" {a} {n} " for a, n in attributes if is_held_out(("attribute", a, n))}
    for split in ("train", "test"):
        for text, _ in pairs[split]:
            assert not any(two in f" {' '.join(words_of(text))} " for two in held_out)


def test_they_are_a_corpus():
    corpus = open_corpus("parses:test:5", "en", "tree")
    assert list(corpus) == trees.parses("test", size=5)
    for spec, languages, message in [
        ("parses:tset", ("en", "tree"), 'A parses must be "parses:SPLIT"'),
        ("parses:test", ("de", "tree"), "'parses:test' must be read with source_language='en'"),
    ]:
        with pytest.raises(CorpusError, match=message):
            open_corpus(spec, *languages)
