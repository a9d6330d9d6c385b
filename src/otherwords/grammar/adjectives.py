"""Adjectives that mean before a noun what they mean behind "is": those that a relative clause can take over."""

from __future__ import annotations

from ..words.lexicon import lexicon
from .noun_phrases import is_someone
from .tree import Tree

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
#: With these nouns an adjective is part of the name of a thing, or says something else than it does alone.
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
#: Things behind "the" of which there is one: "the sky that is blue" would be one of several.
_ONLY = """
    sky weather water grass ocean sea snow sun moon ground air sand rain day night world earth background distance
    winter summer spring fall season
"""
_MOODS = {"happy", "sad", "angry", "tired", "hungry", "sleepy", "busy", "excited", "nervous", "lonely", "bored"}
_AGEING = {"building", "house", "car", "truck", "bike", "bicycle", "church", "tree", "boat", "train", "shoe", "book",
           "bridge", "wall", "bus", "chair"}  # fmt: skip
#: What ends like one who does something, and is none.
_THINGS = """
    banner blender boiler bumper burner computer container cooler corner counter cracker cruiser cutter drawer fender
    flower freighter heater helicopter letter locker mixer planter poster printer river roller scooter shower
    shutter sticker stretcher stroller sweater toaster tower tractor trailer
"""
_NAMED = {word: frozenset(nouns.split()) for word, nouns in _NAMES.items()}
_NAMED |= dict.fromkeys(_COLOUR.split(), frozenset(_NOT_COLOURED.split()))
_UNIQUE = frozenset(_ONLY.split())


def is_plain(tree: Tree, adjective: int, noun: int) -> bool:
    """Whether an adjective means the same before this noun and behind "is".

    >>> from .parsing import parser
    >>> text = "A red ball, red wine, a former king."
    >>> [nodes] = parser()([text])
    >>> tree = Tree(text, nodes)
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
    if _does_something(thing) and (rank(word) in {0, 1} or not is_someone(tree, noun)):
        return False  # "a heavy smoker"; and nobody knows whether it is "who" or "that"
    unique = thing in _UNIQUE and "the" in (tree[one].text.lower() for one in tree.children(noun, "det"))
    return not unique and thing not in _NAMED.get(word, ()) and tree[noun].text.lower() not in _NAMED.get(word, ())


def _does_something(noun: str) -> bool:
    """Whether a noun names one who does what its verb says: "smoker", "dancer", "runner", "sailor"."""
    stem = noun[:-2]
    doubled = stem[:-1] if stem[-2:-1] == stem[-1:] else stem
    verbs = any(lexicon().knows(one, "v") for one in (stem, f"{stem}e", doubled) if one)
    return noun.endswith(("er", "or")) and noun not in _THINGS.split() and verbs


def rank(word: str) -> int | None:
    """Where an adjective comes before a noun among others; None for one that is not known.

    >>> rank("large") < rank("red"), rank("former")
    (True, None)
    """
    return _RANK.get(word.lower())
