"""What a phrase is like: where-and-when phrases, number and definiteness of noun phrases, plain adjectives.

The word lists are short on purpose: a word that is not listed leaves its sentence unchanged.
"""

import re
from functools import lru_cache

from ..words.lexicon import lexicon
from .parsing import ParseTree

# Word lists for prepositional phrases

_WHERE_OR_WHEN = """
    in on at near inside outside behind beside beneath below above under underneath over into onto through across along
    around down up off toward towards from past during after before between next within throughout out
"""
#: Prepositions of place and time; "with", "of", "about" and "against" are as often part of the noun before them.
PLACE_AND_TIME = frozenset(_WHERE_OR_WHEN.split())
_CLOTHES = """
    hat shirt dress coat jacket suit uniform costume jeans cap skirt vest sweater hoodie outfit helmet shorts robe
    sunglasses glasses tie gown apron clothing clothes attire gear swimsuit bikini tuxedo scarf wheelchair
    red blue green yellow black white purple pink brown gray grey orange
"""
#: With these a phrase with "in" belongs to the noun before it, whatever the parser says.
_WORN = frozenset(_CLOTHES.split())

# Word lists for noun phrases

#: Pronouns as subject and as object.
OBJECT_CASE = {"i": "me", "he": "him", "she": "her", "we": "us", "they": "them", "it": "it", "you": "you"}
SUBJECT_CASE = {objective: subjective for subjective, objective in OBJECT_CASE.items()}
_SCOPE = """
    no not n't never none nobody nothing neither nor hardly barely few little any anyone anybody anything every everyone
    everybody everything each all both most many half only just even also too either whatever whoever which who whom
    whose what where when why how other another others else same different such eachother
"""
#: Negations, quantifiers and question words: in another place of the sentence they may mean something else.
SCOPE = frozenset(_SCOPE.split())
_HUMANS = """
    actor actress adult artist athlete audience aunt baby band bicyclist biker boss boy boyfriend bride brother brunette
    catcher chef child client clown coach couple cowboy crew crowd customer cyclist dad daughter doctor employee family
    fan father firefighter fireman firemen friend gentleman gentlemen girl girlfriend grandfather grandma grandmother
    grandpa groom group guard guest guy host human husband infant judge kid king lad lady man mechanic men mom monk
    mother musician neighbor nun nurse officer parent passenger people performer person player police policeman
    policemen president priest queen rider scientist singer sister soldier somebody someone son staff student surgeon
    tailor teacher team teen teenager toddler tourist uncle vendor visitor waiter waitress wife woman women worker youth
    bystander captain climber dancer driver farmer golfer hiker hunter jogger mayor minister painter pedestrian
    photographer prince princess reporter runner sailor servant shopper skater skier slave spectator surfer swimmer
    villager writer
"""
_ANIMALS = """
    animal bear bird bull calf camel cat cow dog duck elephant fish goat horse kitten lion monkey pig pigeon pup puppy
    rabbit sheep squirrel tiger
"""
#: Common nouns for persons.
PEOPLE = frozenset(_HUMANS.split())
#: Common nouns for animals.
CREATURES = frozenset(_ANIMALS.split())
#: Nouns before "of" whose number is that of the noun after it, or unclear.
_UNSURE_NUMBER = {"couple", "lot", "number", "majority", "variety", "most", "half", "rest", "plenty", "pair", "dozen",
                  "bunch", "handful", "percent", "series"}  # fmt: skip
