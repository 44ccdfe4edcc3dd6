"""The words of the phrasebook: English and German lemmas with what grammar needs to know of them.

The data is written as tables, one entry a line, columns separated by two or more spaces, and read
into frozen dataclasses when the module is imported. English and German lemmas correspond one to
one, so that an English sentence has one translation and no choice between synonyms arises.

Meaning is kept to *tags*. A noun carries tags (its own English lemma is one of them), and verbs and
adjectives name the tags of the nouns they go with: one eats what is tagged `food`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache


@dataclass(frozen=True, eq=False, slots=True)
class Noun:
    """A noun.

    Args:
        english: The English singular, also the lemma by which combinations name the noun.
        english_plural: The English plural, empty if the noun is used in the singular only.
        german: The German nominative singular.
        german_plural: The German nominative plural, empty if there is none.
        gender: "m", "f" or "n".
        weak: Whether it follows the n-declension (der Student, den Studenten).
        tags: What it denotes; its own lemma included.
    """

    english: str
    english_plural: str
    german: str
    german_plural: str
    gender: str
    weak: bool
    tags: frozenset[str]


@dataclass(frozen=True, eq=False, slots=True)
class Place:
    """A noun one can be at or go to, with the prepositions that each language wants.

    Args:
        noun: The noun.
        english_at: English preposition of the location, "in" or "at".
        german_at: German preposition of the location; it governs the dative.
        english_to: English preposition of the direction, empty if nobody goes there.
        german_to: German preposition of the direction.
        to_case: The case it governs, "accusative", or "dative" for "zu".
    """

    noun: Noun
    english_at: str
    german_at: str
    english_to: str
    german_to: str
    to_case: str


@dataclass(frozen=True, eq=False, slots=True)
class Verb:
    """A verb with its principal parts in both languages and its complement.

    Args:
        english: The English base form, which is also the lemma.
        english_past: The simple past, empty where it would look like the present ("read").
        english_participle: The past participle.
        english_particle: What follows the inflected word ("for" in "look for"), or empty.
        german: The German infinitive without its separable prefix.
        third: Third person singular present, without the prefix.
        past: First and third person singular preterite, without the prefix.
        participle: The past participle, with the prefix.
        auxiliary: "haben" or "sein", which makes the perfect.
        prefix: The separable prefix, or empty.
        frame: The cases of the complement: "", "acc", "dat", "dat+acc", or a German
            preposition with its case, "auf+acc"; "to" stands for a direction.
        aspect: "activity" (every tense), "event" (no progressive),
            "mishap" (not wanted either), "state" (present and past only), "special".
        objects: Tags of the nouns that may be its object.
        places: Tags of the places where it happens.
    """

    english: str
    english_past: str
    english_participle: str
    english_particle: str
    german: str
    third: str
    past: str
    participle: str
    auxiliary: str
    prefix: str = ""
    frame: str = ""
    aspect: str = "activity"
    objects: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False, slots=True)
class Adjective:
    """An adjective.

    Args:
        english: The English positive.
        english_comparative: "older", "more expensive", or empty if it is not compared.
        german: The German predicative form.
        stem: The form that takes endings (teuer, teur-).
        german_comparative: "älter", or empty.
        nouns: Tags of the nouns it describes.
    """

    english: str
    english_comparative: str
    german: str
    stem: str
    german_comparative: str
    nouns: frozenset[str]


@dataclass(frozen=True, eq=False, slots=True)
class Determiner:
    """A determiner, or the lack of one.

    Args:
        english: The English word before a singular, with "a" standing for "a" and "an".
        english_plural: The English word before a plural.
        german: The German stem, to which the endings of `declension` are added.
        declension: "definite" (der), "der" (dieser), "ein" (ein, kein, mein) or "none" (zwei).
        adjectives: The endings that follow: "weak", "mixed" or "strong".
        definite: Whether the phrase is definite, on which the German word order depends.
        negative: Whether the German word already negates the clause (kein).
    """

    english: str
    english_plural: str
    german: str
    declension: str
    adjectives: str
    definite: bool
    negative: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Modal:
    """A modal verb, or the future auxiliary.

    Args:
        english: The auxiliary ("can"), or empty where a full verb stands for it ("want to").
        english_full: What comes between auxiliary and verb ("like to"), or the full verb with
            "to", in the base form ("want to").
        english_negated: The full verb with "to" that stands in the negation ("have to").
        first: German first person singular.
        third: German third person singular.
        plural: German plural.
    """

    english: str
    english_full: str
    english_negated: str
    first: str
    third: str
    plural: str


@dataclass(frozen=True, eq=False, slots=True)
class Adverb:
    """An adverb that English puts beside the finite verb.

    Args:
        english: The word after the subject or the auxiliary.
        english_end: A word at the end of the clause ("yet").
        german: Its German counterpart.
        german_with_kein: What is left of it where the object says "kein".
        focus: Whether definite objects precede it in German, as they do "nicht".
    """

    english: str
    english_end: str
    german: str
    german_with_kein: str
    focus: bool


@dataclass(frozen=True, eq=False, slots=True)
class Adverbial:
    """A fixed adverbial of time, place, or manner, the same in every sentence.

    Args:
        english: The English words.
        german: The German words.
        tags: The tenses it goes with, or the kind of place.
    """

    english: str
    german: str
    tags: frozenset[str] = field(default_factory=frozenset)


def _rows(table: str, columns: int) -> Iterator[list[str]]:
    """Yields the cells of each line; "-" is an empty cell."""
    for line in table.strip().splitlines():
        cells = ["" if cell == "-" else cell for cell in re.split(r"\s{2,}", line.strip())]
        if len(cells) != columns:
            raise ValueError(f"A row of the lexicon must have {columns} cells. Received: {line!r}")
        yield cells


# People, animals and things. "m*" marks the n-declension.
_NOUNS = """
man          men            Mann              Männer              m   person adult
woman        women          Frau              Frauen              f   person adult
child        children       Kind              Kinder              n   person young
boy          boys           Junge             Jungen              m*  person young
girl         girls          Mädchen           Mädchen             n   person young
friend       friends        Freund            Freunde             m   person adult known
teacher      teachers       Lehrer            Lehrer              m   person adult known job
student      students       Student           Studenten           m*  person adult known
doctor       doctors        Arzt              Ärzte               m   person adult known job
neighbor     neighbors      Nachbar           Nachbarn            m*  person adult known
colleague    colleagues     Kollege           Kollegen            m*  person adult known
guest        guests         Gast              Gäste               m   person adult known
farmer       farmers        Bauer             Bauern              m*  person adult job
baker        bakers         Bäcker            Bäcker              m   person adult job
cook         cooks          Koch              Köche               m   person adult job
waiter       waiters        Kellner           Kellner             m   person adult job
singer       singers        Sänger            Sänger              m   person adult job
policeman    policemen      Polizist          Polizisten          m*  person adult job
nurse        nurses         Krankenschwester  Krankenschwestern   f   person adult
tourist      tourists       Tourist           Touristen           m*  person adult
queen        queens         Königin           Königinnen          f   person adult royal
king         kings          König             Könige              m   person adult royal
mother       mothers        Mutter            Mütter              f   person adult kin parent
father       fathers        Vater             Väter               m   person adult kin parent
grandmother  grandmothers   Großmutter        Großmütter          f   person kin parent elder
grandfather  grandfathers   Großvater         Großväter           m   person kin parent elder
brother      brothers       Bruder            Brüder              m   person adult kin
sister       sisters        Schwester         Schwestern          f   person adult kin
son          sons           Sohn              Söhne               m   person kin young
daughter     daughters      Tochter           Töchter             f   person kin young
aunt         aunts          Tante             Tanten              f   person adult kin
uncle        uncles         Onkel             Onkel               m   person adult kin
dog          dogs           Hund              Hunde               m   animal pet
cat          cats           Katze             Katzen              f   animal pet
rabbit       rabbits        Kaninchen         Kaninchen           n   animal pet
horse        horses         Pferd             Pferde              n   animal farm
cow          cows           Kuh               Kühe                f   animal farm
pig          pigs           Schwein           Schweine            n   animal farm
duck         ducks          Ente              Enten               f   animal farm
chicken      chickens       Huhn              Hühner              n   animal farm
bird         birds          Vogel             Vögel               m   animal
mouse        mice           Maus              Mäuse               f   animal
lion         lions          Löwe              Löwen               m*  animal wild
bear         bears          Bär               Bären               m*  animal wild
monkey       monkeys        Affe              Affen               m*  animal
elephant     elephants      Elefant           Elefanten           m*  animal
apple        apples         Apfel             Äpfel               m   food fruit
pear         pears          Birne             Birnen              f   food fruit
banana       bananas        Banane            Bananen             f   food fruit
orange       oranges        Orange            Orangen             f   food fruit
cherry       cherries       Kirsche           Kirschen            f   food fruit
strawberry   strawberries   Erdbeere          Erdbeeren           f   food fruit
tomato       tomatoes       Tomate            Tomaten             f   food vegetable
potato       potatoes       Kartoffel         Kartoffeln          f   food vegetable boiled
carrot       carrots        Karotte           Karotten            f   food vegetable boiled
egg          eggs           Ei                Eier                n   food boiled
sausage      sausages       Wurst             Würste              f   food
soup         soups          Suppe             Suppen              f   food boiled warm
salad        salads         Salat             Salate              m   food
fish         -              Fisch             -                   m   food
cake         cakes          Kuchen            Kuchen              m   food baked
cookie       cookies        Keks              Kekse               m   food baked
bread        -              Brot              -                   n   food baked mass
rice         -              Reis              -                   m   food mass boiled
meat         -              Fleisch           -                   n   food mass
cheese       -              Käse              -                   m   food mass
chocolate    -              Schokolade        -                   f   food mass
water        -              Wasser            -                   n   drink mass warm
milk         -              Milch             -                   f   drink mass warm
coffee       -              Kaffee            -                   m   drink mass warm
tea          -              Tee               -                   m   drink mass warm
juice        -              Saft              -                   m   drink mass
beer         -              Bier              -                   n   drink mass
wine         -              Wein              -                   m   drink mass
book         books          Buch              Bücher              n   text written page object
newspaper    newspapers     Zeitung           Zeitungen           f   text page object
letter       letters        Brief             Briefe              m   text written page object
postcard     postcards      Postkarte         Postkarten          f   text written page object
story        stories        Geschichte        Geschichten         f   text written topic
poem         poems          Gedicht           Gedichte            n   text written
report       reports        Bericht           Berichte            m   text written
message      messages       Nachricht         Nachrichten         f   text written
sentence     sentences      Satz              Sätze               m   text written
question     questions      Frage             Fragen              f   topic
problem      problems       Problem           Probleme            n   topic
plan         plans          Plan              Pläne               m   topic
key          keys           Schlüssel         Schlüssel           m   object small
ticket       tickets        Fahrkarte         Fahrkarten          f   object small
pencil       pencils        Bleistift         Bleistifte          m   object small colored
umbrella     umbrellas      Regenschirm       Regenschirme        m   object small colored
ball         balls          Ball              Bälle               m   object small colored
knife        knives         Messer            Messer              n   object small
spoon        spoons         Löffel            Löffel              m   object small
fork         forks          Gabel             Gabeln              f   object small
plate        plates         Teller            Teller              m   object colored
cup          cups           Tasse             Tassen              f   object colored vessel
glass        glasses        Glas              Gläser              n   object vessel
bottle       bottles        Flasche           Flaschen            f   object colored vessel
bag          bags           Tasche            Taschen             f   object colored container
box          boxes          Kiste             Kisten              f   object container
suitcase     suitcases      Koffer            Koffer              m   object colored container
basket       baskets        Korb              Körbe               m   object container
picture      pictures       Bild              Bilder              n   object page
gift         gifts          Geschenk          Geschenke           n   object
flower       flowers        Blume             Blumen              f   plant colored
tree         trees          Baum              Bäume               m   plant sight
table        tables         Tisch             Tische              m   furniture colored
chair        chairs         Stuhl             Stühle              m   furniture colored
bed          beds           Bett              Betten              n   furniture
cupboard     cupboards      Schrank           Schränke            m   furniture colored
door         doors          Tür               Türen               f   opening colored
window       windows        Fenster           Fenster             n   opening
lamp         lamps          Lampe             Lampen              f   device switch
radio        radios         Radio             Radios              n   device switch
computer     computers      Computer          Computer            m   device switch
television   televisions    Fernseher         Fernseher           m   device switch
clock        clocks         Uhr               Uhren               f   device
camera       cameras        Kamera            Kameras             f   device
machine      machines       Maschine          Maschinen           f   device switch
jacket       jackets        Jacke             Jacken              f   clothes colored
coat         coats          Mantel            Mäntel              m   clothes colored
shirt        shirts         Hemd              Hemden              n   clothes colored
dress        dresses        Kleid             Kleider             n   clothes colored
hat          hats           Hut               Hüte                m   clothes colored
skirt        skirts         Rock              Röcke               m   clothes colored
shoe         shoes          Schuh             Schuhe              m   clothes colored
sweater      sweaters       Pullover          Pullover            m   clothes colored
car          cars           Auto              Autos               n   vehicle colored road
bus          buses          Bus               Busse               m   vehicle colored road public
train        trains         Zug               Züge                m   vehicle public
ship         ships          Schiff            Schiffe             n   vehicle public
airplane     airplanes      Flugzeug          Flugzeuge           n   vehicle
boat         boats          Boot              Boote               n   vehicle colored
bicycle      bicycles       Fahrrad           Fahrräder           n   vehicle colored
song         songs          Lied              Lieder              n   sound art
music        -              Musik             -                   f   sound mass
film         films          Film              Filme               m   event art
concert      concerts       Konzert           Konzerte            n   event
party        parties        Party             Partys              f   event planned
trip         trips          Reise             Reisen              f   planned
game         games          Spiel             Spiele              n   event
bridge       bridges        Brücke            Brücken             f   structure sight
tower        towers         Turm              Türme               m   structure sight
mountain     mountains      Berg              Berge               m   sight
"""

# Places: noun columns, then where one is (English, German) and where one goes.
_PLACES = """
garden       gardens       Garten        Gärten         m  outside home     in  in   into  in
kitchen      kitchens      Küche         Küchen         f  room home        in  in   into  in
room         rooms         Zimmer        Zimmer         n  room home        in  in   into  in
house        houses        Haus          Häuser         n  building home    in  in   into  in
apartment    apartments    Wohnung       Wohnungen      f  room home        in  in   into  in
office       offices       Büro          Büros          n  room work        in  in   to    in
school       schools       Schule        Schulen        f  building study   at  in   to    in
library      libraries     Bibliothek    Bibliotheken   f  building study   in  in   to    in
university   universities  Universität   Universitäten  f  study            at  an   to    zu
museum       museums       Museum        Museen         n  building town    in  in   to    in
restaurant   restaurants   Restaurant    Restaurants    n  building dining  in  in   to    in
hotel        hotels        Hotel         Hotels         n  building dining  in  in   to    in
theater      theaters      Theater       Theater        n  building town    in  in   to    in
church       churches      Kirche        Kirchen        f  building town    in  in   to    in
castle       castles       Schloss       Schlösser      n  building town    in  in   to    zu
hospital     hospitals     Krankenhaus   Krankenhäuser  n  building work    in  in   to    in
station      stations      Bahnhof       Bahnhöfe       m  traffic          at  an   to    zu
airport      airports      Flughafen     Flughäfen      m  traffic          at  an   to    zu
market       markets       Markt         Märkte         m  shop             at  auf  to    auf
supermarket  supermarkets  Supermarkt    Supermärkte    m  shop             in  in   to    in
bakery       bakeries      Bäckerei      Bäckereien     f  bakeshop         in  in   to    in
park         parks         Park          Parks          m  outside town     in  in   to    in
zoo          zoos          Zoo           Zoos           m  town             in  in   to    in
city         cities        Stadt         Städte         f  settlement       in  in   to    in
village      villages      Dorf          Dörfer         n  settlement       in  in   to    in
forest       forests       Wald          Wälder         m  outside nature   in  in   into  in
beach        beaches       Strand        Strände        m  outside nature   on  an   to    an
lake         lakes         See           Seen           m  outside nature   at  an   to    an
street       streets       Straße        Straßen        f  outside          on  auf  -     -
"""

# English parts, German parts, auxiliary. The simple past is "-" where it is spelled as the present
# is. "ein|laden" has the separable prefix "ein"; "know*" is knowing a fact, "know" a person.
_VERB_FORMS = """
eat ate eaten                     essen isst aß gegessen                               haben
drink drank drunk                 trinken trinkt trank getrunken                       haben
cook cooked cooked                kochen kocht kochte gekocht                          haben
bake baked baked                  backen backt backte gebacken                         haben
order ordered ordered             bestellen bestellt bestellte bestellt                haben
buy bought bought                 kaufen kauft kaufte gekauft                          haben
sell sold sold                    verkaufen verkauft verkaufte verkauft                haben
read - read                       lesen liest las gelesen                              haben
write wrote written               schreiben schreibt schrieb geschrieben               haben
find found found                  finden findet fand gefunden                          haben
lose lost lost                    verlieren verliert verlor verloren                   haben
look+for looked looked            suchen sucht suchte gesucht                          haben
see saw seen                      sehen sieht sah gesehen                              haben
hear heard heard                  hören hört hörte gehört                              haben
love loved loved                  lieben liebt liebte geliebt                          haben
like liked liked                  mögen mag mochte gemocht                             haben
know knew known                   kennen kennt kannte gekannt                          haben
need needed needed                brauchen braucht brauchte gebraucht                  haben
have had had                      haben hat hatte gehabt                               haben
visit visited visited             besuchen besucht besuchte besucht                    haben
meet met met                      treffen trifft traf getroffen                        haben
ask asked asked                   fragen fragt fragte gefragt                          haben
invite invited invited            ein|laden lädt lud eingeladen                        haben
call called called                an|rufen ruft rief angerufen                         haben
pick+up picked picked             ab|holen holt holte abgeholt                         haben
watch watched watched             beobachten beobachtet beobachtete beobachtet         haben
feed fed fed                      füttern füttert fütterte gefüttert                   haben
photograph photographed photographed  fotografieren fotografiert fotografierte fotografiert  haben
climb climbed climbed             besteigen besteigt bestieg bestiegen                 haben
open opened opened                öffnen öffnet öffnete geöffnet                       haben
close closed closed               schließen schließt schloss geschlossen               haben
turn+on turned turned             ein|schalten schaltet schaltete eingeschaltet        haben
turn+off turned turned            aus|schalten schaltet schaltete ausgeschaltet        haben
tidy+up tidied tidied             auf|räumen räumt räumte aufgeräumt                   haben
try+on tried tried                an|probieren probiert probierte anprobiert           haben
prepare prepared prepared         vor|bereiten bereitet bereitete vorbereitet          haben
clean cleaned cleaned             putzen putzt putzte geputzt                          haben
wash washed washed                waschen wäscht wusch gewaschen                       haben
repair repaired repaired          reparieren repariert reparierte repariert            haben
draw drew drawn                   zeichnen zeichnet zeichnete gezeichnet               haben
build built built                 bauen baut baute gebaut                              haben
carry carried carried             tragen trägt trug getragen                           haben
wear wore worn                    tragen trägt trug getragen                           haben
take took taken                   nehmen nimmt nahm genommen                           haben
bring brought brought             bringen bringt brachte gebracht                      haben
forget forgot forgotten           vergessen vergisst vergaß vergessen                  haben
understand understood understood  verstehen versteht verstand verstanden  haben
drive drove driven                fahren fährt fuhr gefahren                           haben
put - put                         legen legt legte gelegt                              haben
help helped helped                helfen hilft half geholfen                           haben
thank thanked thanked             danken dankt dankte gedankt                          haben
follow followed followed          folgen folgt folgte gefolgt                          sein
answer answered answered          antworten antwortet antwortete geantwortet           haben
give gave given                   geben gibt gab gegeben                               haben
show showed shown                 zeigen zeigt zeigte gezeigt                          haben
send sent sent                    schicken schickt schickte geschickt                  haben
lend lent lent                    leihen leiht lieh geliehen                           haben
wait+for waited waited            warten wartet wartete gewartet                       haben
think+of thought thought          denken denkt dachte gedacht                          haben
talk+about talked talked          sprechen spricht sprach gesprochen                   haben
laugh+about laughed laughed       lachen lacht lachte gelacht                          haben
play+with played played           spielen spielt spielte gespielt                      haben
dance+with danced danced          tanzen tanzt tanzte getanzt                          haben
talk+to talked talked             sprechen spricht sprach gesprochen                   haben
sleep slept slept                 schlafen schläft schlief geschlafen                  haben
work worked worked                arbeiten arbeitet arbeitete gearbeitet               haben
live lived lived                  wohnen wohnt wohnte gewohnt                          haben
play played played                spielen spielt spielte gespielt                      haben
laugh laughed laughed             lachen lacht lachte gelacht                          haben
cry cried cried                   weinen weint weinte geweint                          haben
dance danced danced               tanzen tanzt tanzte getanzt                          haben
sing sang sung                    singen singt sang gesungen                           haben
sit sat sat                       sitzen sitzt saß gesessen                            haben
wait waited waited                warten wartet wartete gewartet                       haben
stay stayed stayed                bleiben bleibt blieb geblieben                       sein
hike hiked hiked                  wandern wandert wanderte gewandert                   sein
get+up got gotten                 auf|stehen steht stand aufgestanden                  sein
fall+asleep fell fallen           ein|schlafen schläft schlief eingeschlafen           sein
come+back came come               zurück|kommen kommt kam zurückgekommen               sein
go went gone                      gehen geht ging gegangen                             sein
run ran run                       laufen läuft lief gelaufen                           sein
travel traveled traveled          fahren fährt fuhr gefahren                           sein
fly flew flown                    fliegen fliegt flog geflogen                         sein
come came come                    kommen kommt kam gekommen                            sein
be was been                       sein ist war gewesen                                 sein
lie lay lain                      liegen liegt lag gelegen                             haben
belong+to belonged belonged       gehören gehört gehörte gehört                        haben
cost - cost                       kosten kostet kostete gekostet                       haben
begin began begun                 beginnen beginnt begann begonnen                     haben
end ended ended                   enden endet endete geendet                           haben
arrive arrived arrived            an|kommen kommt kam angekommen                       sein
depart departed departed          ab|fahren fährt fuhr abgefahren                      sein
know* knew known                  wissen weiß wusste gewusst                           haben
believe believed believed         glauben glaubt glaubte geglaubt                      haben
hope hoped hoped                  hoffen hofft hoffte gehofft                          haben
say said said                     sagen sagt sagte gesagt                              haben
try tried tried                   versuchen versucht versuchte versucht                haben
plan planned planned              planen plant plante geplant                          haben
rain rained rained                regnen regnet regnete geregnet                       haben
snow snowed snowed                schneien schneit schneite geschneit                  haben
"""

# Sets of tags under one name.
_GROUPS = {
    "goods": "object clothes device furniture car bicycle boat",
    "tableware": "knife spoon fork plate vessel",
    "sized": "container furniture building room opening vehicle settlement",
}

# Lemma, frame, aspect, tags of the places, tags of the objects.
_VERB_USES = """
eat          acc       activity  home dining outside             food
drink        acc       activity  home dining outside             drink
cook         acc       activity  kitchen house apartment         boiled
bake         acc       activity  kitchen house bakery            baked
order        acc       activity  dining                         food drink
buy          acc       activity  market supermarket settlement   food drink goods flower
sell         acc       activity  market settlement               food goods flower
read         acc       activity  home study outside              text
write        acc       activity  home study office               written
find         acc       event     home outside                   object clothes pet
lose         acc       mishap    outside traffic                 small bag suitcase hat jacket
look+for     acc       activity  home outside                   object clothes pet young
see          acc       event     outside                        person animal vehicle sight building
hear         acc       event     -                              animal sound vehicle story
love         acc       state     -                              kin pet sound chocolate flower
like         acc       state     -                              person animal food drink clothes art
know         acc       state     -                              person art story settlement museum
need         acc       state     -                              goods food drink
have         acc       state     -                              goods pet problem plan question
visit        acc       activity  -                              person building zoo settlement
meet         acc       event     town traffic outside            person
ask          acc       activity  -                              person
invite       acc       activity  -                              person
call         acc       activity  -                              person
pick+up      acc       activity  traffic                        person suitcase bag
watch        acc       activity  outside zoo                    animal young
feed         acc       activity  garden zoo                     animal
photograph   acc       activity  outside                        sight building animal nature street
climb        acc       activity  -                              mountain tower
open         acc       activity  -                              opening container bottle gift letter
close        acc       activity  -                              opening container cupboard
turn+on      acc       activity  -                              switch
turn+off     acc       activity  -                              switch
tidy+up      acc       activity  -                              room house cupboard
try+on       acc       activity  -                              clothes
prepare      acc       activity  -                              planned concert
clean        acc       activity  -                              room window shoe bicycle lamp
wash         acc       activity  -                              clothes road fruit vegetable dog
repair       acc       activity  -                              device vehicle furniture opening
draw         acc       activity  outside study                  animal plant building structure
build        acc       activity  settlement                     building structure boat table
carry        acc       activity  -                              container chair table
wear         acc       activity  -                              clothes
take         acc       event     -                              small vessel bag cookie bus train
bring        acc       activity  -                              small page container drink flower
forget       acc       mishap    -                              small page bag jacket topic
understand   acc       state     -                              text topic film
drive        acc       activity  -                              road
put          acc       activity  -                              page small clothes
help         dat       activity  home                           person
thank        dat       activity  -                              person
follow       dat       activity  -                              person animal
answer       dat       activity  -                              person
give         dat+acc   activity  -                              object food clothes flower
show         dat+acc   activity  -                              object building clothes room
send         dat+acc   activity  -                              page gift message poem ticket flower
lend         dat+acc   activity  -                              book bicycle car umbrella clothes
wait+for     auf+acc   activity  traffic outside                 person public letter message
think+of     an+acc    activity  -                              person planned topic
talk+about   über+acc  activity  home town                      person topic text event planned
laugh+about  über+acc  activity  -                              story poem film monkey plan
play+with    mit+dat   activity  outside home                   young pet ball
dance+with   mit+dat   activity  -                              person
talk+to      mit+dat   activity  town work                      person
sleep        -         activity  home hotel outside              -
work         -         activity  home work study dining shop settlement  -
live         -         state     settlement house apartment hotel castle  -
play         -         activity  outside home                   -
laugh        -         activity  town home                      -
cry          -         activity  room traffic                   -
dance        -         activity  home outside                   -
sing         -         activity  church theater garden school    -
sit          -         activity  home dining outside study traffic  -
wait         -         activity  traffic town dining outside     -
stay         -         activity  home hotel settlement           -
hike         -         activity  forest                         -
get+up       -         event     -                              -
fall+asleep  -         mishap    room theater library garden     -
come+back    -         event     -                              -
go           to        activity  -                              -
run          to        activity  park forest beach               -
travel       to        activity  -                              -
fly          to        activity  -                              -
come         to        event     -                              -
be           -         special   -                              -
lie          -         special   -                              -
belong+to    dat       special   -                              -
cost         -         special   -                              -
begin        -         special   -                              -
end          -         special   -                              -
arrive       -         special   -                              -
depart       -         special   -                              -
know*        -         special   -                              -
believe      -         special   -                              -
hope         -         special   -                              -
say          -         special   -                              -
try          -         special   -                              -
plan         -         special   -                              -
rain         -         special   -                              -
snow         -         special   -                              -
"""

# English, its comparative, German, stem before endings, its comparative.
_ADJECTIVE_FORMS = """
old          older             alt           -     älter
young        younger           jung          -     jünger
big          bigger            groß          -     größer
small        smaller           klein         -     kleiner
new          newer             neu           -     neuer
beautiful    more beautiful    schön         -     schöner
good         better            gut           -     besser
expensive    more expensive    teuer         teur  teurer
cheap        cheaper           billig        -     billiger
red          -                 rot           -     -
blue         -                 blau          -     -
green        -                 grün          -     -
yellow       -                 gelb          -     -
white        -                 weiß          -     -
black        -                 schwarz       -     -
brown        -                 braun         -     -
long         longer            lang          -     länger
short        shorter           kurz          -     kürzer
heavy        heavier           schwer        -     schwerer
light        lighter           leicht        -     leichter
hot          hotter            heiß          -     heißer
warm         warmer            warm          -     wärmer
cold         colder            kalt          -     kälter
fresh        fresher           frisch        -     frischer
sweet        sweeter           süß           -     süßer
ripe         riper             reif          -     reifer
delicious    -                 lecker        -     -
hungry       -                 hungrig       -     -
tired        -                 müde          müd   -
happy        happier           glücklich     -     glücklicher
sad          sadder            traurig       -     trauriger
friendly     friendlier        freundlich    -     freundlicher
polite       more polite       höflich       -     höflicher
strict       stricter          streng        -     strenger
nice         nicer             nett          -     netter
clever       cleverer          klug          -     klüger
strong       stronger          stark         -     stärker
sick         -                 krank         -     -
famous       more famous       berühmt       -     berühmter
rich         richer            reich         -     reicher
poor         poorer            arm           -     ärmer
lazy         lazier            faul          -     fauler
brave        braver            mutig         -     mutiger
quiet        quieter           ruhig         -     ruhiger
loud         louder            laut          -     lauter
clean        cleaner           sauber        -     sauberer
dirty        dirtier           schmutzig     -     schmutziger
empty        -                 leer          -     -
full         -                 voll          -     -
broken       -                 kaputt        -     -
modern       more modern       modern        -     moderner
interesting  more interesting  interessant   -     interessanter
important    more important    wichtig       -     wichtiger
difficult    more difficult    schwierig     -     schwieriger
funny        funnier           lustig        -     lustiger
boring       more boring       langweilig    -     langweiliger
fast         faster            schnell       -     schneller
slow         slower            langsam       -     langsamer
dangerous    more dangerous    gefährlich    -     gefährlicher
"""

# English, tags of the nouns that it describes; two lines where one is too short.
_ADJECTIVE_USES = """
old          adult elder animal goods vehicle building opening tree structure street tower
old          station market university bakery bridge
young        adult child animal
big          sized animal gift ball plate cup bottle tree garden park lake fruit cake tower
big          mountain station market zoo forest supermarket university
small        sized young animal gift ball key cup tree garden park lake device tower station
small        airport market supermarket bakery zoo university
new          goods bus train building text art plan bridge station airport supermarket bakery
new          university
beautiful    clothes building settlement garden park lake beach flower picture gift queen bridge
beautiful    zoo tower mountain music
good         job student friend text art event plan drink food question restaurant hotel school
good         music cheese rice bakery university
expensive    clothes furniture device car bicycle boat restaurant hotel apartment gift suitcase
expensive    cheese meat chocolate
cheap        clothes furniture device car bicycle restaurant hotel ticket suitcase umbrella
cheap        cheese meat rice chocolate beer
red          colored apple cherry strawberry tomato
blue         colored
green        colored apple pear
yellow       colored apple
white        colored farm pet opening shirt bird house church
black        colored pet horse cow bird
brown        dog horse cow rabbit egg container clothes furniture
long         text coat dress skirt event trip street bridge train beach table
short        text dress skirt event trip street
heavy        container furniture gift machine television
light        container jacket coat shoe bicycle chair
hot          warm sausage
warm         warm jacket coat sweater room bread rice
cold         drink soup fish meat room rice forest
fresh        fruit vegetable egg bread fish meat milk juice water salad cheese
sweet        fruit baked juice tea wine chocolate
ripe         fruit tomato
delicious    food
hungry       adult young animal
tired        adult young animal elder
happy        adult young elder
sad          adult young story song film poem elder
friendly     adult young elder dog letter message
polite       adult young
strict       job parent
nice         adult young elder
clever       adult young animal plan question
strong       adult boy son animal coffee tea
sick         adult young elder animal
famous       singer cook doctor royal art book story poem picture museum castle church university
famous       zoo market mountain
rich         adult
poor         adult
lazy         adult young pet
brave        adult young lion dog
quiet        room hotel settlement street park forest lake beach restaurant child music
loud         machine radio street party concert music bus child market station
clean        tableware clothes room vehicle window hotel beach station
dirty        tableware clothes room vehicle window street dog pig station
empty        container vessel room bus train cupboard church theater
full         container vessel bus train restaurant cupboard
broken       device vehicle furniture opening cup plate glass umbrella shoe
modern       building device apartment kitchen office airport furniture settlement university
modern       supermarket station
interesting  text topic art museum settlement game trip
important    letter message report topic book key
difficult    text topic game
funny        story film poem song party game monkey hat
boring       text film concert party game trip museum
fast         vehicle horse dog computer
slow         vehicle horse computer
dangerous    wild elephant street bridge machine game trip mountain forest
"""

# Cities and countries: in ("in"), to ("nach").
_CITIES = """
Berlin    Berlin
Hamburg   Hamburg
Munich    München
Vienna    Wien
Paris     Paris
London    London
Rome      Rom
Germany   Deutschland
Austria   Österreich
Italy     Italien
France    Frankreich
Spain     Spanien
"""

# Adverbials of time, and the tenses they go with. "future" stands for modal verbs as well.
_TIMES = """
today              heute              present perfect future
now                jetzt              future
every day          jeden Tag          present
every morning      jeden Morgen       present
on weekends        am Wochenende      present
in summer          im Sommer          present
in winter          im Winter          present
in the morning     am Morgen          present past
in the evening     am Abend           present past
at night           in der Nacht       present past
this week          diese Woche        present future
tomorrow           morgen             present future
tonight            heute Abend        future
soon               bald               future
later              später             future
next week          nächste Woche      present future
next year          nächstes Jahr      future
yesterday          gestern            past
last week          letzte Woche       past
last year          letztes Jahr       past
two days ago       vor zwei Tagen     past
an hour ago        vor einer Stunde   past
on Monday          am Montag          present past future
on Tuesday         am Dienstag        present past future
on Wednesday       am Mittwoch        present past future
on Thursday        am Donnerstag      present past future
on Friday          am Freitag         present past future
on Saturday        am Samstag         present past future
on Sunday          am Sonntag         present past future
"""

# How one travels: English, German, the verbs.
_MEANS = """
by bus      mit dem Bus      travel
by train    mit dem Zug      travel
by car      mit dem Auto     travel
by bicycle  mit dem Fahrrad  travel
by ship     mit dem Schiff   travel
on foot     zu Fuß           go
alone       allein           go travel
"""

# English singular, English plural, German stem, declension, adjective endings, traits.
_DETERMINERS = """
the    the    d       definite  weak    definite
this   these  dies    der       weak    definite
every  -      jed     der       weak    definite
-      all    all     der       weak    definite
which  which  welch   der       weak    definite
my     my     mein    ein       mixed   definite
your   your   Ihr     ein       mixed   definite
his    his    sein    ein       mixed   definite
her    her    ihr     ein       mixed   definite
our    our    unser   ein       mixed   definite
their  their  ihr     ein       mixed   definite
no     no     kein    ein       mixed   negative
a      -      ein     ein       mixed   -
-      some   einig   der       strong  -
-      many   viel    der       strong  -
-      how many  wie viel  der    strong  -
"""

# Auxiliary, what follows it, what stands in the negation, German singular (first, third), plural.
_MODALS = """
can     -        -        kann    kann    können
must    -        have to  muss    muss    müssen
should  -        -        sollte  sollte  sollten
may     -        -        darf    darf    dürfen
-       want to  -        will    will    wollen
would   like to  -        möchte  möchte  möchten
will    -        -        werde   wird    werden
"""

# English, at the end, German, German beside "kein", whether definite objects precede it.
_ADVERBS = """
not        -    nicht         -     focus
not        yet  noch nicht    noch  focus
never      -    nie           -     focus
already    -    schon         -     focus
often      -    oft           -     -
always     -    immer         -     -
sometimes  -    manchmal      -     -
usually    -    normalerweise  -    -
"""

# Given names: none ends in an s sound, so that each German genitive ends in -s. "f" or "m".
_NAMES = "Anna f, Peter m, Maria f, Paul m, Julia f, David m, Laura f, Martin m, Lena f, Daniel m"

_NUMBERS = (
    "two zwei, three drei, four vier, five fünf, six sechs, seven sieben, eight acht, nine neun, "
    "ten zehn, eleven elf, twelve zwölf"
)

_HIGHER_NUMBERS = (
    "twenty zwanzig, thirty dreißig, forty vierzig, fifty fünfzig, sixty sechzig, "
    "seventy siebzig, eighty achtzig, ninety neunzig"
)


def read_tags(cell: str) -> frozenset[str]:
    """Reads words apart by spaces, with the names of groups of tags replaced by their members."""
    return frozenset(" ".join(_GROUPS.get(tag, tag) for tag in cell.split()).split())


def _noun(
    english: str, plural: str, german: str, german_plural: str, gender: str, tags: str
) -> Noun:
    lemma_and_tags = read_tags(tags) | {english}
    weak = gender.endswith("*")
    return Noun(english, plural, german, german_plural, gender.rstrip("*"), weak, lemma_and_tags)


def _place(row: list[str]) -> Place:
    *noun, tags, english_at, german_at, english_to, german_to = row
    to_case = "dative" if german_to == "zu" else "accusative"
    noun[4:] = [noun[4], f"place {tags}"]
    return Place(_noun(*noun), english_at, german_at, english_to, german_to, to_case)


def _verbs() -> dict[str, Verb]:
    """Reads the two tables of verbs, joined by the lemma; "+" joins a verb with its particle."""
    uses = {row[0]: row[1:] for row in _rows(_VERB_USES, 5)}
    verbs = {}
    for english, german, auxiliary in _rows(_VERB_FORMS, 3):
        base, past, english_participle = english.split()
        infinitive, third, german_past, participle = german.split()
        prefix, _, stem = infinitive.rpartition("|")
        frame, aspect, places, objects = uses[base]
        word, _, particle = base.rstrip("*").partition("+")
        verbs[base.replace("+", " ")] = Verb(
            english=word,
            english_past="" if past == "-" else past,
            english_participle=english_participle,
            english_particle=particle,
            german=stem,
            third=third,
            past=german_past,
            participle=participle,
            auxiliary=auxiliary,
            prefix=prefix,
            frame=frame,
            aspect=aspect,
            objects=read_tags(objects),
            places=read_tags(places),
        )
    return verbs


def _adjectives() -> dict[str, Adjective]:
    uses: dict[str, str] = {}
    for english, tags in _rows(_ADJECTIVE_USES, 2):
        uses[english] = f"{uses.get(english, '')} {tags}"
    return {
        english: Adjective(
            english,
            comparative,
            german,
            stem or german,
            german_comparative,
            read_tags(uses[english]),
        )
        for english, comparative, german, stem, german_comparative in _rows(_ADJECTIVE_FORMS, 5)
    }


def _pairs(text: str) -> dict[str, str]:
    return dict(item.split() for item in text.split(", "))


PLACES: dict[str, Place] = {row[0]: _place(row) for row in _rows(_PLACES, 10)}
NOUNS: dict[str, Noun] = {row[0]: _noun(*row) for row in _rows(_NOUNS, 6)} | {
    name: place.noun for name, place in PLACES.items()
}
VERBS: dict[str, Verb] = _verbs()
ADJECTIVES: dict[str, Adjective] = _adjectives()
NAMES: dict[str, str] = _pairs(_NAMES)
NUMBERS: dict[str, str] = _pairs(_NUMBERS)
HIGHER_NUMBERS: dict[str, str] = _pairs(_HIGHER_NUMBERS)
TIMES: dict[str, Adverbial] = {
    english: Adverbial(english, german, read_tags(tenses))
    for english, german, tenses in _rows(_TIMES, 3)
}
MEANS: dict[str, Adverbial] = {
    english: Adverbial(english, german, read_tags(verbs))
    for english, german, verbs in _rows(_MEANS, 3)
}
CITIES: dict[str, str] = dict(_rows(_CITIES, 2))

DETERMINERS: dict[str, Determiner] = {
    english or plural: Determiner(
        english, plural, german, declension, adjectives, kind == "definite", kind == "negative"
    )
    for english, plural, german, declension, adjectives, kind in _rows(_DETERMINERS, 6)
}
# No article: "Äpfel", "kaltes Wasser".
DETERMINERS["zero"] = Determiner("", "", "", "none", "strong", definite=False)
# In a negated clause, "not ... a" and "not ... (no article)" are "kein" in German.
DETERMINERS["not a"] = Determiner("a", "", "kein", "ein", "mixed", definite=False, negative=True)
DETERMINERS["not any"] = Determiner("", "", "kein", "ein", "mixed", definite=False, negative=True)
for _english, _german in NUMBERS.items():
    DETERMINERS[_english] = Determiner("", _english, _german, "none", "strong", definite=False)
for _name in NAMES:
    DETERMINERS[f"{_name}'s"] = Determiner(
        f"{_name}'s", f"{_name}'s", f"{_name}s", "none", "strong", definite=True
    )

MODALS: dict[str, Modal] = {row[0] or row[1]: Modal(*row) for row in _rows(_MODALS, 6)}
MODALS["would like to"] = MODALS.pop("would")

ADVERBS: dict[str, Adverb] = {
    f"{english} {end}".rstrip(): Adverb(english, end, german, with_kein, focus == "focus")
    for english, end, german, with_kein, focus in _rows(_ADVERBS, 5)
}


@cache
def nouns(*tags: str, without: str = "") -> tuple[Noun, ...]:
    """Returns the nouns that have any of the tags, in the order of the tables.

    Args:
        *tags: The tags of which a noun must have one.
        without: A tag that it must not have.

    Returns:
        The nouns.

    Example:
        >>> [noun.german for noun in nouns("royal")]
        ['Königin', 'König']
    """
    wanted = set(tags)
    return tuple(n for n in NOUNS.values() if n.tags & wanted and without not in n.tags)


@cache
def places(*tags: str) -> tuple[Place, ...]:
    """Returns the places that have any of the tags, in the order of the table."""
    wanted = set(tags)
    return tuple(place for place in PLACES.values() if place.noun.tags & wanted)


@cache
def adjectives_of(noun: Noun) -> tuple[Adjective, ...]:
    """Returns the adjectives that describe a noun, in the order of the table."""
    return tuple(a for a in ADJECTIVES.values() if a.nouns & noun.tags)


@cache
def objects_of(verb: Verb) -> tuple[Noun, ...]:
    """Returns the nouns that may be the object of a verb, in the order of the table."""
    return tuple(noun for noun in NOUNS.values() if noun.tags & verb.objects)


@cache
def places_of(verb: Verb) -> tuple[Place, ...]:
    """Returns the places where what a verb says may happen, in the order of the table."""
    return tuple(place for place in PLACES.values() if place.noun.tags & verb.places)
