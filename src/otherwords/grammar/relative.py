"""Adjectives and relative clauses: "a large red ball", "a red ball that is large" and "a large ball that is red"."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ..words.inflection import article
from .parsing import Tree
from .phrases import is_human, is_plain, is_plural, is_several, rank
from .rewriting import Rewriting, begins_sentence, replaced, small

_PRONOUNS = {"that", "who", "which"}
_SHADES = {"dark", "bright", "deep", "pale", "light"}
_COPULA = {"is", "are", "was", "were"}
_BE_FORMS = {("present", False): "is", ("present", True): "are", ("past", False): "was", ("past", True): "were"}
#: What may come before an adjective that becomes a clause.
_DETERMINERS = {"a", "an", "the", "some", "several", "many", "these", "those", "two", "three", "four", "five", "six",
                "seven", "eight", "nine", "ten"}  # fmt: skip
#: Tags of what may follow a clause without being taken for a part of it.
_AFTER_A_CLAUSE = frozenset({".", "VBZ", "VBP", "VBD", "MD"})


def to_clause(tree: Tree) -> Iterator[Rewriting]:
    """The first adjective before a noun, behind it as a clause.

    >>> from .parsing import parser
    >>> text = "The boy has an old red car."
    >>> [nodes] = parser()([text])
    >>> [one.made(text) for one in to_clause(Tree(text, nodes))]
    ['The boy has a red car that is old.']
    """
    for noun in range(len(tree.nodes)):
        before = tree.children(noun, "amod")
        if not before or not _open(tree, noun) or not is_plain(tree, before[0], noun):
            continue
        left = _left(tree, noun)
        if left is None or before[0] != left or tree.children(before[0]) or is_plural(tree, noun) is None:
            continue
        if not (be := _be(tree, noun)):
            continue
        clause = f"{_pronoun(tree, noun)} {be} {tree[before[0]].text.lower()}"
        yield _moved(tree, "adjective to clause", noun, before[0], f"{tree.stretch(left + 1, noun)} {clause}", noun)


def to_adjective(tree: Tree) -> Iterator[Rewriting]:
    """A relative clause of "be" and one adjective, as an adjective before the noun.

    >>> from .parsing import parser
    >>> text = "John threw a red ball that is large."
    >>> [nodes] = parser()([text])
    >>> [one.made(text) for one in to_adjective(Tree(text, nodes))]
    ['John threw a large red ball.']
    """
    for noun, adjective in _clauses(tree):
        left, word = _left(tree, noun), tree[adjective].text
        others = [rank(tree[one].text) for one in tree.children(noun, "amod")]
        mine = rank(word)
        if left is not None and mine is not None and all(one is None or mine < one for one in others):
            yield _moved(tree, "clause to adjective", noun, left, f"{word} {tree.stretch(left, noun)}", adjective)


def exchange(tree: Tree) -> Iterator[Rewriting]:
    """The adjective before a noun and the one in the clause behind it, each in the place of the other.

    >>> from .parsing import parser
    >>> text = "John threw a red ball that is large."
    >>> [nodes] = parser()([text])
    >>> [one.made(text) for one in exchange(Tree(text, nodes))]
    ['John threw a large ball that is red.']
    """
    for noun, adjective in _clauses(tree):
        before, left = tree.children(noun, "amod"), _left(tree, noun)
        if len(before) == 1 and before[0] == left and is_plain(tree, before[0], noun):
            clause = tree.stretch(noun, adjective - 1)
            new = f"{tree[adjective].text} {clause} {tree[before[0]].text}"
            yield _moved(tree, "adjective and clause exchanged", noun, before[0], new, adjective)


def _clauses(tree: Tree) -> Iterator[tuple[int, int]]:
    """Nouns that end in "that is" and an adjective, and the adjective."""
    for verb, node in enumerate(tree.nodes):
        if node.dep != "relcl" or node.text not in _COPULA or verb != node.head + 2:
            continue
        match tree.constituents(verb):
            case [pronoun, _, adjective] if tree[pronoun].text in _PRONOUNS and tree[adjective].dep == "acomp":
                last = tree.subtree(node.head)[-1]
                if last == adjective and _can_end(tree, last) and is_plain(tree, adjective, node.head):
                    yield node.head, adjective


def _open(tree: Tree, noun: int) -> bool:
    """Whether a noun is common, has nothing behind it, and what comes next cannot be taken for a part of a clause."""
    below, node = tree.children(noun), tree[noun]
    if node.pos != "NOUN" or node.text.endswith("ing") or node.dep in {"compound", "npadvmod", "conj"}:
        return False
    last = all(one < noun for one in below) and _can_end(tree, noun)
    return last and {tree[one].dep for one in below} <= {"det", "amod", "nummod"}


def _can_end(tree: Tree, last: int) -> bool:
    return last + 1 == len(tree.nodes) or tree[last + 1].tag in _AFTER_A_CLAUSE


def _left(tree: Tree, noun: int) -> int | None:
    """Where the adjectives of a phrase begin, or would; None where something stands there that is not looked for."""
    start = tree.subtree(noun)[0]
    while start < noun and tree[start].dep in {"det", "nummod"} and tree[start].text.lower() in _DETERMINERS:
        start += 1
    middle = [tree[one] for one in range(start, noun)]
    plain = all(one.dep == "amod" and one.head == noun and one.text.isalpha() for one in middle)
    return start if plain and not _built_up([one.text.lower() for one in middle]) else None


def _built_up(words: list[str]) -> bool:
    """Whether one adjective may belong to the next: "a long haired man", "a dark red car"."""
    shade = any(one in _SHADES and rank(two) == rank("red") for one, two in pairwise(words))
    return shade or any(word.endswith(("ed", "ing", "en")) and rank(word) is None for word in words)


def _moved(tree: Tree, how: str, noun: int, first: int, after: str, last: int) -> Rewriting:
    """The phrase from its first adjective on, written anew, with the article and the capital that it then needs."""
    before = tree[first - 1] if first else None
    if before is not None and before.text.lower() in {"a", "an"} and before.head == noun:
        fitting = article(after)
        fitting = fitting.capitalize() if before.text[0].isupper() else fitting
        return replaced(tree, how, first - 1, last, f"{fitting} {after}")
    if begins_sentence(tree, first) and tree[first].text[:1].isupper():
        gone = tree[first].text
        after = after.replace(gone, small(gone, tree[first]))
        after = after[:1].upper() + after[1:]
    return replaced(tree, how, first, last, after)


def _pronoun(tree: Tree, noun: int) -> str:
    return "who" if is_human(tree, noun) and not is_several(tree, noun) else "that"


def _be(tree: Tree, noun: int) -> str | None:
    """The form of "be" that the number of a noun and the tense of the nearest clause ask for; None without a clause."""
    at = noun
    while (tense := _tense(tree, at)) is None and tree[at].head != at:
        at = tree[at].head
    return _BE_FORMS.get((tense or "", bool(is_plural(tree, noun))))


def _tense(tree: Tree, verb: int) -> str | None:
    """Past or present, "open" behind "would" and the like, which say neither; None for a word without tense."""
    if tree[verb].pos not in {"VERB", "AUX"}:
        return None
    words = [verb, *tree.children(verb, "aux", "auxpass")]
    if any(tree[one].text.lower() in {"could", "would", "might", "should"} for one in words):
        return "open"
    tags = {tree[one].tag for one in words}
    return "past" if "VBD" in tags else "present" if tags & {"VBZ", "VBP", "MD"} else None
