"""Opposites between two texts: a word is gone, and an antonym of it (WordNet's, direct ones only) is new."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from .cues import APOSTROPHES
from .lexicon import lexicon
from .numerals import numerals

# MERGED from words.alignment: Which words of a text stand for which words of another: the shortest edit between them, word by word.

#: As corpora cut them: "isn't" is "is n't", and "dog's" is "dog 's", whichever way it was written. A number is whole.
_LETTERS = r"(?:[^\W_]|[\u0300-\u036f])+"  # an accent that no letter of its own has stands behind its letter
_NUMBER = r"\d+(?:[.,:/]\d+)+|(?<![\w.])\.\d+"
_WORD = re.compile(rf"n't\b|{_LETTERS}?(?=n't\b)|{_NUMBER}|{_LETTERS}(?:-{_LETTERS})*|'(?:s|re|ve|ll|d|m)\b")
#: Above this many words difflib may skip frequent ones: coarser, but not quadratic.
_EXACT = 1000


def spelled(text: str) -> list[str]:
    """The words of a text, lower-cased and without punctuation; "an" is "a", which follows its noun."""
    plain = unicodedata.normalize("NFC", APOSTROPHES.sub("'", text)).lower()
    return ["a" if word == "an" else word for word in _WORD.findall(plain)]


def substitutions(before: str, after: str) -> list[tuple[str, str]]:
    """Stretches of words that differ, from left to right; one side is empty where words were added or left out.

    >>> substitutions("A man walks his dog.", "An adult male walks his big dog, slowly")
    [('man', 'adult male'), ('', 'big'), ('', 'slowly')]
    """
    old, new = spelled(before), spelled(after)
    head = _alike(old, new)
    tail = _alike(old[head:][::-1], new[head:][::-1])
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    matcher = SequenceMatcher(None, old, new, autojunk=max(len(old), len(new)) > _EXACT)
    return [
        (" ".join(old[i:i_end]), " ".join(new[j:j_end]))
        for tag, i, i_end, j, j_end in matcher.get_opcodes()
        if tag != "equal"
    ]


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words both begin with; they need no alignment, and are most of a text."""
    most = min(len(one), len(other))
    return next((place for place in range(most) if one[place] != other[place]), most)


# MERGED from words.opposites: Opposites between two texts: a word is gone, and an antonym of it (WordNet's, direct ones only) is new.

_LETTERED = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
#: To come and to go are one movement seen from two sides, where the text says whereto.
_SEEN_FROM = ({"come"}, {"go"})
_WHERETO = (
    "in|into|inside|out|outside|through|up|down|over|across|along|around|by|past|near|to|toward|towards|onto|ashore"
    "|aboard|upstairs|downstairs|together"
)


def content(text: str) -> Counter[str]:
    """The words of a text and how often each occurs; of a compound the parts as well, but "non-smoker" is one word.

    >>> sorted(content("A near-empty non-smoker bus").elements())
    ['a', 'bus', 'empty', 'near', 'near-empty', 'nonsmoker']
    """
    words = Counter(re.sub(r"\bnon-", "non", word) for word in _LETTERED.findall(text.lower()))
    for word in [word for word in words if "-" in word]:
        for part in word.split("-"):
            words[part] += words[word]
    return words


def opposites(before: str, after: str, gone: Iterable[str], new: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Which words that are gone have their opposite among the new ones, and no counterpart of their own.

    >>> list(opposites("A hot day.", "A cold day.", ["hot"], ["cold"]))
    [('hot', 'cold')]
    """
    gone, new = ([word for word in some if not numerals([word])] for some in (gone, new))
    found = [(word, other) for word in gone for other in new if _opposite(word, other)]
    pairs = _pairs(before, after) if found else []
    for word, other in found:
        if not _apart(word, other, pairs) and not _one_movement(word, other, before, after):
            yield word, other


@lru_cache(maxsize=1 << 16)
def _opposite(word: str, other: str) -> bool:
    return not _against(word).isdisjoint(_forms(other)) or not _against(other).isdisjoint(_forms(word))


@lru_cache(maxsize=1 << 14)
def _against(word: str) -> frozenset[str]:
    return frozenset[str]().union(*(lexicon().antonyms(form) for form in _forms(word)))


@lru_cache(maxsize=1 << 14)
def _forms(word: str) -> frozenset[str]:
    return frozenset((word, *lexicon().base_forms(word)))


def _apart(word: str, other: str, pairs: Sequence[tuple[str, str]]) -> bool:
    """Whether each of two opposites has a counterpart of its own: "man" an "adult male", "wife" a "married woman"."""
    mine = [pair for pair in pairs if word in re.split("[ -]", pair[0])]
    theirs = [pair for pair in pairs if other in re.split("[ -]", pair[1])]
    own = all(pair[1] for pair in mine) and all(pair[0] for pair in theirs)
    return bool(mine and theirs) and own and not set(mine) & set(theirs)


def _one_movement(word: str, other: str, before: str, after: str) -> bool:
    sides = [word, other] if _SEEN_FROM[0] <= _forms(word) else [other, word]
    if not all(verb <= _forms(side) for verb, side in zip(_SEEN_FROM, sides, strict=True)):
        return False
    whereto = [
        set(re.findall(rf"\b{one} ({_WHERETO})\b", text.lower())) for one, text in ((word, before), (other, after))
    ]
    return bool(whereto[0] & whereto[1])


def _pairs(before: str, after: str) -> list[tuple[str, str]]:
    """Which stretch became which; the same from either side, because an alignment has a direction."""
    if before <= after:
        return substitutions(before, after)
    return [(old, new) for new, old in substitutions(after, before)]