#: Nouns whose plural looks like the singular.
_ONE_FORM = {"deer", "fish", "sheep", "moose", "salmon", "trout", "aircraft", "species", "offspring"}
#: Singular nouns for several people together.
COLLECTIVE = {"audience", "band", "couple", "crew", "crowd", "family", "group", "staff", "team"}
_PLURALS = {"police", "cattle", "people"}
#: Pronouns for persons.
SOMEONE = {"someone", "somebody", "anyone", "anybody", "everyone", "everybody", "nobody", "those"}
#: Nouns that name a person in WordNet's first sense, but mostly something else, or several people.
_THINGS_FIRST = """
    antique batter beater blaster bore bourbon browser carrier closer coaster controller digger diner escort extra
    figure fodder fossil head herald hood host hotdog jumper lookout maroon model monitor pacifier pop prey printer
    quad quarry rake referral regular relative screw server shrimp steamroller stroller subject subsidiary tackle tan
    trailer treat
"""
_NO_PERSON = frozenset(_THINGS_FIRST.split())
#: What the definition of a whole animal has, and that of a part has not.
_ANIMAL = re.compile(
    r"\b(?:animals?|mammals?|birds?|fish|fishes|insects?|reptiles?|snakes?|lizards?|frogs?|amphibians?|rodents?|monkeys?"
    r"|apes?|dogs?|cats?|bears?|horses?|sheep|goats?|cattle|deer|antelopes?|ruminants?|carnivor\w+|bovine|swine|equine"
    r"|duck|goose|gull|hawk|eagle|owl|pigeon|fowl|crustaceans?|spiders?|arthropods?|mollusks?|offspring)\b"
)
#: How the definition of a part of an animal begins.
_ANIMAL_PART = re.compile(
    r"(?:an? |the )?(?:[\w-]+ ){0,4}?(?:foot|organ|structure|covering|part|limb|appendage|coat|skin|bone|nail|tail)\b"
)
_ONE = {"a", "an", "this", "that"}
_THIRD = {"he", "him", "his", "she", "her", "hers", "it", "its", "they", "them", "their", "theirs"}

#: Forms of "be" by tense and by whether the subject is plural.
BE_FORMS = {("present", False): "is", ("present", True): "are", ("past", False): "was", ("past", True): "were"}

# Word lists for adjectives

_OPINION = (
    "beautiful pretty handsome cute ugly attractive famous expensive cheap dangerous delicious lovely gorgeous scary"
)
_SIZE = """
    large big small tiny huge tall short enormous massive gigantic thin thick wide narrow heavy deep shallow long steep
"""
_STATE = """
    happy sad angry tired hungry sleepy busy excited nervous lonely bored drunk thirsty injured pregnant bald
    shirtless barefoot naked topless bearded muscular overweight obese skinny fat slim wealthy wet dry dirty clean empty
    muddy crowded sunny rainy cloudy foggy dark bright colorful colourful shiny cold warm hot loud quiet noisy smooth
    rusty dusty grassy rocky sandy icy snowy furry fluffy hairy messy broken peaceful calm
"""
_AGE = "old young elderly"
_SHAPE = "round flat rectangular circular curved"
_COLOUR = """
    red blue green yellow black white purple pink brown gray grey blond blonde tan beige maroon turquoise striped
    multicolored
"""
_MATTER = "wooden metallic"
#: In the order in which they come before a noun.
_RANKS = [words.split() for words in (_OPINION, _SIZE, _STATE, _AGE, _SHAPE, _COLOUR, _MATTER)]
_RANK = {word: at for at, words in enumerate(_RANKS) for word in words}
_AMOUNTS = "number amount group crowd quantity variety portion part way scale extent degree hit"
#: With these nouns an adjective is part of a name, or means something else than it does alone.
_NAMES = {
    "hot": "dog tub tea chocolate air sauce pepper wheel rod spring",
    "cold": "war cut blood front foot feet shoulder turkey",
    "big": f"""
        attraction brother sister deal league top wheel city apple game cat screen bus air lead one mouth mistake shot
        name {_AMOUNTS}
    """,
    "small": f"talk business town world one {_AMOUNTS}",
    "large": f"one {_AMOUNTS}",
    "huge": f"fan {_AMOUNTS}",
    "long": "jump sleeve time distance way hall range shot line day run term haul memory story list",
    "short": "story film sleeve time distance cut stop break temper answer order supply notice walk term",
    "wide": "receiver range variety",
    "deep": "end fryer breath water conversation trouble sleep thought space",
    "dirty": "work blonde trick joke",
    "old": "friend timer",
    "young": "one lady family",
    "dark": "night hair",
    "bright": "future",
    "dry": "cleaner land ice",
    "heavy": "metal machinery equipment traffic rain heart smoker drinker accent",
    "naked": "eye truth",
    "tall": "order tale",
    "thick": "accent skin",
    "thin": "line air ice skin",
    "warm": "heart welcome",
    "broken": "heart english",
    "empty": "promise threat",
    "flat": "screen",
    "round": "trip",
}
_NOT_COLOURED = """
    wine tea coffee card rice bread belt light meat bean box board bird berry pepper sox house carpet cross cap onion
    cabbage paper noise collar water screen friday sand sheep cheese bear widow hole market magic race sauce potato
    blood people person team fee neighborhood neighbourhood community church district school voter vote culture history
    music leader population majority minority area ethic ethnic muslim activist
"""
#: Things of which there is one: "the sky that is blue" would be one of several.
_ONLY = """
    sky weather water grass ocean sea snow sun moon ground air sand rain day night world earth background distance
    winter summer spring fall season
"""
_MOODS = {"happy", "sad", "angry", "tired", "hungry", "sleepy", "busy", "excited", "nervous", "lonely", "bored"}
_AGEING = {"building", "house", "car", "truck", "bike", "bicycle", "church", "tree", "boat", "train", "shoe", "book",
           "bridge", "wall", "bus", "chair"}  # fmt: skip
