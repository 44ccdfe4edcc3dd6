"""The sentences of the phrasebook, and how often each kind occurs.

A template is a function that draws a `Sentence` with a `Dice`; `TEMPLATES` lists them all with
their weights. Most begin with `clause`, and differ in the rule of the grammar they put it through.
"""

from collections.abc import Callable

from phrasebook import grammar
from phrasebook.clauses import (
    CITY_NAMES,
    CLOCK,
    DAYS,
    DEFINITE,
    FREQUENCIES,
    INDEFINITE_PLURAL,
    NO,
    NOT,
    NOT_A,
    OWNED,
    PERSONS,
    PRONOUNS_AS_SUBJECT,
    THE,
    VERBS_BY_FRAME,
    YES_NO_FORMS,
    YOU,
    A,
    clause,
    definite_phrase,
    form,
    location,
    noun_phrase,
    person_object,
    person_subject,
    subject,
    time,
    with_attribute,
)
from phrasebook.dice import Dice, weighted
from phrasebook.grammar import Clause, Phrase, Sentence
from phrasebook.lexicon import (
    ADJECTIVES,
    DETERMINERS,
    HIGHER_NUMBERS,
    NAMES,
    NOUNS,
    NUMBERS,
    TIMES,
    VERBS,
    Noun,
    Verb,
    adjectives_of,
    nouns,
    objects_of,
    places,
    places_of,
    read_tags,
)

# --- Being


_INTENSIFIERS = (("very", "sehr"), ("too", "zu"))
_PASSING = read_tags("hungry tired happy sad friendly sick quiet loud clean dirty empty full")
_DESCRIBED = tuple(noun for noun in NOUNS.values() if len(adjectives_of(noun)) > 1)


def description(dice: Dice, *, doer: Phrase | None = None, negation: float = 0.2) -> Clause:
    """Draws what somebody or something is like.

    Args:
        dice: Source of the draws.
        doer: A person, as the subject; persons and things are drawn if it is not given.
        negation: The probability of a negation.

    Returns:
        The clause.
    """
    negated = dice.chance(negation)
    if doer is None and dice.chance(0.3):
        doer = subject(dice, negated=negated)
    if doer is None:
        noun = dice.pick(_DESCRIBED)
        phrase = definite_phrase(dice, noun, "nominative", attribute=0.15)
    else:
        noun, phrase = NOUNS[doer.noun] if doer.noun else NOUNS["man"], doer
    said = dice.pick(adjectives_of(noun))
    complement = grammar.predicate(said)
    if not negated and said.english_comparative and dice.chance(0.3):
        english, german = dice.pick(_INTENSIFIERS)
        complement = Phrase(f"{english} {complement.english}", f"{german} {complement.german}")
    tense = form(dice, VERBS["be"], phrase)
    passing = said.english in _PASSING
    adverb = NOT if negated else dice.pick(FREQUENCIES) if passing and dice.chance(0.1) else None
    when = None
    if passing and adverb in (None, NOT) and dice.chance(0.2):
        when = _TODAY if tense == "present" else _YESTERDAY
    return Clause(phrase, VERBS["be"], tense, adverb, complement=complement, time=when)


_TODAY = grammar.adverbial(TIMES["today"])
_YESTERDAY = grammar.adverbial(TIMES["yesterday"])


def _described(dice: Dice) -> Sentence:
    drawn = description(dice)
    return _asked_or_told(dice, drawn)


def _asked_or_told(dice: Dice, drawn: Clause, asked: float = 0.2) -> Sentence:
    """Puts a clause as a statement, or as a question if it may be one."""
    if drawn.adverb is None and dice.chance(asked):
        return grammar.sentence(grammar.question(drawn), "?")
    front = "time" if drawn.time is not None and dice.chance(0.3) else ""
    return grammar.sentence(grammar.statement(drawn, front))


_MEN = tuple(NOUNS[noun] for noun in ("brother", "father", "uncle", "son", "friend", "neighbor"))
_WOMEN = tuple(NOUNS[noun] for noun in ("sister", "mother", "aunt", "daughter"))
_JOBS = nouns("job")


