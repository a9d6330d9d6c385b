"""What a rewriting is: a stretch of text put in other words, with the name of how; capitals as the new order asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..words.inflection import forms_of
from ..words.lexicon import lexicon
from .parsing import Node, Tree
from .phrases import PEOPLE

#: Tags of words that have a capital only at the beginning of a sentence.
_CLOSED_CLASS = frozenset({"DT", "PDT", "PRP", "PRP$", "CD", "IN", "WDT", "WP", "EX", "CC", "TO"})

#: Which WordNet also writes small.
_ALWAYS_CAPITAL = {"christian", "catholic"}


class Rewriting(NamedTuple):
    """A stretch of a text, where it begins, what comes in its place, and how that came about.

    >>> Rewriting("coordination swap", 2, "cats and dogs", "dogs and cats").made("I cats and dogs")
    'I dogs and cats'
    """

    how: str
    at: int
    before: str
    after: str

    def made(self, text: str) -> str:
        """The text with the stretch replaced."""
        return text[: self.at] + self.after + text[self.at + len(self.before) :]


def replaced(tree: Tree, how: str, first: int, last: int, after: str) -> Rewriting:
    """The rewriting of everything from one node to another."""
    return Rewriting(how, tree[first].start, tree.stretch(first, last), after)


def in_order(tree: Tree, pieces: Sequence[tuple[str, int | None]], between: str = " ") -> str:
    """Pieces of text in a new order, with the capital of a sentence's first word moved to the new one.

    A piece comes with the place of its first word in the old text, or with None where it is new.
    """
    first = min(at for _, at in pieces if at is not None)
    capital = begins_sentence(tree, first) and not tree[first].text[:1].islower()
    kept = tree[first].dep == "compound" and tree[tree[first].head].named  # "King Albert"
    told = [small(piece, tree[at]) if at == first and capital and not kept else piece for piece, at in pieces]
    if capital:
        told[0] = told[0][:1].upper() + told[0][1:]
    return between.join(told)


def begins_sentence(tree: Tree, at: int) -> bool:
    """Whether a node is the first word of its sentence, opening quotation marks apart."""
    before = tree[at - 1] if at else None
    return before is None or before.text in {".", "!", "?", '"', "“", "(", "-"} or before.pos == "SPACE"


def doubtful(tree: Tree, at: int) -> bool:
    """Whether the first word of a sentence, tagged as a name, may be none, or tagged as a noun, may be a name.

    >>> from .parsing import parser
    >>> [nodes] = parser()(["Thorn led them."])
    >>> doubtful(Tree("Thorn led them.", nodes), 0)
    True
    """
    node = tree[at]
    if not node.text[:1].isupper():
        return False
    if node.pos == "NOUN" and begins_sentence(tree, at):  # "Keyes" is no plural, "Thorn" one thing without an article
        plural = node.text.lower() in forms_of(node.lemma.lower(), "NNS", guess=False)
        return not plural and node.text.lower() not in PEOPLE
    known = any(node.text in synset.words for synset in lexicon().synsets(node.text))
    return node.named and not known and _written_small(node.text.lower())


def small(piece: str, node: Node) -> str:
    """A piece of text that no longer begins a sentence: its first word, `node`, is a name or begins small.

    >>> small("The dog", Node("The", 0, "DET", "DT", "det", 1, "the", False))
    'the dog'
    >>> small("Asian men", Node("Asian", 0, "ADJ", "JJ", "amod", 1, "asian", False))
    'Asian men'
    """
    word = node.text.lower()
    if word == "i" or word in _ALWAYS_CAPITAL or node.text[1:].lower() != node.text[1:]:
        return piece
    if node.named and word not in PEOPLE:  # a tagger takes "Man" for a name, too
        return piece
    if node.tag in _CLOSED_CLASS or _written_small(word):
        return piece[:1].lower() + piece[1:]
    return piece


def _written_small(word: str) -> bool:
    bases = {word, *lexicon().base_forms(word)}
    return any(base in synset.words for base in bases for synset in lexicon().synsets(word))
