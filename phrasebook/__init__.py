"""The phrasebook: English-German sentence pairs to learn from without a network or a download.

A synchronous grammar (`grammar`) makes the pairs from a lexicon of some 170 nouns, 100 verbs and 60
adjectives, with what makes German hard: gender and case, adjective endings, the place of the verb,
separable verbs, the perfect, "nicht" and "kein", questions and relative clauses. An English
sentence has one translation, which follows from rules that can be learned.

    lexicon -> morphology -> grammar -> clauses -> templates -> splits

The grammar knows more of a sentence than its translation: `labelled`, `questions`, `tagged` and
`documents` give examples with labels that are true, `trees` sentences with their parses, `dialogue`
questions with replies.

Only the standard library is used.
"""

from phrasebook.dialogue import Turn, turns
from phrasebook.documents import documents
from phrasebook.grammar import Combination, Sentence
from phrasebook.labelled import LABELLED, PAIRS, Labelled, labelled
from phrasebook.questions import Question, questions
from phrasebook.splits import (
    SPLITS,
    is_held_out,
    phrasebook,
    sentences,
    split_of,
)
from phrasebook.tagged import Tagged, tagged
from phrasebook.trees import Parse, parses

__all__ = [
    "LABELLED",
    "PAIRS",
    "SPLITS",
    "Combination",
    "Labelled",
    "Parse",
    "Question",
    "Sentence",
    "Tagged",
    "Turn",
    "documents",
    "is_held_out",
    "labelled",
    "parses",
    "phrasebook",
    "questions",
    "sentences",
    "split_of",
    "tagged",
    "turns",
]
