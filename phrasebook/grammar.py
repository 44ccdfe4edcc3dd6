"""The synchronous grammar: each rule builds an English and a German side together.

There are two levels. *Phrases* (noun phrases, pronouns, places) are words of both languages that
mean the same, the German ones already in their case. A *clause* is what a sentence says: subject,
verb, objects, adverbials and negation, each in its slot and in no order yet. The rules at the end
of the module put a clause into the order of each language: `statement`, `question`, `subordinate`,
`relative`, `imperative` and `infinitive`.

The German order follows the topological fields: [Vorfeld] finite verb [Mittelfeld] rest of the
verb. A rule chooses what stands where, and `_middle` orders the Mittelfeld, always the same way:
one English sentence has one German translation. Words are recorded on the way: every sentence
knows its `Combination`s.
"""

from functools import cache, lru_cache
from typing import Any, NamedTuple

from phrasebook import morphology
from phrasebook.lexicon import (
    DETERMINERS,
    MODALS,
    NAMES,
    Adjective,
    Adverb,
    Adverbial,
    Determiner,
    Noun,
    Place,
    Verb,
)


class Combination(NamedTuple):
    """Two words that a sentence combines.

    Args:
        kind: "object" (a verb and its object) or "attribute" (an adjective before its noun).
        head: The English lemma of the verb or the adjective.
        noun: The English lemma of the noun.
    """

    kind: str
    head: str
    noun: str


class Sentence(NamedTuple):
    """A translated sentence.

    Args:
        english: The English sentence.
        german: The German sentence.
        combinations: The combinations in it.
    """

    english: str
    german: str
    combinations: tuple[Combination, ...] = ()


class Phrase(NamedTuple):
    """Words of both languages that mean the same.

    Args:
        english: The English words.
        german: The German words, in the case in which the clause needs them.
        agreement: What a verb agrees with: "1s", "3s" or "p".
        combinations: The combinations inside the phrase.
        noun: The English lemma of the head noun, empty if there is none.
        gender: The German gender of the head, "p" in the plural.
        person: Whether English says "who" of it.
        kind: "pronoun", "definite" or "indefinite", on which the German order depends.
        negative: Whether it negates the clause, as "kein" does.
    """

    english: str
    german: str
    agreement: str = "3s"
    combinations: tuple[Combination, ...] = ()
    noun: str = ""
    gender: str = ""
    person: bool = False
    kind: str = "definite"
    negative: bool = False


class Clause(NamedTuple):
    """What a sentence says, before it has an order.

    Args:
        subject: The subject, in the nominative.
        verb: The verb.
        form: "present", "past", "perfect", "progressive", or the name of a modal verb.
        adverb: An adverb beside the verb, "not" among them.
        dative: The dative object.
        accusative: The accusative object.
        prepositional: The object with its preposition.
        complement: What is said of the subject ("tired", "a doctor").
        manner: How, by what means or with whom.
        place: Where.
        direction: Where to.
        time: When.
    """

    subject: Phrase
    verb: Verb
    form: str = "present"
    adverb: Adverb | None = None
    dative: Phrase | None = None
    accusative: Phrase | None = None
    prepositional: Phrase | None = None
    complement: Phrase | None = None
    manner: Phrase | None = None
    place: Phrase | None = None
    direction: Phrase | None = None
    time: Phrase | None = None


def with_slot(clause: Clause, slot: str, phrase: Phrase | None) -> Clause:
    """Returns a clause with another phrase in one of its slots, or with none there.

    Example:
        >>> from phrasebook.lexicon import VERBS
        >>> with_slot(Clause(name("Anna"), VERBS["sing"]), "subject", name("Paul")).subject.english
        'Paul'
    """
    change: dict[str, Any] = {slot: phrase}
    return clause._replace(**change)


# --- Phrases

# Phrases are remembered, since a large corpus says most of them many times.
_REMEMBERED = 100_000


