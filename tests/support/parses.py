"""Parsed sentences for tests of grammar: by the installed parser, or written by hand."""

from __future__ import annotations

from otherwords.grammar.equivalences import can_be_reversed, rewritings
from otherwords.grammar.parsing import Node, ParseTree, parser
from otherwords.grammar.rewriting import Rewriter

_PARTS = {"DT": "DET", "NN": "NOUN", "NNS": "NOUN", "NNP": "PROPN", "NNPS": "PROPN", "IN": "ADP", "TO": "ADP"}
_PARTS |= {"PRP": "PRON", "PRP$": "PRON", "JJ": "ADJ", "CD": "NUM", "CC": "CCONJ", "RB": "ADV", "MD": "AUX"}
_PARTS |= {".": "PUNCT", ",": "PUNCT", "EX": "PRON"}


def parsed(text: str) -> ParseTree:
    """A text with the tree that the installed parser gives it."""
    [nodes] = parser()([text])
    return ParseTree(text, nodes)


def rewritten(text: str, kind: str) -> list[str]:
    """All that one kind makes of a text and that can be reversed."""
    drafts = [(one, one.apply(text)) for one in rewritings(parsed(text), [kind])]
    list(parser()([new for _, new in drafts]))  # in one batch; below they come from the cache
    return [new for one, new in drafts if can_be_reversed(one, text, parsed(new))]


def by_hand(spec: str) -> ParseTree:
    """A tree from "The:DT:det:1 dog:NN:nsubj:2 ...": word, tag, relation, index of the head, and lemma if it differs.

    A verb form as an auxiliary is tagged AUX, as spaCy does.
    """
    text, nodes = "", []
    for one in spec.split():
        word, tag, dep, head, *lemma = one.split(":")
        text += "" if not text or tag in {".", ",", "POS"} else " "
        pos = "AUX" if dep in {"aux", "auxpass"} else _PARTS.get(tag, "VERB" if tag.startswith("V") else "X")
        nodes.append(Node(word, len(text), pos, tag, dep, int(head), (lemma or [word.lower()])[0], pos == "PROPN"))
        text += word
    return ParseTree(text, nodes)


def applied(rule: Rewriter, tree: ParseTree) -> list[str]:
    """What a rule makes of a tree."""
    return [one.apply(tree.text) for one in rule(tree)]
