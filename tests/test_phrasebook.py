"""The phrasebook against German written by hand, and the promises of its splits."""

import hashlib
import os
import subprocess
import sys
from collections import Counter
from itertools import islice, pairwise

import pytest
import thorough

from phrasebook import (
    SPLITS,
    is_held_out,
    phrasebook,
    sentences,
    split_of,
)
from phrasebook import morphology as german
from phrasebook.dice import Dice
from phrasebook.grammar import (
    Clause,
    Phrase,
    Sentence,
    adverbial,
    after,
    before,
    comparison,
    direction,
    equality,
    existence,
    imperative,
    infinitive,
    joined,
    location,
    name,
    noun_phrase,
    predicate,
    prepositional,
    pronoun,
    question,
    relative,
    relative_pronoun,
    sentence,
    statement,
    subordinate,
    with_relative,
)
from phrasebook.lexicon import (
    ADJECTIVES,
    ADVERBS,
    DETERMINERS,
    MEANS,
    NOUNS,
    PLACES,
    TIMES,
    VERBS,
    adjectives_of,
)
from phrasebook.templates import draw

# --- Paradigms, as a school grammar prints them: nominative, accusative, dative.

PARADIGMS = [
    ("the", "man", False, "der alte Mann, den alten Mann, dem alten Mann"),
    ("the", "woman", False, "die alte Frau, die alte Frau, der alten Frau"),
    ("the", "book", False, "das alte Buch, das alte Buch, dem alten Buch"),
    ("the", "book", True, "die alten Bücher, die alten Bücher, den alten Büchern"),
    ("this", "man", False, "dieser alte Mann, diesen alten Mann, diesem alten Mann"),
    ("this", "woman", False, "diese alte Frau, diese alte Frau, dieser alten Frau"),
    ("this", "book", False, "dieses alte Buch, dieses alte Buch, diesem alten Buch"),
    ("this", "man", True, "diese alten Männer, diese alten Männer, diesen alten Männern"),
    ("every", "man", False, "jeder alte Mann, jeden alten Mann, jedem alten Mann"),
    ("which", "book", False, "welches alte Buch, welches alte Buch, welchem alten Buch"),
    ("all", "woman", True, "alle alten Frauen, alle alten Frauen, allen alten Frauen"),
    ("a", "man", False, "ein alter Mann, einen alten Mann, einem alten Mann"),
    ("a", "woman", False, "eine alte Frau, eine alte Frau, einer alten Frau"),
    ("a", "book", False, "ein altes Buch, ein altes Buch, einem alten Buch"),
    ("no", "man", False, "kein alter Mann, keinen alten Mann, keinem alten Mann"),
    ("no", "woman", False, "keine alte Frau, keine alte Frau, keiner alten Frau"),
    ("not a", "book", False, "kein altes Buch, kein altes Buch, keinem alten Buch"),
    ("not any", "book", True, "keine alten Bücher, keine alten Bücher, keinen alten Büchern"),
    ("my", "man", False, "mein alter Mann, meinen alten Mann, meinem alten Mann"),
    ("your", "woman", False, "Ihre alte Frau, Ihre alte Frau, Ihrer alten Frau"),
    ("our", "book", False, "unser altes Buch, unser altes Buch, unserem alten Buch"),
    ("their", "book", True, "ihre alten Bücher, ihre alten Bücher, ihren alten Büchern"),
    ("zero", "man", False, "alter Mann, alten Mann, altem Mann"),
    ("zero", "woman", False, "alte Frau, alte Frau, alter Frau"),
    ("zero", "book", False, "altes Buch, altes Buch, altem Buch"),
    ("zero", "book", True, "alte Bücher, alte Bücher, alten Büchern"),
    ("two", "book", True, "zwei alte Bücher, zwei alte Bücher, zwei alten Büchern"),
    ("many", "book", True, "viele alte Bücher, viele alte Bücher, vielen alten Büchern"),
    ("some", "woman", True, "einige alte Frauen, einige alte Frauen, einigen alten Frauen"),
    ("Anna's", "man", False, "Annas alter Mann, Annas alten Mann, Annas altem Mann"),
    ("the", "student", False, "der alte Student, den alten Studenten, dem alten Studenten"),
    ("a", "neighbor", False, "ein alter Nachbar, einen alten Nachbarn, einem alten Nachbarn"),
    ("the", "boy", True, "die alten Jungen, die alten Jungen, den alten Jungen"),
    ("the", "car", True, "die alten Autos, die alten Autos, den alten Autos"),
]