@lru_cache(maxsize=_REMEMBERED)
def noun_phrase(
    noun: Noun,
    determiner: Determiner,
    case: str,
    adjective: Adjective | None = None,
    *,
    plural: bool = False,
) -> Phrase:
    """Builds a noun phrase.

    Args:
        noun: The noun.
        determiner: The determiner; it must allow the number.
        case: The German case.
        adjective: An attributive adjective.
        plural: Whether the phrase is in the plural.

    Returns:
        The phrase.

    Example:
        >>> from phrasebook.lexicon import ADJECTIVES, DETERMINERS, NOUNS
        >>> phrase = noun_phrase(NOUNS["apple"], DETERMINERS["a"], "accusative", ADJECTIVES["red"])
        >>> phrase.english, phrase.german
        ('a red apple', 'einen roten Apfel')
    """
    gender = "p" if plural else noun.gender
    german = morphology.noun(noun, plural, case)
    english = noun.english_plural if plural else noun.english
    combinations: tuple[Combination, ...] = ()
    if adjective is not None:
        inflected = morphology.adjective(adjective, determiner.adjectives, gender, case)
        german = f"{inflected} {german}"
        english = f"{adjective.english} {english}"
        combinations = (Combination("attribute", adjective.english, noun.english),)
    article = morphology.article(determiner, gender, case)
    if article:
        german = f"{article} {german}"
    word = determiner.english_plural if plural else determiner.english
    if word == "a":
        english = morphology.with_article(english)
    elif word:
        english = f"{word} {english}"
    return Phrase(
        english,
        german,
        "p" if plural else "3s",
        combinations,
        noun.english,
        gender,
        "person" in noun.tags,
        "definite" if determiner.definite else "indefinite",
        determiner.negative,
    )


@cache
def pronoun(person: str, case: str) -> Phrase:
    """Builds a personal pronoun; `person` is its English subject form.

    Example:
        >>> pronoun("he", "dative")[:2]
        ('him', 'ihm')
    """
    english, german = morphology.pronoun(person, case)
    return Phrase(english, german, morphology.PRONOUNS[person][5], kind="pronoun")


@cache
def name(given: str) -> Phrase:
    """Builds a given name, which is the same in every case."""
    return Phrase(given, given, gender=NAMES[given], person=True)


def joined(first: Phrase, second: Phrase) -> Phrase:
    """Joins two phrases with "and" into a plural."""
    return Phrase(
        f"{first.english} and {second.english}",
        f"{first.german} und {second.german}",
        "p",
        first.combinations + second.combinations,
        person=first.person,
    )


_CONTRACTIONS = {
    ("in", "dem"): "im",
    ("in", "das"): "ins",
    ("an", "dem"): "am",
    ("an", "das"): "ans",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
}


def prepositional(
    english: str, german: str, phrase: Phrase, determiner: Determiner | None = None
) -> Phrase:
    """Puts prepositions before a phrase that is in the case they govern.

    Args:
        english: The English preposition, empty if English has none.
        german: The German preposition.
        phrase: The phrase.
        determiner: The determiner of the phrase. The definite article contracts with the
            preposition (im, zur); without this argument nothing contracts.

    Returns:
        The phrase with its prepositions.
    """
    words = f"{german} {phrase.german}"
    if determiner is DETERMINERS["the"]:
        article, rest = phrase.german.split(" ", 1)
        if (german, article) in _CONTRACTIONS:
            words = f"{_CONTRACTIONS[german, article]} {rest}"
    return phrase._replace(english=f"{english} {phrase.english}".lstrip(), german=words)


@lru_cache(maxsize=_REMEMBERED)
def location(place: Place, determiner: Determiner, adjective: Adjective | None = None) -> Phrase:
    """Builds where something is: "in the old garden", "im alten Garten"."""
    phrase = noun_phrase(place.noun, determiner, "dative", adjective)
    return prepositional(place.english_at, place.german_at, phrase, determiner)


@lru_cache(maxsize=_REMEMBERED)
def direction(place: Place, determiner: Determiner, adjective: Adjective | None = None) -> Phrase:
    """Builds where something goes: "into the old garden", "in den alten Garten"."""
    phrase = noun_phrase(place.noun, determiner, place.to_case, adjective)
    return prepositional(place.english_to, place.german_to, phrase, determiner)


def adverbial(words: Adverbial) -> Phrase:
    """Makes a phrase of a fixed adverbial of the lexicon."""
    return Phrase(words.english, words.german)


def predicate(adjective: Adjective) -> Phrase:
    """Builds a predicative adjective, which has no ending in German."""
    return Phrase(adjective.english, adjective.german)


def comparison(adjective: Adjective, standard: Phrase) -> Phrase:
    """Builds "older than my sister", "älter als meine Schwester"; the standard is nominative."""
    return Phrase(
        f"{adjective.english_comparative} than {standard.english}",
        f"{adjective.german_comparative} als {standard.german}",
        combinations=standard.combinations,
    )


def equality(adjective: Adjective, standard: Phrase) -> Phrase:
    """Builds "as old as my sister", "so alt wie meine Schwester"; the standard is nominative."""
    return Phrase(
        f"as {adjective.english} as {standard.english}",
        f"so {adjective.german} wie {standard.german}",
        combinations=standard.combinations,
    )


