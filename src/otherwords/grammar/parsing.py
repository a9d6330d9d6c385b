"""Dependency parses from spaCy: the nodes of a text, the tree that they form, and its sentences.

Each distinct text is parsed once per process.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from ..errors import BadInput
from ..words.tagging import BATCH, TextCache, identity_of, installed, load_pipeline

#: Longer texts are not rewritten, and `why_unreadable` says so.
MAX_REWRITTEN_CHARS = 20_000
#: Longer texts are not parsed at all: the memory that a parser takes grows with the text.
MAX_PARSED_CHARS = 100_000
#: Byte order marks, control characters, halves of surrogate pairs.
_CONTROL = re.compile("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x84\\x86-\\x9f\\ufeff\\ud800-\\udfff]")
#: How a sentence ends; closing marks and white space may follow.
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*\s*$|\n\s*$")
#: Words such as "iPhone", which have no form for the beginning of a sentence.
_LOWER_THEN_CAPITAL = re.compile(r"\b[a-z]+[A-Z]")
#: Words that have a capital inside a headline only.
_HEADLINE = re.compile(r"\w (Is|Are|Was|Were|Be|Must|Will|To|Of|For|In|And|With|Has|Have|On|At|By) ")


class Node(NamedTuple):
    """A word or punctuation mark of a text, and its head.

    `head` is the index of the head in the list of the text's nodes, a root's own index for a root; `dep` is the
    relation to the head. A text of several sentences has several roots. `named` marks a proper noun.
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
        """The offset behind the last character."""
        return self.start + len(self.text)


class Parser:
    """Parses texts with one spaCy pipeline; `identity` names it in a signature."""

    def __init__(self, name: str = ""):
        self._name = installed(name)
        self.identity = identity_of(self._name, "parser")
        self._cache = TextCache(self._parse)

    def __call__(self, texts: Iterable[str]) -> Iterator[list[Node]]:
        """The nodes of every text, in order; none for a text that is empty, too long, or has half a surrogate pair.

        >>> [nodes] = parser()(["Dogs chase a cat."])
        >>> [(node.text, node.dep, nodes[node.head].text) for node in nodes][:3]
        [('Dogs', 'nsubj', 'chase'), ('chase', 'ROOT', 'chase'), ('a', 'det', 'cat')]
        """
        return (_unpack(text, nodes) for text, nodes in self._cache(map(_encodable, texts)))

    def _parse(self, texts: Sequence[str]) -> Iterator[str]:
        nlp = _pipeline(self._name)
        with nlp.memory_zone():  # new words are forgotten afterwards: memory stays flat
            readable = (text if text.strip() and len(text) <= MAX_PARSED_CHARS else "" for text in texts)
            for doc in nlp.pipe(readable, batch_size=BATCH):
                yield json.dumps([_pack(token) for token in doc], ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=4)
def parser(name: str = "") -> Parser:
    """A parser, made once per process. Without a name, the English pipeline that is installed."""
    return Parser(name)


class ParseTree:
    """A text and its nodes as a tree (or several); a node is named by its index in the list."""

    def __init__(self, text: str, nodes: Sequence[Node]):
        self.text, self.nodes = text, nodes
        self._children: list[list[int]] = [[] for _ in nodes]
        for at, node in enumerate(nodes):
            if node.head != at:
                self._children[node.head].append(at)

    def __getitem__(self, at: int) -> Node:
        return self.nodes[at]

    def roots(self) -> Iterator[int]:
        """The roots of the text's sentences."""
        return (at for at, node in enumerate(self.nodes) if node.head == at)

    def children(self, at: int, *deps: str) -> list[int]:
        """The dependents of a node, all or those in certain relations."""
        return [one for one in self._children[at] if not deps or self.nodes[one].dep in deps]

    def subtree(self, at: int) -> list[int]:
        """A node and everything below it, in the order of the text."""
        found, waiting = [], [at]
        while waiting:
            one = waiting.pop()
            found.append(one)
            waiting += self._children[one]
        return sorted(found)

    def words(self, at: int) -> list[str]:
        """The lower-cased words of a subtree."""
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
        """A node and its dependents in the order of the text; empty where one of their subtrees is not contiguous."""
        found = sorted([at, *self._children[at]])
        return found if self.contiguous(at) and all(self.contiguous(one) for one in found if one != at) else []

    def clause(self, verb: int) -> tuple[list[int], list[int]]:
        """The dependents of a verb to its left and to its right without a final stop; empty as in `constituents`."""
        found = self.constituents(verb)
        while found and self.nodes[found[-1]].text in {".", "!"}:
            found.pop()
        where = found.index(verb) if verb in found else 0
        return found[:where], found[where + 1 :]


