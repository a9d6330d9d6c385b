"""Other wordnets, in other languages, through the `wn` package: the same questions as to our own lexicon.

They bring no inflection: a word is found only in its base form.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Protocol

from ..errors import BadInput, MissingExtra
from .lexicon import Synset


class Wordnet(Protocol):
    """What is asked of a wordnet, our own or another: words to synsets, forms to base forms, opposites."""

    def __hash__(self) -> int: ...

    def synsets(self, word: str, pos: str = "") -> list[Synset]:
        """The senses of a word, the most frequent first."""

    def base_forms(self, word: str, pos: str = "") -> tuple[str, ...]:
        """What a word may be a form of."""

    def knows(self, word: str, pos: str = "") -> bool:
        """Whether a word or expression is there."""

    def antonyms(self, word: str) -> frozenset[str]:
        """The antonyms of a base form."""


class OtherWordnet:
    """A wordnet that was added to `wn`'s data directory; `identity` is its name and version."""

    def __init__(self, name: str):
        self._wordnet = _opened(name)
        self.identity = "+".join(f"{one.id}:{one.version}" for one in self._wordnet.lexicons())
        self.english = all(str(one.language).startswith("en") for one in self._wordnet.lexicons())

    @lru_cache(maxsize=16_384)  # noqa: B019  # wordnets are few, and live as long as the process
    def synsets(self, word: str, pos: str = "") -> list[Synset]:
        """The senses of a word in the order of the wordnet, all parts of speech or one."""
        senses = [sense for part in pos or "nvar" for one in self._words(word, part) for sense in one.senses()]
        return [_synset(synset) for synset in dict.fromkeys(sense.synset() for sense in senses)]

    def base_forms(self, word: str, pos: str = "") -> tuple[str, ...]:
        """The word itself, as the wordnet writes it, where that is a base form."""
        found = (one.lemma() for part in pos or "nvar" for one in self._words(word, part))
        return tuple(lemma for lemma in dict.fromkeys(found) if lemma.lower() == word.lower())

    def knows(self, word: str, pos: str = "") -> bool:
        """Whether a word or expression is there in its base form."""
        return bool(self.base_forms(word, pos))

    @lru_cache(maxsize=16_384)  # noqa: B019  # as above
    def antonyms(self, word: str) -> frozenset[str]:
        """The antonyms of a base form, in any part of speech."""
        senses = [sense for part in "nvar" for one in self._words(word, part) for sense in one.senses()]
        others = (other for sense in senses for other in sense.get_related("antonym"))
        return frozenset(str(other.word().lemma()).lower() for other in others)

    def _words(self, word: str, part: str) -> list[Any]:
        parts = ("a", "s") if part == "a" else (part,)
        return [one for letter in parts for one in self._wordnet.words(word, pos=letter)]


@lru_cache(maxsize=4)
def other_wordnet(name: str) -> OtherWordnet:
    """A wordnet by its name in `wn`, as in `omw-fr:1.4`, opened once per process."""
    return OtherWordnet(name)


def _opened(name: str) -> Any:
    try:
        import wn
    except ImportError as error:
        raise MissingExtra(f"the wordnet {name!r}", "wn") from error
    try:
        return wn.Wordnet(name)
    except wn.Error as error:
        there = ", ".join(sorted(f"{one.id}:{one.version}" for one in wn.lexicons())) or "none"
        fix = f"there are: {there}; or get it first: python -m wn download {name}"
        raise BadInput(f"no wordnet {name!r} is installed", where="wordnet.v1", field="lexicon", fix=fix) from error


def _synset(found: Any) -> Synset:
    senses = found.senses()
    words = tuple(str(sense.word().lemma()) for sense in senses)
    counts = tuple(sum(sense.counts()) for sense in senses)
    return Synset(str(found.id), str(found.pos), words, counts, str(found.definition() or ""))
