"""The two sides of "X is the Y" swapped, where both name one certain thing: the owner is the man who is the owner."""

from __future__ import annotations

from collections.abc import Iterator

from .parsing import Tree
from .phrases import behind, has_pronoun, has_scope, is_definite, is_plural
from .rewriting import Rewriting, in_order, replaced

_COPULA = {"is", "are", "was", "were"}
#: Nouns that say what something is like rather than which it is.
_NO_ROLE = {"one", "kind", "type", "sort", "color", "colour", "way", "reason", "case", "size", "shape", "age", "time",
            "day", "part", "end"}  # fmt: skip


def swap_definite(tree: Tree) -> Iterator[Rewriting]:
    """Sentences of two definite phrases and a form of "be" between them, the other way round.

    >>> from .parsing import parser
    >>> text = "Iggy Pop was the lead singer of the Stooges."
    >>> [nodes] = parser()([text])
    >>> [one.made(text) for one in swap_definite(Tree(text, nodes))]
    ['The lead singer of the Stooges was Iggy Pop.']
    """
    for verb in tree.roots():
        match tree.clause(verb):
            case [subject], [other] if (tree[subject].dep, tree[other].dep) == ("nsubj", "attr"):
                if tree[verb].text in _COPULA and _identity(tree, subject, other):
                    first, second, last = tree.subtree(subject)[0], tree.subtree(other)[0], tree.subtree(other)[-1]
                    pieces = [(tree.phrase(other), second), (tree[verb].text, None), (tree.phrase(subject), first)]
                    yield replaced(tree, "definite swap", first, last, in_order(tree, pieces))


def _identity(tree: Tree, subject: int, other: int) -> bool:
    """Whether the sentence says that two things are the same one."""
    if not (is_definite(tree, subject) and is_definite(tree, other)):
        return False
    if is_plural(tree, subject) is None or is_plural(tree, subject) != is_plural(tree, other):
        return False
    if any(has_pronoun(tree, one) or has_scope(tree, one) or _loose(tree, one) for one in (subject, other)):
        return False
    return not _NO_ROLE & {tree[subject].lemma.lower(), tree[other].lemma.lower()}


def _loose(tree: Tree, at: int) -> bool:
    """Whether a clause, a comma or a second noun is in the phrase, or behind it a phrase that may belong elsewhere."""
    return bool(behind(tree, at)) or any(
        tree[one].pos == "PUNCT" or tree[one].dep == "relcl" for one in tree.subtree(at)
    )
