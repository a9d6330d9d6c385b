"""Verbs and auxiliaries that say the same: "begin" and "start", "has to" and "must", "is going to" and "will"."""

from collections.abc import Iterator

from ..words.inflection import inflected
from .parsing import ParseTree
from .rewriting import Rewriting
from .substituting import substitute, tag_at, word_at

#: Words before "have to" that show that it is not one verb: "all you have to do", "the rights they have to vote".
_NO_SUBJECTS = {
    "all",
    "what",
    "everything",
    "anything",
    "nothing",
    "something",
    "rights",
    "things",
    "will",
    "to",
    "not",
}
_CONDITIONAL = {"if", "when", "unless", "whether", "not", "n't"}


def exchange_begin_and_start(tree: ParseTree) -> Iterator[Rewriting]:
    """ "Begin" and "start" before another verb: "it began to rain" and "it started to rain".

    >>> from .parsing import parser
    >>> text = "It began to rain."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in exchange_begin_and_start(ParseTree(text, nodes))]
    ['It started to rain.']
    """
    for at, node in enumerate(tree.nodes):
        other = {"begin": "start", "start": "begin"}.get(node.lemma.lower(), "")
        follows = tag_at(tree, at + 1) == "VBG" or (word_at(tree, at + 1) == "to" and tag_at(tree, at + 2) == "VB")
        verb = node.pos == "VERB" and any(one in (at + 1, at + 2) for one in tree.children(at, "xcomp"))
        if other and verb and follows and (form := inflected(other, node.tag)):
            yield substitute(tree, "begin or start", at, at, form)


def to_must(tree: ParseTree) -> Iterator[Rewriting]:
    """ "Has to" in a plain present statement says what "must" says.

    >>> from .parsing import parser
    >>> text = "She has to leave early."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in to_must(ParseTree(text, nodes))]
    ['She must leave early.']
    """
    for at, node in enumerate(tree.nodes):
        plain = (
            node.text.lower() in {"have", "has"} and node.tag in {"VBP", "VBZ"} and not tree.children(at, "aux", "neg")
        )
        follows = (
            word_at(tree, at + 1) == "to" and tag_at(tree, at + 2) == "VB" and at + 2 in tree.children(at, "xcomp")
        )
        question = any(one.text == "?" for one in tree.nodes) or tree.children(at, "dobj") or node.dep == "relcl"
        question = question or any(tree[one].tag == "WP" for one in tree.children(at + 2)) if follows else question
        idiom = [word_at(tree, at + 2), word_at(tree, at + 3)] in (["do", "with"], ["do", "is"])
        if plain and follows and not question and not idiom and word_at(tree, at - 1) not in _NO_SUBJECTS:
            yield substitute(tree, "must", at, at + 1, "must")


def to_have_to(tree: ParseTree) -> Iterator[Rewriting]:
    """ "Has to" for "must", in the form of either number, to lead back."""
    for at, node in enumerate(tree.nodes):
        if node.text.lower() == "must":
            yield from (substitute(tree, "have to", at, at, new) for new in ("has to", "have to"))


def to_will(tree: ParseTree) -> Iterator[Rewriting]:
    """ "Is going to" before a verb says what "will" says.

    >>> from .parsing import parser
    >>> text = "It is going to rain."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in to_will(ParseTree(text, nodes))]
    ['It will rain.']
    """
    for at, node in enumerate(tree.nodes[:-3]):
        words = [word_at(tree, at + 1), word_at(tree, at + 2)]
        plain = node.text.lower() in {"is", "are", "am"} and words == ["going", "to"] and tag_at(tree, at + 3) == "VB"
        asked = any(one.text == "?" for one in tree.nodes) or _CONDITIONAL & {
            one.text.lower() for one in tree.nodes[: at + 4]
        }
        if plain and not asked and node.text.islower():
            yield substitute(tree, "will", at, at + 2, "will")


def to_going_to(tree: ParseTree) -> Iterator[Rewriting]:
    """ "Is going to" for "will", with every form of "be", to lead back."""
    for at, node in enumerate(tree.nodes):
        if node.text.lower() == "will":
            yield from (substitute(tree, "going to", at, at, f"{be} going to") for be in ("is", "are", "am"))
