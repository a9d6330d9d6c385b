"""The sentences of a text, each to be parsed by itself: what a rewriting costs does not grow with its text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from ..errors import BadInput
from ..words.tagging import BATCH, TextCache, identity_of, installed, loaded

# MERGED from grammar.readable: Which texts are put to a parser: not the empty, not those that are too long, and none with letters that are none.

#: Letters of a text that is rewritten.
LONGEST_REWRITTEN = 20_000
#: Byte order marks, control characters, halves of surrogate pairs.
_NO_LETTERS = re.compile("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x84\\x86-\\x9f\\ufeff\\ud800-\\udfff]")


def why_unreadable(text: str) -> str:
    """Why a text is not parsed; nothing where it is.

    >>> why_unreadable("A dog."), why_unreadable(" "), why_unreadable("A dog. " * 3000)
    ('', 'empty', 'longer than 20,000 letters')
    """
    if not text.strip():
        return "empty"
    if len(text) > LONGEST_REWRITTEN:
        return f"longer than {LONGEST_REWRITTEN:,} letters"
    return "it has control characters" if _NO_LETTERS.search(text) else ""


# MERGED from grammar.parsing: Dependency parses from spaCy, each distinct text parsed once: how the words of a sentence hang together.

#: Letters of a text that is parsed; the memory that a parser takes grows with its text.
LONGEST = 100_000


class Node(NamedTuple):
    """A word or mark of a text, and the word that it hangs on.

    `head` is the place of that word in the list of the text's nodes, its own for a root; `dep` says in which way it
    hangs there. A text of several sentences has several roots. `named` is a proper noun.
    """

    text: str
    start: int
    pos: str
    tag: str
    dep: str
    head: int
    lemma: str
    named: bool

    @property
    def end(self) -> int:
        """Where the text goes on."""
        return self.start + len(self.text)


class Parser:
    """Parses texts with one spaCy pipeline; `identity` says which, in a signature."""

    def __init__(self, name: str = ""):
        self._name = installed(name)
        self.identity = identity_of(self._name, "parser")
        self._known = TextCache(self._look)

    def __call__(self, texts: Iterable[str]) -> Iterator[list[Node]]:
        """The nodes of every text, in order; none where it is empty, beyond all measure, or half of a letter is in it.

        >>> [nodes] = parser()(["Dogs chase a cat."])
        >>> [(node.text, node.dep, nodes[node.head].text) for node in nodes][:3]
        [('Dogs', 'nsubj', 'chase'), ('chase', 'ROOT', 'chase'), ('a', 'det', 'cat')]
        """
        return (_unpacked(text, nodes) for text, nodes in self._known(map(_sound, texts)))

    def _look(self, texts: Sequence[str]) -> Iterator[str]:
        nlp = _pipeline(self._name)
        with nlp.memory_zone():  # new words are forgotten afterwards: memory stays flat
            # Blanks, and what is too long for the parser, are put to it as nothing.
            readable = (text if text.strip() and len(text) <= LONGEST else "" for text in texts)
            for doc in nlp.pipe(readable, batch_size=BATCH):
                yield json.dumps([_packed(token) for token in doc], ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=4)
def parser(name: str = "") -> Parser:
    """A parser, made once per process. Without a name, the English one installed."""
    return Parser(name)


@lru_cache(maxsize=2)
def _pipeline(name: str) -> Any:
    nlp = loaded(name, ("ner", "senter"))
    if "parser" not in nlp.pipe_names:
        raise BadInput(f"the spaCy pipeline {name!r} has no parser", fix="leave the option out for English")
    return nlp


def _sound(text: str) -> str:
    """The text, or nothing where it has half of a pair of surrogates: no encoding can write that."""
    return "" if any("\ud800" <= letter <= "\udfff" for letter in text) else text


def _packed(token: Any) -> tuple[int, int, str, str, str, int, str]:
    return token.idx, len(token), token.pos_, token.tag_, token.dep_, token.head.i, token.lemma_


def _unpacked(text: str, nodes: str) -> list[Node]:
    return [
        Node(text[start : start + size], start, pos, tag, dep, head, lemma, pos == "PROPN")
        for start, size, pos, tag, dep, head, lemma in json.loads(nodes)
    ]


# MERGED from grammar.tree: A parsed text as a tree: which words hang on which, and the stretch of text that a word and all below it take up.


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


# MERGED from grammar.sentences: The sentences of a text, each to be parsed by itself: what a rewriting costs does not grow with its text.

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
