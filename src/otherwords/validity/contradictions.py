"""What no rewording does: changes that contradict by themselves, however much else was put in other words.

"Forty minutes" are not fifty, two women and a child are not a woman and two children, and what is ascending in a text
that is else the same does not descend. And texts to compare with: where a judge finds a rewording more like a text in
which two phrases changed places, it is a rewording of that one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from ..grammar.parsing import ParseTree
from ..words.numerals import numerals
from .changes import Changes

#: From this share of words in the same order on, a text is a copy with one change.
_COPY = 0.85
_NUMBER = re.compile(r"number: ([\d.,]+)(%|st|nd|rd|th|) became ([\d.,]+)(%|st|nd|rd|th|)")
_QUANTIFIER = re.compile(r'quantifier: "(.+)" became "(.+)"')
#: A number in digits of which `numerals` can say how many it is: no "25.000.000" and no "5²".
_DIGITS = re.compile(r"(?:\d[\d,]*)?(?:\d|\.\d+)")
#: What a number is multiplied by where it is said in another unit: two weeks, fourteen days.
_RATES = {2, 7, 10, 12, 24, 52, 60, 100, 365, 1000}
_HALF = ["half", "a"]
_MEASURES = """
    second minute hour day week month year decade century meter metre kilometer kilometre mile foot inch yard gram kilo
    kilogram pound ounce ton tonne liter litre dollar euro cent