def _profession(dice: Dice) -> Sentence:
    """German leaves out the article of a profession, unless an adjective comes with it."""
    male = dice.chance(0.8)
    noun = dice.pick(_MEN if male else _WOMEN)
    if dice.chance(0.25):
        person = grammar.pronoun("he" if male else "she", "nominative")
    elif dice.chance(0.3):
        person = grammar.name(
            dice.pick([name for name, sex in NAMES.items() if sex == ("m" if male else "f")])
        )
    else:
        person = grammar.noun_phrase(noun, dice.pick(OWNED), "nominative")
    job = dice.pick(_JOBS) if male else NOUNS["nurse"]
    tense = form(dice, VERBS["be"], person)
    if dice.chance(0.25):
        complement = grammar.noun_phrase(job, NOT_A, "nominative")
        return _told(Clause(person, VERBS["be"], tense, NOT, complement=complement))
    if dice.chance(0.5):
        adjective = dice.pick(adjectives_of(job))
        complement = grammar.noun_phrase(job, A, "nominative", adjective)
    else:
        complement = grammar.noun_phrase(job, A, "nominative")._replace(german=job.german)
    drawn = Clause(person, VERBS["be"], tense, complement=complement)
    return _asked_or_told(dice, drawn)


def _told(drawn: Clause) -> Sentence:
    return grammar.sentence(grammar.statement(drawn))


_COMPARED = tuple(
    nouns(tag) for tag in ("person", "animal", "clothes", "vehicle", "furniture", "fruit")
)


def _comparison(dice: Dice) -> Sentence:
    """Compares two of a kind: "older than", "(not) as old as"."""
    kind = dice.pick(_COMPARED)
    first, second = dice.pick(kind), dice.pick(kind)
    shared = [a for a in adjectives_of(first) if a in adjectives_of(second)]
    shared = [a for a in shared if a.english_comparative]
    left = definite_phrase(dice, first, "nominative", attribute=0.1)
    right = definite_phrase(dice, second, "nominative", attribute=0.1)
    if not shared or left == right:
        return _described(dice)
    adjective = dice.pick(shared)
    if dice.chance(0.6):
        drawn = Clause(left, VERBS["be"], complement=grammar.comparison(adjective, right))
        return _asked_or_told(dice, drawn)
    adverb = NOT if dice.chance(0.5) else None
    complement = grammar.equality(adjective, right)
    return _told(Clause(left, VERBS["be"], "present", adverb, complement=complement))


# --- Single clauses


def _statement(dice: Dice) -> Sentence:
    drawn = clause(dice)
    front = ""
    if drawn.time is not None and dice.chance(0.35):
        front = "time"
    elif drawn.place is not None and drawn.adverb is None and dice.chance(0.15):
        front = "place"
    return grammar.sentence(grammar.statement(drawn, front))


def _yes_no_question(dice: Dice) -> Sentence:
    drawn = clause(dice, forms=YES_NO_FORMS, negation=0.0)
    return grammar.sentence(grammar.question(drawn), "?")


_WHEN = ("when", "wann")
_WHERE = ("where", "wo")
_WHERE_TO = ("where", "wohin")
_WHY = ("why", "warum")


def _adverbial_question(dice: Dice) -> tuple[Clause, tuple[str, str]]:
    """Draws a clause with a hole, and the question word that fills it."""
    kind = dice.pick("whennwherewhyyy")
    if kind in "wn":
        forms = ("present", "past", "modal")
        drawn = clause(dice, forms=forms, negation=0.0, adverbs=False)
        if drawn.verb.aspect != "state":
            return drawn._replace(time=None), _WHEN
        return drawn, _WHY
    if kind in "her":
        return _place_question(dice)
    return clause(dice, negation=0.15), _WHY