# --- Verbs in their tenses


def _german_verb(clause: Clause) -> tuple[str, str]:
    """Returns the finite verb, and what closes the clause after it."""
    verb, form, agreement = clause.verb, clause.form, clause.subject.agreement
    if form == "perfect":
        return morphology.auxiliary(verb, agreement), verb.participle
    if form in MODALS:
        return morphology.modal(MODALS[form], agreement), morphology.infinitive(verb)
    # German has no progressive: "gerade" in the Mittelfeld says as much.
    tense = "past" if form == "past" else "present"
    return morphology.finite(verb, tense, agreement), verb.prefix


def _english_verb(clause: Clause, asks: bool) -> tuple[str, str]:
    """Returns the auxiliary, which "not" or a question needs, and the rest of the verb."""
    verb, form, agreement = clause.verb, clause.form, clause.subject.agreement
    support = asks or (clause.adverb is not None and clause.adverb.english == "not")
    if form == "perfect":
        return "has" if agreement == "3s" else "have", verb.english_participle
    if form == "progressive":
        return morphology.english_be(agreement), morphology.english_progressive(verb.english)
    if form in MODALS:
        return _english_modal(clause, support)
    finite = morphology.english_finite(verb, form, agreement)
    if verb.english == "be":
        return finite, ""
    return (_do(form, agreement), verb.english) if support else ("", finite)


def _english_modal(clause: Clause, support: bool) -> tuple[str, str]:
    modal, verb, agreement = MODALS[clause.form], clause.verb.english, clause.subject.agreement
    full = modal.english_full
    negated = clause.adverb is not None and clause.adverb.english == "not"
    if negated and modal.english_negated:
        return _do("present", agreement), f"{modal.english_negated} {verb}"
    if modal.english:
        return modal.english, f"{full} {verb}".lstrip()
    if support:
        return _do("present", agreement), f"{full} {verb}"
    word, _, rest = full.partition(" ")
    inflected = morphology.english_third(word) if agreement == "3s" else word
    return "", f"{inflected} {rest} {verb}"


def _do(tense: str, agreement: str) -> str:
    if tense == "past":
        return "did"
    return "does" if agreement == "3s" else "do"


# --- The order of each language


def _english_tail(clause: Clause) -> list[str]:
    """Returns what follows the English verb, in order."""
    phrases = (
        clause.dative,
        clause.accusative,
        clause.prepositional,
        clause.complement,
        clause.direction,
        clause.manner,
        clause.place,
        clause.time,
    )
    words = [clause.verb.english_particle]
    words += [phrase.english for phrase in phrases if phrase is not None]
    if clause.adverb is not None:
        words.append(clause.adverb.english_end)
    return words


def _english_statement(clause: Clause) -> str:
    auxiliary, main = _english_verb(clause, asks=False)
    adverb = "" if clause.adverb is None else clause.adverb.english
    if auxiliary == "can" and adverb == "not":
        auxiliary, adverb = "cannot", ""
    return _words(clause.subject.english, auxiliary, adverb, main, *_english_tail(clause))


def _words(*words: str) -> str:
    return " ".join(filter(None, words))


def _middle(clause: Clause) -> list[str]:
    """Orders the Mittelfeld behind the subject.

    Pronouns come first, then definite datives. The time precedes a definite accusative, unless
    "nicht" (or another adverb with a focus) is there: it wants the definite objects and the time
    before it. Manner precedes place, and an indefinite accusative follows both; what belongs
    closely to the verb comes last.
    """
    dative, accusative, adverb, time = clause.dative, clause.accusative, clause.adverb, clause.time
    words = [p.german for p in (accusative, dative) if p is not None and p.kind == "pronoun"]
    if dative is not None and dative.kind == "definite":
        words.append(dative.german)
    known = accusative if accusative is not None and accusative.kind == "definite" else None
    focus = adverb is not None and adverb.focus
    if known is not None and focus:
        words.append(known.german)
    if time is not None:
        words.append(time.german)
    if clause.form == "progressive":
        words.append("gerade")
    if adverb is not None:
        negative = any(p.negative for p in (accusative, clause.complement) if p is not None)
        words.append(adverb.german_with_kein if negative else adverb.german)
    if dative is not None and dative.kind == "indefinite":
        words.append(dative.german)
    if known is not None and not focus:
        words.append(known.german)
    words += [p.german for p in (clause.manner, clause.place) if p is not None]
    if accusative is not None and accusative.kind == "indefinite":
        words.append(accusative.german)
    last = (clause.prepositional, clause.complement, clause.direction)
    return words + [p.german for p in last if p is not None]