"""
_UNITS = frozenset(_MEASURES.split())
#: Units with two names.
_SAME_UNIT = {"metre": "meter", "kilometre": "kilometer", "litre": "liter", "tonne": "ton", "kilo": "kilogram"}
_ALL = {"all", "all of", "every", "each", "each of", "every one of", "both", "both of"}
_PART = {"some", "some of", "most", "most of", "a few", "few", "few of", "several", "many", "half", "half of",
         "only one", "only some"}  # fmt: skip
_RARE = {"sometimes", "rarely", "seldom", "occasionally"}
_FROM = {"at least", "no fewer than", "no less than", "more than", "over", "upwards of"}
_UP_TO = {"at most", "no more than", "less than", "fewer than", "under", "up to"}
_LARGE = {"dozens of", "hundreds of", "thousands of", "millions of", "billions of"}
#: How much of something is so, as adverbs: a little or very, largely or entirely. Words of one set say about the same.
_DEGREES = (
    ({"slightly", "somewhat", "fairly", "bit", "little", "mildly", "marginally", "moderately"},
     {"very", "extremely", "terribly", "hugely", "greatly", "enormously", "incredibly", "vastly", "considerably",
      "substantially", "much", "far", "lot", "deal", "highly", "immensely", "awfully", "dramatically"}),
    ({"largely", "mostly", "mainly", "partly", "partially", "almost", "nearly"},
     {"entirely", "completely", "wholly", "totally", "fully", "utterly", "altogether"}),
)  # fmt: skip
_CLOCK = re.compile(r"\b(five|ten|quarter|twenty|twenty-five|half|\d+) (to|past) (\w+)\b", re.I)
_OPPOSED = ((_ALL, _PART), ({"always"}, _RARE), (_FROM, _UP_TO))
#: What belongs to a noun and stands before it.
_BEFORE_NOUNS = ("det", "amod", "compound", "poss", "nummod", "nmod", "predet", "quantmod")
#: Between two who may change places: "next to", "a group of", "a man with".
_BOTH_WAYS = {"beside", "next", "near", "with", "alongside", "opposite", "of"}
#: So many exchanges of a text are tried.
_TRIED = 5
_NEGATION = re.compile(
    r"\b(?:not|no(?! (?:more|fewer|less|later) than)|nobody|none|nothing|never|neither|without|nowhere)\b|n[’']t\b",
    re.I,
)


def contradictions(found: Changes, lines: Sequence[str], old: ParseTree, new: ParseTree) -> list[str]:
    """What contradicts in two texts, one line each; `lines` say which words of a label changed."""
    opposite_decides = found.opposed and not found.denied and found.frame >= _COPY
    opposites = [line for line in lines if opposite_decides and line.startswith("antonym")]
    numbers = [line for line in lines if (both := _NUMBER.fullmatch(line)) and _differ(*both.groups())]
    quantifiers = _quantifiers(lines, old, new, copied=found.frame >= _COPY)
    return [
        *opposites,
        *numbers,
        *quantifiers,
        *_degrees(old, new),
        *_counted(old, new),
        *_measured(old, new),
        *_exchanged(old, new),
    ]


def _differ(one: str, kind: str, other: str, its: str) -> bool:
    """Whether two numbers cannot say the same of anything.

    >>> _differ("40", "", "50", ""), _differ("2", "", "48", ""), _differ("15", "", "3", ""), _differ("3", "rd", "3", "")
    (True, False, False, False)
    """
    if (kind == "%") != (its == "%") or kind.isalpha() != its.isalpha():
        return False
    low, high = sorted(float(text.replace(",", "").rstrip(".") or 0) for text in (one, other))
    if low <= 1 or high - low in {12, 1900, 2000}:  # halves, "one of", hours and years
        return False
    return high / low not in _RATES


def _quantifiers(lines: Sequence[str], old: ParseTree, new: ParseTree, copied: bool) -> Iterator[str]:
    """All that became some, at least that became at most, hundreds that became thousands; in a copy any other one."""
    denied = any(_NEGATION.search(tree.text) for tree in (old, new))
    for line in lines:
        if both := _QUANTIFIER.fullmatch(line):
            one, other = both.groups()
            opposed = any({one, other} & group and {one, other} & rest for group, rest in _OPPOSED)
            if {one, other} <= _LARGE or copied or (opposed and not denied):
                yield line


def _degrees(old: ParseTree, new: ParseTree) -> Iterator[str]:
    """A little that became very, largely that became entirely, where nothing is denied."""
    if any(_NEGATION.search(tree.text) for tree in (old, new)):
        return
    before, after = _adverbs(old), _adverbs(new)
    for less, more in _DEGREES:
        for one, other in ((less, more), (more, less)):
            if before & one and after & other and not before & other and not after & one:
                yield f'quantifier: "{min(before & one)}" became "{min(after & other)}"'


def _adverbs(tree: ParseTree) -> set[str]:
    """What modifies an adjective, an adverb or a verb: "a little better", but no "little girl"."""
    return {
        node.text.lower()
        for node in tree.nodes
        if node.dep in {"advmod", "npadvmod"} and tree[node.head].pos in {"ADJ", "ADV", "VERB", "AUX"}
    }


def _counted(old: ParseTree, new: ParseTree) -> Iterator[str]:
    """How many there are of what both texts name once: "two women", "a woman"."""
    before, after = _counts(old), _counts(new)
    for noun in sorted(before.keys() & after.keys()):
        if before[noun] != after[noun]:
            yield f"number: {before[noun]:g} {noun} became {after[noun]:g} {noun}"


def _counts(tree: ParseTree) -> dict[str, float]:
    names = Counter(node.lemma.lower() for node in tree.nodes if node.pos in {"NOUN", "PROPN"})
    found = {}
    for at, node in enumerate(tree.nodes):
        if node.pos != "NOUN" or names[node.lemma.lower()] > 1 or node.lemma.lower() in _UNITS:
            continue
        numbers = [word for one in tree.children(at, "nummod")[:1] for word in _run(tree, one)]
        single = node.tag == "NN" and any(tree[one].text.lower() in {"a", "an"} for one in tree.children(at, "det"))
        values = _values(numbers) if node.tag == "NNS" else []
        if len(values) == 1:
            found[node.lemma.lower()] = values[0]
        elif single and not numbers:
            found[node.lemma.lower()] = 1.0
    return found


def _measured(old: ParseTree, new: ParseTree) -> Iterator[str]:
    """The same number of another unit: three years, three months."""
    before, after = _measures(old), _measures(new)
    for number, unit in sorted(before - after):
        for same, other in sorted(after - before):
            if number == same:
                yield f"number: {number} {unit} became {same} {other}"

    for old_time, new_time in zip(_CLOCK.findall(old.text), _CLOCK.findall(new.text), strict=False):
        if old_time[1].lower() != new_time[1].lower() and old_time[::2] == new_time[::2]:
            yield f"number: {' '.join(old_time)} became {' '.join(new_time)}"


def _exchanged(old: ParseTree, new: ParseTree) -> Iterator[str]:
    """Two numbers that changed places in a text that is else the same, if more than "and" is between them."""
    words, others = ([node.text.lower() for node in tree.nodes] for tree in (old, new))
    if len(words) == len(others):
        moved = [at for at, both in enumerate(zip(words, others, strict=True)) if both[0] != both[1]]
        if len(moved) == 2 and all(old[at].pos == "NUM" for at in moved):
            first, last = moved
            if (words[first], words[last]) == (others[last], others[first]) and last - first > 2:
                yield f"number: {words[first]} and {words[last]} have changed places"


def _measures(tree: ParseTree) -> set[tuple[str, str]]:
    found = set()
    for at, node in enumerate(tree.nodes[1:], 1):
        unit = node.lemma.lower()
        if unit in _UNITS and (values := _values(_run(tree, at - 1))):
            found.add((f"{values[0]:g}", _SAME_UNIT.get(unit, unit)))
    return found


def _run(tree: ParseTree, last: int) -> list[str]:
    """The words of the number that ends here: "sixty-two", "half a dozen"; none where it is about so many."""
    first, words = last, [node.text.lower() for node in tree.nodes]
    while first and (
        tree[first - 1].pos == "NUM" or words[first - 1] in {"-", "half"} or words[first - 2 : first] == _HALF
    ):
        first -= 1
    bounds = [one for one in tree.children(last) if tree[one].dep not in {"compound", "punct"} and one < first]
    return [] if bounds or tree.children(last, "cc", "conj") else words[first : last + 1]


def _values(words: Sequence[str]) -> list[float]:
    """Quantities; ordinals and names with digits are none."""
    plain = [word for word in words if word.isalpha() or _DIGITS.fullmatch(word)]
    return [float(one.value) for one in numerals(plain) if one.value.replace(".", "", 1).isdecimal()]


# Texts in which two phrases changed places


class Exchanged(NamedTuple):
    """A text in which two phrases are in each other's place."""

    text: str
    first: str
    second: str


