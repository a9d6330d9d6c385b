"""Halves of a sentence: what stands on either side of a word that compares, orders in time, opposes or shows the way.

"Sam is a better cook than Julia" and "Julia cooks better than Sam" share no verb, but each has its two on the other
side of "than". Halves are read off the words, so that a wrong parse matters little.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from ..words.lexicon import lexicon
from .parsing import ParseTree
from .participants import lives
from .phrases import SUBJECT_CASE
from .verb_relations import are_synonyms, base_verb

_CONTENT = {"NOUN", "PROPN", "VERB", "ADJ", "NUM"}
#: Pronouns that mean one person throughout a text; what hangs on "my" is mine.
_PERSONS = {"i", "you", "we"}
_OWNERS = {"my": "i", "your": "you", "our": "we"}
_EMPTY = {"be", "do", "have", "get", "make", "one", "ones", "other", "same", "much", "way"}
_ENDS = {".", "!", "?", ";", ":"}
#: After a comma they begin a clause of its own.
_JOINS = {"and", "but", "so", "or", "yet", "although", "though", "while", "whereas"}
_NO = {"not", "n't", "no", "never", "nobody", "none", "nothing", "neither", "nor", "hardly", "without"}
#: Degrees that say the same of two; of others their own words, or synonyms, do.
_DEGREES = ({"more", "high", "great", "large", "big", "good"}, {"less", "low", "small", "few"})
#: A comparative and its "than" are at most so far apart.
_NEAR = 12
#: What orders two in time, and whether what follows is the earlier one.
_ORDERS = {"before": False, "ahead of": False, "prior to": False, "earlier than": False, "by the time": False,
           "until": False, ", then": False, "and then": False, "after": True, "once": True, "later than": True,
           "as soon as": True}  # fmt: skip
#: Verbs that "after" belongs to: "the twins are looked after by them".
_AFTER = {"look", "take", "name", "run", "go", "call", "chase", "see"}
#: Where one lies as the other sees it, and whether it is said the other way round.
_DIRECTIONS = {"north of": ("north of", False), "south of": ("north of", True), "west of": ("west of", False),
               "east of": ("west of", True), "left of": ("left of", False), "right of": ("left of", True)}  # fmt: skip
_LATER = {"afterwards", "afterward", "subsequently"}
_CAUSES = ("because of", "because", "due to", "owing to", "as a result of", "thanks to")
#: What follows these is not so; "not only" says that it is.
_REJECTING = ("rather than", "instead of", ", not", "and not", "but not")
_ALSO = {"only", "just", "merely", "simply", "until", "before", "after", "even", "all", "to"}
_CHOOSING = {"choose", "pick", "prefer", "select", "favor", "favour"}
_ORIGIN, _END = ("from", "out of"), ("to", "into", "onto")
#: Without one of these, a clause has no halves.
_SIGNS = {"than", *_LATER, *(word for some in (_ORDERS, _DIRECTIONS, _CAUSES, _REJECTING, _ORIGIN) for marker in some
                             for word in marker.split()[:1])}  # fmt: skip


class Halves(NamedTuple):
    """What compares, orders or opposes, and the words that are on one side alone."""

    kind: str
    first: frozenset[str]
    second: frozenset[str]


def halves_exchanged(old: ParseTree, new: ParseTree) -> Iterator[tuple[str, str]]:
    """A word of one side in one text that is on the other side in the other text, and one that went the other way.

    >>> from .parsing import parser
    >>> texts = ["Sam is a better cook than Julia.", "Julia cooks far better than Sam."]
    >>> list(halves_exchanged(*(ParseTree(*both) for both in zip(texts, parser()(texts)))))
    [('"sam" better than "julia"', '"julia" better than "sam"')]
    """
    before = list(_halves(old))
    words = {word for one in before for word in one.first | one.second}
    after = [_named_as(one, words) for one in _halves(new)] if before else []
    for one in before:
        for other in after:
            there, back = one.first & other.second, one.second & other.first
            stay = bool(one.first & other.first) + bool(one.second & other.second)
            both = there and back and stay < 2
            alone = one.kind == "before" and (there or back) and not stay and len(before) == len(after) == 1
            if _one_kind(one.kind, other.kind) and (both or alone):
                yield _shown(one, there, back), _shown(other, back, there)


def _shown(one: Halves, some: frozenset[str], others: frozenset[str]) -> str:
    ends = (f'"{" ".join(sorted(part))}"' if part else "..." for part in (some, others))
    return f" {one.kind} ".join(ends)


def _named_as(one: Halves, words: set[str]) -> Halves:
    """The same with the other text's word for what has only synonyms there."""
    own = {name: name for name in one.first | one.second}
    free = words - own.keys()
    for name in own.keys() - words:
        same = [word for word in free if are_synonyms(word, name)]
        own[name] = same[0] if len(same) == 1 else name
    first, second = (frozenset(own[name] for name in part) for part in one[1:])
    return Halves(one.kind, first - second, second - first)


