"""Numbers in English text by their value: "2", "two" and "a couple of" are the same, "2nd" and "second" are another."""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12, "dozen": 12}
_SMALL = {word: n for n, word in enumerate(_UNITS)} | {"once": 1, "twice": 2, "thrice": 3}
_DECADES = {word: 10 * n for n, word in enumerate(_TENS, 2)}
_BEGINNINGS = (*_UNITS[2:], *_DECADES, *_SCALES, "half")
#: How a quantity begins, as a pattern; without "one", which is mostly a pronoun except in "one hundred".
QUANTITY = rf"\.?\d|(?:{'|'.join((*_BEGINNINGS, *(f'one {word}' for word in _SCALES)))})\b"
#: The same as `label-safety.v1` knows it.
QUANTITY_V1 = rf"\.?\d|(?:{'|'.join(_BEGINNINGS)})\b"
#: Longer numbers are compared digit by digit.
_MAX_DIGITS = 30
#: Words of one number; a longer row of them ("hundred hundred hundred ...") is several.
_MAX_WORDS = 40
_BELOW_ONE = re.compile(r"\d{1,2}[/⁄]\d{1,3}")
_ORDINAL_UNITS = (
    "zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth",
    "nineteenth",
)  # fmt: skip
_ORDINALS = {word: n for n, word in enumerate(_ORDINAL_UNITS)}
_ORDINALS |= {f"{word[:-1]}ieth": n for word, n in _DECADES.items()}
_ORDINALS |= {f"{word}th": n for word, n in _SCALES.items() if word != "dozen"}
_PARTS = {"half": 2, "halves": 2, "quarter": 4, "quarters": 4}
_PARTS |= {word + s: n for word, n in _ORDINALS.items() if 2 < n <= 100 for s in ("", "s")}
_MONTHS = frozenset(
    "january february march april may june july august september october november december".split()  # noqa: SIM905
)

#: A name that has digits in it (G8, F-16) is not a quantity.
NAMED = r"(?<!\w)(?:[^\W\d_]+\d\w*|[^\W\d_]-\d\w*)"
_BEGIN = {*_SMALL, *_DECADES, *_SCALES, *_ORDINALS, *_PARTS, "a", "an"}
_MINUS = ("minus", "negative")
_DIGIT = re.compile(r"\d")
#: A value and the index behind its last word; a string is a name, an ordinal or a number too long to compute with.
_Number = tuple[Fraction | str, int]


class Numeral(NamedTuple):
    """A number: its value in a standard form, how to show it to a reader, and its words from `start` to `end`."""

    value: str
    shown: str
    start: int
    end: int


def numerals(words: Sequence[str]) -> list[Numeral]:
    """The numbers among lower-cased words in a standard form: quantities as digits, ordinals as in 2nd.

    >>> [one.value for one in numerals("a hundred and five men , .5 dogs and 1.5 million on the twenty first".split())]
    ['105', '0.5', '1500000', '21st']
    >>> [one.value for one in numerals("half a million of them , 50 percent , minus five , the third of may".split())]
    ['500000', '0.5', '-5', '3']
    """
    found: list[Numeral] = []
    place = 0
    while place < len(words):
        if words[place] not in _BEGIN and not _DIGIT.search(words[place]):
            place += 1
            continue
        number = _quantity(words, place) or _ordinal(words, place)
        if number:
            found.append(_in_context(number, words, place, found[-1].end if found else -1))
        place = found[-1].end if number else place + 1
    return found


def _in_context(number: _Number, words: Sequence[str], start: int, since: int) -> Numeral:
    """Apply the words around a number: a minus that is not between two numbers, "percent", or a month."""
    value, end = number
    if isinstance(value, str):
        dated = re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th)", value) if _in_date(words, start, end) else None
        return Numeral(dated[1] if dated else value, dated[1] if dated else value, start, end)
    if start > max(0, since + 1) and words[start - 1] in _MINUS:
        value = -value
    shown = _format(value)
    if list(words[end : end + 1]) == ["percent"]:
        return Numeral(_format(value / 100), f"{shown}%", start, end + 1)
    return Numeral(shown, shown, start, end)


def _in_date(words: Sequence[str], start: int, end: int) -> bool:
    """Whether a month is next to it: "May 3rd", "May the 3rd", "3rd May" and "3rd of May" mean "3 May"."""
    before, after = list(words[max(0, start - 2) : start]), list(words[end : end + 2])
    near = [*before[-1:], *after[:1]]
    near += before[:1] if before[1:] == ["the"] else []
    near += after[1:] if after[:1] == ["of"] else []
    return not _MONTHS.isdisjoint(near)


