"""Sentences with their parse trees, written as brackets.

The phrases of a clause are marked as constituents before the grammar puts them in order, and the
marks come out around the words of each. A tree names no words: "Anna sings." is
`(S (NP XX ) (VP XX ) XX )`. So what is to be learned is the structure.

Reference:
    Vinyals et al., "Grammar as a Foreign Language", arXiv 1412.7449, which Section 6.3 of
    "Attention Is All You Need" follows.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from phrasebook import grammar
from phrasebook.clauses import PERSONS, YES_NO_FORMS, clause, definite_phrase
from phrasebook.dice import Dice, weighted
from phrasebook.grammar import Clause, Phrase
from phrasebook.labelled import examples
from phrasebook.lexicon import PLACES, VERBS

# What stands for each word, and for each mark, in a tree.
_WORD = "XX"
_OPEN, _CLOSE = "(", ")"
_MARKS = (",", ".", "?")


class Parse(NamedTuple):
    """A sentence and its tree.

    Args:
        text: The English sentence.
        tree: Its constituents: `(LABEL` and `)` around them, and XX for each word and each mark.
    """

    text: str
    tree: str


# A finished sentence, its constituents marked around its words, and the clauses in it.
_Drawn = tuple[str, list[Clause]]


# --- Marks


def _constituent(label: str, words: str) -> str:
    return f"{_OPEN}{label} {words} {_CLOSE}"


_PREPOSITIONS = {"at", "by", "in", "on", "with"} | {
    preposition for place in PLACES.values() for preposition in (place.english_at, place.english_to)
}


def _adverbial(words: str) -> str:
    preposition, _, rest = words.partition(" ")
    if rest and preposition in _PREPOSITIONS:
        return _constituent("PP", f"{preposition} {_constituent('NP', rest)}")
    return _constituent("ADVP", words)


def _complement(phrase: Phrase) -> str:
    return _constituent("NP" if phrase.noun else "ADJP", phrase.english)


_SLOTS: dict[str, Callable[[Phrase], str]] = {
    **dict.fromkeys(
        ("dative", "accusative", "prepositional"),
        lambda phrase: _constituent("NP", phrase.english),
    ),
    "complement": _complement,
    **dict.fromkeys(
        ("manner", "place", "direction", "time"), lambda phrase: _adverbial(phrase.english)
    ),
}


def _marked(drawn: Clause, subject: str = "") -> Clause:
    """Marks the phrases of a clause; a verb phrase begins behind the subject, and is left open.

    Args:
        drawn: The clause.
        subject: The subject with its marks; a noun phrase if there is none.
    """
    subject = subject or _constituent("NP", drawn.subject.english)
    marked: dict[str, Any] = {
        slot: phrase._replace(english=mark(phrase))
        for slot, mark in _SLOTS.items()
        if (phrase := getattr(drawn, slot)) is not None
    }
    return drawn._replace(subject=drawn.subject._replace(english=f"{subject} {_OPEN}VP"), **marked)


def _closed(words: str) -> str:
    """Closes what is open."""
    tokens = words.split()
    still_open = sum(token.startswith(_OPEN) for token in tokens) - tokens.count(_CLOSE)
    return " ".join([*tokens, *[_CLOSE] * still_open])


def _finished(label: str, words: str, mark: str = ".") -> str:
    """Closes a sentence, with its final mark in the outermost constituent."""
    return _constituent(label, f"{_closed(words.replace(',', ' ,'))} {mark}")


def _clause_of(drawn: Clause) -> str:
    return _constituent("S", _closed(grammar.statement(_marked(drawn)).english))


def _subordinate(drawn: Clause, conjunction: str) -> str:
    return _constituent("SBAR", f"{conjunction} {_clause_of(drawn)}")


# --- Sentences


def _statement(dice: Dice) -> _Drawn:
    drawn = clause(dice)
    front = "time" if drawn.time is not None and dice.chance(0.35) else ""
    return _finished("S", grammar.statement(_marked(drawn), front).english), [drawn]


def _yes_no_question(dice: Dice) -> _Drawn:
    drawn = clause(dice, forms=YES_NO_FORMS, negation=0.0)
    return _finished("SQ", grammar.question(_marked(drawn)).english, "?"), [drawn]


def _why_question(dice: Dice) -> _Drawn:
    drawn = clause(dice, negation=0.15)
    word = f"{_constituent('WHADVP', 'why')} {_OPEN}SQ"
    asked = grammar.question(_marked(drawn), (word, "warum")).english
    return _finished("SBARQ", asked, "?"), [drawn]


def _reason(dice: Dice) -> _Drawn:
    main = clause(dice, adverbials=0.5, adverbs=False)
    second = clause(dice, adverbials=0.5)
    reason = _subordinate(second, dice.pick(("because", "because", "although")))
    return _finished("S", f"{grammar.statement(_marked(main)).english} {reason}"), [main, second]


def _condition(dice: Dice) -> _Drawn:
    first = clause(dice, forms=("present",), adverbials=0.3, adverbs=False)
    main = clause(dice, forms=("present", "modal"), adverbials=0.3, adverbs=False)
    told = grammar.statement(_marked(main)).english
    return _finished("S", f"{_subordinate(first, 'if')}, {told}"), [first, main]


_SAYING = tuple(VERBS[verb] for verb in ("know*", "believe", "hope", "say"))


def _that(dice: Dice) -> _Drawn:
    content = clause(dice, adverbials=0.7)
    main = Clause(clause(dice, frames=("",)).subject, dice.pick(_SAYING))
    told = f"{grammar.statement(_marked(main)).english} {_subordinate(content, 'that')}"
    return _finished("S", told), [main, content]


def _relative(dice: Dice) -> _Drawn:
    person = definite_phrase(dice, dice.pick(PERSONS), "nominative")
    who = grammar.relative_pronoun(person, "nominative")
    second = clause(dice, doer=who, adverbials=0.6)
    main = clause(dice, doer=person, adverbials=0.4, negation=0.1)
    about = _marked(second, f"{_constituent('WHNP', who.english)} {_OPEN}S")
    about_person = _closed(f"{_OPEN}SBAR {grammar.relative(about, 'subject').english}")
    subject = _constituent("NP", f"{_constituent('NP', person.english)} {about_person}")
    return _finished("S", grammar.statement(_marked(main, subject)).english), [second, main]


def _coordination(dice: Dice) -> _Drawn:
    first, second = clause(dice, adverbials=0.5), clause(dice, adverbials=0.5)
    link = ", but" if dice.chance(0.4) else " and"
    return _finished("S", f"{_clause_of(first)}{link} {_clause_of(second)}"), [first, second]


_TEMPLATES: dict[Callable[[Dice], _Drawn], int] = {
    _statement: 30,
    _yes_no_question: 10,
    _why_question: 8,
    _reason: 10,
    _condition: 10,
    _that: 10,
    _relative: 12,
    _coordination: 10,
}
_DRAWN = weighted(_TEMPLATES)


def _parse(dice: Dice) -> tuple[Parse, list[Clause]]:
    marked, clauses = dice.pick(_DRAWN)(dice)
    return parse_of(marked), clauses


def parse_of(marked: str) -> Parse:
    """Parts a sentence that is marked from its tree.

    Args:
        marked: Words and marks in brackets, all with spaces between them.

    Example:
        >>> parse_of("(S (NP Anna ) (VP sings ) . )")
        Parse(text='Anna sings.', tree='(S (NP XX ) (VP XX ) XX )')
    """
    tokens = marked.split()
    is_word = [not token.startswith(_OPEN) and token != _CLOSE for token in tokens]
    words = [token for token, word in zip(tokens, is_word, strict=True) if word]
    text = "".join(word if word in _MARKS else f" {word}" for word in words).lstrip()
    tree = " ".join(_WORD if word else token for token, word in zip(tokens, is_word, strict=True))
    return Parse(f"{text[0].upper()}{text[1:]}", tree)


def parses(split: str = "train", *, size: int | None = None, seed: int = 0) -> list[Parse]:
    """Returns sentences with their trees.

    Args:
        split: "train", "valid", "test" or "combinations".
        size: How many; None for 10,000 of "train" and 1,000 of the others.
        seed: Decides which are drawn, and their order.

    Raises:
        ValueError: If there is no such split, or the size is not positive.

    Example:
        >>> text, tree = parses("test", size=1)[0]
        >>> tree.count("(") == tree.count(")")
        True
    """
    return examples(_parse, split, size, seed)