class Sentence(NamedTuple):
    """A sentence and its offset in the text."""

    start: int
    text: str


def sentences(text: str, nodes: Sequence[Node]) -> Iterator[Sentence]:
    """The sentences of a parsed text that have a clear beginning and end, and ordinary capitals.

    Each is parsed again by itself, so that the cost of a rewriting does not grow with its text.

    >>> text = "A dog barks. A cat runs away."
    >>> [nodes] = parser()([text])
    >>> [one.text for one in sentences(text, nodes)]
    ['A dog barks.', 'A cat runs away.']
    """
    starts = [nodes[at].start for at in _first_words(nodes)]
    for start, end in pairwise([*starts, len(text)]):
        piece = text[start:end].rstrip()
        clear = _ends_sentence(text[:start]) and (end == len(text) or _ends_sentence(text[:end]))
        if clear and not _has_odd_capitals(piece):
            yield Sentence(start, piece)


def sentence_trees(text: str, nodes: Sequence[Node]) -> Iterator[tuple[Sentence, ParseTree]]:
    """The same sentences, each with its tree as it was parsed within the text.

    >>> text = "A dog barks. A cat runs away."
    >>> [nodes] = parser()([text])
    >>> [(one.start, tree[1].text, tree[1].start) for one, tree in sentence_trees(text, nodes)]
    [(0, 'dog', 2), (13, 'cat', 2)]
    """
    for one in sentences(text, nodes):
        inside = [at for at, node in enumerate(nodes) if one.start <= node.start < one.start + len(one.text)]
        place = {at: number for number, at in enumerate(inside)}
        own = [
            nodes[at]._replace(start=nodes[at].start - one.start, head=place.get(nodes[at].head, place[at]))
            for at in inside
        ]
        yield one, ParseTree(one.text, own)


def why_unreadable(text: str) -> str:
    """Why a text is not rewritten; empty where it is.

    >>> why_unreadable("A dog."), why_unreadable(" "), why_unreadable("A dog. " * 3000)
    ('', 'empty', 'longer than 20,000 letters')
    """
    if not text.strip():
        return "empty"
    if len(text) > MAX_REWRITTEN_CHARS:
        return f"longer than {MAX_REWRITTEN_CHARS:,} letters"
    return "it has control characters" if _CONTROL.search(text) else ""


@lru_cache(maxsize=2)
def _pipeline(name: str) -> Any:
    nlp = load_pipeline(name, ("ner", "senter"))
    if "parser" not in nlp.pipe_names:
        raise BadInput(f"the spaCy pipeline {name!r} has no parser", fix="leave the option out for English")
    return nlp


def _encodable(text: str) -> str:
    """The text, or nothing where it has half of a surrogate pair: no encoding can write that."""
    return "" if any("\ud800" <= letter <= "\udfff" for letter in text) else text


def _pack(token: Any) -> tuple[int, int, str, str, str, int, str]:
    return token.idx, len(token), token.pos_, token.tag_, token.dep_, token.head.i, token.lemma_


def _unpack(text: str, nodes: str) -> list[Node]:
    return [
        Node(text[start : start + size], start, pos, tag, dep, head, lemma, pos == "PROPN")
        for start, size, pos, tag, dep, head, lemma in json.loads(nodes)
    ]


def _first_words(nodes: Sequence[Node]) -> Iterator[int]:
    """Where the parser begins a sentence; white space does not begin one."""
    roots = _roots(nodes)
    words = [at for at, node in enumerate(nodes) if node.pos != "SPACE"]
    pairs = zip([None, *words], words, strict=False)
    return (at for before, at in pairs if before is None or roots[before] != roots[at])


def _roots(nodes: Sequence[Node]) -> list[int]:
    """The root of every node's sentence; each edge of the tree is followed once."""
    found: dict[int, int] = {}
    for at in range(len(nodes)):
        path = [at]
        while path[-1] not in found and nodes[path[-1]].head != path[-1]:
            path.append(nodes[path[-1]].head)
        root = found.get(path[-1], path[-1])
        found.update(dict.fromkeys(path, root))
    return [found[at] for at in range(len(nodes))]


def _has_odd_capitals(sentence: str) -> bool:
    """Whether capitals do not distinguish names, or the first word, from other words."""
    headline = sentence.upper() == sentence or _HEADLINE.search(sentence)
    return bool(headline or _LOWER_THEN_CAPITAL.search(sentence))


def _ends_sentence(before: str) -> bool:
    """Whether a text ends where a sentence does; so does an empty one."""
    tail = before[-20:]
    return not tail.strip() or bool(_SENTENCE_END.search(tail))