@pytest.mark.parametrize(("determiner", "noun", "plural", "forms"), PARADIGMS)
def test_noun_phrases_equal_the_paradigms(determiner, noun, plural, forms):
    made = [
        noun_phrase(
            NOUNS[noun], DETERMINERS[determiner], case, ADJECTIVES["old"], plural=plural
        ).german
        for case in german.CASES
    ]
    assert ", ".join(made) == forms


@pytest.mark.parametrize(
    ("adjective", "form"),
    [("expensive", "teures"), ("tired", "müdes"), ("clean", "sauberes"), ("delicious", "leckeres")],
)
def test_adjectives_with_a_changed_stem(adjective, form):
    assert german.adjective(ADJECTIVES[adjective], "mixed", "n", "nominative") == form


@pytest.mark.parametrize(
    ("person", "forms"),
    [
        ("I", "ich mich mir"),
        ("you", "Sie Sie Ihnen"),
        ("he", "er ihn ihm"),
        ("she", "sie sie ihr"),
        ("we", "wir uns uns"),
        ("they", "sie sie ihnen"),
    ],
)
def test_pronouns(person, forms):
    assert [pronoun(person, case).german for case in german.CASES] == forms.split()


@pytest.mark.parametrize(
    ("gender", "forms"),
    [("m", "der den dem"), ("f", "die die der"), ("n", "das das dem"), ("p", "die die denen")],
)
def test_relative_pronouns(gender, forms):
    assert [german.relative_pronoun(gender, case) for case in german.CASES] == forms.split()


@pytest.mark.parametrize(
    ("verb", "forms"),
    [
        ("read", "lese liest lesen las lasen"),
        ("give", "gebe gibt geben gab gaben"),
        ("work", "arbeite arbeitet arbeiten arbeitete arbeiteten"),
        ("be", "bin ist sind war waren"),
        ("have", "habe hat haben hatte hatten"),
        ("like", "mag mag mögen mochte mochten"),
        ("know*", "weiß weiß wissen wusste wussten"),
        ("hike", "wandere wandert wandern wanderte wanderten"),
        ("invite", "lade lädt laden lud luden"),
    ],
)
def test_german_verbs(verb, forms):
    features = [("present", a) for a in ("1s", "3s", "p")] + [("past", a) for a in ("3s", "p")]
    assert [german.finite(VERBS[verb], *feature) for feature in features] == forms.split()


@pytest.mark.parametrize(
    ("verb", "forms"),
    [
        ("write", "writes writing"),
        ("carry", "carries carrying"),
        ("lie", "lies lying"),
        ("run", "runs running"),
        ("forget", "forgets forgetting"),
        ("visit", "visits visiting"),
        ("watch", "watches watching"),
        ("go", "goes going"),
    ],
)
def test_english_verbs(verb, forms):
    base = VERBS[verb].english
    assert f"{german.english_third(base)} {german.english_progressive(base)}" == forms


# --- Translations. The builders below only shorten the calls of the grammar.


def np(words, case="nominative", plural=False):
    """Reads "the | old woman": a determiner, perhaps an adjective, and a noun."""
    determiner, rest = words.split(" | ")
    *adjective, noun = rest.split()
    attribute = ADJECTIVES[adjective[0]] if adjective else None
    return noun_phrase(NOUNS[noun], DETERMINERS[determiner], case, attribute, plural=plural)


def nps(words, case="nominative"):
    return np(words, case, plural=True)


def acc(words, plural=False):
    return np(words, "accusative", plural)


def dat(words, plural=False):
    return np(words, "dative", plural)


def who(person, case="nominative"):
    return pronoun(person, case)


