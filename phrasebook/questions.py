"""Questions about a few sentences, with their answers as places in the text.

Each sentence tells of somebody else. A question leaves out one slot of a sentence, and what stood
there is the answer.
"""

from typing import NamedTuple

from phrasebook import grammar
from phrasebook.dice import Dice
from phrasebook.grammar import Clause, Phrase
from phrasebook.labelled import Draw, affirmed, examples
from phrasebook.lexicon import NAMES


class Question(NamedTuple):
    """A question about a text.

    Args:
        question: The question.
        context: The text.
        answer: The answer as it stands in the text; empty if the text does not tell.
        start: Where it begins, in characters; -1 if there is none.
    """

    question: str
    context: str
    answer: str
    start: int


_SENTENCES = 3
# What is asked for: the slot, and the question word of an adverbial.
_ADVERBIALS = {"time": ("when", "wann"), "place": ("where", "wo")}
_SLOTS = ("subject", "accusative", *_ADVERBIALS)


def _asked(told: Clause, slot: str) -> str | None:
    """Asks for a slot of a clause; None where it has nothing to be asked for so."""
    phrase: Phrase | None = getattr(told, slot)
    if phrase is None:
        return None
    if slot in _ADVERBIALS:
        without = grammar.with_slot(told, slot, None)
        return grammar.sentence(grammar.question(without, _ADVERBIALS[slot]), "?").english
    if slot == "subject":
        word = Phrase("who", "wer", person=True)
    elif phrase.noun and not phrase.person:
        word = Phrase("what", "was")
    else:
        return None
    asking = grammar.question(grammar.with_slot(told, slot, word), asked=slot)
    return grammar.sentence(asking, "?").english


def _told(dice: Dice, people: int) -> list[Clause]:
    """Draws a statement of each of some people, each with a verb of its own."""
    names = list(NAMES)
    told: dict[str, Clause] = {}
    while len(told) < people:
        name = dice.pick(names)
        drawn = affirmed(dice, grammar.name(name))
        # Of one verb, two could have done the same.
        if told.setdefault(drawn.verb.english, drawn) is drawn:
            names.remove(name)
    return list(told.values())


def _draw(dice: Dice, unanswerable: float) -> tuple[Question, list[Clause]]:
    while True:
        *told, untold = _told(dice, _SENTENCES + 1)
        about = untold if dice.chance(unanswerable) else dice.pick(told)
        slot = dice.pick(_SLOTS)
        question = _asked(about, slot)
        if question is None:
            continue
        sentences = [grammar.sentence(grammar.statement(one)).english for one in told]
        context = " ".join(sentences)
        if about is untold:
            return Question(question, context, "", -1), [*told, untold]
        index = told.index(about)
        answer: str = getattr(about, slot).english
        if sentences[index].count(answer) == 1:
            start = len(" ".join([*sentences[:index], ""])) + sentences[index].index(answer)
            return Question(question, context, answer, start), told


def _draw_of(unanswerable: float) -> Draw[Question]:
    return lambda dice: _draw(dice, unanswerable)


def questions(
    split: str = "train", *, size: int | None = None, seed: int = 0, unanswerable: float = 0.0
) -> list[Question]:
    """Returns questions about three sentences, with the places of their answers.

    Args:
        split: "train", "valid", "test" or "combinations".
        size: How many; None for 10,000 of "train" and 1,000 of the others.
        seed: Decides which are drawn, and their order.
        unanswerable: Share of questions about somebody of whom the text does not tell.

    Raises:
        ValueError: If there is no such split, or the size is not positive.

    Example:
        >>> one = questions("test", size=1)[0]
        >>> one.context[one.start :].startswith(one.answer)
        True
    """
    return examples(_draw_of(unanswerable), split, size, seed)