def _place_question(dice: Dice) -> tuple[Clause, tuple[str, str]]:
    if dice.chance(0.25):
        drawn = clause(dice, frames=("to",), negation=0.0)
        if drawn.verb.english in ("go", "travel", "fly"):
            return drawn._replace(direction=None), _WHERE_TO
    drawn = clause(dice, frames=("acc", "prepositional", ""), negation=0.0)
    if places_of(drawn.verb):
        return drawn._replace(place=None), _WHERE
    return drawn, _WHY


def _word_question(dice: Dice) -> Sentence:
    drawn, word = _adverbial_question(dice)
    return grammar.sentence(grammar.question(drawn, word), "?")


def _who_question(dice: Dice) -> Sentence:
    who = Phrase("who", "wer", person=True)
    drawn = clause(dice, doer=who, negation=0.1)
    return grammar.sentence(grammar.question(drawn, asked="subject"), "?")


_WHAT = {"auf": "worauf", "an": "woran", "über": "worüber", "mit": "womit"}


def _object_question(dice: Dice) -> Sentence:
    """Asks for an object: what, whom, or with the preposition in front in German."""
    drawn = clause(dice, frames=("acc", "acc", "dat", "prepositional", "dat+acc"), negation=0.0)
    slot = "accusative"
    if drawn.verb.frame == "dat":
        slot = "dative"
    elif drawn.prepositional is not None:
        slot = "prepositional"
    asked = getattr(drawn, slot)
    person = asked.person or asked.kind == "pronoun" or slot == "dative"
    word = Phrase("who" if person else "what", _question_pronoun(drawn.verb.frame, person))
    drawn = grammar.with_slot(drawn, slot, word)
    return grammar.sentence(grammar.question(drawn, asked=slot), "?")


def _question_pronoun(frame: str, person: bool) -> str:
    preposition, _, case = frame.rpartition("+")
    preposition = "" if preposition == "dat" else preposition
    if not person:
        return _WHAT[preposition] if preposition else "was"
    return f"{preposition} {'wem' if case == 'dat' else 'wen'}".lstrip()


_WHICH = DETERMINERS["which"]
_HOW_MANY = DETERMINERS["how many"]


def _which_question(dice: Dice) -> Sentence:
    """Asks "which" or "how many", for the subject or the object."""
    many = dice.chance(0.5)
    determiner = _HOW_MANY if many else _WHICH
    if dice.chance(0.3):
        noun = dice.pick(PERSONS)
        plural = many or dice.chance(0.3)
        doer = with_attribute(dice, noun, determiner, "nominative", plural, 0.3)
        drawn = clause(dice, doer=doer, negation=0.0)
        return grammar.sentence(grammar.question(drawn, asked="subject"), "?")
    drawn = clause(dice, frames=("acc", "acc", "dat+acc"), negation=0.0)
    if drawn.verb.english == "drink":
        return grammar.sentence(grammar.question(drawn), "?")
    noun = dice.pick(objects_of(drawn.verb))
    while not noun.english_plural:
        noun = dice.pick(objects_of(drawn.verb))
    plural = many or dice.chance(0.3)
    asked = with_attribute(dice, noun, determiner, "accusative", plural, 0.4)
    drawn = drawn._replace(accusative=asked)
    return grammar.sentence(grammar.question(drawn, asked="accusative"), "?")


def _request(dice: Dice) -> Sentence:
    frames = ("acc", "acc", "acc", "dat", "dat+acc", "prepositional")
    drawn = clause(dice, frames=frames, doer=YOU, forms=("present",), adverbs=False)
    if drawn.verb.aspect != "activity":
        return _statement(dice)
    if drawn.adverb is not None and drawn.adverb is not NOT:
        return _statement(dice)
    if drawn.time is not None:
        drawn = drawn._replace(time=dice.pick(_REQUEST_TIMES))
    return grammar.sentence(grammar.imperative(drawn))


_REQUEST_TIMES = tuple(
    grammar.adverbial(TIMES[name]) for name in ("today", "now", "tomorrow", "on Monday", "tonight")
)


# --- Things that do little


_LYING = tuple(noun for noun in nouns("page", "small", "clothes", "pet"))
_SUPPORTS = nouns("furniture")
_SPOTS = (
    ("on", "auf"),
    ("on", "auf"),
    ("under", "unter"),
    ("next to", "neben"),
    ("behind", "hinter"),
)