def combinations(clause: Clause) -> tuple[Combination, ...]:
    """Returns the combinations of a clause: those of its phrases, and the verb with its objects."""
    found = clause.subject.combinations
    verb = clause.verb.english
    if clause.verb.english_particle:
        verb += f" {clause.verb.english_particle}"
    for phrase in (clause.dative, clause.accusative, clause.prepositional):
        if phrase is not None:
            found += phrase.combinations
            # The dative of "give" is its recipient, not what is given.
            recipient = phrase is clause.dative and clause.accusative is not None
            if phrase.noun and not recipient:
                found += (Combination("object", verb, phrase.noun),)
    for phrase in (clause.complement, clause.direction, clause.manner, clause.place):
        if phrase is not None:
            found += phrase.combinations
    return found


def statement(clause: Clause, front: str = "") -> Sentence:
    """Puts a clause into the order of a main clause; German has the finite verb second.

    Args:
        clause: The clause.
        front: The slot that comes first instead of the subject: "time" or "place".

    Returns:
        The sentence, without capital and full stop.

    Example:
        >>> from phrasebook.lexicon import TIMES, VERBS
        >>> clause = Clause(pronoun("we", "nominative"), VERBS["sing"])
        >>> statement(clause._replace(time=adverbial(TIMES["every day"])), front="time")[:2]
        ('every day, we sing', 'jeden Tag singen wir')
    """
    found = combinations(clause)
    finite, rest = _german_verb(clause)
    if not front:
        german = _words(clause.subject.german, finite, *_middle(clause), rest)
        return Sentence(_english_statement(clause), german, found)
    first = getattr(clause, front)
    clause = with_slot(clause, front, None)
    german = _words(first.german, finite, clause.subject.german, *_middle(clause), rest)
    return Sentence(f"{first.english}, {_english_statement(clause)}", german, found)


def question(clause: Clause, word: tuple[str, str] = ("", ""), asked: str = "") -> Sentence:
    """Asks whether a clause holds, or for one part of it.

    Args:
        clause: The clause.
        word: The English and German question word, for an adverbial (when, wann).
        asked: The slot that holds a question phrase ("who", "which book"), which comes first.

    Returns:
        The sentence, without capital and question mark.

    Example:
        >>> from phrasebook.lexicon import VERBS
        >>> question(Clause(name("Anna"), VERBS["arrive"]), ("when", "wann"))[:2]
        ('when does Anna arrive', 'wann kommt Anna an')
    """
    if asked == "subject":
        return statement(clause)
    found = combinations(clause)
    if asked:
        word = getattr(clause, asked)[:2]
        clause = with_slot(clause, asked, None)
    auxiliary, main = _english_verb(clause, asks=True)
    adverb = "" if clause.adverb is None else clause.adverb.english
    subject = clause.subject
    english = _words(word[0], auxiliary, subject.english, adverb, main, *_english_tail(clause))
    finite, rest = _german_verb(clause)
    german = _words(word[1], finite, subject.german, *_middle(clause), rest)
    return Sentence(english, german, found)


def subordinate(clause: Clause, conjunction: tuple[str, str]) -> Sentence:
    """Puts a clause after a conjunction; German has the finite verb last.

    Args:
        clause: The clause.
        conjunction: The English and the German conjunction, or question word.

    Returns:
        The clause, without commas.

    Example:
        >>> from phrasebook.lexicon import VERBS
        >>> subordinate(Clause(name("Anna"), VERBS["arrive"]), ("because", "weil"))[:2]
        ('because Anna arrives', 'weil Anna ankommt')
    """
    return Sentence(
        f"{conjunction[0]} {_english_statement(clause)}",
        f"{conjunction[1]} {clause.subject.german} {_verb_last(clause)}",
        combinations(clause),
    )


def _verb_last(clause: Clause) -> str:
    finite, rest = _german_verb(clause)
    # A separable prefix is written in one word with the finite verb: "ankommt".
    together = clause.verb.prefix and clause.form in ("present", "past", "progressive")
    return _words(*_middle(clause), rest + finite if together else f"{rest} {finite}".lstrip())


def relative_pronoun(antecedent: Phrase, case: str) -> Phrase:
    """Builds the relative pronoun that refers to a phrase: gender from it, case from its clause."""
    english = ("who" if case == "nominative" else "whom") if antecedent.person else "that"
    german = morphology.relative_pronoun(antecedent.gender, case)
    return Phrase(english, german, antecedent.agreement, noun=antecedent.noun)


