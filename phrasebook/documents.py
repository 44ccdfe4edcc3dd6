"""Short stories of one person each, to pre-train on: a next sentence tells of the same one."""

from phrasebook import grammar
from phrasebook.clauses import clause
from phrasebook.dice import Dice
from phrasebook.grammar import Clause
from phrasebook.labelled import examples
from phrasebook.lexicon import NAMES
from phrasebook.templates import description

_LENGTHS = (4, 5, 6, 7, 8)
_PRONOUNS = {"f": "she", "m": "he"}


def _draw(dice: Dice) -> tuple[list[str], list[Clause]]:
    name = dice.pick(tuple(NAMES))
    pronoun = grammar.pronoun(_PRONOUNS[NAMES[name]], "nominative")
    told: list[Clause] = []
    for index in range(dice.pick(_LENGTHS)):
        # A pronoun alone does not tell of whom, so the name comes again and again.
        doer = pronoun if index and dice.chance(0.4) else grammar.name(name)
        tells = clause(dice, doer=doer) if dice.chance(0.8) else description(dice, doer=doer)
        told.append(tells)
    return [grammar.sentence(grammar.statement(one)).english for one in told], told


def documents(split: str = "train", *, size: int | None = None, seed: int = 0) -> list[list[str]]:
    """Returns documents of four to eight English sentences about one person.

    Args:
        split: "train", "valid", "test" or "combinations".
        size: How many documents; None for 10,000 of "train" and 1,000 of the others.
        seed: Decides which are drawn, and their order.

    Raises:
        ValueError: If there is no such split, or the size is not positive.

    Example:
        >>> 4 <= len(documents("test", size=1)[0]) <= 8
        True
    """
    return examples(_draw, split, size, seed)