def _spot(dice: Dice, case: str) -> Phrase:
    english, german = dice.pick(_SPOTS)
    noun = dice.pick(_SUPPORTS)
    determiner = dice.pick(OWNED) if dice.chance(0.2) else THE
    phrase = with_attribute(dice, noun, determiner, case, False, 0.25)
    return grammar.prepositional(english, german, phrase)


def _lying(dice: Dice) -> Sentence:
    """Where something lies: two-way prepositions with the dative."""
    noun = dice.pick(_LYING)
    negated = dice.chance(0.15)
    thing = definite_phrase(dice, noun, "nominative")
    adverb = NOT if negated else None
    tense = form(dice, VERBS["lie"], thing)
    return _asked_or_told(
        dice, Clause(thing, VERBS["lie"], tense, adverb, place=_spot(dice, "dative"))
    )


def _putting(dice: Dice) -> Sentence:
    """Where somebody puts something: the same prepositions with the accusative."""
    negated = dice.chance(0.1)
    doer = subject(dice, negated=negated)
    verb = VERBS["put"]
    tense = form(dice, verb, doer)
    thing = noun_phrase(dice, dice.pick(objects_of(verb)), "accusative", negated=negated)
    drawn = Clause(doer, verb, tense, NOT if negated and tense != "may" else None)
    if negated and tense == "may":
        thing = definite_phrase(dice, NOUNS[thing.noun], "accusative")
    drawn = drawn._replace(accusative=thing, direction=_spot(dice, "accusative"))
    if tense != "progressive" and dice.chance(0.15):
        drawn = drawn._replace(time=time(dice, tense))
    return _asked_or_told(dice, drawn)


_BELONGINGS = nouns("object", "clothes", "furniture", "car", "bicycle", "boat", "house")


def _belonging(dice: Dice) -> Sentence:
    noun = dice.pick(_BELONGINGS)
    thing = with_attribute(dice, noun, dice.pick(DEFINITE), "nominative", dice.chance(0.2), 0.35)
    owner = person_object(dice, "dative", thing)
    adverb = NOT if owner.kind == "pronoun" and dice.chance(0.4) else None
    return _asked_or_told(dice, Clause(thing, VERBS["belong to"], adverb=adverb, dative=owner))


_PRICED = nouns("object", "clothes", "furniture", "food", "device")
_PRICES = tuple((NUMBERS | HIGHER_NUMBERS).items())


def _price(dice: Dice) -> Sentence:
    noun = dice.pick(_PRICED)
    thing = definite_phrase(dice, noun, "nominative")
    english, german = dice.pick(_PRICES[: len(NUMBERS)] if "food" in noun.tags else _PRICES)
    price = Phrase(f"{english} euros", f"{german} Euro", kind="indefinite")
    return _asked_or_told(dice, Clause(thing, VERBS["cost"], accusative=price))


_YOUNG = nouns("young")
_ADULTS = nouns("adult")


def _age(dice: Dice) -> Sentence:
    young = dice.chance(0.4)
    if not young and dice.chance(0.4):
        person = dice.pick(PRONOUNS_AS_SUBJECT)
    else:
        noun = dice.pick(_YOUNG if young else _ADULTS)
        person = definite_phrase(dice, noun, "nominative", attribute=0.0)
    english, german = dice.pick(tuple((NUMBERS if young else HIGHER_NUMBERS).items()))
    age = Phrase(f"{english} years old", f"{german} Jahre alt")
    return _asked_or_told(dice, Clause(person, VERBS["be"], complement=age))


_TRAVELLING = tuple(NOUNS[noun] for noun in ("train", "bus", "ship", "airplane"))
_DEPARTING = _TRAVELLING[:3]


