"""Turns of a dialogue: a question, and one of several replies that fit it.

Unlike a translation a reply does not follow from what was said. A model that always gives the most
likely one says "yes" to everything; one whose replies are sampled gives them as often as they are
given here.
"""

from typing import NamedTuple

from phrasebook import grammar
from phrasebook.clauses import NOT, YES_NO_FORMS, clause
from phrasebook.dice import Dice, weighted
from phrasebook.grammar import Clause
from phrasebook.labelled import examples

# What means another one when it is said back.
_SPEAKERS = frozenset(("I", "me", "my", "we", "us", "our", "you", "your"))
# How often each reply is given, in tenths.
REPLIES = {"yes": 4, "no": 3, "unknown": 2, "short": 1}
_DRAWN = weighted(REPLIES)


class Turn(NamedTuple):
    """What somebody says, and the reply.

    Args:
        said: A question.
        reply: The reply.
    """

    said: str
    reply: str


def replies(asked: Clause) -> dict[str, str]:
    """Returns the replies that fit a question, by what they say.

    Args:
        asked: What is asked for: whether it is so.

    Example:
        >>> from phrasebook.lexicon import VERBS
        >>> replies(Clause(grammar.name("Anna"), VERBS["sing"]))["no"]
        'No, Anna does not sing.'
    """
    told = {
        "yes": grammar.statement(asked).english,
        "no": grammar.statement(asked._replace(adverb=NOT)).english,
    }
    return {
        **{reply: f"{reply.capitalize()}, {text}." for reply, text in told.items()},
        "unknown": "I do not know.",
        "short": "Yes.",
    }


def _turn(dice: Dice) -> tuple[Turn, list[Clause]]:
    while True:
        asked = clause(dice, forms=YES_NO_FORMS, negation=0.0, adverbs=False)
        question = grammar.question(asked)
        if _SPEAKERS.isdisjoint(question.english.split()):
            break
    said = grammar.sentence(question, "?").english
    return Turn(said, replies(asked)[dice.pick(_DRAWN)]), [asked]


def turns(split: str = "train", *, size: int | None = None, seed: int = 0) -> list[Turn]:
    """Returns questions with replies.

    Args:
        split: "train", "valid", "test" or "combinations".
        size: How many; None for 10,000 of "train" and 1,000 of the others.
        seed: Decides which are drawn, and their order.

    Raises:
        ValueError: If there is no such split, or the size is not positive.

    Example:
        >>> turns("test", size=1)[0].said[-1]
        '?'
    """
    return examples(_turn, split, size, seed)