def _quantity(words: Sequence[str], start: int) -> _Number | None:
    """The number that begins here, in digits or in words, and where it ends."""
    if re.fullmatch(NAMED, words[start]):
        return words[start].replace("-", ""), start + 1
    value, lowest, place = _count(words, start)
    if isinstance(value, str):
        return value, place
    if place == start:
        return _part(Fraction(1), words, start)
    following = words[place] if place < len(words) else ""
    if list(words[place : place + 3]) == ["and", "a", "half"]:
        return _scaled(value + Fraction(1, 2), words, place + 3)
    if following in _ORDINALS and lowest in (10, 100):
        return _format_ordinal(int(value) + _ORDINALS[following]), place + 1
    if following in ("st", "nd", "rd", "th") and words[place - 1].isdecimal():
        return f"{_format(value)}{following}", place + 1
    return _part(value, words, place) or (value, place)


def _scaled(value: Fraction, words: Sequence[str], place: int) -> _Number:
    """ "Half a million", "a quarter of a million", "two and a half million"."""
    end = place
    for word in ("of", "a"):
        end += list(words[end : end + 1]) == [word]
    scale = _SCALES.get(words[end]) if end < len(words) else None
    return (value * scale, end + 1) if scale else (value, place)


def _part(whole: Fraction, words: Sequence[str], place: int) -> _Number | None:
    """A fraction: "half", "two thirds", "a quarter of"; "third" alone is an ordinal."""
    word = words[place] if place < len(words) else ""
    if word not in _PARTS or whole == 0:
        return None
    named = word.endswith("s") or list(words[place + 1 : place + 2]) == ["of"]
    counted = place > 0 and (words[place - 1] in ("a", "one") or whole != 1)
    if word == "half" or (named and counted):
        return _scaled(whole / _PARTS[word], words, place + 1)
    return None


def _ordinal(words: Sequence[str], place: int) -> _Number | None:
    value = _ORDINALS.get(words[place])
    before = words[place - 1] if place else ""
    if value is None or (words[place] == "second" and (before in ("a", "per", "split", "_") or before in _SMALL)):
        return None  # a second of time
    return _format_ordinal(value), place + 1


def _format_ordinal(value: int) -> str:
    suffix = "th" if value % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
    return f"{value}{suffix}"


def _format(value: Fraction) -> str:
    bottom = value.denominator
    for factor in (2, 5):
        while bottom % factor == 0:
            bottom //= factor
    if value.denominator == 1 or bottom > 1:
        return str(value)
    return f"{float(value):.12g}"


# Values


def _count(words: Sequence[str], start: int) -> tuple[Fraction | str, int, int]:
    """The value of the words of a number, the size of its last part (10 after "twenty"), and where it ends.

    >>> _count("two hundred and five men".split(), 0)
    (Fraction(205, 1), 0, 4)
    """
    one = words[start] in ("a", "an") and start + 1 < len(words) and words[start + 1] in _SCALES  # "a hundred"
    place = start + one
    total, group, lowest = Fraction(0), Fraction(one), 1000
    while place < min(len(words), start + _MAX_WORDS):
        word = words[place]
        if word in _SCALES:
            group, lowest = (group or Fraction(1)) * _SCALES[word], 100
            if _SCALES[word] >= 1000:
                total, group, lowest = total + group, Fraction(0), 1000
        elif (value := _small(word, lowest, place == start)) is not None:
            if isinstance(value, str):
                return value, 0, place + 1
            group, lowest = group + value, 10 if word in _DECADES else 0
            if extra := _mixed(words, place):  # "2 1/2"
                group, place = group + extra, place + 1
        elif word != "and" or lowest < 100 or place == start or not _continues(words, place + 1):
            break
        place += 1
    return total + group, lowest, place


def _mixed(words: Sequence[str], place: int) -> Fraction:
    """The fraction after a whole number in digits, as in "2 1/2"; else 0."""
    behind = words[place + 1] if place + 1 < len(words) else ""
    if not words[place].isdecimal() or not _BELOW_ONE.fullmatch(behind):
        return Fraction(0)
    value = _digits(behind)
    return value if isinstance(value, Fraction) and value < 1 else Fraction(0)


def _small(word: str, lowest: int, first: bool) -> Fraction | str | None:
    """What a word adds to a number whose last part was `lowest`: after twenty only a unit may follow."""
    if word.lstrip(".")[:1].isdecimal():
        return _digits(word) if first else None
    if word in _DECADES:
        return Fraction(_DECADES[word]) if lowest >= 100 else None
    value = _SMALL.get(word)
    return Fraction(value) if value is not None and (lowest >= 100 or 0 < value < lowest) else None


def _digits(word: str) -> Fraction | str:
    top, _, bottom = re.sub("⁄", "/", word.replace(",", "")).partition("/")
    if len(word) > _MAX_DIGITS or (bottom and not int(bottom)):
        return word.replace(",", "").lstrip("0") or "0"
    return Fraction(top) / int(bottom or 1)


def _continues(words: Sequence[str], place: int) -> bool:
    return place < len(words) and (words[place] in _SMALL or words[place] in _DECADES)
