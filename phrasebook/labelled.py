"""Examples whose labels the grammar knows: sentences, pairs, questions, words and documents.

A clause says who does what, when and in which tense, before it is a sentence. So what a person
would have to annotate is known when the sentence is made. An example belongs to a split as a
sentence does: by the combinations of all that is in it, and else by a checksum.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple, TypeVar

from phrasebook import grammar
from phrasebook.clauses import NEGATIONS, YES_NO_FORMS, clause, given_name, noun_phrase
from phrasebook.dice import Dice
from phrasebook.grammar import Clause, Phrase, Sentence
from phrasebook.lexicon import MODALS, NAMES, NOUNS, objects_of
from phrasebook.splits import SPLITS, split_of

Example = TypeVar("Example")
# Draws an example, and the clauses that it is made of.
Draw = Callable[[Dice], tuple[Example, list[Clause]]]

DEFAULT_SIZES = {"train": 10_000, "valid": 1_000, "test": 1_000, "combinations": 1_000}


class Labelled(NamedTuple):
    """A sentence or two, with a label.

    Args:
        label: The label.
        text: The sentence.
        text_pair: The second sentence; empty if there is one alone.
    """

    label: str
    text: str
    text_pair: str = ""


def examples(draw: Draw[Example], split: str, size: int | None, seed: int) -> list[Example]:
    """Draws distinct examples of a split.

    Args:
        draw: Draws an example of any split.
        split: One of `SPLITS`.
        size: How many; None for `DEFAULT_SIZES`.
        seed: Decides which are drawn, and their order.

    Raises:
        ValueError: If there is no such split, or the size is not positive.

    Example:
        >>> examples(LABELLED["question"], "test", size=1, seed=0)[0].label in QUESTION_LABELS
        True
    """
    if split not in SPLITS:
        known = ", ".join(SPLITS)
        raise ValueError(f"`split` must be one of {known}. Received: split={split!r}")
    size = DEFAULT_SIZES[split] if size is None else size
    if size < 1:
        raise ValueError(f"`size` must be at least 1. Received: size={size}")
    return list(islice(_drawn(draw, split, Dice(seed)), size))


def _drawn(draw: Draw[Example], split: str, dice: Dice) -> Iterator[Example]:
    seen = set()
    while True:
        example, clauses = draw(dice)
        if split_of(_together(clauses)) == split and repr(example) not in seen:
            seen.add(repr(example))
            yield example


def _together(clauses: list[Clause]) -> Sentence:
    """Returns all that is said as one sentence, of which the split is known."""
    said = [grammar.statement(one) for one in clauses]
    found = tuple(combination for one in said for combination in one.combinations)
    german = " ".join(one.german for one in said)
    return Sentence(" ".join(one.english for one in said), german, found)


# --- Sentences

QUESTION_LABELS = ("question", "statement")
NEGATION_LABELS = ("affirmative", "negative")
TENSE_LABELS = ("modal", "past", "perfect", "present", "progressive")


def _without_mark(words: Sentence) -> str:
    """Finishes a sentence without its final mark, which would tell a question from a statement."""
    return grammar.sentence(words, "").english


def _question(dice: Dice) -> tuple[Labelled, list[Clause]]:
    if dice.chance(0.5):
        drawn = clause(dice, forms=YES_NO_FORMS, negation=0.0)
        return Labelled("question", _without_mark(grammar.question(drawn))), [drawn]
    drawn = clause(dice)
    return Labelled("statement", _without_mark(grammar.statement(drawn))), [drawn]


def _negation(dice: Dice) -> tuple[Labelled, list[Clause]]:
    drawn = clause(dice, negation=0.45)
    label = "negative" if is_negative(drawn) else "affirmative"
    return Labelled(label, _without_mark(grammar.statement(drawn))), [drawn]


def is_negative(drawn: Clause) -> bool:
    """Returns whether a clause is negated: by its adverb, or by "no" before its subject."""
    return drawn.adverb in NEGATIONS or drawn.subject.negative


def _tense(dice: Dice) -> tuple[Labelled, list[Clause]]:
    drawn = clause(dice)
    label = "modal" if drawn.form in MODALS else drawn.form
    return Labelled(label, _without_mark(grammar.statement(drawn))), [drawn]


# --- Pairs

FOLLOWS_LABELS = ("follows", "open")
TRANSLATION_LABELS = ("other", "translation")
_DROPPED = ("time", "place", "manner")


def _follows(dice: Dice) -> tuple[Labelled, list[Clause]]:
    """What is true somewhere or at some time is true; of somebody or something else it is open."""
    while True:
        premise = affirmed(dice)
        slots = [slot for slot in _DROPPED if getattr(premise, slot) is not None]
        other = _changed(dice, premise)
        if slots and other is not None:
            break
    follows = dice.chance(0.5)
    said = grammar.with_slot(premise if follows else other, dice.pick(slots), None)
    texts = (grammar.sentence(grammar.statement(one)).english for one in (premise, said))
    return Labelled("follows" if follows else "open", *texts), [premise, said]


def _translation(dice: Dice) -> tuple[Labelled, list[Clause]]:
    """A German sentence that is no translation differs in one name or one object."""
    while True:
        told = affirmed(dice)
        other = _changed(dice, told)
        if other is not None:
            break
    same = dice.chance(0.5)
    english = grammar.sentence(grammar.statement(told)).english
    german = grammar.sentence(grammar.statement(told if same else other)).german
    label = "translation" if same else "other"
    return Labelled(label, english, german), [told, told if same else other]


def affirmed(dice: Dice, doer: Phrase | None = None) -> Clause:
    """Draws a statement that negates nothing and has no adverb such as "often".

    Args:
        dice: Source of the draws.
        doer: The subject; a given name is drawn if it is not given.
    """
    return clause(dice, doer=doer or given_name(dice), negation=0.0, adverbs=False)


def _changed(dice: Dice, told: Clause) -> Clause | None:
    """Returns a clause of another name or another object; None if it is not to be changed so.

    An object is changed that is neither a person nor an animal: a duck is a bird, and a boy a
    child, so that one may follow from the other.
    """
    if dice.chance(0.5):
        others = [name for name in NAMES if name != told.subject.english]
        return told._replace(subject=grammar.name(dice.pick(others)))
    thing = told.accusative
    if thing is None or not thing.noun or NOUNS[thing.noun].tags & {"person", "animal"}:
        return None
    nouns = [noun for noun in objects_of(told.verb) if noun.english != thing.noun]
    nouns = [noun for noun in nouns if not noun.tags & {"person", "animal"}]
    if not nouns:
        return None
    return told._replace(accusative=noun_phrase(dice, dice.pick(nouns), "accusative"))


LABELLED: dict[str, Draw[Labelled]] = {
    "question": _question,
    "negation": _negation,
    "tense": _tense,
    "follows": _follows,
    "translation": _translation,
}
PAIRS = ("follows", "translation")


def labelled(
    kind: str, split: str = "train", *, size: int | None = None, seed: int = 0
) -> list[Labelled]:
    """Returns sentences, or pairs of them, with labels that are true.

    | kind | texts | labels |
    |---|---|---|
    | "question" | a sentence without its final mark | question, statement |
    | "negation" | a statement | affirmative, negative |
    | "tense" | a statement | modal, past, perfect, present, progressive |
    | "follows" | two statements: does the second follow from the first? | follows, open |
    | "translation" | English and German: do they say the same? | other, translation |

    Args:
        kind: One of those.
        split: "train", "valid", "test" or "combinations", of which the last has combinations of
            words that no other has.
        size: How many; None for 10,000 of "train" and 1,000 of the others.
        seed: Decides which are drawn, and their order.

    Raises:
        ValueError: If there is no such kind or split, or the size is not positive.

    Example:
        >>> labelled("tense", "test", size=2)[0].label in TENSE_LABELS
        True
    """
    if kind not in LABELLED:
        known = ", ".join(LABELLED)
        raise ValueError(f"`kind` must be one of {known}. Received: kind={kind!r}")
    return examples(LABELLED[kind], split, size, seed)
