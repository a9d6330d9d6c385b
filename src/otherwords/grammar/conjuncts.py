"""Which conjuncts may change places: those that share no word, refer to nothing, and have no order in time."""

from __future__ import annotations

from ..words.lexicon import lexicon
from .noun_phrases import SCOPE, has_pronoun, has_scope
from .tree import Tree

#: The first and the last word of each conjunct.
Spans = list[tuple[int, int]]
_PLACES = {"nsubj", "nsubjpass", "dobj", "pobj", "attr", "ROOT"}
_SET_PAIRS = """
    bread/butter mac/cheese macaroni/cheese rock/roll salt/pepper fish/chips black/white bed/breakfast ladies/gentlemen
    bow/arrow hide/seek peanut/jelly cup/saucer knife/fork back/forth pros/cons arts/crafts cowboys/indians ups/downs
    hip/hop tug/war day/night cause/effect trial/error cat/mouse bacon/eggs country/western surf/turf law/order
    husband/wife bride/groom mr./mrs. milk/cookies cops/robbers mom/pop mom/pops mom/dad
"""
#: Pairs with an order of their own, or a name.
_PAIRS = {frozenset(pair.split("/")) for pair in _SET_PAIRS.split()}
_FIRST = "getting going coming starting beginning trying stopping falling turning"
#: Progressive forms of what is done first, or leads to what comes behind "and".
_ONE_AFTER_THE_OTHER = frozenset(_FIRST.split())
#: Nouns that may be adjectives of the noun behind "and": "a male and a female cyclist".
_HALF = {"male", "female", "adult", "teenage", "blond", "blonde", "brunette", "black", "white"}
_WHOLE = "people person group family couple friend animal thing kid child adult item"
#: Nouns that what comes behind a comma may explain: "three people, two boys and a girl".
_EXPLAINED = frozenset(_WHOLE.split())
_QUOTES = {'"', "“", "”", "``", "''"}
#: Tags of what may follow conjuncts without belonging to the last of them alone.
_FOLLOWING = {".", "VBZ", "VBP", "VBD", "MD", "IN", "TO"}


def may_swap_nouns(tree: Tree, chain: list[int], spans: Spans) -> bool:
    """Whether nouns of one kind are joined, none of which shares a word with the others or refers to them."""
    if tree[chain[0]].dep not in _PLACES or any(tree[one].pos not in {"NOUN", "PROPN"} for one in chain):
        return False
    if any(has_pronoun(tree, one) for one in chain) or _quantified(tree, spans) or _set_phrase(tree, chain):
        return False
    alone = all(first == last for first, last in spans)
    own = all(tree.children(one, "det", "nummod") for one in chain) or all(_name(tree, one) for one in chain)
    heads_last = all(last == one for (_, last), one in zip(spans, chain, strict=True))
    sound = heads_last and not _takes_up(tree, spans) and not _miscounted(tree, chain) and not _verbal(tree, chain)
    return (alone or own) and sound and _agrees(tree, chain) and _ends(tree, chain[0], spans[-1][1])


def may_swap_adjectives(tree: Tree, chain: list[int], spans: Spans) -> bool:
    """Whether plain adjectives are joined behind a form of "be", at the end of a sentence."""
    head = tree[chain[0]].head
    if tree[chain[0]].dep != "acomp" or tree[head].lemma != "be" or has_scope(tree, head):
        return False
    last = chain[-1] + 1 == len(tree.nodes) or tree[chain[-1] + 1].tag == "."
    return last and all(first == end for first, end in spans) and all(tree[one].tag == "JJ" for one in chain)


def may_swap_verbs(tree: Tree, chain: list[int], spans: Spans) -> bool:
    """Whether progressive forms are joined that share subject and auxiliary, and so go on at the same time."""
    root, others = chain[0], chain[1:]
    if tree[root].dep != "ROOT" or any(tree[one].tag != "VBG" for one in chain) or has_scope(tree, root):
        return False
    if not tree.children(root, "aux") or any(tree.children(one, "aux", "nsubj", "mark") for one in others):
        return False
    if any(tree[one].text.lower() in _ONE_AFTER_THE_OTHER for one in chain) or _takes_up(tree, spans):
        return False
    inside = [tree[one] for first, last in spans for one in range(first, last + 1)]
    if any(node.tag in {"PRP", "PRP$"} or node.pos in {"PUNCT", "SCONJ"} for node in inside):
        return False
    alone = [first == last for first, last in spans]  # "singing and dancing on a stage": who knows what is on a stage
    return all(alone) or not any(alone)


