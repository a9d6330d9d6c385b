"""Dependency parses from spaCy, each distinct text parsed once: how the words of a sentence hang together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ..errors import BadInput
from ..words.pipelines import BATCH, identity_of, installed, loaded
from ..words.remembering import Remembering

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
        self._known = Remembering(self._look)

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