def at(place, determiner="the", adjective=None):
    return location(
        PLACES[place], DETERMINERS[determiner], ADJECTIVES[adjective] if adjective else None
    )


def to(place, determiner="the"):
    return direction(PLACES[place], DETERMINERS[determiner])


def when(words):
    return adverbial(TIMES[words])


def does(subject, verb, form="present", adverb=None, **slots):
    return Clause(subject, VERBS[verb], form, ADVERBS[adverb] if adverb else None, **slots)


def says(clause, front=""):
    return sentence(statement(clause, front))


def asks(clause, word=("", ""), asked=""):
    return sentence(question(clause, word, asked), "?")


MAN = np("the | man")
ACC_MAN = acc("the | man")
BOOK = acc("the | book")
DOG = acc("the | dog")
FEMALE_FRIENDS = nps("the | sister")

TRANSLATIONS = [
    # Case, gender and the place of an indefinite object.
    (
        says(does(np("the | old woman"), "read", accusative=acc("a | book"), place=at("garden"))),
        "The old woman reads a book in the garden.",
        "Die alte Frau liest im Garten ein Buch.",
    ),
    (
        says(does(np("the | old woman"), "read", accusative=BOOK, place=at("garden"))),
        "The old woman reads the book in the garden.",
        "Die alte Frau liest das Buch im Garten.",
    ),
    (
        says(does(who("I"), "see", accusative=acc("a | small dog"))),
        "I see a small dog.",
        "Ich sehe einen kleinen Hund.",
    ),
    (
        says(does(who("she"), "drink", accusative=acc("zero | cold water"))),
        "She drinks cold water.",
        "Sie trinkt kaltes Wasser.",
    ),
    (
        says(does(who("we"), "need", accusative=acc("two | new chair", True))),
        "We need two new chairs.",
        "Wir brauchen zwei neue Stühle.",
    ),
    (
        says(does(np("Anna's | old dog"), "sleep", place=at("kitchen"))),
        "Anna's old dog sleeps in the kitchen.",
        "Annas alter Hund schläft in der Küche.",
    ),
    (
        says(does(joined(name("Anna"), name("Paul")), "know", accusative=acc("the | student"))),
        "Anna and Paul know the student.",
        "Anna und Paul kennen den Studenten.",
    ),
    # Negation.
    (
        says(does(who("I"), "see", adverb="not", accusative=acc("the | small dog"))),
        "I do not see the small dog.",
        "Ich sehe den kleinen Hund nicht.",
    ),
    (
        says(does(who("he"), "have", adverb="not", accusative=acc("not a | dog"))),
        "He does not have a dog.",
        "Er hat keinen Hund.",
    ),
    (
        says(does(who("they"), "eat", adverb="not", accusative=acc("not any | apple", True))),
        "They do not eat apples.",
        "Sie essen keine Äpfel.",
    ),
    (
        says(does(who("she"), "sleep", adverb="not", place=at("garden"), time=when("today"))),
        "She does not sleep in the garden today.",
        "Sie schläft heute nicht im Garten.",
    ),
    (
        says(does(MAN, "read", "progressive", "not", accusative=BOOK)),
        "The man is not reading the book.",
        "Der Mann liest das Buch gerade nicht.",
    ),
    (
        says(does(who("I"), "eat", "perfect", "not yet", accusative=acc("the | apple"))),
        "I have not eaten the apple yet.",
        "Ich habe den Apfel noch nicht gegessen.",
    ),
    (
        says(does(who("I"), "eat", "perfect", "not yet", accusative=acc("not a | apple"))),
        "I have not eaten an apple yet.",
        "Ich habe noch keinen Apfel gegessen.",
    ),
    (
        says(does(who("he"), "visit", adverb="never", accusative=acc("the | museum"))),
        "He never visits the museum.",
        "Er besucht das Museum nie.",
    ),
    (
        says(does(who("he"), "visit", adverb="often", accusative=acc("the | museum"))),
        "He often visits the museum.",
        "Er besucht oft das Museum.",
    ),
    # Tenses.
    (
        says(does(nps("the | child"), "eat", "perfect", accusative=acc("the | red apple", True))),
        "The children have eaten the red apples.",
        "Die Kinder haben die roten Äpfel gegessen.",
    ),
    (
        says(does(who("we"), "go", "perfect", direction=Phrase("home", "nach Hause"))),
        "We have gone home.",
        "Wir sind nach Hause gegangen.",
    ),
    (
        says(does(who("she"), "write", "progressive", accusative=acc("a | letter"))),
        "She is writing a letter.",
        "Sie schreibt gerade einen Brief.",
    ),
    (
        says(does(MAN, "buy", "past", accusative=acc("a | new car"), time=when("yesterday"))),
        "The man bought a new car yesterday.",
        "Der Mann kaufte gestern ein neues Auto.",
    ),
    (
        says(does(np("the | train"), "arrive", "will", time=when("soon"))),
        "The train will arrive soon.",
        "Der Zug wird bald ankommen.",
    ),
    (
        says(does(who("I"), "fall asleep", "perfect")),
        "I have fallen asleep.",
        "Ich bin eingeschlafen.",
    ),
    # Modal verbs.
    (
        says(
            does(
                who("we"), "visit", "want to", accusative=acc("the | museum"), time=when("tomorrow")
            )
        ),
        "We want to visit the museum tomorrow.",
        "Wir wollen morgen das Museum besuchen.",
    ),
    (
        says(does(who("she"), "help", "must", "not", dative=who("he", "dative"))),
        "She does not have to help him.",
        "Sie muss ihm nicht helfen.",
    ),
    (
        says(does(who("I"), "call", "can", "not", accusative=who("you", "accusative"))),
        "I cannot call you.",
        "Ich kann Sie nicht anrufen.",
    ),
    (
        says(does(who("he"), "buy", "would like to", accusative=acc("a | blue hat"))),
        "He would like to buy a blue hat.",
        "Er möchte einen blauen Hut kaufen.",
    ),
    (
        says(does(who("you"), "tidy up", "should", accusative=acc("the | kitchen"))),
        "You should tidy up the kitchen.",
        "Sie sollten die Küche aufräumen.",
    ),
    (
        says(does(np("my | son"), "sing", "may")),
        "My son may sing.",
        "Mein Sohn darf singen.",
    ),
    # Verb second.
    (
        says(does(MAN, "work", time=when("on Monday"), place=at("office")), "time"),
        "On Monday, the man works in the office.",
        "Am Montag arbeitet der Mann im Büro.",
    ),
    (
        says(does(nps("the | child"), "play", place=at("park")), "place"),
        "In the park, the children play.",
        "Im Park spielen die Kinder.",
    ),
    (
        says(does(who("I"), "get up", "perfect", time=when("today")), "time"),
        "Today, I have gotten up.",
        "Heute bin ich aufgestanden.",
    ),
    # Separable verbs.
    (
        says(does(who("she"), "turn on", accusative=acc("the | lamp"))),
        "She turns on the lamp.",
        "Sie schaltet die Lampe ein.",
    ),
    (
        says(does(who("I"), "invite", "perfect", accusative=acc("my | neighbor"))),
        "I have invited my neighbor.",
        "Ich habe meinen Nachbarn eingeladen.",
    ),
    (
        says(does(np("his | daughter"), "try on", "past", accusative=acc("a | red dress"))),
        "His daughter tried on a red dress.",
        "Seine Tochter probierte ein rotes Kleid an.",
    ),
    # Datives and prepositions.
    (
        says(does(np("the | boy"), "help", dative=dat("the | old woman"))),
        "The boy helps the old woman.",
        "Der Junge hilft der alten Frau.",
    ),
    (
        says(does(np("the | dog"), "follow", "perfect", dative=dat("the | child", True))),
        "The dog has followed the children.",
        "Der Hund ist den Kindern gefolgt.",
    ),
    (
        says(does(np("the | car"), "belong to", dative=dat("my | friend"))),
        "The car belongs to my friend.",
        "Das Auto gehört meinem Freund.",
    ),
    (
        says(does(MAN, "give", dative=dat("the | child"), accusative=acc("a | ball"))),
        "The man gives the child a ball.",
        "Der Mann gibt dem Kind einen Ball.",
    ),
    (
        says(does(MAN, "give", dative=who("she", "dative"), accusative=acc("the | key"))),
        "The man gives her the key.",
        "Der Mann gibt ihr den Schlüssel.",
    ),
    (
        says(
            does(
                who("we"),
                "wait for",
                prepositional=prepositional("", "auf", acc("the | train")),
                place=at("station"),
            )
        ),
        "We wait for the train at the station.",
        "Wir warten am Bahnhof auf den Zug.",
    ),
    (
        says(
            does(who("she"), "think of", prepositional=prepositional("", "an", acc("her | trip")))
        ),
        "She thinks of her trip.",
        "Sie denkt an ihre Reise.",
    ),
    (
        says(
            does(
                who("he"),
                "go",
                direction=to("park"),
                manner=prepositional("with", "mit", dat("his | dog")),
                time=when("every day"),
            )
        ),
        "He goes to the park with his dog every day.",
        "Er geht jeden Tag mit seinem Hund in den Park.",
    ),
    (
        says(
            does(
                who("we"),
                "travel",
                "will",
                direction=Phrase("to Berlin", "nach Berlin"),
                manner=adverbial(MEANS["by train"]),
                time=when("tomorrow"),
            )
        ),
        "We will travel to Berlin by train tomorrow.",
        "Wir werden morgen mit dem Zug nach Berlin fahren.",
    ),
    (
        says(does(who("they"), "go", direction=to("museum"), manner=adverbial(MEANS["on foot"]))),
        "They go to the museum on foot.",
        "Sie gehen zu Fuß ins Museum.",
    ),
    (
        says(does(np("the | nurse"), "go", direction=to("university"))),
        "The nurse goes to the university.",
        "Die Krankenschwester geht zur Universität.",
    ),
    (
        says(does(np("the | tourist"), "run", direction=to("station"))),
        "The tourist runs to the station.",
        "Der Tourist läuft zum Bahnhof.",
    ),
    (
        says(does(who("I"), "sit", place=at("park"))),
        "I sit in the park.",
        "Ich sitze im Park.",
    ),
    (
        says(does(np("the | king"), "live", place=at("castle", "a", "old"))),
        "The king lives in an old castle.",
        "Der König wohnt in einem alten Schloss.",
    ),
    (
        says(
            does(
                who("I"),
                "put",
                accusative=BOOK,
                direction=prepositional("on", "auf", acc("the | table")),
            )
        ),
        "I put the book on the table.",
        "Ich lege das Buch auf den Tisch.",
    ),
    (
        says(does(np("the | book"), "lie", place=prepositional("on", "auf", dat("the | table")))),
        "The book lies on the table.",
        "Das Buch liegt auf dem Tisch.",
    ),
    # Being.
    (
        says(does(np("the | soup"), "be", adverb="not", complement=predicate(ADJECTIVES["hot"]))),
        "The soup is not hot.",
        "Die Suppe ist nicht heiß.",
    ),
    (
        says(does(np("my | brother"), "be", complement=np("a | good doctor"))),
        "My brother is a good doctor.",
        "Mein Bruder ist ein guter Arzt.",
    ),
    (
        says(does(np("my | brother"), "be", adverb="not", complement=np("not a | doctor"))),
        "My brother is not a doctor.",
        "Mein Bruder ist kein Arzt.",
    ),
    (
        says(does(MAN, "be", complement=comparison(ADJECTIVES["old"], np("my | sister")))),
        "The man is older than my sister.",
        "Der Mann ist älter als meine Schwester.",
    ),
    (
        says(does(MAN, "be", adverb="not", complement=equality(ADJECTIVES["rich"], name("Anna")))),
        "The man is not as rich as Anna.",
        "Der Mann ist nicht so reich wie Anna.",
    ),
    (
        sentence(existence(acc("a | big park"), at("city"))),
        "There is a big park in the city.",
        "Es gibt in der Stadt einen großen Park.",
    ),
    (
        sentence(existence(acc("no | museum"), at("village"), place_first=True)),
        "In the village, there is no museum.",
        "Im Dorf gibt es kein Museum.",
    ),
    # Questions.
    (
        asks(does(np("the | train"), "arrive"), ("when", "wann")),
        "When does the train arrive?",
        "Wann kommt der Zug an?",
    ),
    (
        asks(does(who("you"), "buy", "perfect", accusative=acc("the | ticket"))),
        "Have you bought the ticket?",
        "Haben Sie die Fahrkarte gekauft?",
    ),
    (
        asks(does(np("your | son"), "sleep", "progressive")),
        "Is your son sleeping?",
        "Schläft Ihr Sohn gerade?",
    ),
    (
        asks(does(who("you"), "go", "want to"), ("where", "wohin")),
        "Where do you want to go?",
        "Wohin wollen Sie gehen?",
    ),
    (
        asks(does(np("the | boy"), "help", dative=Phrase("who", "wem")), asked="dative"),
        "Who does the boy help?",
        "Wem hilft der Junge?",
    ),
    (
        asks(does(Phrase("who", "wer"), "find", "perfect", accusative=DOG), asked="subject"),
        "Who has found the dog?",
        "Wer hat den Hund gefunden?",
    ),
    (
        asks(does(np("the | girl"), "read", accusative=acc("which | book")), asked="accusative"),
        "Which book does the girl read?",
        "Welches Buch liest das Mädchen?",
    ),
    (
        asks(
            does(who("she"), "buy", "past", accusative=acc("how many | apple", True)),
            asked="accusative",
        ),
        "How many apples did she buy?",
        "Wie viele Äpfel kaufte sie?",
    ),
    # Requests.
    (
        sentence(imperative(does(who("you"), "open", accusative=acc("the | door")))),
        "Please open the door.",
        "Bitte öffnen Sie die Tür.",
    ),
    (
        sentence(
            imperative(does(who("you"), "turn off", adverb="not", accusative=acc("the | radio")))
        ),
        "Please do not turn off the radio.",
        "Bitte schalten Sie das Radio nicht aus.",
    ),
    # Subordinate clauses.
    (
        sentence(
            after(
                statement(does(who("she"), "stay", place=Phrase("at home", "zu Hause"))),
                subordinate(
                    does(who("she"), "be", complement=predicate(ADJECTIVES["sick"])),
                    ("because", "weil"),
                ),
            )
        ),
        "She stays at home because she is sick.",
        "Sie bleibt zu Hause, weil sie krank ist.",
    ),
    (
        sentence(
            after(
                statement(does(who("I"), "know*")),
                subordinate(
                    does(np("the | train"), "arrive", time=when("today")), ("that", "dass")
                ),
            )
        ),
        "I know that the train arrives today.",
        "Ich weiß, dass der Zug heute ankommt.",
    ),
    (
        sentence(
            after(
                statement(does(who("he"), "know*", adverb="not")),
                subordinate(
                    does(who("they"), "invite", "perfect", accusative=who("we", "accusative")),
                    ("whether", "ob"),
                ),
            )
        ),
        "He does not know whether they have invited us.",
        "Er weiß nicht, ob sie uns eingeladen haben.",
    ),
    (
        sentence(
            before(
                subordinate(does(Phrase("it", "es"), "rain"), ("if", "wenn")),
                does(who("we"), "stay", "must", place=Phrase("at home", "zu Hause")),
            )
        ),
        "If it rains, we must stay at home.",
        "Wenn es regnet, müssen wir zu Hause bleiben.",
    ),
    # Relative clauses.
    (
        sentence(
            after(
                statement(does(who("I"), "know", accusative=ACC_MAN)),
                relative(
                    does(relative_pronoun(ACC_MAN, "dative"), "help")._replace(
                        subject=np("the | boy"), dative=relative_pronoun(ACC_MAN, "dative")
                    ),
                    "dative",
                ),
            )
        ),
        "I know the man whom the boy helps.",
        "Ich kenne den Mann, dem der Junge hilft.",
    ),
    (
        sentence(
            after(
                statement(does(who("we"), "find", "perfect", accusative=BOOK)),
                relative(
                    does(who("you"), "look for", accusative=relative_pronoun(BOOK, "accusative")),
                    "accusative",
                ),
            )
        ),
        "We have found the book that you look for.",
        "Wir haben das Buch gefunden, das Sie suchen.",
    ),
    (
        says(
            does(
                with_relative(
                    MAN,
                    relative(
                        does(relative_pronoun(MAN, "nominative"), "call", accusative=name("Anna")),
                        "subject",
                    ),
                ),
                "be",
                complement=predicate(ADJECTIVES["tired"]),
            )
        ),
        "The man who calls Anna is tired.",
        "Der Mann, der Anna anruft, ist müde.",
    ),
    (
        says(
            does(
                with_relative(
                    FEMALE_FRIENDS,
                    relative(
                        does(
                            who("I"),
                            "thank",
                            "perfect",
                            dative=relative_pronoun(FEMALE_FRIENDS, "dative"),
                        ),
                        "dative",
                    ),
                ),
                "sing",
            )
        ),
        "The sisters whom I have thanked sing.",
        "Die Schwestern, denen ich gedankt habe, singen.",
    ),
    # Infinitives and coordination.
    (
        sentence(
            after(
                statement(does(MAN, "try")),
                infinitive(does(MAN, "open", accusative=acc("the | door"))),
            )
        ),
        "The man tries to open the door.",
        "Der Mann versucht, die Tür zu öffnen.",
    ),
    (
        sentence(
            after(
                statement(does(who("she"), "forget", "perfect")),
                infinitive(does(who("she"), "turn off", accusative=acc("the | lamp"))),
            )
        ),
        "She has forgotten to turn off the lamp.",
        "Sie hat vergessen, die Lampe auszuschalten.",
    ),
    (
        sentence(
            after(
                statement(does(who("I"), "go", direction=to("market"))),
                infinitive(
                    does(who("I"), "buy", accusative=acc("zero | egg", True)), "in order to", "um"
                ),
            )
        ),
        "I go to the market in order to buy eggs.",
        "Ich gehe auf den Markt, um Eier zu kaufen.",
    ),
    (
        sentence(
            after(
                statement(does(MAN, "cook")),
                statement(does(np("the | woman"), "sing")),
                ", but ",
                ", aber ",
            )
        ),
        "The man cooks, but the woman sings.",
        "Der Mann kocht, aber die Frau singt.",
    ),
]


