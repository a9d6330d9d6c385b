"""Word by word, what a rewording changed; long texts are shortened around the changes."""

import re
import string
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import zip_longest
from typing import Literal, NamedTuple

#: Words of a field that the page shows; the rest becomes an ellipsis.
LIMIT = 60
#: Above this many words difflib may skip frequent ones: coarser, but not quadratic.
_EXACT = 1000
_MARKS = re.escape(string.punctuation.translate(dict.fromkeys(map(ord, "'-_"))) + "“”„«»…–—؟،؛、。，！？：；「」")
#: Signs written without spaces: each is a word. Other scripts without spaces fall into runs of twenty signs.
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"([{_CJK}]|[^\s{_MARKS}{_CJK}]{{1,20}}|[{_MARKS}])(\s*)")

Kind = Literal["same", "new", "gone", "cut"]


class Segment(NamedTuple):
    """A stretch of text: shared with the original, new in the rewording, gone from it, or an ellipsis."""

    kind: Kind
    text: str


class _Token(NamedTuple):
    kind: Kind
    word: str
    spaced: bool


def compare(old: str, new: str, limit: int = LIMIT) -> tuple[Segment, ...]:
    """Show a rewording. Words that were replaced appear as they are now; words left out without a substitute as gone.

    >>> [tuple(part) for part in compare("It is not wet today.", "It is quite dry.")]
    [('same', 'It is '), ('new', 'quite dry'), ('same', '.')]
    >>> [tuple(part) for part in compare("It is not wet.", "It is wet.")]
    [('same', 'It is '), ('gone', 'not'), ('same', ' wet.')]
    """
    before, after = _tokens(old), _tokens(new)
    shown: list[_Token] = []
    for tag, i, i_end, j, j_end in _operations(old, new):
        if tag == "delete":
            if shown and before[i - 1].spaced:
                shown[-1] = shown[-1]._replace(spaced=True)
            shown += (token._replace(kind="gone") for token in before[i:i_end])
        else:
            shown += (token._replace(kind="same" if tag == "equal" else "new") for token in after[j:j_end])
    changed = [place for place, token in enumerate(shown) if token.kind != "same"]
    return _join(shown, _kept(len(shown), changed, limit))


def excerpt(old: str, news: Iterable[str] = (), limit: int = LIMIT) -> tuple[Segment, ...]:
    """Show an original, shortened around the words that any of its rewordings touched.

    >>> [tuple(part) for part in excerpt("a b c d e f g", ["a b c X e f g"], limit=3)]
    [('cut', '… '), ('same', 'c d e'), ('cut', ' …')]
    """
    before = _tokens(old)
    if len(before) <= limit:
        return _join(before, range(len(before)))
    places = sorted((_touched(old, new) for new in news), key=lambda some: (len(some), sorted(some)))
    shown: set[int] = set()
    for some in places:  # small changes first: a text written anew would leave no room for them
        if not shown or len(shown | some) <= limit // 2:
            shown |= some
    return _join(before, _kept(len(before), sorted(shown), limit))


def _touched(old: str, new: str) -> set[int]:
    """Where an original was changed; an insertion touches the word that follows it."""
    spans = [(i, max(i + 1, i_end)) for tag, i, i_end, _, _ in _operations(old, new) if tag != "equal"]
    last = len(_tokens(old)) - 1
    return {min(place, last) for start, end in spans for place in range(start, end)}


def _tokens(text: str) -> list[_Token]:
    return [_Token("same", word, bool(space)) for word, space in _TOKEN.findall(text.strip())]


@lru_cache(maxsize=512)  # several models flip on the same problems
def _operations(old: str, new: str) -> list[tuple[str, int, int, int, int]]:
    """Give difflib's opcodes; what both texts begin and end with is set aside first, to spare it most of the work."""
    a, b = ([token.word for token in _tokens(text)] for text in (old, new))
    most = min(len(a), len(b))
    head = next((i for i in range(most) if a[i] != b[i]), most)
    tail = next((i for i in range(most - head) if a[-1 - i] != b[-1 - i]), most - head)
    middle_a, middle_b = a[head : len(a) - tail], b[head : len(b) - tail]
    matcher = SequenceMatcher(None, middle_a, middle_b, autojunk=max(len(middle_a), len(middle_b)) > _EXACT)
    moved = [(tag, i + head, k + head, j + head, m + head) for tag, i, k, j, m in matcher.get_opcodes()]
    front = [("equal", 0, head, 0, head)] if head else []
    back = [("equal", len(a) - tail, len(a), len(b) - tail, len(b))] if tail else []
    return front + moved + back


def _kept(size: int, changed: Sequence[int], limit: int) -> list[int]:
    """Choose which words to show: all, or the changed ones with as much context on both sides as the limit allows."""
    if size <= limit:
        return list(range(size))
    if not changed:
        tail = limit // 3
        return [*range(limit - tail), *range(size - tail, size)]
    kept = list(changed[:limit])
    for reach in range(1, limit):
        near = {j for i in changed[: limit + 1] for j in range(max(0, i - reach), min(size, i + reach + 1))}
        if len(near) > limit or len(changed) > limit:
            break
        kept = sorted(near)
    return kept


def _join(tokens: Sequence[_Token], kept: Sequence[int]) -> tuple[Segment, ...]:
    """Glue words to segments; spaces between unlike neighbours stay outside the marked part."""
    segments: list[Segment] = []

    def add(kind: Kind, text: str) -> None:
        if segments and segments[-1].kind == kind:
            text = segments.pop().text + text
        segments.append(Segment(kind, text))

    if kept and kept[0] > 0:
        add("cut", "… ")
    for place, following in zip_longest(kept, kept[1:]):
        token = tokens[place]
        add(token.kind, token.word)
        if following is not None and following > place + 1:
            add("cut", " … ")
        elif following is not None and token.spaced:
            add(token.kind if tokens[following].kind == token.kind else "same", " ")
    if kept and kept[-1] < len(tokens) - 1:
        add("cut", " …")
    return tuple(segments)
