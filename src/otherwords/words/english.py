"""Whether a text looks like English: enough to warn about French, not enough to identify a language."""

import re
import unicodedata
import warnings
from collections.abc import Iterable

from ..errors import shorten
from .lexicon import lexicon

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_CONTRACTION = re.compile(r"(n['’]t|['’]\w*)$")
_ENGLISH = """
    a about after all an and any are as at away back be been before being but by ca can could did do does down for from
    had has have he her here him his how i if in into is it its just like me more my no not of off on one onto or other
    our out over she so some than that the their them then there these they this those through to too two under up us
    very was we were what when where which while who why will with without wo would yeah yes you your
"""
#: French, German, Spanish, then Italian, Portuguese and Dutch.
_FOREIGN = """
    au aux avec ce cette dans de des du elle est et il ils je la le les leur ne nous pas plus pour qui que sa ses son
    sont sur un une vous
    auf das dem den der des die ein eine einem einen einer er es ich im ist mit nicht sich sie sind und von wir zu zum
    con del el ella en es esta las lo los muy no para pero por se su sus una uno y zur
    aan alla che com da della di do e een em gli ha het na nel nella niet non não op os sono um uma van voor zijn
"""
#: Function words of English, and those of other languages in Latin letters that are not English words, too.
FUNCTION_WORDS = frozenset(_ENGLISH.split())
_FOREIGN_WORDS = frozenset(_FOREIGN.split()) - FUNCTION_WORDS
#: A text with fewer words passes as English.
_MIN_WORDS = 4
_warned: set[str] = set()


def looks_english(text: str) -> bool:
    """Whether a text may be English; a text of few words or none always may.

    >>> looks_english("Kids playing soccer outdoors."), looks_english("Un homme joue de la guitare dans le parc.")
    (True, False)
    """
    if not text.isascii() and _is_in_other_script(text):
        return False
    words = [_CONTRACTION.sub("", word) for word in _WORD.findall(text.lower())]
    english, foreign = (sum(word in some for word in words) for some in (FUNCTION_WORDS, _FOREIGN_WORDS))
    if len(words) < _MIN_WORDS or english > foreign:
        return True
    if foreign >= 2 and foreign > english:
        return False
    return sum(map(_is_known, words)) * 2 >= len(words)


def warn_of_other_language(texts: Iterable[str | None], generator: str) -> bool:
    """Whether a problem's texts are in another language; if so, warn once per generator and study.

    >>> warn_of_other_language(["A dog runs.", "It is fast."], "wordnet.v1")
    False
    """
    text = " ".join(text for text in texts if text)
    if looks_english(text):
        return False
    if generator not in _warned:
        _warned.add(generator)
        message = f"{generator}: supports only English, but a text seems to be in another language: {shorten(text)}"
        warnings.warn(message, stacklevel=3)
    return True


def forget() -> None:
    """Reset the warnings, for a new study."""
    _warned.clear()


def _is_in_other_script(text: str) -> bool:
    letters = [letter for letter in text if letter.isalpha()]
    latin = sum(letter.isascii() or unicodedata.name(letter, "").startswith("LATIN") for letter in letters)
    return latin * 2 < len(letters)


def _is_known(word: str) -> bool:
    return word in FUNCTION_WORDS or lexicon().knows(word)