def timetable(dice: Dice) -> Clause:
    """Draws when a train arrives or departs, or an event begins or ends."""
    kind = dice.pick(("arrive", "arrive", "depart", "begin", "end"))
    if kind in ("begin", "end"):
        thing = definite_phrase(dice, dice.pick(nouns("event")), "nominative", attribute=0.3)
    else:
        noun = dice.pick(_DEPARTING if kind == "depart" else _TRAVELLING)
        thing = definite_phrase(dice, noun, "nominative", attribute=0.3)
        if dice.chance(0.4):
            english, german = dice.pick(CITY_NAMES)
            thing = thing._replace(
                english=f"{thing.english} to {english}", german=f"{thing.german} nach {german}"
            )
    tense = dice.pick(("present", "present", "past", "will"))
    when = time(dice, tense) if dice.chance(0.5) else dice.pick(CLOCK)
    if tense != "past" and dice.chance(0.25):
        day, hour = dice.pick(DAYS), dice.pick(CLOCK)
        when = Phrase(f"{day.english} {hour.english}", f"{day.german} {hour.german}")
    adverb = NOT if dice.chance(0.1) else None
    return Clause(thing, VERBS[kind], tense, adverb, time=when)


def _scheduled(dice: Dice) -> Sentence:
    drawn = timetable(dice)
    if drawn.adverb is None and dice.chance(0.25):
        return grammar.sentence(grammar.question(drawn._replace(time=None), _WHEN), "?")
    return _asked_or_told(dice, drawn)


_SIGHTS = nouns(
    "building",
    "zoo",
    "park",
    "university",
    "market",
    "bakery",
    "station",
    "airport",
    "bridge",
    "tower",
)


def _existence(dice: Dice) -> Sentence:
    noun = dice.pick(_SIGHTS)
    plural = dice.chance(0.45)
    determiner = dice.pick(INDEFINITE_PLURAL) if plural else NO if dice.chance(0.25) else A
    thing = with_attribute(dice, noun, determiner, "accusative", plural, 0.45)
    where = location(dice, _TOWNS)
    drawn = grammar.existence(thing, where, place_first=dice.chance(0.3))
    return grammar.sentence(drawn)


_TOWNS = places("settlement")


# --- Two clauses


_WEATHER_ADJECTIVES = ("good", "cold", "warm", "beautiful")


def _weather(dice: Dice) -> Clause:
    if dice.chance(0.5):
        verb = VERBS[dice.pick(("rain", "snow"))]
        return Clause(Phrase("it", "es", kind="pronoun"), verb)
    adjective = ADJECTIVES[dice.pick(_WEATHER_ADJECTIVES)]
    weather = Phrase("the weather", "das Wetter")
    return Clause(weather, VERBS["be"], complement=grammar.predicate(adjective))


def _again(dice: Dice, doer: Phrase) -> Phrase | None:
    """Returns a pronoun for a subject, or None where English and German gender may differ."""
    if doer.kind == "pronoun":
        return doer
    if doer.agreement == "p":
        return grammar.pronoun("they", "nominative")
    if doer.gender in ("m", "f"):
        return grammar.pronoun("he" if doer.gender == "m" else "she", "nominative")
    return None


def _reason(dice: Dice) -> Sentence:
    """Adds a clause with because or although."""
    main = clause(dice, adverbials=0.5, adverbs=False)
    doer = _again(dice, main.subject)
    if dice.chance(0.25):
        second = _weather(dice)
    elif dice.chance(0.5):
        second = description(dice, doer=doer)
    else:
        second = clause(dice, doer=doer, adverbials=0.5)
    conjunction = dice.pick((("because", "weil"), ("because", "weil"), ("although", "obwohl")))
    drawn = grammar.after(grammar.statement(main), grammar.subordinate(second, conjunction))
    return grammar.sentence(drawn)


def _condition(dice: Dice) -> Sentence:
    """Says what happens if; the condition comes first or last."""
    if dice.chance(0.4):
        first = _weather(dice)
        doer = None
    else:
        first = (
            clause(dice, forms=("present",), adverbials=0.3, adverbs=False)
            if dice.chance(0.6)
            else description(dice, doer=subject(dice))._replace(form="present", time=None)
        )
        doer = _again(dice, first.subject) if dice.chance(0.5) else None
    main = clause(dice, doer=doer, forms=("present", "modal"), adverbials=0.3, adverbs=False)
    condition = grammar.subordinate(first, ("if", "wenn"))
    if dice.chance(0.6) and main.time is None:
        return grammar.sentence(grammar.before(condition, main))
    return grammar.sentence(grammar.after(grammar.statement(main), condition))


