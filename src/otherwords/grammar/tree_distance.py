"""How far apart two sentences are in their structure: the fewest edits between their trees (Zhang & Shasha 1989).

Written here because the two packages that have it (zss, apted) saw their last release in 2018 and 2017; the tests
compare with values that both gave.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .parsing import Node


class Tree(NamedTuple):
    """A label, and the trees below it from left to right."""

    label: str
    children: tuple[Tree, ...] = ()


def syntactic_distance(one: Tree, other: Tree) -> float:
    """Edits between two trees over the nodes of both, as Bandel et al. (2022) norm it: 0 for equals, below 1.

    >>> syntactic_distance(Tree("S", (Tree("NP"), Tree("VP"))), Tree("S", (Tree("VP"),)))
    0.2
    """
    return 0.0 if one == other else tree_distance(one, other) / (size(one) + size(other))


def tree_distance(one: Tree, other: Tree) -> int:
    """The fewest nodes that must be added, removed or relabelled to make one tree the other; order counts.

    >>> tree_distance(Tree("a", (Tree("b"), Tree("c"))), Tree("a", (Tree("c"), Tree("b"))))
    2
    """
    a, b = _Flat.of(one), _Flat.of(other)
    known = [[0] * len(b.labels) for _ in a.labels]
    for i in a.keyroots:
        for j in b.keyroots:
            _compare(a, b, i, j, known)
    return known[-1][-1]


def size(tree: Tree) -> int:
    """How many nodes a tree has."""
    return 1 + sum(map(size, tree.children))


def dependency_tree(nodes: Sequence[Node], level: int = 3) -> Tree:
    """The tree of a parsed text down to a level: its main verb is on the first, what hangs on that on the second.

    Words are known by the way they hang on others, and stand in the order of the text. All sentences of a text hang on
    one node above them, so that two texts are comparable however many they have. White space is no word.
    """
    below: dict[int, list[int]] = {}
    for place, node in enumerate(nodes):
        if node.text.strip():
            below.setdefault(_above(nodes, place), []).append(place)

    def grown(place: int, left: int) -> tuple[Tree, ...]:
        return tuple(Tree(nodes[one].dep, grown(one, left - 1)) for one in below.get(place, ())) if left else ()

    return Tree("text", grown(-1, level))


def _above(nodes: Sequence[Node], place: int) -> int:
    """The word that one hangs on, -1 for none; what hangs on white space hangs on what that hangs on."""
    head = nodes[place].head
    if head == place:
        return -1
    return head if nodes[head].text.strip() else _above(nodes, head)


class _Flat(NamedTuple):
    """A tree from left to right and from below: labels, and the place of the first leaf under each node.

    `keyroots` are the root, and all nodes that have a sibling to their left: the last of all that share a first leaf.
    """

    labels: list[str]
    first: list[int]
    keyroots: list[int]

    @classmethod
    def of(cls, tree: Tree) -> _Flat:
        labels: list[str] = []
        first: list[int] = []

        def walk(node: Tree) -> int:
            leaves = [walk(child) for child in node.children]
            labels.append(node.label)
            first.append(leaves[0] if leaves else len(labels) - 1)
            return first[-1]

        walk(tree)
        return cls(labels, first, sorted({leaf: place for place, leaf in enumerate(first)}.values()))


def _compare(a: _Flat, b: _Flat, i: int, j: int, known: list[list[int]]) -> None:
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
