"""Sides of a verb: who stands before it and who after it, read off the words where a parse goes wrong.

A parser that takes "kitten" for an adjective or "waves" for a noun finds no subject; the order of words still tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from ..words.lexicon import lexicon
from .parsing import ParseTree
from .verb_relations import are_synonyms, same_both_ways

_NOUNS = {"NOUN", "PROPN", "PRON"}
#: Where a clause begins.
_BORDERS = {"PUNCT", "CCONJ", "SCONJ"}
_RELATIVE = {"who", "whom", "which", "that", "whose"}
_BE = {"be", "been", "being", "is", "are", "was", "were", "get", "gets", "got", "'s", "'re"}


class _Sides(NamedTuple):
    """A verb, the preposition after it if there is one, and the nodes of those before and after it."""

    verb: str
    preposition: str
    doer: int
    other: int


def sides_exchanged(old: ParseTree, new: ParseTree) -> Iterator[tuple[str, str]]:
    """What stands around a verb in one text, and the other way round in the other, as both texts have it.

    >>> from .parsing import parser
    >>> texts = ["A kitten licks a puppy.", "A puppy licks a kitten."]
    >>> list(sides_exchanged(*(ParseTree(*both) for both in zip(texts, parser()(texts)))))
    [('"kitten" licks "puppy"', '"puppy" licks "kitten"')]
    """
    nouns = {tree[at].lemma.lower() for tree in (old, new) for at in _nouns(tree)}
    before, after = (list(_read(tree, nouns)) for tree in (old, new))
    for one in before:
        pair = _pair(old, one)
        for other in after:
            if one.preposition != other.preposition or not _may_correspond(one.verb, other.verb):
                continue
            if _pair(new, other) == pair[::-1] and not any(_pair(new, some) == pair for some in after):
                yield _shown(old, one), _shown(new, other)


def _may_correspond(verb: str, other: str) -> bool:
    return (verb == other or are_synonyms(verb, other)) and not same_both_ways(verb, other)


def _pair(tree: ParseTree, one: _Sides) -> tuple[str, str]:
    return tree[one.doer].lemma.lower(), tree[one.other].lemma.lower()


def _shown(tree: ParseTree, one: _Sides) -> str:
    words = " ".join(filter(None, [one.verb, one.preposition]))
    verb = next((node.text for node in tree.nodes if _verb(node.text) == one.verb), one.verb)
    return f'"{tree[one.doer].text}" {verb if not one.preposition else words} "{tree[one.other].text}"'


def _nouns(tree: ParseTree) -> list[int]:
    return [at for at, node in enumerate(tree.nodes) if node.pos in _NOUNS]


def _read(tree: ParseTree, nouns: set[str]) -> Iterator[_Sides]:
    """The sides of each verb; after a passive with "by" they are exchanged."""
    some_verb = any(node.pos == "VERB" for node in tree.nodes)
    for at, node in enumerate(tree.nodes):
        may_be = node.pos == "VERB" or (not some_verb and node.text.lower() != _verb(node.text) != "")
        first = _before(tree, at, nouns) if may_be and at else None
        if first is None:
            continue
        preposition, other = _after(tree, at, nouns, is_passive := _is_passive(tree, at))
        if other is not None and tree[first].lemma != tree[other].lemma:
            yield _Sides(_verb(node.text), preposition, *((other, first) if is_passive else (first, other)))


@lru_cache(maxsize=1 << 14)
def _verb(word: str) -> str:
    return next(iter(lexicon().base_forms(word.lower(), "v")), "")


def _is_passive(tree: ParseTree, verb: int) -> bool:
    at = verb - 1
    while at > 0 and tree[at].pos in {"ADV", "PART"}:
        at -= 1
    return tree[verb].tag in {"VBN", "VBD"} and tree[at].text.lower() in _BE


def _before(tree: ParseTree, verb: int, nouns: set[str]) -> int | None:
    """The subject: the first noun of the clause without a preposition before it, at the end of its own phrase."""
    start = verb
    while start and tree[start - 1].pos not in _BORDERS and tree[start - 1].text.lower() not in _RELATIVE:
        start -= 1
    at = start
    while at < verb:
        if tree[at].pos in {"ADP", "VERB"}:
            return None
        if tree[at].lemma.lower() in nouns and tree[at].text.lower() != "her":
            return _end(tree, at, verb, nouns)
        at += 1
    return None


def _after(tree: ParseTree, verb: int, nouns: set[str], passive: bool) -> tuple[str, int | None]:
    """The noun after a verb with the preposition before it; after a passive the one with "by"."""
    at, preposition = verb + 1, ""
    if passive:
        agents = [one for one in range(at, len(tree.nodes)) if tree[one].text.lower() == "by"]
        if not agents or any(tree[one].pos in _BORDERS for one in range(at, agents[0])):
            return "", None
        at = agents[0] + 1
    elif at < len(tree.nodes) and tree[at].pos in {"ADP", "PART"}:
        at, preposition = at + 1, tree[at].text.lower()
    while at < len(tree.nodes) and tree[at].pos in {"DET", "ADJ", "ADV", "NUM", "PRON", *_NOUNS}:
        if tree[at].lemma.lower() in nouns and tree[at].tag != "PRP$":
            return preposition, _end(tree, at, len(tree.nodes), nouns)
        at += 1
    return "", None


def _end(tree: ParseTree, at: int, limit: int, nouns: set[str]) -> int:
    """The last noun of a phrase: the kid of "the neighbor's kid"."""
    while at + 1 < limit and (tree[at + 1].lemma.lower() in nouns or tree[at + 1].tag == "POS"):
        at += 1
    return at
