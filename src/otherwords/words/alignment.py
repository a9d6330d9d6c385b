"""Which words of a text stand for which words of another: the shortest edit between them, word by word."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher

from .spoken import APOSTROPHES

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
