"""What happens: noun phrases, adverbials and clauses, drawn at random within sense and grammar.

`grammar` knows the order of words and nothing of chance; here the words are chosen, so that verbs
get objects they go with and tenses get times they go with. `clause` is the outcome: what somebody
does, in no order yet, for `templates` to say.
"""

from collections.abc import Sequence
from functools import cache

from phrasebook import grammar
from phrasebook.dice import Dice, weighted
from phrasebook.grammar import Clause, Phrase
from phrasebook.lexicon import (
    ADVERBS,
    CITIES,
    DETERMINERS,
    MEANS,
    MODALS,
    NAMES,
    NUMBERS,
    PLACES,
    TIMES,
    VERBS,
    Adjective,
    Adverb,
    Determiner,
    Noun,
    Place,
    Verb,
    adjectives_of,
    nouns,
    objects_of,
    places,
    places_of,
    read_tags,
)
from phrasebook.morphology import PRONOUNS


def _determiners(table: dict[str, int]) -> tuple[Determiner, ...]:
    return tuple(DETERMINERS[name] for name in weighted(table))


_POSSESSIVES = dict.fromkeys(("my", "your", "his", "her", "our", "their"), 1)
_GENITIVES = {f"{name}'s": 1 for name in NAMES}
_NUMBERS = dict.fromkeys(NUMBERS, 1)

_SINGULAR = _determiners({"the": 12, "a": 12, "this": 3, "every": 1})
_PLURAL = _determiners({"the": 8, "zero": 8, "this": 3, "all": 2, "some": 2, "many": 2} | _NUMBERS)
OWNED = _determiners(dict.fromkeys(_POSSESSIVES, 4) | _GENITIVES)
_MASS = _determiners({"zero": 10, "the": 8, "this": 1, "my": 1, "your": 1})
_SUBJECT_SINGULAR = _determiners({"the": 20, "this": 4, "a": 3, "every": 1, "no": 1})
_SUBJECT_PLURAL = _determiners({"the": 12, "this": 4, "all": 2, "many": 2, "two": 1, "three": 1})
DEFINITE = _determiners({"the": 3, "this": 1})
INDEFINITE_PLURAL = _determiners({"zero": 4, "some": 2, "many": 4} | _NUMBERS)

THE, A, NO = DETERMINERS["the"], DETERMINERS["a"], DETERMINERS["no"]
NOT_A, _NOT_ANY = DETERMINERS["not a"], DETERMINERS["not any"]

NOT, _NOT_YET, _NEVER = ADVERBS["not"], ADVERBS["not yet"], ADVERBS["never"]
NEGATIONS = (NOT, _NOT_YET, _NEVER)
_ALREADY, _OFTEN = ADVERBS["already"], ADVERBS["often"]
FREQUENCIES = tuple(ADVERBS[name] for name in ("often", "always", "sometimes", "usually"))

PERSONS = nouns("person")
# Whose it is, is said of these nouns only: "her umbrella", but not "her mountain".
_OWNABLE = read_tags(
    "kin known pet object clothes furniture device car bicycle boat text plan home"
)


# --- Noun phrases


def _determiner(dice: Dice, noun: Noun, plural: bool, negated: bool) -> Determiner:
    """Draws a determiner of an object; one that negation allows if the clause is negated."""
    if negated and dice.chance(0.5):
        return _NOT_ANY if plural or "mass" in noun.tags else NOT_A
    if negated:
        return _definite_determiner(dice, noun)
    if "mass" in noun.tags:
        return dice.pick(_MASS)
    if "kin" in noun.tags and not plural:
        return _definite_determiner(dice, noun)
    if noun.tags & _OWNABLE and dice.chance(0.25):
        return dice.pick(OWNED)
    return dice.pick(_PLURAL if plural else _SINGULAR)


def _definite_determiner(dice: Dice, noun: Noun) -> Determiner:
    if noun.tags & _OWNABLE and dice.chance(0.7 if "kin" in noun.tags else 0.4):
        return dice.pick(OWNED)
    return THE if "kin" in noun.tags else dice.pick(DEFINITE)


def noun_phrase(
    dice: Dice, noun: Noun, case: str, *, negated: bool = False, attribute: float = 0.35
) -> Phrase:
    """Draws a noun phrase: number, determiner, and perhaps an adjective.

    Args:
        dice: Source of the draws.
        noun: The noun.
        case: The German case.
        negated: Whether the clause is negated, so that an indefinite phrase becomes "kein".
        attribute: The probability of an adjective.

    Returns:
        The phrase.
    """
    plural = bool(noun.english_plural) and "parent" not in noun.tags and dice.chance(0.3)
    determiner = _determiner(dice, noun, plural, negated)
    return with_attribute(dice, noun, determiner, case, plural, attribute)