#: These end like a noun for a person who does something, but are things.
_THINGS = """
    banner blender boiler bumper burner computer container cooler corner counter cracker cruiser cutter drawer fender
    flower freighter heater helicopter letter locker mixer planter poster printer river roller scooter shower
    shutter sticker stretcher stroller sweater toaster tower tractor trailer
"""
_NAMED = {word: frozenset(nouns.split()) for word, nouns in _NAMES.items()}
_NAMED |= dict.fromkeys(_COLOUR.split(), frozenset(_NOT_COLOURED.split()))
_UNIQUE = frozenset(_ONLY.split())


# Prepositional phrases


def is_adverbial(tree: ParseTree, at: int) -> bool:
    """Whether a prepositional phrase says where or when: one plain phrase without a conjunction.

    Such a phrase belongs to the verb wherever it stands.

    >>> from .parsing import parser
    >>> text = "A boy is watching the girl with a hat in the park."
    >>> [nodes] = parser()([text])
    >>> tree = ParseTree(text, nodes)
    >>> is_adverbial(tree, 6), is_adverbial(tree, 9)
    (False, True)
    """
    below = [tree[one] for one in tree.subtree(at)]
    if tree[at].text.lower() not in PLACE_AND_TIME or any(node.dep in {"conj", "cc", "relcl", "acl"} for node in below):
        return False
    worn = tree[at].text.lower() == "in" and any(tree[one].lemma.lower() in _WORN for one in tree.children(at, "pobj"))
    return not worn and not any(
        node.text.lower() in {"with", "about", "against", "while", "like", "as", "than"} for node in below
    )


# Noun phrases


def is_noun_phrase(tree: ParseTree, at: int) -> bool:
    """Whether a node is the head of a noun phrase or a personal pronoun."""
    return tree[at].pos in {"NOUN", "PROPN"} or tree[at].text.lower() in {*OBJECT_CASE, *SUBJECT_CASE}


def is_pronoun(tree: ParseTree, at: int) -> bool:
    """Whether a phrase is a personal pronoun."""
    return tree[at].pos == "PRON"


def has_pronoun(tree: ParseTree, at: int) -> bool:
    """Whether a phrase has a pronoun of any kind, which may refer to another phrase."""
    return any(tree[one].tag in {"PRP", "PRP$"} or tree[one].pos == "PRON" for one in tree.subtree(at))


def has_third_person(tree: ParseTree, at: int) -> bool:
    """Whether a phrase that is not a pronoun itself has a third-person one, which may refer to another phrase."""
    return not is_pronoun(tree, at) and not _THIRD.isdisjoint(tree.words(at))


def trailing_modifiers(tree: ParseTree, noun: int) -> list[int]:
    """Modifiers after a noun that may belong to another word: all but "of" and the "'s" of a genitive."""
    return [one for one in tree.children(noun) if one > noun and tree[one].text.lower() not in {"of", "'s"}]


