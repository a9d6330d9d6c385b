"""Words that carry a label: negations, quantifiers and numbers, found in a text whatever their spelling.

"isn't" is "is not", "no one" is "nobody", "not ... anything" is "nothing", "lots of" is "many".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from .numerals import DIGITS, NAMED, QUANTITY, numerals


class Cue(NamedTuple):
    """A word or phrase that carries a label: its kind, what it means among its kind, and the words themselves."""

    kind: str
    meaning: str
    words: str


#: Phrases by kind and meaning; of several that fit, the longest counts. {N} is a number that follows.
_PHRASES: dict[tuple[str, str], str] = {
    # What looks like a cue, and is none.
    ("", "nothing"): "not only|not just|not merely|not simply|or not|no doubt|no matter|at all|after all|all right"
    "|all of a sudden|all over|all alone|above all|each other|one another"
    "|some (?:kind|sort|type|form|variety) of|the most|most likely|most probably|most recently|how many"
    "|at first|first of all|both(?= \\w+(?: \\w+){0,3} and )"
    "|this one|that one|the one|which one|another one|other one|first one|last one|next one|new one|old one",
    ("negation", "not"): "not|no|none|neither|nor|no longer|not a single|no single",
    ("negation", "nobody"): "nobody|no one|no body|no person|no people",
    ("negation", "nothing"): "nothing|no thing|no things",
    ("negation", "nowhere"): "nowhere",
    ("negation", "never"): "never",
    ("negation", "without"): "without",
    ("negation", "hardly"): "hardly|scarcely|barely",
    ("negation", "rarely"): "rarely|seldom",
    ("quantifier", "all"): "all|every|each|both|everyone|everybody|every one|each one|everything|everywhere|all of",
    ("quantifier", "most"): "most|most of|the most of|the majority|a majority|the vast majority",
    (
        "quantifier",
        "many",
    ): "many|numerous|a lot|alot|a lot of|alot of|lots of|tons of|plenty of|much of|a large number of|a great number of"
    "|a great many|a great deal of|a good many|quite a few|dozens of|hundreds of|thousands of|millions of",
    ("quantifier", "some"): "some|several|a few|some of",
    ("quantifier", "few"): "few|very little|too little|there is little|there was little|little or no|little of",
    ("quantifier", "always"): "always|at all times|all the time",
    ("quantifier", "often"): "often|frequently",
    ("quantifier", "usually"): "usually|generally|typically|normally",
    ("quantifier", "sometimes"): "sometimes|occasionally|at times|from time to time",
    ("quantifier", "at least"): "at least|at the least|no (?:less|fewer) than|not (?:less|fewer) than|or more",
    ("quantifier", "at most"): "at most|at the most|no more than|not more than|or less|or fewer|up to {N}",
    ("quantifier", "more than"): "more than|greater than|in excess of|over {N}|above {N}",
    ("quantifier", "less than"): "less than|fewer than|in under|just under|under {N}|below {N}",
    ("quantifier", "only"): "only|merely|solely|nothing but",
    ("quantifier", "exactly"): "exactly|precisely",
    ("quantifier", "about"): "about {N}|around {N}|approximately {N}|roughly {N}|nearly {N}|almost {N}|some {N}",
    ("any", "not"): "any|either|any of",
    ("any", "nobody"): "anybody|anyone|any one|any person|any people",
    ("any", "nothing"): "anything",
    ("any", "nowhere"): "anywhere",
    ("any", "never"): "ever",
    ("number", "two"): "couple of|duo of",
}
_TOKEN = re.compile(rf"{NAMED}|{DIGITS}|[^\W\d_]+(?:'[^\W\d_]+)*|[.,;:!?]")
_APOSTROPHES = re.compile("[’‘ʼ´`]")
#: Verbs that are written with "nt" by those who spare the apostrophe; "wont" and "cant" too, rare as nouns.
_BARE = re.compile("(?:do|does|did|is|are|was|were|has|have|had|could|would|should|must|wo|ca)nt")
_SENTENCE = re.compile(" [.;:!?] ")
_UNQUANTIFIED = ("either", "ever")  # cues in the company of a negation only


def cues(text: str) -> list[Cue]:
    """All that carries a label in a text: negations and quantifiers in their order, then numbers.

    >>> [cue.meaning for cue in cues("Nobody isn’t here, and they didn't see at least 2 of anything.")]
    ['nobody', 'not', 'nothing', 'at least', '2']
    """
    spoken = " ".join(_spoken(text)) + " "
    found, rest = _scan(spoken)
    return [*_settled(found, spoken), *(Cue("number", number, number) for number in numerals(rest))]


def _spoken(text: str) -> Iterator[str]:
    """Words as one would say them: lower-cased, contractions open, sentence marks apart."""
    plain = unicodedata.normalize("NFKC", _APOSTROPHES.sub("'", text)).lower()
    plain = re.sub(r"\bno\.(?= ?\d)", "", plain)  # "No. 5" denies nothing
    plain = re.sub(r"n ?' ?t\b", "n't", re.sub(r"(?<![\w'])([b-hj-z])[ -](?=\d)", r"\1", plain))  # "G 8" is "G8"
    for token in _TOKEN.findall(plain):
        if token == "cannot" or token.endswith("n't") or _BARE.fullmatch(token):
            yield from ("can", "not")
        else:
            yield token.partition("'")[0]


class _Found(NamedTuple):
    place: int
    words: str
    kind: str
    meaning: str


def _scan(spoken: str) -> tuple[list[_Found], list[str]]:
    """The phrases of the table above, and all other words, with a mark where a phrase was."""
    found: list[_Found] = []
    rest: list[str] = []
    place = 0
    while (end := spoken.find(" ", place)) > 0:
        word = spoken[place:end]
        pattern = _CUES.get(word)
        match = pattern.match(spoken, place) if pattern else None
        if match:
            kind, meaning = _MEANINGS[int(str(match.lastgroup)[1:].partition("_")[0])]
            found.append(_Found(place, match[0], kind, meaning))
            word, end = "two" if kind == "number" else "_", match.end()
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
                told[denial] = Cue("negation", one.meaning, f"{told[denial].words} ... {one.words}")
        elif one.kind == "any" and one.words not in _UNQUANTIFIED:
            told.append(Cue("quantifier", "any", one.words))
        elif one.kind == "quantifier" or denial == len(told):
            told.append(Cue(one.kind, one.meaning, one.words))
    return told


def _patterns() -> dict[str, re.Pattern[str]]:
    """The phrases that begin with a word as one pattern, longer ones first; a group's number leads to its meaning."""
    number = f"(?= (?:a )?(?:{QUANTITY}))"
    firsts: dict[str, list[tuple[str, int]]] = {}
    for index, phrases in enumerate(_PHRASES.values()):
        for phrase in re.split(r"\|(?![^(]*\))", phrases):
            first = re.split(r"\W", phrase, maxsplit=1)[0]
            firsts.setdefault(first, []).append((phrase.replace(" {N}", number), index))
    for some in firsts.values():
        some.sort(key=lambda one: -one[0].count(" "))
    return {
        first: re.compile("|".join(f"(?P<c{index}_{n}>{phrase}(?= ))" for n, (phrase, index) in enumerate(some)))
        for first, some in firsts.items()
    }


_MEANINGS = list(_PHRASES)
_CUES = _patterns()