_THINKING = tuple(VERBS[verb] for verb in ("know*", "believe", "hope", "say"))


def _content(dice: Dice) -> Clause:
    """Draws what somebody knows or says."""
    kind = dice.pick("abcd")
    if kind == "a":
        return description(dice)
    if kind == "b":
        return timetable(dice)
    return clause(dice, adverbials=0.7)


def _that(dice: Dice) -> Sentence:
    verb = dice.pick(_THINKING)
    doer = subject(dice, negated=True)
    adverb = NOT if verb.english in ("know", "believe") and dice.chance(0.25) else None
    tense = form(dice, verb, doer) if verb.english in ("say", "know") else "present"
    main = grammar.statement(Clause(doer, verb, tense, adverb))
    content = clause(dice, forms=("past",)) if tense == "past" else _content(dice)
    second = grammar.subordinate(content, ("that", "dass"))
    return grammar.sentence(grammar.after(main, second))


def _indirect_question(dice: Dice) -> Sentence:
    doer = subject(dice, negated=True)
    asking = dice.chance(0.3) and doer != YOU
    main = Clause(doer, VERBS["ask" if asking else "know*"], adverb=None if asking else NOT)
    if dice.chance(0.5):
        second, word = _content(dice), ("whether", "ob")
    elif dice.chance(0.3):
        second, word = timetable(dice)._replace(time=None, adverb=None), _WHEN
    else:
        second, word = _adverbial_question(dice)
    joined = grammar.after(grammar.statement(main), grammar.subordinate(second, word))
    if not asking and doer == YOU:
        told = grammar.question(main._replace(adverb=None))
        joined = grammar.after(told, grammar.subordinate(second, word))
        return grammar.sentence(joined, "?")
    return grammar.sentence(joined)


def relative_clause(dice: Dice, antecedent: Phrase) -> Sentence:
    """Draws a relative clause about a person or a thing.

    Args:
        dice: Source of the draws.
        antecedent: The phrase it is about.

    Returns:
        The clause, its pronoun in the case that its own verb asks for.
    """
    noun = NOUNS[antecedent.noun]
    if antecedent.person and dice.chance(0.5):
        doer = grammar.relative_pronoun(antecedent, "nominative")
        return grammar.relative(clause(dice, doer=doer, adverbials=0.6), "subject")
    if antecedent.person and dice.chance(0.35):
        slot, frame = "dative", "dat"
    else:
        slot, frame = "accusative", "acc"
    verb = dice.pick(_takers(noun, frame))
    doer = subject(dice)
    tense = form(dice, verb, doer)
    pronoun = grammar.relative_pronoun(antecedent, slot)
    drawn = grammar.with_slot(Clause(doer, verb, tense), slot, pronoun)
    if verb.aspect not in ("state", "mishap") and tense != "progressive" and dice.chance(0.25):
        drawn = drawn._replace(time=time(dice, tense))
    return grammar.relative(drawn, slot)


_TAKERS: dict[tuple[str, str], tuple[Verb, ...]] = {}


def _takers(noun: Noun, frame: str) -> tuple[Verb, ...]:
    """Returns the verbs of a frame that may have a noun as their object."""
    key = noun.english, frame
    if key not in _TAKERS:
        _TAKERS[key] = tuple(verb for verb in VERBS_BY_FRAME[frame] if noun.tags & verb.objects)
    return _TAKERS[key]


_RELATED = tuple(noun for noun in _DESCRIBED if _takers(noun, "acc"))


