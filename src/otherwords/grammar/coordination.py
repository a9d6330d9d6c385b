"""What "and" and "or" join, in another order: "a man and a woman" is "a woman and a man"."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from .conjuncts import may_swap_adjectives, may_swap_nouns, may_swap_verbs
from .rewriting import Rewriting, in_order, replaced
from .tree import Tree

#: Conjuncts; more are a list, which may be in order of something.
_MOST = 4


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
        spans = [span for part in chain if (span := _span(tree, part))]
        if not chain or len(spans) < len(chain) or not _separated(tree, spans):
            continue
        if any(may(tree, chain, spans) for may in (may_swap_nouns, may_swap_adjectives, may_swap_verbs)):
            (first, end), (start, last) = spans[0], spans[-1]
            between = tree.text[tree[end].end : tree[start].start]
            pieces = [(tree.stretch(start, last), start), (between, None), (tree.stretch(first, end), first)]
            yield replaced(tree, "coordination swap", first, last, in_order(tree, pieces, ""))


def _chain(tree: Tree, at: int) -> list[int]:
    """What is joined, from a first conjunct on; nothing where it is not joined by one "and" or "or" before the last."""
    chain = [at]
    while below := tree.children(chain[-1], "conj"):
        if len(below) > 1:
            return []
        chain += below
    words = [tree[one].text.lower() for part in chain for one in tree.children(part, "cc")]
    joined = tree[at].dep != "conj" and 2 <= len(chain) <= _MOST and words in (["and"], ["or"])
    return chain if joined else []


def _span(tree: Tree, part: int) -> tuple[int, int] | None:
    """The first and last word of a conjunct without the others, and without "both" before it."""
    apart = tree.children(part, "conj", "cc", "preconj", "punct")
    left_out = {one for child in apart for one in tree.subtree(child)}
    mine = [one for one in tree.subtree(part) if one not in left_out]
    if tree[part].pos == "VERB":  # subject and auxiliaries belong to all
        mine = [one for one in mine if one >= part]
    return (mine[0], mine[-1]) if mine and mine[-1] - mine[0] + 1 == len(mine) else None


def _separated(tree: Tree, spans: list[tuple[int, int]]) -> bool:
    """Whether the conjuncts differ, and nothing but commas and the conjunction is between them."""
    gaps = [[tree[at].text.lower() for at in range(before[1] + 1, after[0])] for before, after in pairwise(spans)]
    inner, last = all(gap == [","] for gap in gaps[:-1]), " ".join(gaps[-1])
    ends = {"and", "or"} if len(spans) == 2 else {"and", "or", ", and", ", or"}
    return inner and last in ends and tree.stretch(*spans[0]).lower() != tree.stretch(*spans[-1]).lower()