def has_scope(tree: ParseTree, *phrases: int) -> bool:
    """Whether one of the phrases has a word whose place in the sentence matters: a negation, a quantifier."""
    return any(not SCOPE.isdisjoint(tree.words(at)) for at in phrases)


def is_plural(tree: ParseTree, at: int) -> bool | None:
    """Whether a phrase takes a plural verb; None where that is not certain.

    >>> from .parsing import parser
    >>> [nodes] = parser()(["A dog sees two cats and a bird."])
    >>> tree = ParseTree("A dog sees two cats and a bird.", nodes)
    >>> is_plural(tree, 1), is_plural(tree, 4)
    (False, True)
    """
    node = tree[at]
    if tree.children(at, "conj", "cc"):
        joined = [tree[one].text.lower() for one in tree.subtree(at) if tree[one].dep == "cc"]
        return True if set(joined) == {"and"} else None
    if is_pronoun(tree, at):
        word = OBJECT_CASE.get(node.text.lower(), node.text.lower())
        return {"me": None, "him": False, "her": False, "it": False, "us": True, "them": True, "you": True}.get(word)
    if node.lemma.lower() in _UNSURE_NUMBER:
        return None
    plural = node.tag in {"NNS", "NNPS"} or node.text.lower() in _PLURALS
    counted = [tree[one].text.lower() for one in tree.children(at, "nummod")]
    articles = _articles(tree, at)
    if node.lemma.lower() in _ONE_FORM and not _ONE & set(articles):
        return None
    if (counted and (counted == ["one"]) is plural) or (plural and _ONE & set(articles)):
        return None  # "two kid", "a glasses"
    return plural


def is_bare(tree: ParseTree, at: int) -> bool:
    """Whether a common noun has neither article, number nor possessor."""
    return tree[at].pos == "NOUN" and not tree.children(at, "det", "poss", "nummod", "predet")


def is_definite(tree: ParseTree, at: int) -> bool:
    """Whether a phrase names one certain thing: a name, or a noun with "the" or a possessor in the genitive."""
    if tree[at].named and not tree.children(at, "det"):
        quality = not tree.children(at, "compound") and lexicon().knows(tree[at].text, "a")  # "the man is Italian"
        return tree[at].tag == "NNP" and not quality
    owned = any(tree[one].tag != "PRP$" and is_definite(tree, one) for one in tree.children(at, "poss"))
    return tree[at].pos in {"NOUN", "PROPN"} and ("the" in _articles(tree, at) or owned)


def is_human(tree: ParseTree, at: int) -> bool:
    """Whether a phrase names one or more persons, according to a list of common nouns."""
    node = tree[at]
    if is_pronoun(tree, at):
        return node.text.lower() in {*OBJECT_CASE, *SUBJECT_CASE} - {"it"}
    return node.lemma.lower() in PEOPLE or node.text.lower() in PEOPLE


def is_several(tree: ParseTree, at: int) -> bool:
    """Whether a singular noun names several people together."""
    return tree[at].lemma.lower() in COLLECTIVE


def is_someone(tree: ParseTree, at: int) -> bool:
    """Whether a phrase names a person or an animal, according to the lists."""
    return is_human(tree, at) or tree[at].lemma.lower() in CREATURES


# Persons and animals by the list or WordNet. `structural.v1` knows the lists alone, by the functions before.


def is_person(tree: ParseTree, at: int) -> bool:
    """Whether a noun names a person or persons, also several together.

    >>> from .parsing import parser
    >>> [nodes] = parser()(["A plumber sees a pipe."])
    >>> tree = ParseTree("A plumber sees a pipe.", nodes)
    >>> is_person(tree, 1), is_person(tree, 4)
    (True, False)
    """
    word, lemma = tree[at].text.lower(), tree[at].lemma.lower()
    return word in SOMEONE or word in PEOPLE or (tree[at].pos == "NOUN" and names_person(lemma)) or lemma in PEOPLE


def is_living(tree: ParseTree, at: int) -> bool:
    """Whether a noun names a person or an animal."""
    return is_person(tree, at) or is_someone(tree, at) or (tree[at].pos == "NOUN" and names_animal(tree[at].lemma))