def _relative_subject(dice: Dice) -> Sentence:
    if dice.chance(0.6):
        noun = dice.pick(PERSONS)
        phrase = person_subject(dice, noun, negated=True)
    else:
        noun = dice.pick(_RELATED)
        phrase = definite_phrase(dice, noun, "nominative", attribute=0.2)
    phrase = grammar.with_relative(phrase, relative_clause(dice, phrase))
    if phrase.person and dice.chance(0.5):
        return _told(clause(dice, doer=phrase, adverbials=0.4, negation=0.1))
    return _told(description(dice, doer=phrase))


def _relative_object(dice: Dice) -> Sentence:
    main = clause(dice, frames=("acc",), adverbials=0.0, adverbs=False, negation=0.0)
    main = main._replace(direction=None)
    thing = main.accusative
    if thing is None or not thing.noun:
        return _statement(dice)
    second = relative_clause(dice, thing)
    return grammar.sentence(grammar.after(grammar.statement(main), second))


_TRYING = tuple(VERBS[verb] for verb in ("try", "hope", "plan", "forget"))


_WANTED = ("acc", "acc", "dat", "dat+acc", "prepositional", "to")


def _infinitive(dice: Dice) -> Sentence:
    verb = dice.pick(_TRYING)
    doer = subject(dice, negated=True)
    tense = form(dice, verb, doer, ("present", "past", "perfect"))
    second = clause(
        dice,
        frames=_WANTED,
        doer=doer,
        forms=("present",),
        negation=0.0,
        adverbials=0.4,
        adverbs=False,
    )
    if second.verb.aspect not in ("activity", "event"):
        return _that(dice)
    main = grammar.statement(Clause(doer, verb, tense))
    infinitive = grammar.infinitive(second._replace(time=None))
    return grammar.sentence(grammar.after(main, infinitive))


_ERRANDS = ("acc", "acc", "acc", "dat", "prepositional")


def _purpose(dice: Dice) -> Sentence:
    main = clause(dice, frames=("to",), adverbials=0.4, adverbs=False, negation=0.05)
    second = clause(
        dice,
        frames=_ERRANDS,
        doer=main.subject,
        forms=("present",),
        negation=0.0,
        adverbials=0.0,
        adverbs=False,
    )
    if second.verb.aspect != "activity":
        return _statement(dice)
    purpose = grammar.infinitive(second, "in order to", "um")
    return grammar.sentence(grammar.after(grammar.statement(main), purpose))


def _coordination(dice: Dice) -> Sentence:
    first = clause(dice, adverbials=0.5)
    second = clause(dice, adverbials=0.5)
    but = dice.chance(0.4)
    links = (", but ", ", aber ") if but else (" and ", " und ")
    front = "time" if first.time is not None and dice.chance(0.2) else ""
    both = grammar.after(grammar.statement(first, front), grammar.statement(second), *links)
    return grammar.sentence(both)


TEMPLATES: dict[Callable[[Dice], Sentence], int] = {
    _statement: 30,
    _described: 6,
    _profession: 2,
    _comparison: 3,
    _yes_no_question: 6,
    _word_question: 6,
    _who_question: 3,
    _object_question: 3,
    _which_question: 4,
    _request: 4,
    _lying: 2,
    _putting: 2,
    _belonging: 2,
    _price: 1,
    _age: 1,
    _scheduled: 3,
    _existence: 2,
    _reason: 5,
    _condition: 4,
    _that: 4,
    _indirect_question: 3,
    _relative_subject: 4,
    _relative_object: 5,
    _infinitive: 3,
    _purpose: 2,
    _coordination: 3,
}
_DRAWN = weighted(TEMPLATES)


# Longer sentences, which are rare, are drawn again.
_MOST_WORDS = 20


def draw(dice: Dice) -> Sentence:
    """Draws a sentence of any template.

    Args:
        dice: Source of the draws.

    Returns:
        The sentence, of at most 20 English words.

    Example:
        >>> english, german, combinations = draw(Dice(0))
        >>> english[0].isupper() and english[-1] in ".?"
        True
    """
    drawn = dice.pick(_DRAWN)(dice)
    while drawn.english.count(" ") >= _MOST_WORDS:
        drawn = dice.pick(_DRAWN)(dice)
    return drawn
