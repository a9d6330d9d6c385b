"""The sentences of a text, each to be parsed by itself: what a rewriting costs does not grow with its text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from .parsing import Node

#: What a sentence ends with, closing marks and blanks behind it apart.
_ENDED = re.compile(r"[.!?…][\"'”’)\]]*\s*$|\n\s*$")
#: Words such as "iPhone", which have no form for the beginning of a sentence.
_SMALL_THEN_CAPITAL = re.compile(r"\b[a-z]+[A-Z]")
#: Words that have a capital inside a headline only.
_HEADLINE = re.compile(r"\w (Is|Are|Was|Were|Be|Must|Will|To|Of|For|In|And|With|Has|Have|On|At|By) ")


class Sentence(NamedTuple):
    """A sentence and where in its text it begins."""

    start: int
    text: str


def sentences(text: str, nodes: Sequence[Node]) -> Iterator[Sentence]:
    """The sentences of a parsed text whose beginning and end are beyond doubt, and whose capitals say something.

    >>> from .parsing import parser
    >>> text = "A dog barks. A cat runs away."
    >>> [nodes] = parser()([text])
    >>> [one.text for one in sentences(text, nodes)]
    ['A dog barks.', 'A cat runs away.']
    """
    starts = [nodes[at].start for at in _first_words(nodes)]
    for start, end in pairwise([*starts, len(text)]):
        piece = text[start:end].rstrip()
        apart = _ends(text[:start]) and (end == len(text) or _ends(text[:end]))
        if apart and not _has_strange_capitals(piece):
            yield Sentence(start, piece)


def _first_words(nodes: Sequence[Node]) -> Iterator[int]:
    """Where the parser begins a sentence; blanks do not begin one."""
    roots = _roots(nodes)
    words = [at for at, node in enumerate(nodes) if node.pos != "SPACE"]
    return (
        at for before, at in zip([None, *words], words, strict=False) if before is None or roots[before] != roots[at]
    )


def _roots(nodes: Sequence[Node]) -> list[int]:
    """The root of every node's sentence, each way up gone once."""
    found: dict[int, int] = {}
    for at in range(len(nodes)):
        way = [at]
        while way[-1] not in found and nodes[way[-1]].head != way[-1]:
            way.append(nodes[way[-1]].head)
        root = found.get(way[-1], way[-1])
        found.update(dict.fromkeys(way, root))
    return [found[at] for at in range(len(nodes))]


def _has_strange_capitals(sentence: str) -> bool:
    """Whether names cannot be told from other words, or the first word from those behind it."""
    headline = sentence.upper() == sentence or _HEADLINE.search(sentence)
    return bool(headline or _SMALL_THEN_CAPITAL.search(sentence))


def _ends(before: str) -> bool:
    """Whether a text ends where a sentence does; the beginning of all is such a place, too."""
    tail = before[-20:]
    return not tail.strip() or bool(_ENDED.search(tail))