def may_be_person(tree: ParseTree, at: int) -> bool:
    """Whether a noun names a person or an animal in any of its senses."""
    return is_living(tree, at) or bool(set(lexicon().kinds_of_being(tree[at].lemma)) - {""})


def is_bare_being(tree: ParseTree, at: int) -> bool:
    """Whether a singular person or animal has no article, as in headlines: "Man examines a car"."""
    bare = not tree.children(at, "det", "poss", "nummod", "predet", "compound")
    mistagged = tree[at].tag == "NNP" and tree[at].text.lower() in PEOPLE
    return bare and (mistagged or (tree[at].tag == "NN" and is_living(tree, at)))


@lru_cache(maxsize=1 << 14)
def names_person(noun: str) -> bool:
    """Whether a base form names a person in its first sense.

    >>> [names_person(noun) for noun in ("senator", "refugee", "company", "mouse", "potato")]
    [True, True, False, False, False]
    """
    noun = noun.lower()
    return noun in PEOPLE or (noun not in _NO_PERSON and lexicon().kinds_of_being(noun)[:1] == ["person"])


@lru_cache(maxsize=1 << 14)
def names_animal(noun: str) -> bool:
    """Whether a base form names an animal in its first sense, and not a part of one.

    >>> [names_animal(noun) for noun in ("dog", "fox", "hoof", "senator")]
    [True, True, False, False]
    """
    noun = noun.lower()
    if noun in CREATURES:
        return True
    if lexicon().kinds_of_being(noun)[:1] != ["animal"]:
        return False
    gloss = lexicon().synsets(noun, "n")[0].gloss.partition(";")[0]
    return bool(_ANIMAL.search(gloss)) and not _ANIMAL_PART.match(gloss)


# Adjectives


def is_plain(tree: ParseTree, adjective: int, noun: int) -> bool:
    """Whether an adjective means the same before this noun and after "is", so that a relative clause can hold it.

    >>> from .parsing import parser
    >>> text = "A red ball, red wine, a former king."
    >>> [nodes] = parser()([text])
    >>> tree = ParseTree(text, nodes)
    >>> is_plain(tree, 1, 2), is_plain(tree, 4, 5), is_plain(tree, 8, 9)
    (True, False, False)
    """
    word, thing = tree[adjective].text.lower(), tree[noun].lemma.lower()
    if word not in _RANK or tree[adjective].tag != "JJ" or tree[noun].pos != "NOUN":
        return False
    if word in _AGE.split() and not (is_someone(tree, noun) or (word == "old" and thing in _AGEING)):
        return False  # "a young age", "an old joke"
    if rank(thing) is not None or (word in {"dark", "cold", "warm", "bright"} and is_someone(tree, noun)):
        return False  # "deep purple", "a dark rider"
    if word in _MOODS and not is_someone(tree, noun):
        return False  # "a happy result"
    if _is_agent_noun(thing) and (rank(word) in {0, 1} or not is_someone(tree, noun)):
        return False  # "a heavy smoker"; and it may be "who" or "that"
    unique = thing in _UNIQUE and "the" in _articles(tree, noun)
    return not unique and thing not in _NAMED.get(word, ()) and tree[noun].text.lower() not in _NAMED.get(word, ())


def rank(word: str) -> int | None:
    """The place of an adjective in the usual order before a noun; None for one that is not listed.

    >>> rank("large") < rank("red"), rank("former")
    (True, None)
    """
    return _RANK.get(word.lower())


def _articles(tree: ParseTree, at: int) -> list[str]:
    return [tree[one].text.lower() for one in tree.children(at, "det")]


def _is_agent_noun(noun: str) -> bool:
    """Whether a noun names one who does what its verb says: "smoker", "dancer", "runner", "sailor"."""
    stem = noun[:-2]
    doubled = stem[:-1] if stem[-2:-1] == stem[-1:] else stem
    verbs = any(lexicon().knows(one, "v") for one in (stem, f"{stem}e", doubled) if one)
    return noun.endswith(("er", "or")) and noun not in _THINGS.split() and verbs