def definite_phrase(dice: Dice, noun: Noun, case: str, *, attribute: float = 0.3) -> Phrase:
    """Draws a definite noun phrase."""
    plural = bool(noun.english_plural) and "parent" not in noun.tags and dice.chance(0.25)
    determiner = _definite_determiner(dice, noun)
    return with_attribute(dice, noun, determiner, case, plural, attribute)


def with_attribute(
    dice: Dice, noun: Noun, determiner: Determiner, case: str, plural: bool, attribute: float
) -> Phrase:
    """Builds a noun phrase, to which an adjective is drawn with the probability `attribute`."""
    adjectives = adjectives_of(noun)
    adjective = dice.pick(adjectives) if adjectives and dice.chance(attribute) else None
    return grammar.noun_phrase(noun, determiner, case, adjective, plural=plural)


PRONOUNS_AS_SUBJECT = tuple(grammar.pronoun(person, "nominative") for person in PRONOUNS)


def subject(dice: Dice, *, negated: bool = False) -> Phrase:
    """Draws a person who does something.

    Args:
        dice: Source of the draws.
        negated: Whether the clause is negated; then "every", "all" and "no" are left out, whose
            scope would be ambiguous.

    Returns:
        The subject, in the nominative.
    """
    if dice.chance(0.3):
        return dice.pick(PRONOUNS_AS_SUBJECT)
    if dice.chance(0.15):
        return given_name(dice)
    if dice.chance(0.05):
        first, second = given_name(dice), given_name(dice)
        return grammar.joined(first, second) if first != second else first
    noun = dice.pick(PERSONS)
    return person_subject(dice, noun, negated=negated)


def person_subject(dice: Dice, noun: Noun, *, negated: bool = False) -> Phrase:
    """Draws a noun phrase for a person, as a subject."""
    if negated or dice.chance(0.3) or "kin" in noun.tags:
        return definite_phrase(dice, noun, "nominative", attribute=0.25)
    plural = dice.chance(0.3)
    determiner = dice.pick(_SUBJECT_PLURAL if plural else _SUBJECT_SINGULAR)
    return with_attribute(dice, noun, determiner, "nominative", plural, 0.3)


def given_name(dice: Dice) -> Phrase:
    """Draws a given name."""
    return grammar.name(dice.pick(_NAMES))


_NAMES = tuple(NAMES)
_OBJECT_PRONOUNS = {
    "1s": ("you", "he", "she", "they"),
    "p": ("he", "she"),
    "3s": ("I", "we", "you", "they"),
}


def person_object(dice: Dice, case: str, doer: Phrase) -> Phrase:
    """Draws a definite person as an object: a pronoun, a name or a noun phrase.

    Args:
        dice: Source of the draws.
        case: The German case.
        doer: The subject; a pronoun that would be reflexive is not drawn.

    Returns:
        The object.
    """
    if dice.chance(0.3):
        return grammar.pronoun(dice.pick(_OBJECT_PRONOUNS[doer.agreement]), case)
    if dice.chance(0.25):
        return given_name(dice)
    return definite_phrase(dice, dice.pick(PERSONS), case)


# --- Adverbials


def _times_of(tense: str) -> tuple[Phrase, ...]:
    return tuple(grammar.adverbial(time) for time in TIMES.values() if tense in time.tags)


_TIMES = {tense: _times_of(tense) for tense in ("present", "past", "perfect", "future")}
CITY_NAMES = tuple(CITIES.items())
CLOCK = tuple(
    Phrase(f"at {english} o'clock", f"um {german} Uhr") for english, german in NUMBERS.items()
)
DAYS = tuple(phrase for phrase in _TIMES["future"] if phrase.english.startswith("on ")) + tuple(
    grammar.adverbial(TIMES[name]) for name in ("today", "tomorrow")
)
_HOME = Phrase("home", "nach Hause")
_AT_HOME = Phrase("at home", "zu Hause")
_MODALS = tuple(MODALS)
_COMPANIONED = read_tags(
    "eat drink cook bake visit sing work live sit wait hike go run travel fly come build"
)


def time(dice: Dice, form: str) -> Phrase:
    """Draws a time that goes with a tense or a modal verb."""
    tense = "future" if form in MODALS else form
    if tense != "perfect" and dice.chance(0.12):
        return dice.pick(CLOCK)
    return dice.pick(_TIMES[tense])


def location(dice: Dice, options: Sequence[Place]) -> Phrase:
    """Draws where something happens: a place of the options, at home, or a city."""
    place = dice.pick(options)
    tags = place.noun.tags
    if "home" in tags and dice.chance(0.15):
        return _AT_HOME
    if "settlement" in tags and dice.chance(0.7):
        english, german = dice.pick(CITY_NAMES)
        return Phrase(f"in {english}", f"in {german}")
    return grammar.location(place, *_place_words(dice, place))


