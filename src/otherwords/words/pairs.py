"""Synonyms of WordNet that a reader accepted, pair by pair, each with the places where it holds.

How often a word has a sense says little of the sense that it has here: a "process" is mostly no "procedure", whatever
WordNet counts. So the pairs are a list, and a pair says beside which words, or in which form, it holds.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

from ..storage.files import digest
from .lexicon import PARTS, Synset, lexicon
from .places import WordPlace, idioms

_TEST = re.compile(r"(tag|next|next_pos|previous|previous_pos|absent|present)(!?=)(\S+)")
#: What stands for the word before the first one of a text, and behind the last one.
_NOTHING = "NONE"


@dataclass(frozen=True)
class PlaceTest:
    """A condition on the place of a word: what is looked at, the values, and whether it must be one of them.

    >>> PlaceTest("next", frozenset({"to"}), True), PlaceTest("tag", frozenset({"NN"}), False).wanted
    (PlaceTest(what='next', values=frozenset({'to'}), wanted=True), False)
    """

    what: str
    values: frozenset[str]
    wanted: bool

    def holds(self, place: WordPlace, present: frozenset[str]) -> bool:
        """Whether the condition is met, given all words of the problem."""
        if self.what == "absent":
            return present.isdisjoint(self.values)
        if self.what == "present":
            return not present.isdisjoint(self.values)
        return (_look(self.what, place) in self.values) is self.wanted


class SynonymPair(NamedTuple):
    """A word, a synonym, the sense that they share, and the tests that a place must pass."""

    word: str
    part: str
    synonym: str
    sense: Synset
    tests: tuple[PlaceTest, ...]

    def holds(self, places: Sequence[WordPlace], present: frozenset[str]) -> bool:
        """Whether the synonym may stand at all places of the word."""
        return all(test.holds(place, present) for test in self.tests for place in places)


def read_pairs(word: str, part: str) -> tuple[SynonymPair, ...]:
    """The accepted pairs of a base form.

    >>> [(pair.synonym, pair.sense.name) for pair in read_pairs("couch", "n")]
    [('sofa', 'sofa.n.01')]
    """
    return _pairs().get((word.lower(), part), ())


def read_tests(text: str) -> tuple[PlaceTest, ...]:
    """The tests of a line, as they are written in the list.

    >>> [(test.what, sorted(test.values), test.wanted) for test in read_tests("next=to tag!=NN|NNS")]
    [('next', ['to'], True), ('tag', ['NN', 'NNS'], False)]
    """
    matches = [(one, _TEST.fullmatch(one)) for one in text.split()]
    if wrong := [one for one, match in matches if match is None]:
        raise ValueError(f"no test of a place: {wrong[0]!r}")
    return tuple(PlaceTest(match[1], frozenset(match[3].split("|")), match[2] == "=") for _, match in matches if match)


def list_lines() -> list[list[str]]:
    """The lines of the list: word, part of speech, synonym, where it holds, and why there."""
    packed = resources.files("otherwords") / "assets" / "wordnet" / "synonyms.tsv"
    lines = [line for line in packed.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return [[*line.split("\t"), "", ""][:5] for line in lines[1:]]


@lru_cache(maxsize=1)
def fingerprint() -> str:
    """What stands for the lists of pairs and idioms in a signature."""
    return digest(list_lines(), sorted(idioms()))[:8]


@lru_cache(maxsize=1)
def _pairs() -> dict[tuple[str, str], tuple[SynonymPair, ...]]:
    found: dict[tuple[str, str], list[SynonymPair]] = {}
    for word, pos, synonym, where, _ in list_lines():
        part = PARTS[pos]
        pair = SynonymPair(word, part, synonym, _shared_sense(word, part, synonym), read_tests(where))
        found.setdefault((word.lower(), part), []).append(pair)
    return {key: tuple(some) for key, some in found.items()}


def _shared_sense(word: str, part: str, synonym: str) -> Synset:
    """The first sense of a word that has the synonym, too."""
    senses = lexicon().synsets(word, part)
    return next(one for one in senses if {word.lower(), synonym.lower()} <= {other.lower() for other in one.words})


def _look(what: str, place: WordPlace) -> str:
    if what == "tag":
        return place.token.tag
    token = place.after if what.startswith("next") else place.before
    if token is None:
        return _NOTHING
    return token.pos if what.endswith("_pos") else token.text.lower()