@pytest.mark.parametrize(
    ("made", "english", "translation"), TRANSLATIONS, ids=[row[1] for row in TRANSLATIONS]
)
def test_grammar_makes_the_translation(made: Sentence, english, translation):
    assert (made.english, made.german) == (english, translation)


def test_combinations_are_recorded():
    made = says(does(MAN, "give", dative=dat("the | child"), accusative=acc("a | red ball")))
    assert set(made.combinations) == {("attribute", "red", "ball"), ("object", "give", "ball")}


# --- The corpus

TRAIN = thorough.number(50_000, 200_000)


@pytest.fixture(scope="module")
def train():
    return list(islice(sentences("train"), TRAIN))


@pytest.fixture(scope="module")
def held_out():
    return {
        split: list(islice(sentences(split), 1_000)) for split in ("valid", "test", "combinations")
    }


def test_an_english_sentence_has_one_translation(train, held_out):
    translation = {}
    drawn = train + [made for split in held_out.values() for made in split]
    dice = Dice(seed=123)
    drawn += [draw(dice) for _ in range(20_000)]
    for made in drawn:
        assert translation.setdefault(made.english, made.german) == made.german


def test_pairs_are_distinct(train):
    assert len({made.english for made in train}) == len(train) == TRAIN


def test_splits_share_no_sentence_in_either_language(train, held_out):
    splits = [train, *held_out.values()]
    for side in ("english", "german"):
        sides = [{getattr(made, side) for made in split} for split in splits]
        assert len(set.union(*sides)) == sum(map(len, sides))


