"""English words in the form that their place asks for: number, tense, degree, capitals, and the article before them."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ..errors import MissingExtra

#: Tags of the Penn treebank whose words stand in their base form.
BASE_TAGS = frozenset({"NN", "VB", "VBP", "JJ", "RB"})
#: Words that open with the sound of "won", where the library's rule hears a vowel.
_WON = re.compile(r"once\b|ones(ies?|elf)?\b", re.I)


@lru_cache(maxsize=65_536)
def inflected(lemma: str, tag: str) -> str | None:
    """A word in the form that a Penn tag names, None where it has none; of several words the head is inflected.

    >>> inflected("child", "NNS"), inflected("adult male", "NNS"), inflected("pick up", "VBD")
    ('children', 'adult males', 'picked up')
    >>> inflected("big", "JJR"), inflected("beautiful", "JJR")
    ('bigger', None)
    """
    if tag in BASE_TAGS:
        return lemma
    words = lemma.split(" ")
    head = 0 if tag.startswith("V") else -1
    # A plural that looks like the singular ("abdomen", by the library) would leave the number open.
    forms = [form for form in forms_of(words[head], tag, guess=False) if tag != "NNS" or form != words[head]]
    if not forms:
        return None
    words[head] = forms[0]
    return " ".join(words)


@lru_cache(maxsize=65_536)
def forms_of(lemma: str, tag: str, guess: bool = True) -> tuple[str, ...]:
    """All spellings of one word under a tag, the usual first; `guess` lets rules stand in for words not listed.

    >>> forms_of("dream", "VBD"), forms_of("blog", "NNS"), forms_of("blog", "NNS", guess=False)
    (('dreamed', 'dreamt'), ('blogs',), ())
    """
    if tag in BASE_TAGS:
        return (lemma,)
    return tuple(_library().getInflection(lemma, tag=tag, inflect_oov=guess))


def lemma_of(form: str, tag: str, bases: tuple[str, ...]) -> str | None:
    """Which of the possible base forms a word belongs to, given its tag; None where that is not clear.

    >>> lemma_of("saw", "VBD", ("saw", "see")), lemma_of("saw", "NN", ("saw",)), lemma_of("dogs", "NN", ("dog",))
    ('see', 'saw', None)
    """
    fitting = [base for base in bases if form in forms_of(base, tag)]
    return fitting[0] if len(fitting) == 1 else None


def cased(text: str, model: str) -> str:
    """A text with the capitals of the word that it replaces.

    >>> cased("adult male", "Man"), cased("adult male", "MAN"), cased("adult male", "man")
    ('Adult male', 'ADULT MALE', 'adult male')
    """
    if len(model) > 1 and model.isupper():
        return text.upper()
    return text[:1].upper() + text[1:] if model[:1].isupper() else text


def article(following: str) -> str:
    """The indefinite article before a word.

    >>> [article(word) for word in ("hour", "unicorn", "automobile", "onesie", "European")]
    ['an', 'a', 'an', 'a', 'a']
    """
    if _WON.match(following):
        return "a"
    return str(_engine().a(following)).partition(" ")[0]


def versions() -> list[str]:
    """What inflects, with its versions, for signatures: other rules make other words."""
    try:
        return [f"{one}-{version(one)}" for one in ("lemminflect", "inflect")]
    except PackageNotFoundError as error:
        raise MissingExtra("inflecting words", "spacy") from error


@lru_cache(maxsize=1)
def _engine() -> Any:
    try:
        import inflect
    except ImportError as error:
        raise MissingExtra("choosing between a and an", "spacy") from error
    return inflect.engine()


@lru_cache(maxsize=1)
def _library() -> Any:
    try:
        import lemminflect
    except ImportError as error:
        raise MissingExtra("inflecting words", "spacy") from error
    return lemminflect
