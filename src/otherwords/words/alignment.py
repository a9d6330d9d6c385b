"""What changed between two texts, word by word: substitutions, and words replaced by their opposites."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from .cues import APOSTROPHES
from .language import split_words as split_unspaced
from .lexicon import lexicon
from .numerals import numerals

#: As corpora tokenise: "isn't" is "is n't" and "dog's" is "dog 's", however it is written. A number is one word.
_LETTERS = r"(?:[^\W_]|[\u0300-\u036f])+"  # an accent may be a character of its own after its letter
_NUMBER = r"\d+(?:[.,:/]\d+)+|(?<![\w.])\.\d+"
_WORD = re.compile(rf"n't\b|{_LETTERS}?(?=n't\b)|{_NUMBER}|{_LETTERS}(?:-{_LETTERS})*|'(?:s|re|ve|ll|d|m)\b")
#: For longer texts difflib may skip frequent words: coarser, but not quadratic.
_MAX_EXACT_WORDS = 1000
#: A longer stretch, from the first change to the last, counts as one substitution: aligning it takes too long.
_MAX_ALIGNED_WORDS = 20_000
_LETTERS_ONLY = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
#: "Come in" and "go in" are one movement from two viewpoints, if the text names the direction.
_COME_AND_GO = ({"come"}, {"go"})
_DIRECTIONS = (
    "in|into|inside|out|outside|through|up|down|over|across|along|around|by|past|near|to|toward|towards|onto|ashore"
    "|aboard|upstairs|downstairs|together"
)


def split_words(text: str) -> list[str]:
    """The words of a text, lower-cased and without punctuation; "an" is "a", because it depends on the next word."""
    plain = unicodedata.normalize("NFC", APOSTROPHES.sub("'", text)).lower()
    words = (piece for word in _WORD.findall(plain) for piece in split_unspaced(word))
    return ["a" if word == "an" else word for word in words]


def substitutions(before: str, after: str) -> list[tuple[str, str]]:
    """Stretches of words that differ, from left to right; one side is empty where words were added or removed.

    >>> substitutions("A man walks his dog.", "An adult male walks his big dog, slowly")
    [('man', 'adult male'), ('', 'big'), ('', 'slowly')]
    """
    old, new = split_words(before), split_words(after)
    head = _common_start(old, new)
    tail = _common_start(old[head:][::-1], new[head:][::-1])
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    if max(len(old), len(new)) > _MAX_ALIGNED_WORDS:
        return [(" ".join(old), " ".join(new))]
    matcher = SequenceMatcher(None, old, new, autojunk=max(len(old), len(new)) > _MAX_EXACT_WORDS)
    return [
        (" ".join(old[i:i_end]), " ".join(new[j:j_end]))
        for tag, i, i_end, j, j_end in matcher.get_opcodes()
        if tag != "equal"
    ]


def content(text: str) -> Counter[str]:
    """The words of a text and how often each occurs; of a compound the parts as well, but "non-smoker" is one word.

    >>> sorted(content("A near-empty non-smoker bus").elements())
    ['a', 'bus', 'empty', 'near', 'near-empty', 'nonsmoker']
    """
    words = Counter(re.sub(r"\bnon-", "non", word) for word in _LETTERS_ONLY.findall(text.lower()))
    for word in [word for word in words if "-" in word]:
        for part in word.split("-"):
            words[part] += words[word]
    return words


def opposites(before: str, after: str, removed: Iterable[str], new: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Which removed words have a direct antonym (WordNet's) among the new ones, and no counterpart of their own.

    >>> list(opposites("A hot day.", "A cold day.", ["hot"], ["cold"]))
    [('hot', 'cold')]
    """
    removed, new = ([word for word in words if not numerals([word])] for words in (removed, new))
    antonyms = [(word, other) for word in removed for other in new if _are_antonyms(word, other)]
    pairs = _pairs(before, after) if antonyms else []
    for word, other in antonyms:
        if not _have_counterparts(word, other, pairs) and not _are_one_movement(word, other, before, after):
            yield word, other


def _common_start(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words both begin with; they need no alignment, and are often most of a text."""
    most = min(len(one), len(other))
    return next((place for place in range(most) if one[place] != other[place]), most)


@lru_cache(maxsize=1 << 16)
def _are_antonyms(word: str, other: str) -> bool:
    return not _antonyms(word).isdisjoint(_forms(other)) or not _antonyms(other).isdisjoint(_forms(word))


@lru_cache(maxsize=1 << 14)
def _antonyms(word: str) -> frozenset[str]:
    return frozenset[str]().union(*(lexicon().antonyms(form) for form in _forms(word)))


@lru_cache(maxsize=1 << 14)
def _forms(word: str) -> frozenset[str]:
    return frozenset((word, *lexicon().base_forms(word)))


def _have_counterparts(word: str, other: str, pairs: Sequence[tuple[str, str]]) -> bool:
    """Whether each of two opposites has a counterpart of its own: "man" an "adult male", "wife" a "married woman"."""
    with_word = [pair for pair in pairs if word in re.split("[ -]", pair[0])]
    with_other = [pair for pair in pairs if other in re.split("[ -]", pair[1])]
    replaced = all(pair[1] for pair in with_word) and all(pair[0] for pair in with_other)
    return bool(with_word and with_other) and replaced and not set(with_word) & set(with_other)


def _are_one_movement(word: str, other: str, before: str, after: str) -> bool:
    sides = [word, other] if _COME_AND_GO[0] <= _forms(word) else [other, word]
    if not all(verb <= _forms(side) for verb, side in zip(_COME_AND_GO, sides, strict=True)):
        return False
    directions = [
        set(re.findall(rf"\b{one} ({_DIRECTIONS})\b", text.lower())) for one, text in ((word, before), (other, after))
    ]
    return bool(directions[0] & directions[1])


def _pairs(before: str, after: str) -> list[tuple[str, str]]:
    """Substitutions that do not depend on which text comes first; difflib's alignment does."""
    if before <= after:
        return substitutions(before, after)
    return [(old, new) for new, old in substitutions(after, before)]
