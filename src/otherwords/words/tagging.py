"""Part-of-speech tags from spaCy, each distinct text tagged once: all that a generator needs to know of a sentence.

What is found is kept on disk for the life of the process, so that a second pass over the same texts costs little and
memory stays flat.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from importlib.metadata import version
from itertools import islice
from threading import Lock
from typing import NamedTuple

from ..storage.scratch import Scratch
from .pipelines import installed, pipeline, version_of

#: Texts looked up, and tagged where they are new, at a time.
CHUNK = 1024


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
        parts = "tagger+ner" if names else "tagger"
        self.identity = f"{self._name}-{version_of(self._name)}+spacy-{version('spacy')}/{parts}"
        self._lock = Lock()
        self._known = Scratch()
        self._known.execute("create table tagged (text blob primary key, tokens text) without rowid")

    def __call__(self, texts: Iterable[str]) -> Iterator[list[Token]]:
        """The tokens of every text, in order."""
        stream = iter(texts)
        while some := list(islice(stream, CHUNK)):
            yield from self._tagged(some)

    def _tagged(self, texts: Sequence[str]) -> Iterator[list[Token]]:
        with self._lock:  # neither the database nor the pipeline is made for two at a time
            found = self._found(texts)
        return (_unpacked(text, found[text]) for text in texts)

    def _found(self, texts: Sequence[str]) -> dict[str, str]:
        keys = {text: blake2b(text.encode(), digest_size=16).digest() for text in texts}
        found = {key: self._look_up(key) for key in keys.values()}
        if fresh := [text for text, key in keys.items() if found[key] is None]:
            tagged = pipeline(self._name, self._names)(fresh)
            told = {keys[text]: " ".join(map(_packed, tokens)) for text, tokens in zip(fresh, tagged, strict=True)}
            self._known.execute("begin")
            self._known.executemany("insert into tagged values (?, ?)", told.items())
            self._known.execute("commit")
            found.update(told)
        return {text: found[key] or "" for text, key in keys.items()}

    def _look_up(self, key: bytes) -> str | None:
        row = self._known.execute("select tokens from tagged where text = ?", (key,)).fetchone()
        return None if row is None else str(row[0])


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