def _set_phrase(tree: Tree, chain: list[int]) -> bool:
    """Whether the conjuncts are a set phrase, a quotation, or not what the parser takes them for."""
    words = [tree[one].text.lower() for one in chain]
    if frozenset({words[0], words[-1]}) in _PAIRS or not _HALF.isdisjoint(words):
        return True
    if any(word.endswith(("ing", ".")) for word in words):  # "playing guitars and singing", "A. and B."
        return True
    if any(node.text in _QUOTES or node.text.lower() == "respectively" for node in tree.nodes):
        return True
    if tree[chain[0]].dep == "pobj" and tree[tree[tree[chain[0]].head].head].named:  # "the Office of Air and Radiation"
        return True
    named = {tree[one].named for one in chain}
    title = named == {False} and any(tree[one].text[:1].isupper() for one in chain[1:])
    return len(named) > 1 or title or (len(chain) > 2 and tree[chain[0]].lemma.lower() in _EXPLAINED)


def _name(tree: Tree, at: int) -> bool:
    """Whether a conjunct is a name of one word or several, without an article that others may share."""
    below = set(tree.children(at)) - set(tree.children(at, "conj", "cc", "punct", "compound"))
    return tree[at].named and not below


def _quantified(tree: Tree, spans: Spans) -> bool:
    """Whether a word is in a conjunct on which a quantifier or a negation hangs; "both" before them all may be."""
    return any(tree[one].text.lower() in SCOPE for first, last in spans for one in range(first, last + 1))


def _takes_up(tree: Tree, spans: Spans) -> bool:
    """Whether a later conjunct names with "the" what the first has introduced."""
    (first, end), *later = spans
    introduced = {tree[one].lemma for one in range(first, end + 1) if tree[one].pos == "NOUN"}
    inside = [tree[one] for start, last in later for one in range(start, last + 1)]
    definite = any(node.text.lower() in {"the", "this", "that", "these", "those"} for node in inside)
    return definite and any(node.pos == "NOUN" and node.lemma in introduced for node in inside)


def _miscounted(tree: Tree, chain: list[int]) -> bool:
    """Whether "one" stands before a plural, where the parser took a clause for a noun: "and one falls"."""
    ones = [one for one in chain if any(tree[n].text.lower() == "one" for n in tree.children(one, "nummod"))]
    return any(tree[one].tag == "NNS" for one in ones)


def _verbal(tree: Tree, chain: list[int]) -> bool:
    """Whether the last noun may be a verb after all: "the guy plays golf and walks", "they join arms and dance"."""
    last = tree[chain[-1]]
    bare = tree[chain[0]].dep == "dobj" and not tree.children(chain[-1]) and last.tag != tree[chain[0]].tag
    swallowed = tree[chain[0]].dep == "ROOT" and bool(tree.children(chain[-1], "compound"))  # "two men and a dog run"
    return (bare or swallowed) and lexicon().knows(last.text, "v")


def _agrees(tree: Tree, chain: list[int]) -> bool:
    """Whether a verb that looks at the nearest conjunct, beside "or" and "there", finds the same number."""
    either = any(tree[one].text.lower() == "or" for part in chain for one in tree.children(part, "cc"))
    nearest = either or any(node.dep == "expl" for node in tree.nodes)
    return not nearest or len({tree[one].tag for one in chain}) == 1


def _ends(tree: Tree, first: int, last: int) -> bool:
    """Whether nothing hangs on the conjuncts behind the last, and what follows cannot be taken for a part of it."""
    below = [one for one in tree.subtree(first) if one > last and tree[one].dep != "punct"]
    return not below and (last + 1 == len(tree.nodes) or tree[last + 1].tag in _FOLLOWING)
