"""The phrasebook's dialogue: replies fit their questions, and are given as often as they say."""

import math
from collections import Counter

import pytest

from keras_transformer.data.corpora import CorpusError, open_corpus
from phrasebook import turns
from phrasebook.dialogue import REPLIES, replies
from phrasebook.grammar import Clause, name, pronoun
from phrasebook.lexicon import VERBS


@pytest.mark.parametrize(
    ("asked", "yes", "no"),
    [
        (
            Clause(name("Anna"), VERBS["give"], "perfect", dative=pronoun("he", "dative")),
            "Yes, Anna has given him.",
            "No, Anna has not given him.",
        ),
        (Clause(name("Paul"), VERBS["sing"]), "Yes, Paul sings.", "No, Paul does not sing."),
        (
            Clause(name("Paul"), VERBS["sing"], "can"),
            "Yes, Paul can sing.",
            "No, Paul cannot sing.",
        ),
    ],
)
def test_replies_written_by_hand(asked, yes, no):
    assert replies(asked) == {"yes": yes, "no": no, "unknown": "I do not know.", "short": "Yes."}


def kind_of(reply):
    fixed = {"I do not know.": "unknown", "Yes.": "short"}
    return fixed.get(reply) or reply.partition(",")[0].lower()


def test_replies_are_given_as_often_as_they_say_and_repeat_the_question():
    drawn = turns(size=1000)
    counts = Counter(kind_of(reply) for _, reply in drawn)
    assert set(counts) == set(REPLIES)
    for reply, tenths in REPLIES.items():
        share = tenths / 10
        assert abs(counts[reply] / 1000 - share) < 4 * math.sqrt(share * (1 - share) / 1000)
    for said, reply in drawn:
        words = said.rstrip("?").split()
        assert not {"I", "you", "my", "your", "me", "we", "us", "our"} & {*words}
        if kind_of(reply) in ("yes", "no"):
            # All but the question's auxiliary and the form of its verb comes again.
            assert len({w.lower() for w in words} - {*reply.lower().rstrip(".").split()}) <= 2


def test_they_are_a_corpus():
    assert list(open_corpus("dialogue:test:5", "turn", "reply")) == turns("test", size=5)
    with pytest.raises(CorpusError, match="must be read with source_language='turn'"):
        open_corpus("dialogue", "en", "de")