def _one_kind(kind: str, other: str) -> bool:
    """Whether two words compare in the same way.

    >>> _one_kind("higher than", "more than"), _one_kind("faster than", "slower than"), _one_kind("before", "not")
    (True, False, False)
    """
    if kind == other:
        return True
    if not kind.endswith(" than") or not other.endswith(" than"):
        return False
    one, two = (_quality(name.removesuffix(" than")) for name in (kind, other))
    return one == two or any({one, two} <= group for group in _DEGREES) or _adjectives(one, two)


@lru_cache(maxsize=1 << 10)
def _adjectives(one: str, other: str) -> bool:
    return any(other in synset.words for part in "ar" for synset in lexicon().synsets(one, part))


@lru_cache(maxsize=1 << 10)
def _quality(degree: str) -> str:
    """The base form of a comparative: "quick" of "more quickly", "good" of "better", "less expensive" as it is."""
    first, _, rest = degree.partition(" ")
    if rest:
        return rest.removesuffix("ly") if first == "more" else degree
    known = [form for part in "ar" for form in lexicon().base_forms(degree, part) if form != degree]
    base = known[0] if known else degree
    return {"well": "good", "much": "more", "many": "more", "little": "less", "fewer": "few"}.get(base, base)


# Reading


def _halves(tree: ParseTree) -> Iterator[Halves]:
    for start, end in _clauses(tree):
        plain = [tree[at].text.lower() for at in range(start, end)]
        if _SIGNS.isdisjoint(plain) and _CHOOSING.isdisjoint(tree[at].lemma.lower() for at in range(start, end)):
            continue
        some = [*_contrasts(tree, start, plain), *_ways(tree, start, plain)]
        if not _NO.intersection(plain):
            some += [*_comparisons(tree, start, plain), *_orders(tree, start, plain), *_causes(start, plain)]
        for kind, part, turned in some:
            second = _words(tree, part)
            first = _words(tree, [at for at in range(start, end) if at not in part])
            if kind == "from":
                first = _words(tree, _object(tree, start, plain, _ORIGIN))
            sides = (second - first, first - second) if turned else (first - second, second - first)
            if any(sides):
                yield Halves(kind, *sides)


def _clauses(tree: ParseTree) -> Iterator[tuple[int, int]]:
    """Sentences, and what a comma and a conjunction divide them into."""
    start, size = 0, len(tree.nodes)
    for at in range(size):
        follows = tree[at + 1].text.lower() if at + 1 < size else ""
        joined = follows in _JOINS and (at + 2 >= size or tree[at + 2].text.lower() != "not")
        if tree[at].text in _ENDS or (tree[at].text == "," and joined):
            yield start, at
            start = at + 1
    yield start, size


_Found = Iterator[tuple[str, range, bool]]


def _comparisons(tree: ParseTree, start: int, plain: list[str]) -> _Found:
    for at, word in enumerate(plain):
        if word == "than" and (degree := _degree(tree, start, plain, at)):
            yield f"{degree} than", _until(start, plain, at + 1), False


def _degree(tree: ParseTree, start: int, plain: list[str], than: int) -> str:
    """The comparative before "than"."""
    for at in range(than - 1, max(-1, than - _NEAR), -1):
        if tree[start + at].tag in {"JJR", "RBR"} and plain[at] not in {"earlier", "later", "rather"}:
            follows = start + at + 1
            own = plain[at] in {"more", "less"} and at + 1 < than and tree[follows].pos in {"ADJ", "ADV"}
            return f"{plain[at]} {plain[at + 1]}" if own else plain[at]
    return ""


