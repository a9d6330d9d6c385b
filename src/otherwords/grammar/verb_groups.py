"""The verb of a clause with its auxiliaries, in the active and in the passive voice."""

from __future__ import annotations

from ..words.inflection import forms_of, inflected
from ..words.lexicon import lexicon
from .tree import Tree

MODALS = frozenset({"can", "could", "may", "might", "must", "shall", "should", "will", "would"})
_BE = {("present", False): "is", ("present", True): "are", ("past", False): "was", ("past", True): "were"}
_TENSES = {"is": "present", "are": "present", "am": "present", "was": "past", "were": "past"}
#: Participles of which the library prefers the other.
_USUAL = {"light": "lit", "smell": "smelled", "knit": "knitted"}
_HAVE = {("has", False): "has", ("has", True): "have", ("have", False): "has", ("have", True): "have"}


def passive_group(tree: Tree, verb: int, plural: bool) -> str | None:
    """The verb group of a clause in the passive, for a subject in the singular or plural; None where it has none.

    >>> from .parsing import parser
    >>> [nodes] = parser()(["The dog has chased the cats."])
    >>> passive_group(Tree("The dog has chased the cats.", nodes), 3, plural=True)
    'have been chased'
    """
    participle = _participle(tree, verb)
    auxiliaries = [tree[one].text.lower() for one in tree.children(verb, "aux")]
    match [*auxiliaries, tree[verb].tag]:
        case ["VBZ" | "VBP"]:
            helpers = [_BE["present", plural]]
        case ["VBD"]:
            helpers = [_BE["past", plural]]
        case [("is" | "are" | "was" | "were") as be, "VBG"]:
            helpers = [_BE[_TENSES[be], plural], "being"]
        case [("has" | "have") as have, "VBN" | "VBD"]:
            helpers = [_HAVE[have, plural], "been"]
        case ["had", "VBN" | "VBD"]:
            helpers = ["had", "been"]
        case [modal, "VB"] if modal in MODALS:
            helpers = [modal, "be"]
        case _:
            return None
    return " ".join([*helpers, participle]) if participle else None


def active_group(tree: Tree, verb: int, plural: bool) -> str | None:
    """The verb group of a clause in the active, for a subject in the singular or plural; None where it has none.

    >>> from .parsing import parser
    >>> [nodes] = parser()(["The cats are being chased by the dog."])
    >>> active_group(Tree("The cats are being chased by the dog.", nodes), 4, plural=False)
    'is chasing'
    """
    lemma = base_form(tree, verb)
    auxiliaries = [tree[one].text.lower() for one in sorted(tree.children(verb, "aux", "auxpass"))]
    match auxiliaries:
        case [("is" | "are" | "was" | "were") as be]:
            told = [("VBD" if _TENSES[be] == "past" else "VBP" if plural else "VBZ")]
        case [("is" | "are" | "was" | "were") as be, "being"]:
            told = [_BE[_TENSES[be], plural], "VBG"]
        case [("has" | "have") as have, "been"]:
            told = [_HAVE[have, plural], "VBN"]
        case ["had", "been"]:
            told = ["had", "VBN"]
        case [modal, "be"] if modal in MODALS:
            told = [modal, "VB"]
        case _:
            return None
    form = inflected(lemma, told[-1]) if lemma else None
    return " ".join([*told[:-1], form]) if form else None


def has_open_tense(tree: Tree, verb: int, plural: bool) -> bool:
    """Whether a verb may stand in the present or in the past: "they cut the bread"."""
    lemma = base_form(tree, verb) or ""
    return plural and not tree.children(verb, "aux") and lemma in forms_of(lemma, "VBD")


def base_form(tree: Tree, verb: int) -> str | None:
    """The base form of a verb: the parser's, or one of WordNet's where that does not inflect to the word; else None.

    "Riding", for the parser, is a form of "rid".
    """
    node = tree[verb]
    word, tags = node.text.lower(), ("VBN", "VBD") if node.tag in {"VBN", "VBD"} else (node.tag,)
    bases = (node.lemma.lower(), *lexicon().base_forms(word, "v")) if node.pos == "VERB" else ()
    fitting = (base for base in bases if any(word in forms_of(base, tag, guess=False) for tag in tags))
    return next((base for base in fitting if base.isalpha()), None)


def _participle(tree: Tree, verb: int) -> str | None:
    lemma = base_form(tree, verb)
    return _USUAL.get(lemma) or inflected(lemma, "VBN") if lemma else None
