"""Numbers in English text by their value: "2", "two" and "a couple of" are the same, "2nd" and "second" are another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12, "dozen": 12}
_ORDINAL_UNITS = (
    "zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth",
    "nineteenth",
)  # fmt: skip
_SMALL = {word: n for n, word in enumerate(_UNITS)} | {"twice": 2}
_DECADES = {word: 10 * n for n, word in enumerate(_TENS, 2)}
_ORDINALS = {word: n for n, word in enumerate(_ORDINAL_UNITS)}
_ORDINALS |= {f"{word[:-1]}ieth": n for word, n in _DECADES.items()}
_ORDINALS |= {f"{word}th": n for word, n in _SCALES.items() if word != "dozen"}
_PARTS = {"half": 2, "halves": 2, "quarter": 4, "quarters": 4}
_PARTS |= {word + s: n for word, n in _ORDINALS.items() if 2 < n <= 100 for s in ("", "s")}

#: What a number looks like in digits, and a name that has digits in it (G8, F-16), which is no quantity.
DIGITS = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?(?:[/⁄]\d+)?"
NAMED = r"(?<!\w)(?:[^\W\d_]+\d\w*|[^\W\d_]-\d\w*)"
#: All words that begin a quantity, as a pattern; "one" is not among them, because it mostly is a pronoun.
QUANTITY = "|".join([r"\d", *(word for word in (*_UNITS, *_DECADES, *_SCALES) if word not in ("one", "zero"))])
#: Longer numbers are compared digit by digit.
_LONG = 30
_BEGIN = {*_SMALL, *_DECADES, *_SCALES, *_ORDINALS, *_PARTS, "a", "an"}
_DIGIT = re.compile(r"\d")
_Found = tuple[str, int]


def numerals(words: Sequence[str]) -> list[str]:
    """The numbers among lower-cased words, written alike: quantities as digits, ordinals as in 2nd.

    >>> numerals("a hundred and five men , 1,000 dogs and 1.5 million on the twenty first".split())
    ['105', '1000', '1500000', '21st']
    >>> numerals("two thirds of them waited for half an hour , and a second".split())
    ['2/3', '0.5']
    """
    found: list[str] = []
    place = 0
    while place < len(words):
        if words[place] not in _BEGIN and not _DIGIT.search(words[place]):
            place += 1
            continue
        number = _quantity(words, place) or _ordinal(words, place)
        if number:
            found.append(number[0])
        place = number[1] if number else place + 1
    return found


def _quantity(words: Sequence[str], start: int) -> _Found | None:
    """A number that begins here, in digits or in words, and where it ends."""
    if re.fullmatch(NAMED, words[start]):
        return words[start].replace("-", ""), start + 1
    value, lowest, place = _sum(words, start)
    if isinstance(value, str):
        return value, place
    if place == start:
        return _part(Fraction(1), words, start)
    following = words[place] if place < len(words) else ""
    if list(words[place : place + 3]) == ["and", "a", "half"]:
        return _written(value + Fraction(1, 2)), place + 3
    if following in _ORDINALS and lowest in (10, 100):
        return _ranked(int(value) + _ORDINALS[following]), place + 1
    if following in ("st", "nd", "rd", "th") and words[place - 1].isdecimal():
        return f"{_written(value)}{following}", place + 1
    return _part(value, words, place) or (_written(value), place)


def _sum(words: Sequence[str], start: int) -> tuple[Fraction | str, int, int]:
    """Add up the words of a number; say what its last part was (10 after "twenty"), and where it ends."""
    one = words[start] in ("a", "an") and start + 1 < len(words) and words[start + 1] in _SCALES  # "a hundred"
    place = start + one
    total, group, lowest = Fraction(0), Fraction(one), 1000
    while place < len(words):
        word = words[place]
        if word in _SCALES:
            group, lowest = (group or Fraction(1)) * _SCALES[word], 100
            if _SCALES[word] >= 1000:
                total, group, lowest = total + group, Fraction(0), 1000
        elif (value := _small(word, lowest, place == start)) is not None:
            if isinstance(value, str):
                return value, 0, place + 1
            group, lowest = group + value, 10 if word in _DECADES else 0
        elif word != "and" or lowest < 100 or place == start or not _goes_on(words, place + 1):
            break
        place += 1
    return total + group, lowest, place


def _small(word: str, lowest: int, first: bool) -> Fraction | str | None:
    """What a word adds to a number whose last part was `lowest`: after twenty only a unit may follow."""
    if word[:1].isdecimal():
        return _digits(word) if first else None
    if word in _DECADES:
        return Fraction(_DECADES[word]) if lowest >= 100 else None
    value = _SMALL.get(word)
    return Fraction(value) if value is not None and (lowest >= 100 or 0 < value < lowest) else None


def _digits(word: str) -> Fraction | str:
    top, _, bottom = re.sub("⁄", "/", word.replace(",", "")).partition("/")
    if len(word) > _LONG or (bottom and not int(bottom)):
        return word.replace(",", "").lstrip("0") or "0"
    return Fraction(top) / int(bottom or 1)


def _goes_on(words: Sequence[str], place: int) -> bool:
    return place < len(words) and (words[place] in _SMALL or words[place] in _DECADES)


def _part(whole: Fraction, words: Sequence[str], place: int) -> _Found | None:
    """A fraction: "half", "two thirds", "a quarter of"; "third" alone is an ordinal."""
    word = words[place] if place < len(words) else ""
    if word not in _PARTS or whole == 0:
        return None
    named = word.endswith("s") or list(words[place + 1 : place + 2]) == ["of"]
    counted = place > 0 and (words[place - 1] in ("a", "one") or whole != 1)
    if word == "half" or (named and counted):
        return _written(whole / _PARTS[word]), place + 1
    return None


def _ordinal(words: Sequence[str], place: int) -> _Found | None:
    value = _ORDINALS.get(words[place])
    before = words[place - 1] if place else ""
    if value is None or (words[place] == "second" and (before in ("a", "per", "split", "_") or before in _SMALL)):
        return None  # a second is a while
    return _ranked(value), place + 1


def _ranked(value: int) -> str:
    suffix = "th" if value % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
    return f"{value}{suffix}"


def _written(value: Fraction) -> str:
    bottom = value.denominator
    for factor in (2, 5):
        while bottom % factor == 0:
            bottom //= factor
    if value.denominator == 1 or bottom > 1:
        return str(value)
    return f"{float(value):.12g}"
