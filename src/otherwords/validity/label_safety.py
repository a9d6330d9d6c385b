"""Label safety: a change of a negation, a quantifier or a number, or an antonym of a word, may change the label.

Words are compared, not meanings: a text that says the same in opposite words ("not absent" for "present") is dropped.
Word order is not compared, except that a number or quantifier must stay with the word after it, where both texts have
that word.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..problem import Bucket, Verdict
from ..registry import checks
from ..words.alignment import content, opposites
from ..words.cues import Cue, cues
from ..words.language import FUNCTION_WORDS

_MAGNITUDES = {"dozens of", "hundreds of", "thousands of", "millions of"}


@checks("label-safety.v1", language="en")
def label_safety(negation: bool = True, quantifiers: bool = True, numbers: bool = True, antonyms: bool = True) -> Any:
    """Drop variants that add, lose or change a negation, a quantifier or a number, or say the opposite of a word.

    Each of `negation`, `quantifiers`, `numbers` and `antonyms` can be switched off. The score counts violations over
    all changed fields. Antonyms are WordNet's direct ones. "One" may be a pronoun: it counts where it is part of a
    ratio or a range, or takes another number's place.
    """
    return _checker({"negation": negation, "quantifier": quantifiers, "number": numbers}, antonyms, 1)


@checks("label-safety.v2", language="en")
def label_safety_v2(
    negation: bool = True, quantifiers: bool = True, numbers: bool = True, antonyms: bool = True
) -> Any:
    """Drop variants that add, lose or change a negation, a quantifier or a number, or say the opposite of a word.

    The first version with a few more words ("hardly ever", "the bulk of", "a minority", "once"), and thousands that
    become hundreds. Each of `negation`, `quantifiers`, `numbers` and `antonyms` can be switched off. The score counts
    violations over all changed fields. Antonyms are WordNet's direct ones. "One" may be a pronoun: it counts where it
    is part of a ratio or a range, or takes another number's place.
    """
    return _checker({"negation": negation, "quantifier": quantifiers, "number": numbers}, antonyms, 2)


def _checker(wanted: Mapping[str, bool], antonyms: bool, version: int) -> Callable[..., Iterator[Verdict]]:
    kinds = [kind for kind, on in wanted.items() if on]

    def check(buckets: Sequence[Bucket]) -> Iterator[Verdict]:
        for bucket in buckets:
            known: dict[str, LabelText] = {}
            for variant in bucket.variants:
                lines: list[str] = []
                for name, text in variant.text.items():
                    original = bucket.problem.text[name]
                    if text == original:
                        continue
                    if name not in known:
                        known[name] = read_text(original, version)
                    lines += violations(known[name], read_text(text, version), kinds, antonyms, version)
                yield Verdict(not lines, "; ".join(lines), len(lines))

    return check


class LabelText(NamedTuple):
    """A text, the cues in it that may carry its label, and all its other words."""

    text: str
    cues: list[Cue]
    words: Counter[str]


def read_text(text: str, version: int = 2) -> LabelText:
    """Find the cues and the other words of a text, as a version of the check knows them."""
    carrying = cues(text, version)
    return LabelText(text, carrying, content(text) - Counter(word for cue in carrying for word in cue.words.split()))


def violations(
    before: LabelText, after: LabelText, kinds: Sequence[str], antonyms: bool, version: int = 2
) -> list[str]:
    """The changes of a rewording to words that carry the label, one line each.

    >>> kinds = ["negation", "quantifier", "number"]
    >>> violations(read_text("Two men aren't hot."), read_text("3 men are cold."), kinds, True)
    ['negation: "not" lost', 'number: 2 became 3', 'antonym: "hot" became "cold"']
    """
    lost, gained = _left_over(before.cues, after.cues), _left_over(after.cues, before.cues)
    lost, gained = _without_both(lost, gained), _without_both(gained, lost)
    lost, gained = _without_pronouns(lost, gained), _without_pronouns(gained, lost)
    lines = [line for kind in kinds for line in (*_moved(kind, lost, gained), *_exchanged(kind, before, after))]
    if "quantifier" in kinds and version > 1:
        lines += _magnitudes(before.cues, after.cues)
    if antonyms:
        gone, new = before.words - after.words, after.words - before.words
        pairs = opposites(before.text, after.text, gone, new)
        lines += [f'antonym: "{word}" became "{other}"' for word, other in pairs]
    return lines


def _moved(kind: str, lost: list[Cue], gained: list[Cue]) -> Iterator[str]:
    lost, gained = ([cue for cue in some if cue.kind == kind] for some in (lost, gained))
    for place in range(max(len(lost), len(gained))):
        old, new = ("".join(_quoted(cue) for cue in some[place : place + 1]) for some in (lost, gained))
        yield f"{kind}: {old} became {new}" if old and new else f"{kind}: {old} lost" if old else f"{kind}: {new} added"


def _left_over(some: list[Cue], others: list[Cue]) -> list[Cue]:
    """Cues that have no counterpart of the same meaning in the other text, the last of several first to go."""
    there = Counter((cue.kind, cue.meaning) for cue in others)
    left = []
    for cue in some:
        there[cue.kind, cue.meaning] -= 1
        if there[cue.kind, cue.meaning] < 0:
            left.append(cue)
    return left


def _without_both(some: list[Cue], others: list[Cue]) -> list[Cue]:
    """Leave out "both" where the other text has a two that is new there, and that two: "the two men" are both men."""
    both, two = ([sum(_is(name, cue) for cue in side) for side in (some, others)] for name in ("both", "2"))
    spare = {"both": min(both[0], two[1]), "2": min(two[0], both[1])}
    left = []
    for cue in some:
        name = next((name for name in spare if _is(name, cue) and spare[name]), "")
        if name:
            spare[name] -= 1
        else:
            left.append(cue)
    return left


def _is(name: str, cue: Cue) -> bool:
    return cue.words == name and cue.kind in ("quantifier", "number")


def _without_pronouns(some: list[Cue], others: list[Cue]) -> list[Cue]:
    """Leave out what may be the pronoun "one", or a stressed article, unless another number takes its place."""
    sure = [cue for cue in some if cue.words != "one"]
    own, other = (sum(cue.kind == "number" and cue.words != "one" for cue in side) for side in (some, others))
    return sure + [cue for cue in some if cue.words == "one"][: max(0, other - own)]


def _exchanged(kind: str, before: LabelText, after: LabelText) -> Iterator[str]:
    """Numbers or quantifiers that went from one word to another: "two men see three dogs", "three men see two dogs"."""
    if kind == "negation":
        return
    counts = [Counter(cue.meaning for cue in text.cues if cue.kind == kind) for text in (before, after)]
    if counts[0] == counts[1]:
        old, new = (_by_word(kind, text.cues) for text in (before, after))
        for word in old:
            if word in new and old[word].meaning != new[word].meaning:
                yield f"{kind}: {_quoted(old[word])} {word} became {_quoted(new[word])} {word}"


def _magnitudes(before: list[Cue], after: list[Cue]) -> Iterator[str]:
    """ "Hundreds of" for "thousands of": both are many."""
    old, new = ([cue.words for cue in some if cue.words in _MAGNITUDES] for some in (before, after))
    if len(old) == len(new) == 1 and old != new:
        yield f'quantifier: "{old[0]}" became "{new[0]}"'


def _by_word(kind: str, some: list[Cue]) -> dict[str, Cue]:
    """Cues by the word that follows, where that is a content word, and follows no other."""
    times = Counter(cue.of for cue in some if cue.kind == kind)
    return {cue.of: cue for cue in some if cue.kind == kind and times[cue.of] == 1 and _is_content(cue.of)}


def _is_content(word: str) -> bool:
    return bool(word) and word not in FUNCTION_WORDS


def _quoted(cue: Cue) -> str:
    return {"one": "1"}.get(cue.words, cue.words) if cue.kind == "number" else f'"{cue.words}"'
