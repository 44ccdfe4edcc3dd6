"""The phrasebook: English-German sentence pairs to learn from without a network or a download.

A synchronous grammar (`grammar`) makes the pairs from a lexicon of some 170 nouns, 100 verbs and 60
adjectives, with what makes German hard: gender and case, adjective endings, the place of the verb,
separable verbs, the perfect, "nicht" and "kein", questions and relative clauses. An English
sentence has one translation, which follows from rules that can be learned.

    lexicon -> morphology -> grammar -> clauses -> templates -> splits

Only the standard library is used.
"""

from phrasebook.grammar import Combination, Sentence
from phrasebook.splits import (
    SPLITS,
    is_held_out,
    phrasebook,
    sentences,
    split_of,
)

__all__ = [
    "SPLITS",
    "Combination",
    "Sentence",
    "is_held_out",
    "phrasebook",
    "sentences",
    "split_of",
]
