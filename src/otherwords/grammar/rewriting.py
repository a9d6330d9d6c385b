"""A rewriting: a stretch of text, its replacement, and the name of the rule; with capitals as the new order needs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ..words.inflection import forms_of
from ..words.lexicon import lexicon
from .parsing import Node, ParseTree
from .phrases import PEOPLE

#: Tags of words that have a capital only at the beginning of a sentence.
_CLOSED_CLASS = frozenset({"DT", "PDT", "PRP", "PRP$", "CD", "IN", "WDT", "WP", "EX", "CC", "TO"})
#: WordNet also writes these in lower case.
_ALWAYS_CAPITAL = {"christian", "catholic"}


class Rewriting(NamedTuple):
    """How a stretch of text is rewritten: the name of the rule, the offset, the old words and the new ones.

    >>> Rewriting("coordination swap", 2, "cats and dogs", "dogs and cats").apply("I cats and dogs")
    'I dogs and cats'
    """

    how: str
    at: int
    before: str
    after: str

    def apply(self, text: str) -> str:
        """The text with the stretch replaced."""
        return text[: self.at] + self.after + text[self.at + len(self.before) :]


Rewriter = Callable[[ParseTree], Iterable[Rewriting]]


class Kind(NamedTuple):
    """The rules of one kind; for the name of each rewriting that they make, the rule that reverses it.

    `exempt` says why a rewriting of this kind may change a negation, a quantifier or a number; empty where it may not.
    """

    rules: tuple[Rewriter, ...]
    inverses: Mapping[str, Rewriter]
    exempt: str = ""


def rewrite_span(tree: ParseTree, how: str, first: int, last: int, after: str) -> Rewriting:
    """The rewriting of everything from one node to another."""
    return Rewriting(how, tree[first].start, tree.stretch(first, last), after)


def join_reordered(tree: ParseTree, pieces: Sequence[tuple[str, int | None]], between: str = " ") -> str:
    """Join pieces of text in a new order; the capital of a sentence's first word moves to the new first word.

    A piece comes with the index of its first node in the old text, or with None where it is new.
    """
    first = min(at for _, at in pieces if at is not None)
    capital = begins_sentence(tree, first) and not tree[first].text[:1].islower()
    kept = tree[first].dep == "compound" and tree[tree[first].head].named  # "King Albert"
    lowered = capital and not kept
    texts = [lower_first_word(piece, tree[at]) if at == first and lowered else piece for piece, at in pieces]
    if capital:
        texts[0] = texts[0][:1].upper() + texts[0][1:]
    return between.join(texts)


def begins_sentence(tree: ParseTree, at: int) -> bool:
    """Whether a node is the first word of its sentence; quotation marks may come before it."""
    before = tree[at - 1] if at else None
    return before is None or before.text in {".", "!", "?", '"', "“", "(", "-"} or before.pos == "SPACE"


def may_be_mistagged(tree: ParseTree, at: int) -> bool:
    """Whether a capitalised word tagged as a noun may be a name, or one tagged as a name may be a common word.

    >>> from .parsing import parser
    >>> [nodes] = parser()(["Thorn led them."])
    >>> may_be_mistagged(ParseTree("Thorn led them.", nodes), 0)
    True
    """
    node = tree[at]
    if not node.text[:1].isupper():
        return False
    if node.pos == "NOUN" and begins_sentence(tree, at):  # "Keyes" is no plural, "Thorn" one thing without an article
        plural = node.text.lower() in forms_of(node.lemma.lower(), "NNS", guess=False)
        return not plural and node.text.lower() not in PEOPLE
    known = any(node.text in synset.words for synset in lexicon().synsets(node.text))
    return node.named and not known and is_lower_in_wordnet(node.text.lower())


def lower_first_word(piece: str, node: Node) -> str:
    """A piece of text that is moved away from the beginning of a sentence; a name as its first word keeps its capital.

    >>> lower_first_word("The dog", Node("The", 0, "DET", "DT", "det", 1, "the", False))
    'the dog'
    >>> lower_first_word("Asian men", Node("Asian", 0, "ADJ", "JJ", "amod", 1, "asian", False))
    'Asian men'
    """
    word = node.text.lower()
    if word == "i" or word in _ALWAYS_CAPITAL or node.text[1:].lower() != node.text[1:]:
        return piece
    if node.named and word not in PEOPLE:  # a tagger takes "Man" for a name, too
        return piece
    if node.tag in _CLOSED_CLASS or is_lower_in_wordnet(word):
        return piece[:1].lower() + piece[1:]
    return piece


def is_lower_in_wordnet(word: str) -> bool:
    """Whether WordNet writes a word, or what it may be a form of, in lower case."""
    bases = {word, *lexicon().base_forms(word)}
    return any(base in synset.words for base in bases for synset in lexicon().synsets(word))
