"""The inflection of both languages: articles, adjectives, nouns, pronouns and verbs.

Everything here is a function of a word and of grammatical features; no sentence is built. The
features are plain strings: the genders "m", "f", "n", with "p" for the plural of all three; the
cases "nominative", "accusative", "dative"; and the agreement of verbs, "1s" (I), "3s" (he) and
"p" (we, they, and the polite "you", which is "Sie"), which is all that the phrasebook's subjects
need in either language.
"""

from functools import cache

from phrasebook.lexicon import Adjective, Determiner, Modal, Noun, Verb

CASES = ("nominative", "accusative", "dative")

# Each row: nominative, accusative, dative.
_DEFINITE = {
    "m": ("er", "en", "em"),
    "f": ("ie", "ie", "er"),
    "n": ("as", "as", "em"),
    "p": ("ie", "ie", "en"),
}
_DER = {
    "m": ("er", "en", "em"),
    "f": ("e", "e", "er"),
    "n": ("es", "es", "em"),
    "p": ("e", "e", "en"),
}
_EIN = _DER | {"m": ("", "en", "em"), "n": ("", "", "em")}
_NONE = dict.fromkeys("mfnp", ("", "", ""))
_ARTICLE_ENDINGS = {"definite": _DEFINITE, "der": _DER, "ein": _EIN, "none": _NONE}

_WEAK = {
    "m": ("e", "en", "en"),
    "f": ("e", "e", "en"),
    "n": ("e", "e", "en"),
    "p": ("en", "en", "en"),
}
_MIXED = _WEAK | {"m": ("er", "en", "en"), "n": ("es", "es", "en")}
_ADJECTIVE_ENDINGS = {"weak": _WEAK, "mixed": _MIXED, "strong": _DER}

_RELATIVE = {
    "m": ("der", "den", "dem"),
    "f": ("die", "die", "der"),
    "n": ("das", "das", "dem"),
    "p": ("die", "die", "denen"),
}

# English subject and object form, German nominative, accusative, dative, agreement.
PRONOUNS: dict[str, tuple[str, str, str, str, str, str]] = {
    "I": ("I", "me", "ich", "mich", "mir", "1s"),
    "you": ("you", "you", "Sie", "Sie", "Ihnen", "p"),
    "he": ("he", "him", "er", "ihn", "ihm", "3s"),
    "she": ("she", "her", "sie", "sie", "ihr", "3s"),
    "we": ("we", "us", "wir", "uns", "uns", "p"),
    "they": ("they", "them", "sie", "sie", "ihnen", "p"),
}

_VOWELS = frozenset("aeiouAEIOU")
_SEIN = {
    "present": {"1s": "bin", "3s": "ist", "p": "sind"},
    "past": {"1s": "war", "3s": "war", "p": "waren"},
}
_HABEN = {
    "present": {"1s": "habe", "3s": "hat", "p": "haben"},
    "past": {"1s": "hatte", "3s": "hatte", "p": "hatten"},
}
_BE = {
    "present": {"1s": "am", "3s": "is", "p": "are"},
    "past": {"1s": "was", "3s": "was", "p": "were"},
}


# --- German noun phrases


@cache
def article(determiner: Determiner, gender: str, case: str) -> str:
    """Returns the German form of a determiner.

    Args:
        determiner: The determiner.
        gender: The gender of the noun, or "p" in the plural.
        case: The case.

    Returns:
        The form, empty where there is no word.

    Example:
        >>> from phrasebook.lexicon import DETERMINERS
        >>> article(DETERMINERS["the"], "m", "dative")
        'dem'
    """
    ending = _ARTICLE_ENDINGS[determiner.declension][gender][CASES.index(case)]
    return determiner.german + ending


@cache
def adjective(word: Adjective, endings: str, gender: str, case: str) -> str:
    """Returns the German form of an attributive adjective.

    Args:
        word: The adjective.
        endings: "weak", "mixed" or "strong", which the determiner decides.
        gender: The gender of the noun, or "p" in the plural.
        case: The case.

    Returns:
        The inflected adjective.

    Example:
        >>> from phrasebook.lexicon import ADJECTIVES
        >>> adjective(ADJECTIVES["expensive"], "mixed", "n", "nominative")
        'teures'
    """
    return word.stem + _ADJECTIVE_ENDINGS[endings][gender][CASES.index(case)]


@cache
def noun(word: Noun, plural: bool, case: str) -> str:
    """Returns the German form of a noun.

    Args:
        word: The noun.
        plural: Whether it is in the plural.
        case: The case.

    Returns:
        The form: -n in the dative plural, the long form of the n-declension where it belongs.

    Example:
        >>> from phrasebook.lexicon import NOUNS
        >>> noun(NOUNS["apple"], True, "dative"), noun(NOUNS["student"], False, "accusative")
        ('Äpfeln', 'Studenten')
    """
    if not plural:
        # All weak nouns here have the same form in the oblique cases as in the plural.
        return word.german_plural if word.weak and case != "nominative" else word.german
    if case == "dative" and word.german_plural[-1] not in "ns":
        return word.german_plural + "n"
    return word.german_plural