def test_another_seed_draws_from_the_same_splits(held_out):
    test = {made.english for made in held_out["test"]}
    drawn = list(islice(sentences("train", seed=1), 2_000))
    assert not test & {made.english for made in drawn}
    assert all(split_of(made) == "train" for made in drawn)


def test_held_out_combinations_occur_in_no_other_split(train, held_out):
    unseen = {c for made in held_out["combinations"] for c in made.combinations if is_held_out(c)}
    assert len(unseen) > 50
    for made in train + held_out["valid"] + held_out["test"]:
        assert unseen.isdisjoint(made.combinations)
    assert all(any(map(is_held_out, made.combinations)) for made in held_out["combinations"])


def test_held_out_attributes_are_nowhere_in_the_text(train):
    """Independent of what the grammar records: the English words beside each other."""
    beside = set()
    for made in train:
        words = made.english.rstrip(".?").replace(",", "").split()
        beside.update(pairwise(words))
    for noun in NOUNS.values():
        for adjective in adjectives_of(noun):
            if is_held_out(("attribute", adjective.english, noun.english)):
                assert (adjective.english, noun.english) not in beside
                assert (adjective.english, noun.english_plural) not in beside


def test_held_out_objects_are_nowhere_in_the_text(train, held_out):
    """The same of verbs: "verb the noun" is looked for in statements about "I" and "we"."""
    unseen = {
        (c.head, c.noun)
        for made in held_out["combinations"]
        for c in made.combinations
        if c.kind == "object" and is_held_out(c)
    }
    text = "\n".join(made.english for made in train)
    for verb, noun in sorted(unseen):
        assert f"{verb} the {noun} " not in text
        assert f"{verb} the {noun}." not in text