def _orders(tree: ParseTree, start: int, plain: list[str]) -> _Found:
    for at, size, marker in _markers(plain, tuple(_ORDERS)):
        verbal = marker == "after" and at and tree[start + at - 1].lemma.lower() in _AFTER
        if tree[start + at].pos not in _CONTENT - {"ADJ"} and not verbal and plain[at - 1 : at] != ["ever"]:
            yield "before", _until(start, plain, at + size), _ORDERS[marker]

    for at, size, marker in _markers(plain, tuple(_DIRECTIONS)):
        kind, turned = _DIRECTIONS[marker]
        yield kind, _until(start, plain, at + size), turned
    for at, word in enumerate(plain):
        joins = [one for one in range(at) if plain[one] in {"and", ","}]
        if word in _LATER and joins:
            yield "before", range(start + joins[-1] + 1, start + at), False


def _causes(start: int, plain: list[str]) -> _Found:
    if found := list(_markers(plain, _CAUSES)):
        at, size, _ = found[0]
        yield "because", _until(start, plain, at + size), False


def _contrasts(tree: ParseTree, start: int, plain: list[str]) -> _Found:
    for at, size, _ in _markers(plain, _REJECTING):
        if plain[at + size : at + size + 1] and plain[at + size] not in _ALSO:
            yield "not", _until(start, plain, at + size), False
    chosen = [at for at in range(len(plain)) if tree[start + at].lemma.lower() in _CHOOSING]
    if chosen and tree[start + chosen[0]].pos == "VERB":
        word = "to" if tree[start + chosen[0]].lemma.lower() == "prefer" else "over"
        for at in range(chosen[0] + 2, len(plain)):
            if plain[at] == word and tree[start + at].pos == "ADP":
                yield "not", _until(start, plain, at + 1), False


def _ways(tree: ParseTree, start: int, plain: list[str]) -> _Found:
    """Two ends of one way: of two verbs, each may have its own."""
    origin, end = (_object(tree, start, plain, some) for some in (_ORIGIN, _END))
    between = range(min(origin.start, end.start), max(origin.start, end.start))
    if origin and end and all(tree[at].pos != "VERB" for at in between):
        yield "from", end, False


def _object(tree: ParseTree, start: int, plain: list[str], markers: tuple[str, ...]) -> range:
    """The phrase after the only one of some prepositions."""
    found = [(at, size) for at, size, _ in _markers(plain, markers) if tree[start + at].pos in {"ADP", "ADV"}]
    if len(found) != 1:
        return range(0)
    begin = end = start + sum(found[0])
    while end < start + len(plain) and tree[end].pos in {*_CONTENT, "DET", "PRON", "PART"} - {"VERB"}:
        end += 1
    return range(begin, end)


def _markers(plain: list[str], markers: tuple[str, ...]) -> Iterator[tuple[int, int, str]]:
    """Where one of some words or phrases stands, with how many words it has."""
    for at in range(len(plain)):
        for marker in markers:
            parts = marker.split()
            if plain[at : at + len(parts)] == parts:
                yield at, len(parts), marker


def _until(start: int, plain: list[str], begin: int) -> range:
    """From here to the next comma, "but" or "because"."""
    ends = (at for at in range(begin, len(plain)) if plain[at] in {",", "but", "because", "although", "though", "if"})
    return range(start + begin, start + next(ends, len(plain)))


def _words(tree: ParseTree, part: range | list[int]) -> frozenset[str]:
    """Base forms of what is named in a part; whose sister it is does not matter, whose house it is does."""
    found = set()
    for at in part:
        node, word = tree[at], tree[at].text.lower()
        if node.tag == "PRP$":
            found |= set() if lives(tree, node.head) else {_OWNERS.get(word, "")}
        elif node.pos == "PRON":
            found |= {SUBJECT_CASE.get(word, word)} & _PERSONS
        elif node.pos in _CONTENT and node.tag not in {"JJR", "RBR"}:
            found.add(base_verb(word, node.lemma.lower()) if node.pos == "VERB" else node.lemma.lower())
    return frozenset(found - _EMPTY - {""})
