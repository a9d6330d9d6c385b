"""Words that carry a label: negations, quantifiers and numbers, found in a text whatever their spelling.

"isn't" is "is not", "no one" is "nobody", "not ... anything" is "nothing", "lots of" is "many".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .counting import QUANTITY
from .numerals import Numeral, numerals
from .phrases import phrase
from .spoken import spoken


class Cue(NamedTuple):
    """A word or phrase that carries a label: its kind, what it means among its kind, the words, and the next word."""

    kind: str
    meaning: str
    words: str
    of: str = ""


_SENTENCE = re.compile(" [.;:!?] ")
_UNQUANTIFIED = ("either", "ever")  # cues in the company of a negation only
#: Behind "one", these show that it counts: "one in five", "one of the three", "one or two".
_COUNTED = re.compile(
    rf"(?:in|of|or|to|out of) (?:(?:every|the|these|those|his|her|its|our|their|my|your) )?(?:{QUANTITY})"
)


def cues(text: str) -> list[Cue]:
    """All that carries a label in a text: negations and quantifiers in their order, then numbers.

    "zero" denies. A number's words are its digits, save for a "one" that may be a pronoun.

    >>> [cue.meaning for cue in cues("Nobody isn’t here, and they didn't see at least 2 of anything.")]
    ['nobody', 'not', 'nothing', 'at least', '2']
    """
    said = " ".join(spoken(text)) + " "
    found, rest = _scan(said)
    return [*_settled(found, said), *(_number(one, rest) for one in numerals(rest))]


def _number(found: Numeral, rest: Sequence[str]) -> Cue:
    of = _word(" ".join(rest[found.end : found.end + 1]) + " ", 0)
    if found.value == "0":
        return Cue("negation", "not", found.told, of)
    pronoun = list(rest[found.start : found.end]) == ["one"]
    if pronoun and not _COUNTED.match(" ".join(rest[found.end : found.end + 4])):
        return Cue("number", "1", "one", of)
    return Cue("number", found.value, found.told, of)


def _word(said: str, place: int) -> str:
    """The word that begins at a place; a mark is none."""
    word = said[place : max(place, said.find(" ", place))]
    return word if word[:1].isalpha() else ""


class _Found(NamedTuple):
    place: int
    words: str
    kind: str
    meaning: str
    of: str


def _scan(said: str) -> tuple[list[_Found], list[str]]:
    """The phrases that carry a label, and all other words, with a mark where a phrase was."""
    found: list[_Found] = []
    rest: list[str] = []
    place = 0
    while (end := said.find(" ", place)) > 0:
        word = said[place:end]
        if match := phrase(said, place, word):
            kind, meaning, words, end = match
            found.append(_Found(place, words, kind, meaning, _word(said, end + 1)))
            word = "two" if kind == "number" else "_"
        rest.append(word)
        place = end + 1
    return found, rest


def _settled(found: list[_Found], spoken: str) -> list[Cue]:
    """Put "not" and the "any" behind it together; an "any" in the company of another negation adds nothing."""
    told: list[Cue] = []
    denial, since = -1, 0
    for one in found:
        if _SENTENCE.search(spoken, since, one.place + 1):
            denial, since = -1, one.place
        if one.kind == "negation" and not (one.words == "nor" and any(cue.words == "neither" for cue in told)):
            denial, since = len(told), one.place
        if one.kind == "any" and denial >= 0:
            if told[denial].meaning == "not":
                told[denial] = Cue("negation", one.meaning, f"{told[denial].words} ... {one.words}", one.of)
        elif one.kind == "any" and one.words not in _UNQUANTIFIED:
            told.append(Cue("quantifier", "any", one.words, one.of))
        elif one.kind == "quantifier" or denial == len(told):
            told.append(Cue(one.kind, one.meaning, one.words, one.of))
    return told