def direction(dice: Dice, options: Sequence[Place]) -> Phrase:
    """Draws where something goes."""
    place = dice.pick(options)
    return grammar.direction(place, *_place_words(dice, place))


def _place_words(dice: Dice, place: Place) -> tuple[Determiner, Adjective | None]:
    """Draws what stands before a place: a determiner, and perhaps an adjective."""
    determiner = THE
    if "home" in place.noun.tags and dice.chance(0.25):
        determiner = dice.pick(OWNED)
    elif dice.chance(0.12):
        determiner = A
    adjectives = adjectives_of(place.noun)
    return determiner, dice.pick(adjectives) if adjectives and dice.chance(0.2) else None


def companion(dice: Dice, doer: Phrase) -> Phrase:
    """Draws with whom something is done."""
    return grammar.prepositional("with", "mit", person_object(dice, "dative", doer))


# --- What happens


VERBS_BY_FRAME = {
    "acc": tuple(v for v in VERBS.values() if v.frame == "acc" and v.english != "put"),
    "dat": tuple(v for v in VERBS.values() if v.frame == "dat" and v.aspect != "special"),
    "dat+acc": tuple(v for v in VERBS.values() if v.frame == "dat+acc"),
    "prepositional": tuple(
        v for v in VERBS.values() if v.frame[:3] in ("auf", "an+", "übe", "mit")
    ),
    "": tuple(v for v in VERBS.values() if v.frame == "" and v.aspect != "special"),
    "to": tuple(v for v in VERBS.values() if v.frame == "to"),
}
_FRAME_WEIGHTS = weighted(
    {"acc": 52, "dat": 8, "dat+acc": 10, "prepositional": 10, "": 12, "to": 8}
)
_FORMS = {
    "activity": weighted({"present": 6, "progressive": 3, "past": 4, "perfect": 4, "modal": 5}),
    "event": weighted({"present": 6, "past": 4, "perfect": 4, "modal": 4}),
    "mishap": weighted({"present": 2, "past": 2, "perfect": 2}),
    "state": weighted({"present": 3, "past": 1}),
    "special": weighted({"present": 3, "past": 1}),
}
YOU = grammar.pronoun("you", "nominative")
# What is asked in a yes-no question.
YES_NO_FORMS = ("present", "progressive", "perfect", "modal")


def form(dice: Dice, verb: Verb, doer: Phrase, allowed: Sequence[str] = ()) -> str:
    """Draws a tense, or a modal verb.

    Args:
        dice: Source of the draws.
        verb: The verb, whose aspect rules some out.
        doer: The subject: the past is not used to address somebody, where it is bookish.
        allowed: The only forms to draw from.

    Returns:
        A value for `Clause.form`.
    """
    drawn = dice.pick(_forms_of(verb.aspect, allowed))
    if drawn == "modal":
        return dice.pick(_MODALS)
    if drawn == "past" and doer == YOU:
        return "present"
    return "perfect" if drawn == "past" and not verb.english_past else drawn


@cache
def _forms_of(aspect: str, allowed: Sequence[str]) -> tuple[str, ...]:
    return tuple(drawn for drawn in _FORMS[aspect] if not allowed or drawn in allowed)


def _adverb(dice: Dice, tense: str, negated: bool) -> Adverb | None:
    """Draws an adverb beside the verb that goes with the tense, or None."""
    if negated:
        if tense == "perfect" and dice.chance(0.4):
            return _NOT_YET
        return _NEVER if tense in ("present", "past", "perfect") and dice.chance(0.15) else NOT
    if tense == "perfect":
        return dice.pick((_ALREADY, _OFTEN)) if dice.chance(0.2) else None
    return dice.pick(FREQUENCIES) if tense in ("present", "past") and dice.chance(0.15) else None


def clause(
    dice: Dice,
    *,
    frames: Sequence[str] = _FRAME_WEIGHTS,
    doer: Phrase | None = None,
    forms: Sequence[str] = (),
    negation: float = 0.15,
    adverbials: float = 1.0,
    adverbs: bool = True,
) -> Clause:
    """Draws what somebody does: verb, tense, objects and adverbials.

    Args:
        dice: Source of the draws.
        frames: The frames of verbs to draw from.
        doer: The subject, drawn if not given.
        forms: The tenses to draw from, "modal" for a modal verb; every tense if empty.
        negation: The probability of a negation.
        adverbials: What the probabilities of time, place and manner are multiplied by.
        adverbs: Whether "often", "already" and the like may occur.

    Returns:
        The clause.
    """
    verb = dice.pick(VERBS_BY_FRAME[dice.pick(frames)])
    negated = dice.chance(negation)
    doer = doer or subject(dice, negated=negated)
    tense = form(dice, verb, doer, forms)
    negated = negated and tense != "may"
    habitual = verb.aspect not in ("state", "special")
    adverb = None
    if negated or (adverbs and habitual):
        adverb = _adverb(dice, tense, negated)
    if negated and not habitual:
        adverb = NOT
    slots = _complements(dice, verb, doer, negated and adverb is not _NEVER)
    if adverbials:
        _add_adverbials(dice, verb, tense, adverb, doer, slots, adverbials)
    return Clause(doer, verb, tense, adverb, **slots)