def relative(clause: Clause, slot: str) -> Sentence:
    """Puts a clause into the order of a relative clause, its pronoun first.

    Args:
        clause: The clause, whose `slot` holds the `relative_pronoun`.
        slot: "subject", "accusative" or "dative".

    Returns:
        The clause, without commas.

    Example:
        >>> from phrasebook.lexicon import DETERMINERS, NOUNS, VERBS
        >>> man = noun_phrase(NOUNS["man"], DETERMINERS["the"], "accusative")
        >>> whom = relative_pronoun(man, "dative")
        >>> relative(Clause(name("Anna"), VERBS["help"], dative=whom), "dative")[:2]
        ('whom Anna helps', 'dem Anna hilft')
    """
    found = combinations(clause)
    first = getattr(clause, slot)
    if slot == "subject":
        return Sentence(_english_statement(clause), f"{first.german} {_verb_last(clause)}", found)
    clause = with_slot(clause, slot, None)
    return Sentence(
        f"{first.english} {_english_statement(clause)}",
        f"{first.german} {clause.subject.german} {_verb_last(clause)}",
        found,
    )


def with_relative(phrase: Phrase, clause: Sentence) -> Phrase:
    """Puts a relative clause behind a phrase that a verb follows, between commas in German."""
    return phrase._replace(
        english=f"{phrase.english} {clause.english}",
        german=f"{phrase.german}, {clause.german},",
        combinations=phrase.combinations + clause.combinations,
    )


def imperative(clause: Clause) -> Sentence:
    """Makes a polite request of a clause, whose subject must be "you"."""
    negation = "do not " if clause.adverb is not None else ""
    english = _words(f"please {negation}{clause.verb.english}", *_english_tail(clause))
    finite, rest = _german_verb(clause)
    german = _words("bitte", finite, clause.subject.german, *_middle(clause), rest)
    return Sentence(english, german, combinations(clause))


def infinitive(clause: Clause, english: str = "to", german: str = "") -> Sentence:
    """Makes an infinitive of a clause, whose subject is left out.

    Args:
        clause: The clause.
        english: What introduces it: "to", "in order to".
        german: What introduces it: nothing, or "um".

    Returns:
        The infinitive clause: "to invite Anna", "Anna einzuladen".
    """
    return Sentence(
        _words(english, clause.verb.english, *_english_tail(clause)),
        _words(german, *_middle(clause), morphology.zu_infinitive(clause.verb)),
        combinations(clause),
    )


def after(main: Sentence, second: Sentence, english: str = " ", german: str = ", ") -> Sentence:
    """Puts a second clause after a main clause, with what stands between them."""
    return Sentence(
        f"{main.english}{english}{second.english}",
        f"{main.german}{german}{second.german}",
        main.combinations + second.combinations,
    )


def before(first: Sentence, clause: Clause) -> Sentence:
    """Puts a subordinate clause before a main clause, which inverts in German.

    Args:
        first: The subordinate clause.
        clause: The main clause, which must say no time of its own.

    Returns:
        The sentence: "if it rains, I stay", "wenn es regnet, bleibe ich".
    """
    front = Phrase(first.english, f"{first.german},")
    main = statement(clause._replace(time=front), front="time")
    return main._replace(combinations=first.combinations + main.combinations)


def existence(phrase: Phrase, place: Phrase, *, place_first: bool = False) -> Sentence:
    """Says that there is something somewhere: "there is a park in the city", "es gibt ...".

    Args:
        phrase: What there is, in the accusative and indefinite.
        place: Where.
        place_first: Whether the place comes first.

    Returns:
        The sentence, without capital and full stop.
    """
    found = phrase.combinations + place.combinations
    there = "there are" if phrase.agreement == "p" else "there is"
    if place_first:
        english = f"{place.english}, {there} {phrase.english}"
        return Sentence(english, f"{place.german} gibt es {phrase.german}", found)
    english = f"{there} {phrase.english} {place.english}"
    return Sentence(english, f"es gibt {place.german} {phrase.german}", found)


def sentence(words: Sentence, mark: str = ".") -> Sentence:
    """Gives a clause its capital letter and its final mark.

    Args:
        words: The clause.
        mark: ".", "?" or "!".

    Returns:
        The finished sentence.
    """
    english, german, found = words
    return Sentence(
        f"{english[0].upper()}{english[1:]}{mark}", f"{german[0].upper()}{german[1:]}{mark}", found
    )
