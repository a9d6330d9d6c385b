"""The value of a number in English words or digits: "three hundred and five" is 305, "1.5 million" 1500000."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12, "dozen": 12}
SMALL = {word: n for n, word in enumerate(_UNITS)} | {"twice": 2}
DECADES = {word: 10 * n for n, word in enumerate(_TENS, 2)}
#: All words that begin a quantity, as a pattern; "one" is not among them, because it mostly is a pronoun.
QUANTITY = rf"\.?\d|(?:{'|'.join(word for word in (*_UNITS[2:], *DECADES, *SCALES, 'half'))})\b"
#: Longer numbers are compared digit by digit.
_LONG = 30
_BELOW_ONE = re.compile(r"\d{1,2}[/⁄]\d{1,3}")


def count(words: Sequence[str], start: int) -> tuple[Fraction | str, int, int]:
    """Add up the words of a number; say what its last part was (10 after "twenty"), and where it ends.

    >>> count("two hundred and five men".split(), 0)
    (Fraction(205, 1), 0, 4)
    """
    one = words[start] in ("a", "an") and start + 1 < len(words) and words[start + 1] in SCALES  # "a hundred"
    place = start + one
    total, group, lowest = Fraction(0), Fraction(one), 1000
    while place < len(words):
        word = words[place]
        if word in SCALES:
            group, lowest = (group or Fraction(1)) * SCALES[word], 100
            if SCALES[word] >= 1000:
                total, group, lowest = total + group, Fraction(0), 1000
        elif (value := _small(word, lowest, place == start)) is not None:
            if isinstance(value, str):
                return value, 0, place + 1
            group, lowest = group + value, 10 if word in DECADES else 0
            if extra := mixed(words, place):  # "2 1/2"
                group, place = group + extra, place + 1
        elif word != "and" or lowest < 100 or place == start or not _goes_on(words, place + 1):
            break
        place += 1
    return total + group, lowest, place


def mixed(words: Sequence[str], place: int) -> Fraction:
    """The fraction that belongs to the whole number in digits before it; else nothing."""
    behind = words[place + 1] if place + 1 < len(words) else ""
    if not words[place].isdecimal() or not _BELOW_ONE.fullmatch(behind):
        return Fraction(0)
    value = _digits(behind)
    return value if isinstance(value, Fraction) and value < 1 else Fraction(0)


def _small(word: str, lowest: int, first: bool) -> Fraction | str | None:
    """What a word adds to a number whose last part was `lowest`: after twenty only a unit may follow."""
    if word.lstrip(".")[:1].isdecimal():
        return _digits(word) if first else None
    if word in DECADES:
        return Fraction(DECADES[word]) if lowest >= 100 else None
    value = SMALL.get(word)
    return Fraction(value) if value is not None and (lowest >= 100 or 0 < value < lowest) else None


def _digits(word: str) -> Fraction | str:
    top, _, bottom = re.sub("⁄", "/", word.replace(",", "")).partition("/")
    if len(word) > _LONG or (bottom and not int(bottom)):
        return word.replace(",", "").lstrip("0") or "0"
    return Fraction(top) / int(bottom or 1)


def _goes_on(words: Sequence[str], place: int) -> bool:
    return place < len(words) and (words[place] in SMALL or words[place] in DECADES)
