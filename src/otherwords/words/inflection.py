"""Inflected forms of English words: number, tense, degree; capitals, and the indefinite article."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from ..errors import MissingExtra

#: Tags of the Penn treebank for base forms.
BASE_TAGS = frozenset({"NN", "VB", "VBP", "JJ", "RB"})
#: Words that begin with the sound of "won"; the library takes it for a vowel.
_WON_SOUND = re.compile(r"once\b|ones(ies?|elf)?\b", re.I)


@lru_cache(maxsize=65_536)
def inflected(lemma: str, tag: str) -> str | None:
    """A word in the form of a Penn tag, None if it has no such form; of several words the head is inflected.

    >>> inflected("child", "NNS"), inflected("adult male", "NNS"), inflected("pick up", "VBD")
    ('children', 'adult males', 'picked up')
    >>> inflected("big", "JJR"), inflected("beautiful", "JJR")
    ('bigger', None)
    """
    if tag in BASE_TAGS:
        return lemma
    words = lemma.split(" ")
    head = 0 if tag.startswith("V") else -1
    # A plural equal to the singular (the library's "abdomen") would leave the number open.
    forms = [form for form in forms_of(words[head], tag, guess=False) if tag != "NNS" or form != words[head]]
    if not forms:
        return None
    words[head] = forms[0]
    return " ".join(words)


@lru_cache(maxsize=65_536)
def forms_of(lemma: str, tag: str, guess: bool = True) -> tuple[str, ...]:
    """All spellings of a word with a tag, the usual one first; `guess` uses rules for words that are not listed.

    >>> forms_of("dream", "VBD"), forms_of("blog", "NNS"), forms_of("blog", "NNS", guess=False)
    (('dreamed', 'dreamt'), ('blogs',), ())
    """
    if tag in BASE_TAGS:
        return (lemma,)
    return tuple(_library().getInflection(lemma, tag=tag, inflect_oov=guess))


def lemma_of(form: str, tag: str, bases: tuple[str, ...]) -> str | None:
    """Which of the possible base forms a word with a tag belongs to; None if that is ambiguous.

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
    if _WON_SOUND.match(following):
        return "a"
    return str(_engine().a(following)).partition(" ")[0]


def versions() -> list[str]:
    """The libraries that inflect, with their versions, for signatures: other rules make other words."""
    try:
        return [f"{one}-{version(one)}" for one in ("lemminflect", "inflect")]
    except PackageNotFoundError as error:
        raise MissingExtra("inflecting words", "spacy") from error


@lru_cache(maxsize=1)
def _engine() -> Any:
    try:
        with _unchecked():
            import inflect
    except ImportError as error:
        raise MissingExtra("choosing between a and an", "spacy") from error
    return inflect.engine()


@contextmanager
def _unchecked() -> Iterator[None]:
    """Import inflect without its type checks at run time: to add them, typeguard rewrites its code, for two seconds."""
    if find_spec("typeguard") is None:
        yield
        return
    typeguard = import_module("typeguard")
    decorator = typeguard.typechecked
    setattr(typeguard, "typechecked", lambda target: target)  # noqa: B010
    try:
        yield
    finally:
        setattr(typeguard, "typechecked", decorator)  # noqa: B010


@lru_cache(maxsize=1)
def _library() -> Any:
    try:
        import lemminflect
    except ImportError as error:
        raise MissingExtra("inflecting words", "spacy") from error
    return lemminflect