def with_exchanges(tree: ParseTree) -> list[Exchanged]:
    """A text with two nouns and what stands before them, two adjectives or two numbers in each other's places.

    Left out is what may change places: "a man and a woman", "a man next to a woman", "Ann is the mayor".

    >>> from ..grammar.parsing import parser
    >>> text = "The tall nurse called the doctor."
    >>> [one.text for one in with_exchanges(ParseTree(text, next(parser()([text]))))]
    ['The doctor called the tall nurse.']
    """
    nouns = [
        (tree.subtree(min(tree.children(at, *_BEFORE_NOUNS), default=at))[0], at)
        for at, node in enumerate(tree.nodes)
        if node.pos in {"NOUN", "PROPN"} and node.dep not in {"compound", "npadvmod"}
    ]
    words = [
        [(at, at) for at, node in enumerate(tree.nodes) if node.pos == pos and tree[node.head].pos != pos]
        for pos in ("ADJ", "NUM")
    ]
    pairs = [both for group in (nouns, *words) for both in combinations(group, 2) if not _may_change(tree, *both)]
    found = (_exchange(tree, *both) for both in pairs)
    return list(dict.fromkeys(one for one in found if one.text != tree.text))[:_TRIED]


def _may_change(tree: ParseTree, one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether two phrases overlap, or may stand in each other's place."""
    (_, first), (start, second) = one, other
    if start <= first or tree.stretch(*one).lower() == tree.stretch(*other).lower():
        return True
    if tree[first].head == tree[second].head and tree[first].pos in {"ADJ", "NUM"}:
        return True
    joined = second
    while tree[joined].dep == "conj":
        joined = tree[joined].head
        if joined == first or tree[first].head == joined:
            return True
    governor = tree[second].head
    if tree[governor].pos == "ADP" and tree[governor].text.lower() in _BOTH_WAYS | {"to"}:
        above = tree[governor].head
        return tree[governor].text.lower() in _BOTH_WAYS or tree[above].text.lower() == "next"
    return tree[first].head == governor and tree[second].dep == "attr"


def _exchange(tree: ParseTree, one: tuple[int, int], other: tuple[int, int]) -> Exchanged:
    first, second = tree.stretch(*one), tree.stretch(*other)
    moved = first[:1].lower() + first[1:] if one[0] == 0 and tree[0].pos != "PROPN" else first
    between = tree.text[tree[one[1]].end : tree[other[0]].start]
    text = f"{tree.text[: tree[one[0]].start]}{second}{between}{moved}{tree.text[tree[other[1]].end :]}"
    return Exchanged(text[:1].upper() + text[1:] if tree.text[:1].isupper() else text, first, second)
