"""A text as one would say it: lower-cased words, contractions open, "10k" as "10 thousand", sentence marks apart."""

from __future__ import annotations

import re
import unicodedata

from .numerals import NAMED

#: All that is typed for an apostrophe: quotation marks, primes, accents, modifier letters, the full-width form.
APOSTROPHES = re.compile("[’‘‛ʼʻʹˈ′´`＇՚ꞌ]")
#: A number in digits; one that begins with its point does so after no letter or digit.
DIGITS = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?(?:[/⁄]\d+)?|(?<![\w.])\.\d+"
_TOKEN = re.compile(rf"{NAMED}|{DIGITS}|[^\W\d_]+(?:'[^\W\d_]+)*|[.,;:!?]")
_VERBS = "do|does|did|is|are|was|were|has|have|had|can|could|would|should|must|might|may|need|ought|dare|wo|ca|sha|ai"
#: "didn't" in all its spellings: "did n't", "didn 't", "didn t", "didnt"; what is cut open must begin with a verb.
_DENIED = re.compile(rf"\b(?:{_VERBS})(?: ?n ?' ?t|n t|nt)\b|\b[^\W\d_]+n't\b|\bcannot\b")
_MONEY = r"[$£€¥]"
#: Magnitudes set behind digits; "m" and "b" behind money only, because 5m are metres.
_SUFFIXES = {"k": "thousand", "m": "million", "mn": "million", "b": "billion", "bn": "billion", "tn": "trillion"}
_SHORT = re.compile(rf"(?<![\w.,])({_MONEY} ?)?(\.?\d[\d,.]*?)(?:(k)| ?(mn|bn|tn)|(?<=\d) ?([mb]))\b")
_REWRITTEN = [
    (re.compile(r"\bno\.(?= ?\d)"), ""),  # "No. 5" denies nothing
    (re.compile(rf"(?<!\S)[-−–](?={_MONEY}?\.?\d)"), "minus "),
    (re.compile(r"(?<=\d) ?%|\bper cent\b"), " percent "),
    (re.compile(r"(?<![\w'])([b-hj-z])[ -](?=\d)"), r"\1"),  # "G 8" is "G8"
    (re.compile(r"\b(all|every(?:one|body|thing|where)|nobody|no one|none) but (?!not\b)"), r"\1 except "),
]


def spoken(text: str) -> list[str]:
    """The words of a text, and its sentence marks.

    >>> spoken("He didn′t pay $10k, or 5% of it.")
    ['he', 'can', 'not', 'pay', '10', 'thousand', ',', 'or', '5', 'percent', 'of', 'it', '.']
    """
    plain = re.sub(r"(?<=\d)(?=[¼-¾⅐-⅞])", " ", APOSTROPHES.sub("'", text))
    plain = _SHORT.sub(_long, unicodedata.normalize("NFKC", plain).lower())
    for pattern, instead in _REWRITTEN:
        plain = pattern.sub(instead, plain)
    plain = _DENIED.sub(" can not ", plain)  # which verb it was does not matter
    return [token.partition("'")[0] for token in _TOKEN.findall(plain)]


def _long(found: re.Match[str]) -> str:
    money, digits, *suffixes = found.groups()
    suffix = next(filter(None, suffixes))
    return found[0] if suffix in ("m", "b") and not money else f"{digits} {_SUFFIXES[suffix]}"
