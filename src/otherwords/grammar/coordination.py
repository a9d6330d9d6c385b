"""What "and" and "or" join, in another order: "a man and a woman" is "a woman and a man"."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from .noun_phrases import has_pronoun, has_scope
from .rewriting import Rewriting, in_order, replaced
from .tree import Tree

_NOUNS = frozenset({"nsubj", "nsubjpass", "dobj", "pobj", "attr", "ROOT"})
_MOST = 4
_SET_PAIRS = """
    bread/butter mac/cheese macaroni/cheese rock/roll salt/pepper fish/chips black/white bed/breakfast ladies/gentlemen
    bow/arrow hide/seek peanut/jelly cup/saucer knife/fork back/forth pros/cons arts/crafts cowboys/indians ups/downs
    hip/hop tug/war day/night cause/effect trial/error cat/mouse bacon/eggs country/western surf/turf law/order
    husband/wife bride/groom mr./mrs. milk/cookies cops/robbers
"""
#: Pairs with an order of their own, or a name.
_PAIRS = {frozenset(pair.split("/")) for pair in _SET_PAIRS.split()}
#: Progressive forms of what is done first, or leads to what comes behind "and".
_ONE_AFTER_THE_OTHER = {
    "getting",
    "going",
    "coming",
    "starting",
    "beginning",
    "trying",
    "stopping",
    "falling",
    "turning",
}
#: Nouns that may be adjectives of the noun behind "and": "a male and a female cyclist".
_HALF = {"male", "female", "adult", "teenage", "blond", "blonde", "brunette", "black", "white"}
#: Nouns that what comes behind a comma may explain: "three people, two boys and a girl".
_EXPLAINED = {
    "people",
    "person",
    "group",
    "family",
    "couple",
    "friend",
    "animal",
    "thing",
    "kid",
    "child",
    "adult",
    "item",
}
_QUOTES = {'"', "“", "”", "``", "''"}


def swap_conjuncts(tree: Tree) -> Iterator[Rewriting]:
    """Noun phrases, adjectives and progressive verbs that are joined, the first in the place of the last.

    >>> from .parsing import parser
    >>> text = "A man and two women are smiling and waving."
    >>> [nodes] = parser()([text])
    >>> for one in swap_conjuncts(Tree(text, nodes)):
    ...     print(one.made(text))
    Two women and a man are smiling and waving.
    A man and two women are waving and smiling.
    """
    for at in range(len(tree.nodes)):
        chain = _chain(tree, at)
        joined = chain and (_nouns(tree, chain) or _adjectives(tree, chain) or _verbs(tree, chain))
        if joined and (made := _swapped(tree, chain)):
            yield made


def _chain(tree: Tree, at: int) -> list[int]:
    """What is joined, from a first conjunct on; nothing where it is not joined by one "and" or "or" before the last."""
    chain = [at]
    while below := tree.children(chain[-1], "conj"):
        if len(below) > 1:
            return []
        chain += below
    words = [tree[one].text.lower() for part in chain for one in tree.children(part, "cc")]
    if tree[at].dep == "conj" or not 2 <= len(chain) <= _MOST or words not in (["and"], ["or"]):
        return []
    return chain


def _swapped(tree: Tree, chain: list[int]) -> Rewriting | None:
    spans = [_span(tree, part) for part in chain]
    if None in spans or not _separated(tree, spans) or len({tree.stretch(*one).lower() for one in spans if one}) < 2:
        return None
    (first, end), (start, last) = spans[0] or (0, 0), spans[-1] or (0, 0)
    between = tree.text[tree[end].end : tree[start].start]
    pieces = [(tree.stretch(start, last), start), (between, None), (tree.stretch(first, end), first)]
    after = in_order(tree, pieces, "")
    return replaced(tree, "coordination swap", first, last, after)


def _span(tree: Tree, part: int) -> tuple[int, int] | None:
    """The first and last word of a conjunct without the others, and without "both" before it."""
    apart = {*tree.children(part, "conj", "cc", "preconj", "punct")}
    left_out = {one for child in apart for one in tree.subtree(child)}
    mine = [one for one in tree.subtree(part) if one not in left_out]
    if tree[part].pos == "VERB":  # subject and auxiliaries belong to all
        mine = [one for one in mine if one >= part]
    return (mine[0], mine[-1]) if mine and mine[-1] - mine[0] + 1 == len(mine) else None


def _separated(tree: Tree, spans: list[tuple[int, int] | None]) -> bool:
    """Whether nothing but commas and the conjunction is between the conjuncts."""
    told = [one for one in spans if one]
    gaps = [[tree[at].text.lower() for at in range(before[1] + 1, after[0])] for before, after in pairwise(told)]
    many = len(told) > 2
    inner = all(gap == [","] for gap in gaps[:-1])
    return inner and gaps[-1] in ([["and"], ["or"], [",", "and"], [",", "or"]] if many else [["and"], ["or"]])


def _nouns(tree: Tree, chain: list[int]) -> bool:
    """Whether nouns of one kind are joined, none of which shares a word with the others or refers to them."""
    if tree[chain[0]].dep not in _NOUNS or any(tree[one].pos not in {"NOUN", "PROPN"} for one in chain):
        return False
    spans = [_span(tree, one) for one in chain]
    if None in spans or any(has_pronoun(tree, one) or has_scope(tree, one) for one in chain) or _set(tree, chain):
        return False
    alone = all(span is not None and span[0] == span[1] for span in spans)
    own = all(tree.children(one, "det", "nummod") or (tree[one].named and _alone(tree, one)) for one in chain)
    ending = all(span is not None and span[1] == one for span, one in zip(spans, chain, strict=True))
    return (alone or own) and ending and _agrees(tree, chain) and _not_followed(tree, chain)


def _set(tree: Tree, chain: list[int]) -> bool:
    """Whether the conjuncts are a set phrase, a quotation, or not what the parser takes them for."""
    words = [tree[one].text.lower() for one in chain]
    gerund = any(word.endswith("ing") for word in words)  # "playing guitars and singing"
    half = any(word in _HALF for word in words)
    explained = len(chain) > 2 and tree[chain[0]].lemma.lower() in _EXPLAINED
    quoted = any(node.text in _QUOTES for node in tree.nodes)
    return {words[0], words[-1]} in _PAIRS or gerund or half or explained or quoted


def _alone(tree: Tree, name: int) -> bool:
    return not set(tree.children(name)) - set(tree.children(name, "conj", "cc", "punct", "compound"))


def _agrees(tree: Tree, chain: list[int]) -> bool:
    """Whether a verb that looks at the nearest conjunct, behind "or" and "there", finds the same number."""
    head = tree[tree[chain[0]].head]
    near = any(tree[one].text.lower() == "or" for one in tree.children(chain[-2], "cc")) or any(
        node.dep == "expl" for node in tree.nodes
    )
    if head.pos == "VERB" and tree[chain[0]].dep == "ROOT":
        return False
    return not near or len({tree[one].tag for one in chain}) == 1


def _not_followed(tree: Tree, chain: list[int]) -> bool:
    """Whether what comes behind the last conjunct is no phrase that may belong to it alone."""
    below = tree.subtree(chain[0])
    span = _span(tree, chain[-1])
    last = span[1] if span else below[-1]
    if below[-1] != last or last + 1 == len(tree.nodes):
        return below[-1] == last
    following = tree[last + 1]
    return following.tag in {".", "VBZ", "VBP", "VBD", "MD", "IN", "TO"}


def _adjectives(tree: Tree, chain: list[int]) -> bool:
    """Whether plain adjectives are joined behind a form of "be"."""
    if tree[chain[0]].dep != "acomp" or tree[tree[chain[0]].head].lemma != "be":
        return False
    alone = all(set(tree.children(one)) <= set(tree.children(one, "conj", "cc", "punct")) for one in chain)
    return alone and all(tree[one].tag == "JJ" for one in chain) and not has_scope(tree, tree[chain[0]].head)


def _verbs(tree: Tree, chain: list[int]) -> bool:
    """Whether progressive forms are joined that share subject and auxiliary, and so go on at the same time."""
    root = chain[0]
    if tree[root].dep != "ROOT" or any(tree[one].tag != "VBG" for one in chain) or has_scope(tree, root):
        return False
    if not tree.children(root, "aux") or any(tree.children(one, "aux", "nsubj", "mark") for one in chain[1:]):
        return False
    if any(tree[one].text.lower() in _ONE_AFTER_THE_OTHER for one in chain):
        return False
    spans = [_span(tree, one) for one in chain]
    single = [span is not None and span[0] == span[1] for span in spans]
    told = [one for span in spans if span for one in range(span[0], span[1] + 1)]
    if any(tree[one].tag in {"PRP", "PRP$"} or tree[one].pos in {"PUNCT", "SCONJ"} for one in told):
        return False
    return all(single) or not any(single)
