"""Words that carry a label: negations, quantifiers and numbers, found in a text however they are spelled.

"isn't" is "is not", "no one" is "nobody", "not ... anything" is "nothing", "lots of" is "many".
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from .numerals import NAMED, QUANTITY, QUANTITY_V1, Numeral, numerals

# Spelling

#: Characters typed for an apostrophe: quotation marks, primes, accents, modifier letters, the full-width form.
APOSTROPHES = re.compile("[’‘‛ʼʻʹˈ′´`＇՚ꞌ]")
#: A number in digits; one that begins with its point does so after no letter or digit.
_DIGITS = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?(?:[/⁄]\d+)?|(?<![\w.])\.\d+"
_TOKEN = re.compile(rf"{NAMED}|{_DIGITS}|[^\W\d_]+(?:'[^\W\d_]+)*|[.,;:!?]")
_VERBS = "do|does|did|is|are|was|were|has|have|had|can|could|would|should|must|might|may|need|ought|dare|wo|ca|sha|ai"
#: "didn't" in all its spellings: "did n't", "didn 't", "didn t", "didnt"; the split ones must begin with a verb.
_DENIED = re.compile(rf"\b(?:{_VERBS})(?: ?n ?' ?t|n t|nt)\b|\b[^\W\d_]+n't\b|\bcannot\b")
_MONEY = r"[$£€¥]"
#: Magnitudes after digits; "m" and "b" for money only, because 5m are metres.
_SUFFIXES = {"k": "thousand", "m": "million", "mn": "million", "b": "billion", "bn": "billion", "tn": "trillion"}
_SHORT = re.compile(rf"(?<![\w.,])({_MONEY} ?)?(\.?\d[\d,.]*?)(?:(k)| ?(mn|bn|tn)|(?<=\d) ?([mb]))\b")
_REWRITTEN = [
    (re.compile(r"\bno\.(?= ?\d)"), ""),  # "No. 5" denies nothing
    (re.compile(rf"(?<!\S)[-−–](?={_MONEY}?\.?\d)"), "minus "),
    (re.compile(r"(?<=\d) ?%|\bper cent\b"), " percent "),
    (re.compile(r"(?<![\w'])([b-hj-z])[ -](?=\d)"), r"\1"),  # "G 8" is "G8"
    (re.compile(r"\b(all|every(?:one|body|thing|where)|nobody|no one|none) but (?!not\b)"), r"\1 except "),
]

# Words and phrases

#: Before "most", these make it a superlative: "is most beautiful", "her most famous book".
_BEFORE_SUPERLATIVE = "a his her its their my your our is are was were be been am seems looks".split()  # noqa: SIM905
_SUPERLATIVES = "|".join(f"{word} most(?! of )" for word in _BEFORE_SUPERLATIVE)
#: What can be "nearly" so; "about" and "around" are prepositions before them.
_REACHED = "all|every|everyone|everybody|everything|everywhere|each|always|no|none|nobody|nothing|never|nowhere"
_NEARLY = "|".join(f"{word} {{N}}|{word}(?= (?:{_REACHED}) )" for word in ("nearly", "almost", "virtually"))
#: A pair of these is one thing, or is counted without "pair".
_IN_PAIRS = (
    "jeans|pants|trousers|shorts|slacks|khakis|overalls|leggings|tights|stockings|underwear|pajamas|pyjamas|shoes|boots"
    "|sneakers|sandals|slippers|heels|socks|gloves|mittens|glasses|sunglasses|eyeglasses|goggles|binoculars|headphones"
    "|earrings|scissors|pliers|tongs|tweezers|shears|clippers|chopsticks|skis|skates|rollerblades|crutches|handcuffs"
)
_PAIR = rf"pair of(?! (?:\w+ ){{0,2}}(?:{_IN_PAIRS}) )"

#: Phrases by kind and meaning; the longest match counts. {N} is a number that follows.
_PHRASES: dict[tuple[str, str], str] = {
    # These look like cues, but are none.
    ("", "nothing"): "not only|not just|not merely|not simply|or not|no doubt|no matter|at all|after all|all right"
    "|all of a sudden|all over|all alone|above all|each other|one another"
    "|some (?:kind|sort|type|form|variety) of|the most|most likely|most probably|most recently|how many"
    "|at first|first of all|both(?= \\w+(?: \\w+){0,3} and )"
    "|this one|that one|the one|which one|another one|other one|first one|last one|next one|new one|old one"
    f"|{_SUPERLATIVES}",
    ("negation", "not"): "not|no|none|neither|nor|no longer|not a single|no single|without",
    ("negation", "nobody"): "nobody|no one|no body|no person|no people",
    ("negation", "nothing"): "nothing|no thing|no things",
    ("negation", "nowhere"): "nowhere",
    ("negation", "never"): "never",
    ("negation", "hardly"): "hardly|scarcely|barely",
    ("negation", "rarely"): "rarely|seldom|hardly ever|scarcely ever|barely ever|almost never",
    ("quantifier", "all"): "all|every|each|both|everyone|everybody|every one|each one|everything|everywhere|all of",
    ("quantifier", "most"): "most|most of|the most of|the majority|a majority|the vast majority|the greater part"
    "|the bulk of|the better part",
    ("quantifier", "mostly"): "mostly|mainly|primarily|chiefly|for the most part",
    ("quantifier", "many"): "many|numerous|a lot|alot|a lot of|alot of|lots of|tons of|plenty of|much of"
    "|a large number of|a great number of|a great many|a great deal of|a good many|quite a few"
    "|dozens of|hundreds of|thousands of|millions of",
    ("quantifier", "some"): "some|several|a few|some of",
    ("quantifier", "few"): "few|a minority|a small minority|the minority"
    "|very little|too little|there is little|there was little|little or no|little of",
    ("quantifier", "always"): "always|at all times|all the time",
    ("quantifier", "often"): "often|frequently",
    ("quantifier", "usually"): "usually|generally|typically|normally",
    ("quantifier", "sometimes"): "sometimes|occasionally|at times|from time to time",
    ("quantifier", "at least"): "at least|at the least|no (?:less|fewer) than|not (?:less|fewer) than|or more"
    "|a minimum of|minimum of",
    ("quantifier", "at most"): "at most|at the most|no more than|not more than|or less|or fewer|up to {N}"
    "|a maximum of|maximum of",
    ("quantifier", "more than"): "more than|greater than|in excess of|upwards of|over {N}|above {N}",
    ("quantifier", "less than"): "less than|fewer than|in under|just under|under {N}|below {N}",
    ("quantifier", "only"): "only|merely|solely|nothing but",
    ("quantifier", "exactly"): "exactly|precisely",
    ("quantifier", "about"): f"about {{N}}|around {{N}}|approximately {{N}}|roughly {{N}}|some {{N}}|{_NEARLY}",
    ("quantifier", "except"): "except|except for|excepting|excluding|with the exception of|apart from|aside from",
    ("any", "not"): "any|either|any of",
    ("any", "nobody"): "anybody|anyone|any one|any person|any people",
    ("any", "nothing"): "anything",
    ("any", "nowhere"): "anywhere",
    ("any", "never"): "ever",
    ("number", "two"): f"couple of|duo of|{_PAIR}",
}
_MEANINGS = list(_PHRASES)
_SENTENCE = re.compile(" [.;:!?] ")
_UNQUANTIFIED = ("either", "ever")  # cues only together with a negation
#: After "one", these show that it is a number: "one in five", "one of the three", "one or two".
_COUNTED = [
    re.compile(rf"(?:in|of|or|to|out of) (?:(?:every|the|these|those|his|her|its|our|their|my|your) )?(?:{number})")
    for number in (QUANTITY_V1, QUANTITY)
]
#: Phrases that `label-safety.v1` does not know, and numerals.
_NEW_PHRASES = {"hardly ever", "scarcely ever", "barely ever", "almost never", "the greater part", "the bulk of",
                "the better part", "a minority", "a small minority", "the minority", "upwards of"}  # fmt: skip
_NEW_NUMERALS = {"once", "thrice"}


class Cue(NamedTuple):
    """A word or phrase that carries a label: its kind, its meaning within the kind, the words, and the next word."""

    kind: str
    meaning: str
    words: str
    of: str = ""


def cues(text: str, version: int = 2) -> list[Cue]:
    """All cues of a text: negations and quantifiers in their order, then numbers.

    "zero" is a negation. The words of a number are its digits, except for a "one" that may be a pronoun. The first
    `version` knows fewer words.

    >>> [cue.meaning for cue in cues("Nobody isn’t here, and they didn't see at least 2 of anything.")]
    ['nobody', 'not', 'nothing', 'at least', '2']
    """
    text = " ".join(normalized_words(text)) + " "
    matches, rest = _scan(text, version)
    counted = rest if version > 1 else ["_" if word in _NEW_NUMERALS else word for word in rest]
    return [*_resolve_any(matches, text), *(_number(one, rest, version) for one in numerals(counted))]


def cue_counts(*texts: str) -> Counter[tuple[str, str]]:
    """How often texts have each kind and meaning of cue together; the words and their places do not matter.

    >>> cue_counts("He isn't there.") == cue_counts("He is not there."), cue_counts("Two dogs") == cue_counts("3 dogs")
    (True, False)
    """
    return Counter((cue.kind, cue.meaning) for text in texts for cue in cues(text))


def normalized_words(text: str) -> list[str]:
    """The words of a text as they are read aloud, lower-cased, and its sentence marks: "10k" is "10 thousand".

    >>> normalized_words("He didn′t pay $10k, or 5% of it.")
    ['he', 'can', 'not', 'pay', '10', 'thousand', ',', 'or', '5', 'percent', 'of', 'it', '.']
    """
    plain = re.sub(r"(?<=\d)(?=[¼-¾⅐-⅞])", " ", APOSTROPHES.sub("'", text))
    plain = _SHORT.sub(_write_out, unicodedata.normalize("NFKC", plain).lower())
    for pattern, instead in _REWRITTEN:
        plain = pattern.sub(instead, plain)
    plain = _DENIED.sub(" can not ", plain)  # the verb does not matter
    return [token.partition("'")[0] for token in _TOKEN.findall(plain)]


def _number(number: Numeral, rest: Sequence[str], version: int) -> Cue:
    of = _word(" ".join(rest[number.end : number.end + 1]) + " ", 0)
    if number.value == "0":
        return Cue("negation", "not", number.shown, of)
    pronoun = list(rest[number.start : number.end]) in (["one"], ["once"])
    if pronoun and not _COUNTED[version - 1].match(" ".join(rest[number.end : number.end + 4])):
        return Cue("number", "1", "one", of)
    return Cue("number", number.value, number.shown, of)


def _word(text: str, start: int) -> str:
    """The word that starts here; empty for a sentence mark."""
    word = text[start : max(start, text.find(" ", start))]
    return word if word[:1].isalpha() else ""


class _Match(NamedTuple):
    start: int
    words: str
    kind: str
    meaning: str
    of: str


def _scan(text: str, version: int) -> tuple[list[_Match], list[str]]:
    """The phrases that carry a label, and all other words with a placeholder for each phrase."""
    matches: list[_Match] = []
    rest: list[str] = []
    start = 0
    while (end := text.find(" ", start)) > 0:
        word = text[start:end]
        if match := _match_phrase(text, start, word, version):
            kind, meaning, words, end = match
            matches.append(_Match(start, words, kind, meaning, _word(text, end + 1)))
            word = "two" if kind == "number" else "_"
        rest.append(word)
        start = end + 1
    return matches, rest


def _resolve_any(matches: list[_Match], text: str) -> list[Cue]:
    """Join "not" and an "any" after it ("not ... anything" is "nothing"); other negations make "any" redundant."""
    found: list[Cue] = []
    negation, since = -1, 0
    for one in matches:
        if _SENTENCE.search(text, since, one.start + 1):
            negation, since = -1, one.start
        if one.kind == "negation" and not (one.words == "nor" and any(cue.words == "neither" for cue in found)):
            negation, since = len(found), one.start
        if one.kind == "any" and negation >= 0:
            if found[negation].meaning == "not":
                found[negation] = Cue("negation", one.meaning, f"{found[negation].words} ... {one.words}", one.of)
        elif one.kind == "any" and one.words not in _UNQUANTIFIED:
            found.append(Cue("quantifier", "any", one.words, one.of))
        elif one.kind == "quantifier" or negation == len(found):
            found.append(Cue(one.kind, one.meaning, one.words, one.of))
    return found


def _match_phrase(text: str, start: int, first: str, version: int = 2) -> tuple[str, str, str, int] | None:
    """The phrase that starts here with its `first` word: its kind, its meaning, its words, and its end.

    >>> _match_phrase("no one came ", 0, "no")
    ('negation', 'nobody', 'no one', 6)
    """
    pattern = _patterns(version).get(first)
    match = pattern.match(text, start) if pattern else None
    if not match:
        return None
    return *_MEANINGS[int(str(match.lastgroup)[1:].partition("_")[0])], match[0], match.end()


@cache
def _patterns(version: int) -> dict[str, re.Pattern[str]]:
    """The phrases that begin with a word as one pattern, longest first; a group's name has the index of its meaning."""
    number = rf"(?= (?:a )?(?:{QUANTITY if version > 1 else QUANTITY_V1}))"
    firsts: dict[str, list[tuple[str, int]]] = {}
    for index, phrases in enumerate(_PHRASES.values()):
        for one in re.split(r"\|(?![^(]*\))", phrases):
            if version == 1 and one in _NEW_PHRASES:
                continue
            first = re.split(r"\W", one, maxsplit=1)[0]
            firsts.setdefault(first, []).append((one.replace(" {N}", number), index))
    for some in firsts.values():
        some.sort(key=lambda one: -one[0].count(" "))
    return {
        first: re.compile("|".join(f"(?P<c{index}_{n}>{one}(?= ))" for n, (one, index) in enumerate(some)))
        for first, some in firsts.items()
    }


def _write_out(match: re.Match[str]) -> str:
    money, digits, *suffixes = match.groups()
    suffix = next(filter(None, suffixes))
    return match[0] if suffix in ("m", "b") and not money else f"{digits} {_SUFFIXES[suffix]}"
