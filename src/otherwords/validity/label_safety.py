"""Label safety: to touch a negation, a quantifier or a number, or to say the opposite of a word, may change the label.

The words are compared, not the meanings: what says the same in opposite words ("not absent" for "present") is dropped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ..problem import Bucket, Verdict
from ..registry import checks
from ..words.alignment import substitutions
from ..words.cues import Cue, cues
from ..words.lexicon import lexicon
from ..words.numerals import numerals

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


@checks("label-safety.v1")
def label_safety(negation: bool = True, quantifiers: bool = True, numbers: bool = True, antonyms: bool = True) -> Any:
    """Drop variants that add, lose or change a negation, a quantifier or a number, or say the opposite of a word.

    Each of `negation`, `quantifiers`, `numbers` and `antonyms` can be switched off. The score counts violations over
    all changed fields. Antonyms are WordNet's; "one" counts only where it takes another number's place.
    """
    wanted = {"negation": negation, "quantifier": quantifiers, "number": numbers}
    kinds = [kind for kind, on in wanted.items() if on]

    def check(buckets: Sequence[Bucket]) -> Iterator[Verdict]:
        for bucket in buckets:
            known: dict[str, _Text] = {}
            for variant in bucket.variants:
                found: list[str] = []
                for name, text in variant.text.items():
                    original = bucket.problem.text[name]
                    if text == original:
                        continue
                    if name not in known:
                        known[name] = _read(original)
                    found += violations(known[name], _read(text), kinds, antonyms)
                yield Verdict(not found, "; ".join(found), len(found))

    return check


class _Text(NamedTuple):
    """A text, what in it may carry its label, and all its words."""

    text: str
    cues: list[Cue]
    words: Counter[str]


def _read(text: str) -> _Text:
    return _Text(text, cues(text), Counter(_WORD.findall(text.lower())))


def violations(before: _Text, after: _Text, kinds: Sequence[str], antonyms: bool) -> list[str]:
    """What a rewording does to the words that carry the label, one line each.

    >>> kinds = ["negation", "quantifier", "number"]
    >>> violations(_read("Two men aren't hot."), _read("3 men are cold."), kinds, True)
    ['negation: "not" lost', 'number: 2 became 3', 'antonym: "hot" became "cold"']
    """
    found = [line for kind in kinds for line in _moved(kind, before.cues, after.cues)]
    return [*found, *_opposites(before, after)] if antonyms else found


def _moved(kind: str, before: list[Cue], after: list[Cue]) -> Iterator[str]:
    lost, gained = _left_over(kind, before, after), _left_over(kind, after, before)
    if kind == "number":
        lost, gained = _without_pronouns(lost, gained), _without_pronouns(gained, lost)
    for place in range(max(len(lost), len(gained))):
        old, new = ("".join(_quoted(cue) for cue in some[place : place + 1]) for some in (lost, gained))
        yield f"{kind}: {old} became {new}" if old and new else f"{kind}: {old} lost" if old else f"{kind}: {new} added"


def _left_over(kind: str, some: list[Cue], others: list[Cue]) -> list[Cue]:
    """Cues that have no counterpart of the same meaning in the other text, the last of several first to go."""
    there = Counter(cue.meaning for cue in others if cue.kind == kind)
    left = []
    for cue in some:
        if cue.kind == kind:
            there[cue.meaning] -= 1
            if there[cue.meaning] < 0:
                left.append(cue)
    return left


def _without_pronouns(some: list[Cue], others: list[Cue]) -> list[Cue]:
    """Leave out what may be the pronoun "one", or an article said with stress, save where a number stands for it."""
    sure = [cue for cue in some if cue.meaning != "1"]
    missing = sum(cue.meaning != "1" for cue in others) - len(sure)
    return sure + [cue for cue in some if cue.meaning == "1"][: max(0, missing)]


def _quoted(cue: Cue) -> str:
    return cue.words if cue.kind == "number" else f'"{cue.words}"'


def _opposites(before: _Text, after: _Text) -> Iterator[str]:
    """Words that are gone while an antonym of theirs is new; those that are cues were compared already."""
    told = {word for cue in (*before.cues, *after.cues) for word in cue.words.split()}
    gone, new = (
        [word for word in some - others if word not in told and not numerals([word])]
        for some, others in ((before.words, after.words), (after.words, before.words))
    )
    found = [(word, other) for word in gone for other in new if _opposite(word, other)]
    pairs = _pairs(before.text, after.text) if found else []
    yield from (f'antonym: "{word}" became "{other}"' for word, other in found if not _apart(word, other, pairs))


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
    mine = [pair for pair in pairs if word in pair[0].split()]
    theirs = [pair for pair in pairs if other in pair[1].split()]
    own = all(pair[1] for pair in mine) and all(pair[0] for pair in theirs)
    return bool(mine and theirs) and own and not set(mine) & set(theirs)


def _pairs(before: str, after: str) -> list[tuple[str, str]]:
    """Which stretch became which; the same from either side, because an alignment has a direction."""
    if before <= after:
        return substitutions(before, after)
    return [(old, new) for new, old in substitutions(after, before)]
