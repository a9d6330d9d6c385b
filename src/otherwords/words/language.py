"""What depends on the language of a text: whether it looks like English, and what its words are.

Enough to warn about French, not enough to identify a language.
"""

import re
import unicodedata
import warnings
from collections.abc import Iterable
from itertools import islice

from ..errors import shorten
from ..registry import Plugin
from .lexicon import lexicon

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
#: Words in quotation marks that do not end like speech ("No," he said): titles, signs, and words that are spoken of.
_QUOTATION = re.compile(
    r""""[^"]*[^".,!?\s]"|“[^“”]*[^“”.,!?\s]”|(?<!\w)'[^']*[^'.,!?\s]'(?!\w)|‘[^‘’]*[^‘’.,!?\s]’(?!\w)"""
)
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
#: Characters of a text that tell its language.
_ENOUGH = 10_000
#: Texts that `warn_if_foreign` looks at, of how many.
_SAMPLE, _EVERY = 100, 4_000
#: Of a pattern: Han, kana, Thai, Lao, Burmese and Khmer letters, and the marks above and below those of the last four.
UNSPACED = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
UNSPACED += "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_MARK = "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u17b4-\u17d3\u3099\u309a"
_UNSPACED = re.compile(f"[{UNSPACED}]")
_PIECE = re.compile(f"[{UNSPACED}][{_MARK}]*|(?:(?![{UNSPACED}])\\w)+")
#: The same words of ASCII texts, which are read as bytes: letters small, all but apostrophes and letters as blanks.
_ENGLISH_BYTES, _FOREIGN_BYTES = (
    frozenset(word.encode() for word in some) for some in (FUNCTION_WORDS, _FOREIGN_WORDS)
)
_SMALL = bytes(code if chr(code) == "'" or chr(code).isalpha() else 32 for code in range(256)).lower()
_warned: set[str] = set()


def looks_english(text: str) -> bool:
    """Whether a text may be English; a text of few words or none always may.

    >>> looks_english("Kids playing soccer outdoors."), looks_english("Un homme joue de la guitare dans le parc.")
    (True, False)
    """
    text = text[:_ENOUGH]
    if text.isascii() and _is_plain_english(text):
        return True
    if not text.isascii() and _is_in_other_script(text):
        return False
    words = [_CONTRACTION.sub("", word) for word in _WORD.findall(text.lower())]
    english, foreign = (sum(word in some for word in words) for some in (FUNCTION_WORDS, _FOREIGN_WORDS))
    if len(words) < _MIN_WORDS or english > foreign:
        return True
    if foreign >= 2 and foreign > english:
        return False
    return sum(map(_is_known, words)) * 2 >= len(words)


def warn_if_foreign(plugin: Plugin, texts: Iterable[str | None], language: str | None = None) -> None:
    """Warn once, where a plug-in supports only English, if most of the first texts are in another language.

    They are the first of every few thousand: data may be English only at the beginning. Texts that are too short to
    tell by themselves are judged together. `language` overrides what the plug-in declares: with some options it may
    support others.
    """
    if (plugin.language if language is None else language) != "en":
        return
    left = iter(texts)
    while plugin.name not in _warned and (given := list(islice(left, _EVERY))):
        sample = [text for text in given[:_SAMPLE] if text]
        foreign = [text for text in sample if not looks_english(text)]
        if 2 * len(foreign) > len(sample) or (foreign and not looks_english(" ".join(sample))):
            warn_of_other_language(foreign[:1], plugin.full_name)


def split_words(text: str) -> list[str]:
    """The words of a text, between blanks; in scripts without blanks every character is one, and punctuation none.

    >>> split_words("A dog, it runs."), split_words("犬が走る。"), split_words("iPhoneを買う")
    (['A', 'dog,', 'it', 'runs.'], ['犬', 'が', '走', 'る'], ['iPhone', 'を', '買', 'う'])
    """
    if text.isascii() or not _UNSPACED.search(text):
        return text.split()
    return [word for chunk in text.split() for word in _pieces(chunk)]


def _pieces(chunk: str) -> list[str]:
    if not _UNSPACED.search(chunk):
        return [chunk]
    return [piece for piece in _PIECE.findall(chunk) if any(map(str.isalnum, piece))]


def warn_of_other_language(texts: Iterable[str | None], generator: str) -> bool:
    """Whether a problem's texts are in another language; if so, warn once per generator and study.

    >>> warn_of_other_language(["A dog runs.", "It is fast."], "wordnet.v1")
    False
    """
    text = " ".join(text[:_ENOUGH] for text in texts if text)
    if looks_english(text):
        return False
    if generator.partition(".")[0] not in _warned:
        _warned.add(generator.partition(".")[0])
        found = f"{generator}: supports only English, but a text seems to be in another language: {shorten(text)}"
        message = UserWarning(found)
        message.once = generator.partition(".")[0]  # type: ignore[attr-defined]  # whichever text several workers met
        warnings.warn(message, stacklevel=3)
    return True


def forget() -> None:
    """Reset the warnings, for a new study."""
    _warned.clear()


def _is_in_other_script(text: str) -> bool:
    letters = [letter for letter in text if letter.isalpha()]
    latin = sum(letter.isascii() or unicodedata.name(letter, "").startswith("LATIN") for letter in letters)
    return latin * 2 < len(letters)


def _is_plain_english(text: str) -> bool:
    """Whether function words alone show that an ASCII text is English: `looks_english` in a tenth of the time.

    It may miss an English text. What stands at an apostrophe could be a foreign word, so each takes one away.
    """
    given = text.encode().replace(b"n't ", b" ")
    words = given.translate(_SMALL).split()
    return len(_ENGLISH_BYTES.intersection(words)) > given.count(b"'") and _FOREIGN_BYTES.isdisjoint(words)


def _is_known(word: str) -> bool:
    return word in FUNCTION_WORDS or lexicon().knows(word)


def quotations(text: str) -> list[tuple[int, int]]:
    """Where titles, signs and words that are spoken of stand in quotation marks; speech is left out.

    >>> quotations('The word "no" is short.'), quotations('"No," he said.')
    ([(9, 13)], [])
    """
    return [found.span() for found in _QUOTATION.finditer(text)]


def keeps_quotations(before: str, after: str) -> bool:
    """Whether both texts quote the same, in any order."""
    old, new = (sorted(text[start:end] for start, end in quotations(text)) for text in (before, after))
    return old == new