@cache
def relative_pronoun(gender: str, case: str) -> str:
    """Returns the German relative pronoun, `relative_pronoun("p", "dative")` being "denen"."""
    return _RELATIVE[gender][CASES.index(case)]


def pronoun(person: str, case: str) -> tuple[str, str]:
    """Returns a personal pronoun in both languages.

    Args:
        person: The English subject form: "I", "you", "he", "she", "we" or "they".
        case: The German case, to which the English subject or object form corresponds.

    Returns:
        The English and the German form.

    Example:
        >>> pronoun("she", "dative")
        ('her', 'ihr')
    """
    forms = PRONOUNS[person]
    return forms[0 if case == "nominative" else 1], forms[2 + CASES.index(case)]


# --- German verbs


@cache
def finite(verb: Verb, tense: str, agreement: str) -> str:
    """Returns the German finite form without the separable prefix.

    Args:
        verb: The verb.
        tense: "present" or "past" (the preterite).
        agreement: "1s", "3s" or "p".

    Returns:
        The form.

    Example:
        >>> from phrasebook.lexicon import VERBS
        >>> [finite(VERBS["eat"], "present", agreement) for agreement in ("1s", "3s", "p")]
        ['esse', 'isst', 'essen']
    """
    if verb.german == "sein":
        return _SEIN[tense][agreement]
    if tense == "past":
        if agreement != "p":
            return verb.past
        return verb.past + ("n" if verb.past.endswith("e") else "en")
    if agreement == "p":
        return verb.german
    # "mag" and "weiß" have no ending, and are the same in the first person.
    if agreement == "3s" or not verb.third.endswith("t"):
        return verb.third
    return verb.german.removesuffix("n").removesuffix("e") + "e"


def auxiliary(verb: Verb, agreement: str) -> str:
    """Returns the present of "haben" or "sein" that makes the perfect of a verb."""
    return (_SEIN if verb.auxiliary == "sein" else _HABEN)["present"][agreement]


def modal(word: Modal, agreement: str) -> str:
    """Returns the present of a German modal verb, or of "werden"."""
    return {"1s": word.first, "3s": word.third, "p": word.plural}[agreement]


def infinitive(verb: Verb) -> str:
    """Returns the infinitive, with the separable prefix: "einladen"."""
    return verb.prefix + verb.german


def zu_infinitive(verb: Verb) -> str:
    """Returns the infinitive with "zu": "zu lesen", "einzuladen"."""
    return f"{verb.prefix}zu{verb.german}" if verb.prefix else f"zu {verb.german}"


# --- English


def with_article(words: str) -> str:
    """Puts "a" or "an" before English words.

    Args:
        words: The words that follow the article.

    Returns:
        The words with the article.

    Example:
        >>> with_article("old man"), with_article("university")
        ('an old man', 'a university')
    """
    vowel = words[0] in _VOWELS and not words.startswith("uni")
    return f"an {words}" if vowel else f"a {words}"


@cache
def english_third(base: str) -> str:
    """Returns the third person singular present of an English verb: "watches", "carries"."""
    if base == "have":
        return "has"
    if base.endswith(("s", "sh", "ch", "x", "o")):
        return base + "es"
    if base.endswith("y") and base[-2] not in _VOWELS:
        return base[:-1] + "ies"
    return base + "s"


@cache
def english_progressive(base: str) -> str:
    """Returns the -ing form of an English verb: "writing", "lying", "running", "beginning"."""
    if base.endswith("ie"):
        return base[:-2] + "ying"
    if base.endswith("e") and not base.endswith(("ee", "be")):
        return base[:-1] + "ing"
    short = sum(letter in _VOWELS for letter in base) == 1
    closed = base[-1] not in _VOWELS and base[-1] not in "wxy" and base[-2:-1] in tuple("aeiou")
    if closed and (short or base in ("begin", "forget")):
        return base + base[-1] + "ing"
    return base + "ing"


@cache
def english_finite(verb: Verb, tense: str, agreement: str) -> str:
    """Returns the English finite form of a verb, without its particle.

    Args:
        verb: The verb.
        tense: "present" or "past".
        agreement: "1s", "3s" or "p".

    Returns:
        The form.

    Example:
        >>> from phrasebook.lexicon import VERBS
        >>> english_finite(VERBS["carry"], "present", "3s")
        'carries'
    """
    if verb.english == "be":
        return _BE[tense][agreement]
    if tense == "past":
        return verb.english_past
    return english_third(verb.english) if agreement == "3s" else verb.english


def english_be(agreement: str) -> str:
    """Returns the present of "be" for an agreement."""
    return _BE["present"][agreement]