def test_each_held_out_word_is_frequent_in_other_combinations(train, held_out):
    heads = Counter(c[:2] for made in train for c in made.combinations)
    words = Counter(word for made in train for word in made.english.rstrip(".?").split())
    for made in held_out["combinations"]:
        for combination in filter(is_held_out, made.combinations):
            noun = NOUNS[combination.noun]
            assert heads[combination.kind, combination.head] >= thorough.number(12, 100)
            both = words[noun.english] + words[noun.english_plural]
            assert both >= thorough.number(25, 200)


def test_sentences_are_short_and_varied(train):
    lengths = [len(made.english.split()) for made in train]
    assert sum(4 <= length <= 14 for length in lengths) > 0.9 * len(lengths)
    assert max(lengths) <= 20
    firsts = Counter(made.english.split()[0] for made in train)
    assert firsts.most_common(1)[0][1] < 0.3 * len(train)


def test_text_is_clean(train):
    for made in train[:50_000]:
        for side in (made.english, made.german):
            assert not any(slip in side for slip in ("  ", " ,", ",,", ",.", ",?"))
            assert side[0].isupper()
            assert side[-1] in ".?"


def _digest(pairs):
    return hashlib.sha256(repr(pairs).encode("utf-8")).hexdigest()


def test_a_fresh_process_makes_the_same_pairs():
    program = (
        "import hashlib; from phrasebook import phrasebook;"
        "print(hashlib.sha256(repr(phrasebook(size=2000)).encode('utf-8')).hexdigest())"
    )
    # Hashes of strings differ in that process, and with them the order of every set.
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    fresh = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert fresh.stdout.strip() == _digest(phrasebook(size=2000))


def test_a_smaller_corpus_is_the_beginning_of_a_larger_one():
    assert phrasebook("train", size=300) == phrasebook("train", size=1_000)[:300]


def test_seeds_differ():
    assert phrasebook(size=50, seed=0) != phrasebook(size=50, seed=1)


def test_sizes():
    assert len(phrasebook("valid")) == 1_000
    assert [len(phrasebook(split, size=1)) for split in SPLITS] == [1, 1, 1, 1]


def test_errors_name_what_was_received():
    with pytest.raises(ValueError, match=r"train, valid, test, combinations.*Received.*'dev'"):
        phrasebook("dev")
    for size in (0, -1, 10**9):
        with pytest.raises(ValueError, match=f"Received: size={size}"):
            phrasebook("test", size=size)
