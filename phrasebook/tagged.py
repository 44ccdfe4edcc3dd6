"""Sentences whose words have parts of speech, by the tags of Universal Dependencies.

Inside of a phrase each word of the lexicon has one part of speech, so the words of all phrases are
marked before the grammar puts them in order. What is left unmarked then is the verb, with what
belongs to it: "the cook" is a phrase, "we cook" is not.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from phrasebook import grammar, morphology
from phrasebook.clauses import YES_NO_FORMS, clause
from phrasebook.dice import Dice
from phrasebook.grammar import Clause, Phrase
from phrasebook.labelled import examples
from phrasebook.lexicon import (
    ADJECTIVES,
    ADVERBS,
    CITIES,
    DETERMINERS,
    HIGHER_NUMBERS,
    NAMES,
    NOUNS,
    NUMBERS,
    VERBS,
)


class Tagged(NamedTuple):
    """A sentence in words, each with its part of speech.

    Args:
        words: The words, punctuation apart.
        tags: Of each word, such as "NOUN".
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]


def _table(**words: str) -> dict[str, str]:
    return {word: tag for tag, listed in words.items() for word in listed.split()}


_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
# Of the words of phrases, each of which has one; a later line has precedence.
_IN_PHRASES = (
    {form: "NOUN" for noun in NOUNS.values() for form in (noun.english, noun.english_plural)}
    | dict.fromkeys(ADJECTIVES, "ADJ")
    | {word: "DET" for words in DETERMINERS.values() for word in words.english.split()}
    | {word: "DET" for words in DETERMINERS.values() for word in words.english_plural.split()}
    | dict.fromkeys([*NAMES, *(f"{name}'s" for name in NAMES), *CITIES], "PROPN")
    | dict.fromkeys([*NUMBERS, *HIGHER_NUMBERS], "NUM")
    | {form: "PRON" for row in morphology.PRONOUNS.values() for form in row[:2]}
    | _table(
        DET="an my your his her our their",
        ADP="in at on to into with by for of from",
        ADV="today now tomorrow tonight soon later yesterday ago home alone o'clock",
        NOUN="day morning evening night week weekends year summer winter days hour foot",
        ADJ="next last",
        CCONJ="and",
        PROPN=_DAYS,
    )
)
# Of what stands around the verb, apart from the verb itself.
_AROUND_VERBS = (
    {word: "ADV" for adverb in ADVERBS.values() for word in (adverb.english, adverb.english_end)}
    | {verb.english_particle: "ADP" for verb in VERBS.values()}
    | _table(
        PART="not",
        ADV="back asleep",
        AUX="do does did am is are cannot can must should may will would",
    )
)
_MARK = "/"


def _marked(drawn: Clause) -> Clause:
    """Marks each word of the phrases of a clause with its part of speech."""
    marked: dict[str, Any] = {
        slot: phrase._replace(english=" ".join(_words_with_tags(phrase)))
        for slot, phrase in drawn._asdict().items()
        if isinstance(phrase, Phrase)
    }
    return drawn._replace(**marked)


def _words_with_tags(phrase: Phrase) -> Iterator[str]:
    for word in phrase.english.split():
        # "Her" alone is a pronoun, and before a noun a determiner.
        alone = word == "her" and phrase.kind == "pronoun"
        yield f"{word}{_MARK}{'PRON' if alone else _IN_PHRASES[word]}"


def _tag_around_verb(word: str, after: list[str]) -> str:
    """Returns the part of speech of a word that belongs to no phrase.

    Args:
        word: The word.
        after: What follows it, marked where it belongs to a phrase.
    """
    unmarked = [other for other in after if _MARK not in other]
    verb_comes = any(other not in _AROUND_VERBS for other in unmarked)
    if word in ("has", "have") and verb_comes and after[0] != "to":
        return "AUX"
    if word == "to" and after[:1] == unmarked[:1]:
        return "PART"  # Of an infinitive; before a phrase it is a preposition.
    return _AROUND_VERBS.get(word, "VERB")


def _tagged(dice: Dice) -> tuple[Tagged, list[Clause]]:
    asks = dice.chance(0.25)
    drawn = clause(dice, forms=YES_NO_FORMS, negation=0.0) if asks else clause(dice)
    ordered = (grammar.question if asks else grammar.statement)(_marked(drawn)).english.split()
    words, tags = [], []
    for index, marked in enumerate(ordered):
        word, _, tag = marked.partition(_MARK)
        words.append(word)
        tags.append(tag or _tag_around_verb(word, ordered[index + 1 :]))
    words[0] = words[0][0].upper() + words[0][1:]
    words.append("?" if asks else ".")
    return Tagged(tuple(words), (*tags, "PUNCT")), [drawn]


def tagged(split: str = "train", *, size: int | None = None, seed: int = 0) -> list[Tagged]:
    """Returns sentences in words, with the part of speech of each.

    Args:
        split: "train", "valid", "test" or "combinations".
        size: How many; None for 10,000 of "train" and 1,000 of the others.
        seed: Decides which are drawn, and their order.

    Raises:
        ValueError: If there is no such split, or the size is not positive.

    Example:
        >>> tagged("test", size=1)[0].tags[-1]
        'PUNCT'

    Reference:
        The tags: https://universaldependencies.org/u/pos/.
    """
    return examples(_tagged, split, size, seed)
