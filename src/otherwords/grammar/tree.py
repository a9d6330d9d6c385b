"""A parsed text as a tree: which words hang on which, and the stretch of text that a word and all below it take up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .parsing import Node


class Tree:
    """A text and its nodes, asked by the place of a node in the list."""

    def __init__(self, text: str, nodes: Sequence[Node]):
        self.text, self.nodes = text, nodes
        self._below: list[list[int]] = [[] for _ in nodes]
        for at, node in enumerate(nodes):
            if node.head != at:
                self._below[node.head].append(at)

    def __getitem__(self, at: int) -> Node:
        return self.nodes[at]

    def roots(self) -> Iterator[int]:
        """The heads of the text's sentences."""
        return (at for at, node in enumerate(self.nodes) if node.head == at)

    def children(self, at: int, *deps: str) -> list[int]:
        """The nodes that hang on one, or those that hang on it in certain ways."""
        return [one for one in self._below[at] if not deps or self.nodes[one].dep in deps]

    def subtree(self, at: int) -> list[int]:
        """A node and all below it, in the order of the text."""
        found, waiting = [], [at]
        while waiting:
            one = waiting.pop()
            found.append(one)
            waiting += self._below[one]
        return sorted(found)

    def words(self, at: int) -> list[str]:
        """The words of a subtree in small letters."""
        return [self.nodes[one].text.lower() for one in self.subtree(at)]

    def stretch(self, first: int, last: int) -> str:
        """The text from one node to another."""
        return self.text[self.nodes[first].start : self.nodes[last].end]

    def phrase(self, at: int) -> str:
        """The text of a subtree."""
        below = self.subtree(at)
        return self.stretch(below[0], below[-1])

    def contiguous(self, at: int) -> bool:
        """Whether a subtree is one piece of the text."""
        below = self.subtree(at)
        return below[-1] - below[0] + 1 == len(below)

    def constituents(self, at: int) -> list[int]:
        """A node and those that hang on it, in the order of the text; none where one of them is not in one piece."""
        found = sorted([at, *self._below[at]])
        return found if self.contiguous(at) and all(self.contiguous(one) for one in found if one != at) else []

    def clause(self, verb: int) -> tuple[list[int], list[int]]:
        """What hangs on a verb before and behind it, marks at the end apart; nothing where it is not in one piece."""
        found = self.constituents(verb)
        while found and self.nodes[found[-1]].text in {".", "!"}:
            found.pop()
        where = found.index(verb) if verb in found else 0
        return found[:where], found[where + 1 :]
