"""What a noun phrase is like: its number, whether it is definite, whether it names someone, the case of a pronoun."""

from __future__ import annotations

from ..words.lexicon import lexicon
from .tree import Tree

#: Pronouns as subject and as object.
OBJECT_CASE = {"i": "me", "he": "him", "she": "her", "we": "us", "they": "them", "it": "it", "you": "you"}
SUBJECT_CASE = {objective: subjective for subjective, objective in OBJECT_CASE.items()}
_SCOPE = """
    no not n't never none nobody nothing neither nor hardly barely few little any anyone anybody anything every everyone
    everybody everything each all both most many half only just even also too either whatever whoever which who whom
    whose what where when why how other another others else same different such eachother
"""
#: Words on which a negation, a quantifier or a question hangs: another place in the sentence may be another meaning.
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
_CREATURES = frozenset(_ANIMALS.split())
#: Nouns before "of" whose number is that of what comes behind it, or nobody's guess.
_UNSURE_NUMBER = {"couple", "lot", "number", "majority", "variety", "most", "half", "rest", "plenty", "pair", "dozen",
                  "bunch", "handful", "percent", "series"}  # fmt: skip
#: Nouns whose plural looks like the singular.
_ONE_FORM = {"deer", "fish", "sheep", "moose", "salmon", "trout", "aircraft", "species", "offspring"}
_COLLECTIVE = {"audience", "band", "couple", "crew", "crowd", "family", "group", "staff", "team"}
_PLURALS = {"police", "cattle", "people"}
_ONE = {"a", "an", "this", "that"}
_THIRD = {"he", "him", "his", "she", "her", "hers", "it", "its", "they", "them", "their", "theirs"}


def is_noun_phrase(tree: Tree, at: int) -> bool:
    """Whether a node heads a phrase of nouns or is a personal pronoun."""
    return tree[at].pos in {"NOUN", "PROPN"} or tree[at].text.lower() in {*OBJECT_CASE, *SUBJECT_CASE}


def is_pronoun(tree: Tree, at: int) -> bool:
    """Whether a phrase is a personal pronoun."""
    return tree[at].pos == "PRON"


def has_pronoun(tree: Tree, at: int) -> bool:
    """Whether a pronoun of any kind is in the phrase, which may refer to another phrase."""
    return any(tree[one].tag in {"PRP", "PRP$"} or tree[one].pos == "PRON" for one in tree.subtree(at))


def has_third_person(tree: Tree, at: int) -> bool:
    """Whether a phrase that is no pronoun itself has one that may refer to the other phrases of its sentence."""
    return not is_pronoun(tree, at) and not _THIRD.isdisjoint(tree.words(at))


def behind(tree: Tree, noun: int) -> list[int]:
    """What hangs on a noun behind it and may belong elsewhere: all but "of" and the "'s" of a genitive."""
    return [one for one in tree.children(noun) if one > noun and tree[one].text.lower() not in {"of", "'s"}]


def has_scope(tree: Tree, *phrases: int) -> bool:
    """Whether a word is in one of the phrases whose place in the sentence matters."""
    return any(not SCOPE.isdisjoint(tree.words(at)) for at in phrases)


def is_plural(tree: Tree, at: int) -> bool | None:
    """Whether a phrase takes a verb in the plural; None where that is not sure.

    >>> from .parsing import parser
    >>> [nodes] = parser()(["A dog sees two cats and a bird."])
    >>> tree = Tree("A dog sees two cats and a bird.", nodes)
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
    articles = [tree[one].text.lower() for one in tree.children(at, "det")]
    if node.lemma.lower() in _ONE_FORM and not _ONE & set(articles):
        return None
    if (counted and (counted == ["one"]) is plural) or (plural and _ONE & set(articles)):
        return None  # "two kid", "a glasses"
    return plural


def is_bare(tree: Tree, at: int) -> bool:
    """Whether a common noun stands without article, number or possessor."""
    return tree[at].pos == "NOUN" and not tree.children(at, "det", "poss", "nummod", "predet")


def is_definite(tree: Tree, at: int) -> bool:
    """Whether a phrase names one certain thing: a name, or a noun with "the" or a possessor in the genitive."""
    if tree[at].named and not tree.children(at, "det"):
        quality = not tree.children(at, "compound") and lexicon().knows(tree[at].text, "a")  # "the man is Italian"
        return tree[at].tag == "NNP" and not quality
    owned = any(tree[one].tag != "PRP$" and is_definite(tree, one) for one in tree.children(at, "poss"))
    return tree[at].pos in {"NOUN", "PROPN"} and ("the" in _articles(tree, at) or owned)


def is_human(tree: Tree, at: int) -> bool:
    """Whether a phrase names a person or several, as far as a list of the usual ones knows."""
    node = tree[at]
    if is_pronoun(tree, at):
        return node.text.lower() in {*OBJECT_CASE, *SUBJECT_CASE} - {"it"}
    return node.lemma.lower() in PEOPLE or node.text.lower() in PEOPLE


def is_several(tree: Tree, at: int) -> bool:
    """Whether a noun in the singular names several people together."""
    return tree[at].lemma.lower() in _COLLECTIVE


def is_someone(tree: Tree, at: int) -> bool:
    """Whether a phrase names a person or an animal, as far as the lists know."""
    return is_human(tree, at) or tree[at].lemma.lower() in _CREATURES


def _articles(tree: Tree, at: int) -> list[str]:
    return [tree[one].text.lower() for one in tree.children(at, "det")]
