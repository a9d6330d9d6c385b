"""Part-of-speech tags from spaCy, each distinct text tagged once: what most generators need to know of a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from .pipelines import identity_of, installed, pipeline
from .remembering import Remembering


class Token(NamedTuple):
    """A word or mark of a text: its place, universal part of speech, fine tag, and whether it belongs to a name."""

    text: str
    start: int
    pos: str
    tag: str
    named: bool

    @property
    def end(self) -> int:
        """Where the text goes on."""
        return self.start + len(self.text)


class Tagger:
    """Tags texts with one spaCy pipeline; `identity` says which, in a signature."""

    def __init__(self, name: str = "", names: bool = False):
        self._name, self._names = installed(name), names
        self.identity = identity_of(self._name, "tagger+ner" if names else "tagger")
        self._known = Remembering(self._look)

    def __call__(self, texts: Iterable[str]) -> Iterator[list[Token]]:
        """The tokens of every text, in order."""
        return (_unpacked(text, tokens) for text, tokens in self._known(texts))

    def _look(self, texts: Sequence[str]) -> Iterator[str]:
        return (" ".join(map(_packed, tokens)) for tokens in pipeline(self._name, self._names)(texts))


@lru_cache(maxsize=8)
def tagger(name: str = "", names: bool = False) -> Tagger:
    """A tagger, made once per process; `names` finds named entities, too. Without a name, the English one installed."""
    return Tagger(name, names)


def _packed(token: tuple[int, int, str, str, bool]) -> str:
    start, size, pos, tag, named = token
    return f"{start},{size},{int(named)},{pos},{tag}"


def _unpacked(text: str, tokens: str) -> list[Token]:
    rows = (token.split(",", 4) for token in tokens.split(" ") if token)  # a tag may be a comma
    return [
        Token(text[int(start) : int(start) + int(size)], int(start), pos, tag, named == "1")
        for start, size, named, pos, tag in rows
    ]