def _complements(dice: Dice, verb: Verb, doer: Phrase, negated: bool) -> dict[str, Phrase]:
    """Draws the objects of a verb, by slot."""
    frame = verb.frame
    if frame == "acc":
        return _accusative(dice, verb, doer, negated)
    if frame == "dat":
        return {"dative": _person_or_thing(dice, verb, "dative", doer)}
    if frame == "dat+acc":
        recipient = person_object(dice, "dative", doer)
        thing = noun_phrase(dice, dice.pick(objects_of(verb)), "accusative", negated=negated)
        return {"dative": recipient, "accusative": thing}
    if frame == "to":
        return _destination(dice, verb)
    if not frame:
        return {}
    german, case = frame.split("+")
    case = "accusative" if case == "acc" else "dative"
    phrase = _person_or_thing(dice, verb, case, doer)
    # The English preposition is the particle of the verb.
    return {"prepositional": grammar.prepositional("", german, phrase)}


def _accusative(dice: Dice, verb: Verb, doer: Phrase, negated: bool) -> dict[str, Phrase]:
    noun = dice.pick(objects_of(verb))
    if "person" in verb.objects and "person" in noun.tags and dice.chance(0.4):
        # "pick him up" has its own order in English, so that only names occur there.
        split = verb.english_particle in ("up", "on", "off")
        person = given_name(dice) if split else person_object(dice, "accusative", doer)
        return {"accusative": person}
    slots = {"accusative": noun_phrase(dice, noun, "accusative", negated=negated)}
    if verb.english in ("bring", "carry") and dice.chance(0.6):
        slots["direction"] = direction(dice, _GOALS["go"])
    return slots


def _person_or_thing(dice: Dice, verb: Verb, case: str, doer: Phrase) -> Phrase:
    noun = dice.pick(objects_of(verb))
    if "person" in verb.objects and "person" in noun.tags:
        return person_object(dice, case, doer)
    return definite_phrase(dice, noun, case)


_GOALS = {
    "go": tuple(place for place in PLACES.values() if place.german_to),
    "run": places("outside", "traffic", "study", "home")[:-1],
    "travel": places("settlement", "nature", "traffic", "table", "castle", "zoo"),
    "come": places("outside", "traffic", "town", "table", "study", "work")[:-1],
}


_MEANS = {
    verb: tuple(means for means in MEANS.values() if verb in means.tags)
    for verb in ("go", "travel")
}


def _destination(dice: Dice, verb: Verb) -> dict[str, Phrase]:
    """Draws where somebody goes, and by what means."""
    slots = {}
    means = _MEANS.get(verb.english)
    if means and dice.chance(0.3):
        slots["manner"] = grammar.adverbial(dice.pick(means))
    if verb.english == "fly" or (verb.english == "travel" and dice.chance(0.5)):
        english, german = dice.pick(CITY_NAMES)
        slots["direction"] = Phrase(f"to {english}", f"nach {german}")
    elif dice.chance(0.15):
        slots["direction"] = _HOME
    else:
        slots["direction"] = direction(dice, _GOALS[verb.english])
    return slots


def _add_adverbials(
    dice: Dice,
    verb: Verb,
    tense: str,
    adverb: Adverb | None,
    doer: Phrase,
    slots: dict[str, Phrase],
    rate: float,
) -> None:
    """Draws time, place and company into the slots, where the clause leaves room for them."""
    thing = slots.get("accusative") or slots.get("prepositional")
    definite = thing is None or thing.kind != "indefinite"
    plain = adverb is None or not adverb.focus or (adverb is NOT and definite)
    options = places_of(verb)
    if plain and options and "direction" not in slots:
        situated = verb.english in _SITUATED
        if situated or dice.chance(0.3 * rate):
            slots["place"] = location(dice, options)
    together = plain and "manner" not in slots and verb.english in _COMPANIONED
    if together and dice.chance(0.15 * rate):
        slots["manner"] = companion(dice, doer)
    timeless = verb.aspect == "state" or tense == "progressive"
    if timeless or (adverb is not None and adverb is not NOT):
        return
    if dice.chance((0.15 if tense == "perfect" else 0.4) * rate):
        slots["time"] = time(dice, tense)


# Verbs that say little without a place.
_SITUATED = frozenset(("live", "stay", "work", "sit"))
