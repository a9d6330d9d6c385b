"""Edits between trees: as zss 1.2.0 and apted 1.0.3 count them, by hand on sentences, and by the laws of distance."""

from __future__ import annotations

import pytest
from examples import at_most
from hypothesis import given, settings
from hypothesis import strategies as st

from otherwords.grammar.parsing import Node
from otherwords.grammar.tree_distance import LabelledTree as Tree
from otherwords.grammar.tree_distance import dependency_tree, size, syntactic_distance, tree_distance

#: Random trees; zss.simple_distance and APTED.compute_edit_distance agree on them, as on 590 more.
GOLDEN = [
    ("{c{a}{b{a}{a{c{c}}}}{c}}", "{a{a}}", 7),
    ("{a{b{a}{c{c}}}{b}{a}}", "{b{c{b}{c}}{b}{b}{a{a}}}", 6),
    ("{b{b}{a{a{b{b}}}{b{a}}}}", "{c{b{b{c}}}{a{a}}{b}}", 7),
    ("{b{c}{a{c{c}}{c}}{c{a}{a}}}", "{c{b{b}}{b{a{a}{b{b}}{a}}}}", 10),
    ("{b{b}{c{a}{c{b}{c}}{c}}{c}}", "{a{a{a}}{b{c}{c}{c{b}}}}", 8),
    ("{a{b{b{b}{a{a}}}}{c}{a{c}}}", "{c{c{a}{a}}{a{c}}}", 6),
    ("{b{c}{c}{b{c}{a}}}", "{c{b{a{a{c}}}{b}}{c{a}{a}}}", 7),
    ("{c{b}{c{a{a}{b}}{b{a}}}}", "{b{c}{b{c}{a}}{a{c}}}", 8),
    ("{c{c{c}{c{b}}{a}}}", "{c{c{a{b}}}{b{b}}}", 5),
    ("{b{c{c}{b{b{c{b}}}}}{c}{a}}", "{a{b{c}}{b{c}}{a}}", 6),
]
#: Of every node but the first: the node it hangs on, and its label.
BRANCHES = st.lists(st.tuples(st.integers(0, 5), st.sampled_from("ab")), max_size=6)
unhurried = settings(deadline=None, max_examples=at_most(60))


def read(text: str) -> Tree:
    """A tree in braces, as apted writes them: {a{b}{c}}."""

    def at(place: int) -> tuple[Tree, int]:
        label, children, place = text[place + 1], [], place + 2
        while text[place] == "{":
            child, place = at(place)
            children.append(child)
        return Tree(label, tuple(children)), place + 1

    return at(0)[0]


#: Worked by hand; the last is Figure 4 of Zhang & Shasha (1989).
BY_HAND = [
    ("{a}", "{a}", 0),
    ("{a}", "{b}", 1),  # relabel
    ("{a{b}{c}}", "{a{c}}", 1),  # delete a leaf
    ("{a{b{c}}}", "{a{c}}", 1),  # delete an inner node; its child moves up
    ("{a{b}{c}}", "{a{x{b}{c}}}", 1),  # insert above two siblings
    ("{a{b{c{d}}}}", "{d}", 3),
    ("{a{b}{c}}", "{a{c}{b}}", 2),  # order counts
    ("{a{b}{c}}", "{x{y}{z}}", 3),
    ("{a{b{c}{d}}}", "{a{b{c}}{d}}", 2),  # d is deleted and inserted elsewhere
    ("{f{d{a}{c{b}}}{e}}", "{f{c{d{a}{b}}}{e}}", 2),
]


@pytest.mark.parametrize(("one", "other", "edits"), [*GOLDEN, *BY_HAND])
def test_edits_are_what_two_libraries_count(one, other, edits):
    assert tree_distance(read(one), read(other)) == edits
    assert tree_distance(read(other), read(one)) == edits
    assert syntactic_distance(read(one), read(other)) == edits / (one.count("{") + other.count("{"))
    assert size(read(one)) == one.count("{")


def grown(branches: list[tuple[int, str]], at: int = 0) -> Tree:
    """A tree whose node n hangs on one of those before it."""
    below = [n for n, (parent, _) in enumerate(branches, 1) if parent % n == at]
    return Tree(branches[at - 1][1] if at else "a", tuple(grown(branches, n) for n in below))


@unhurried
@given(BRANCHES.map(grown), BRANCHES.map(grown), BRANCHES.map(grown))
def test_it_is_a_distance(one, other, third):
    assert (tree_distance(one, other) == 0) == (one == other)
    assert tree_distance(one, other) == tree_distance(other, one)
    assert tree_distance(one, third) <= tree_distance(one, other) + tree_distance(other, third)
    assert abs(size(one) - size(other)) <= tree_distance(one, other) < size(one) + size(other)
    assert 0 <= syntactic_distance(one, other) < 1


def nodes(*rows: tuple[str, str, int]) -> list[Node]:
    """Words with their functions and heads."""
    return [Node(word, 0, "", "", dep, head, word, False) for word, dep, head in rows]


#: "A man eats soup", as spaCy parses it, and a sentence beside it.
ONE = nodes(("A", "det", 1), ("man", "nsubj", 2), ("eats", "ROOT", 2), ("soup", "dobj", 2))
TWO = nodes(*((node.text, node.dep, node.head) for node in ONE), ("Yes", "ROOT", 4))


def test_trees_of_words():
    eats = Tree("ROOT", (Tree("nsubj", (Tree("det"),)), Tree("dobj")))
    assert dependency_tree(ONE) == Tree("text", (eats,))
    assert dependency_tree(TWO) == Tree("text", (eats, Tree("ROOT")))
    assert dependency_tree(ONE, 2) == Tree("text", (Tree("ROOT", (Tree("nsubj"), Tree("dobj"))),))
    assert dependency_tree(ONE, 1) == Tree("text", (Tree("ROOT"),))
    assert dependency_tree(ONE, -1) == dependency_tree(ONE)
    assert dependency_tree([]) == Tree("text")


def test_white_space_is_no_word():
    """A tab before "man", a line break that a word hangs on, and one by itself."""
    spaced = nodes(
        *[("A", "det", 2), ("\t", "dep", 2), ("man", "nsubj", 4), ("\n", "dep", 4), ("eats", "ROOT", 4)],
        *[("soup", "dobj", 3), (" ", "ROOT", 6)],
    )
    assert dependency_tree(spaced) == dependency_tree(ONE)


def test_distance_of_sentences():
    """One node more, of five and six."""
    assert syntactic_distance(dependency_tree(ONE), dependency_tree(TWO)) == 1 / 11
    assert syntactic_distance(dependency_tree(ONE, 1), dependency_tree(ONE, 2)) == 2 / 6
