"""How different two sentences are in structure: the fewest edits between their trees (Zhang & Shasha 1989).

Written here because the two packages that have it (zss, apted) saw their last release in 2018 and 2017; the tests
compare with values that both gave.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .parsing import Node

#: The node that all sentences of a text are below; treebanks call it so, or leave it without a name.
TEXT, _TOPS = "text", ("", "ROOT", "TOP")
#: How treebanks write brackets and quotation marks among words.
_WRITTEN = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
_QUOTES = re.compile("``|''|[\u201c\u201d]")


class LabelledTree(NamedTuple):
    """A label, and the ordered trees below it."""

    label: str
    children: tuple[LabelledTree, ...] = ()


def syntactic_distance(one: LabelledTree, other: LabelledTree) -> float:
    """Edits between two trees over the nodes of both, as Bandel et al. (2022) normalise it: 0 if equal, below 1.

    >>> syntactic_distance(LabelledTree("S", (LabelledTree("NP"), LabelledTree("VP"))), LabelledTree("S"))
    0.5
    """
    return 0.0 if one == other else tree_distance(one, other) / (size(one) + size(other))


def tree_distance(one: LabelledTree, other: LabelledTree) -> int:
    """The fewest nodes to add, remove or relabel to turn one tree into the other; the order of children counts.

    >>> b, c = LabelledTree("b"), LabelledTree("c")
    >>> tree_distance(LabelledTree("a", (b, c)), LabelledTree("a", (c, b)))
    2
    """
    a, b = _Postorder.of(one), _Postorder.of(other)
    known = [[0] * len(b.labels) for _ in a.labels]
    for i in a.keyroots:
        for j in b.keyroots:
            _compare(a, b, i, j, known)
    return known[-1][-1]


def size(tree: LabelledTree) -> int:
    """The number of nodes of a tree."""
    return 1 + sum(map(size, tree.children))


def dependency_tree(nodes: Sequence[Node], level: int = 3) -> LabelledTree:
    """The tree of a parsed text down to a level: its main verb is on the first, the verb's dependents on the second.

    The label of a word is its relation to its head; words are in the order of the text. All sentences of a text are
    below one node, so that two texts are comparable however many they have. White space is not a word.
    """
    below: dict[int, list[int]] = {}
    for at, node in enumerate(nodes):
        if node.text.strip():
            below.setdefault(_head(nodes, at), []).append(at)

    def grow(at: int, levels: int) -> tuple[LabelledTree, ...]:
        children = below.get(at, ()) if levels else ()
        return tuple(LabelledTree(nodes[one].dep, grow(one, levels - 1)) for one in children)

    return LabelledTree(TEXT, grow(-1, level))


def _head(nodes: Sequence[Node], at: int) -> int:
    """The head of a word, -1 for none; white space as a head is passed over."""
    head = nodes[at].head
    if head == at:
        return -1
    return head if nodes[head].text.strip() else _head(nodes, head)


# Constituents


class Constituents(NamedTuple):
    """The constituency tree of a text, without its words, and the words as they are compared with a text."""

    tree: LabelledTree
    words: str

    def down_to(self, level: int) -> LabelledTree:
        """The tree down to a level: sentences are on the first, the phrases below them on the second; -1 for all."""
        return _cut(self.tree, level)


def read_brackets(brackets: str) -> Constituents:
    """Read one or more constituency trees of a text as the Penn Treebank writes them; they get one node above all.

    >>> read_brackets("(ROOT (S (NP (DT The) (NN dog)) (VP (VBZ runs))))").words
    'Thedogruns'
    """
    top: tuple[str, list[LabelledTree]] = (TEXT, [])
    open_nodes, words, opening = [top], list[str](), False
    for token in re.findall(r"[()]|[^\s()]+", brackets):
        if token == "(":
            open_nodes.append(("", []))
        elif token == ")":
            if len(open_nodes) == 1:
                raise ValueError("a bracket is closed that was not opened")
            label, children = open_nodes.pop()
            found = tuple(children)
            open_nodes[-1][1].extend(found if label in _TOPS else [LabelledTree(label, found)])
        elif opening:
            open_nodes[-1] = (token, [])
        elif len(open_nodes) > 1:
            words.append(_WRITTEN.get(token, token))
        else:
            raise ValueError(f"{token!r} stands outside of brackets")
        opening = token == "("
    if len(open_nodes) > 1 or not top[1]:
        raise ValueError("a bracket is not closed" if top[1] or len(open_nodes) > 1 else "there is no tree")
    return Constituents(LabelledTree(TEXT, tuple(top[1])), without_spaces("".join(words)))


def without_spaces(text: str) -> str:
    """A text as trees are found by: however it was divided into words, and with plain quotation marks."""
    return _QUOTES.sub('"', re.sub(r"\s+", "", text))


def _cut(tree: LabelledTree, levels: int) -> LabelledTree:
    return LabelledTree(tree.label, tuple(_cut(one, levels - 1) for one in tree.children) if levels else ())


# Edits


class _Postorder(NamedTuple):
    """A tree in postorder: labels, and the index of the first leaf below each node.

    `keyroots` are the root and all nodes that have a sibling to their left: the last of all that share a first leaf.
    """

    labels: list[str]
    first: list[int]
    keyroots: list[int]

    @classmethod
    def of(cls, tree: LabelledTree) -> _Postorder:
        labels: list[str] = []
        first: list[int] = []

        def walk(node: LabelledTree) -> int:
            leaves = [walk(child) for child in node.children]
            labels.append(node.label)
            first.append(leaves[0] if leaves else len(labels) - 1)
            return first[-1]

        walk(tree)
        return cls(labels, first, sorted({leaf: place for place, leaf in enumerate(first)}.values()))


def _compare(a: _Postorder, b: _Postorder, i: int, j: int, known: list[list[int]]) -> None:
    """Fill in the distances of all subtrees that share their first leaves with the trees at i and j."""
    top, left = a.first[i], b.first[j]
    rows, columns = i - top + 2, j - left + 2
    costs = [[row + column if not row or not column else 0 for column in range(columns)] for row in range(rows)]
    for row in range(1, rows):
        for column in range(1, columns):
            x, y = top + row - 1, left + column - 1
            cheapest = min(costs[row - 1][column], costs[row][column - 1]) + 1
            if a.first[x] == top and b.first[y] == left:
                cheapest = min(cheapest, costs[row - 1][column - 1] + (a.labels[x] != b.labels[y]))
                known[x][y] = cheapest
            else:
                cheapest = min(cheapest, costs[a.first[x] - top][b.first[y] - left] + known[x][y])
            costs[row][column] = cheapest
