"""Word by word, what a rewording changed; long texts are shortened around the changes."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

#: Words of a field that the page shows; the rest becomes an ellipsis.
LIMIT = 60
#: Above this many words difflib may skip frequent ones: coarser, but not quadratic.
_EXACT = 1000
_MARKS = re.escape(
    string.punctuation.replace("'", "").replace("-", "").replace("_", "") + "“”„«»…–—؟،؛、。，！？：；「」"
)
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # written without spaces: each sign is a word
_TOKEN = re.compile(rf"([{_CJK}]|[^\s{_MARKS}{_CJK}]{{1,40}}|[{_MARKS}])(\s*)")

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
    for tag, i, i_end, j, j_end in _operations(before, after):
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
    touched: set[int] = set()
    if len(before) > limit:
        for new in news:
            for tag, i, i_end, _, _ in _operations(before, _tokens(new)):
                if tag != "equal":
                    touched.update(range(i, max(i_end, min(i + 1, len(before)))))
    return _join(before, _kept(len(before), sorted(touched), limit))


def _tokens(text: str) -> list[_Token]:
    return [_Token("same", word, bool(space)) for word, space in _TOKEN.findall(text.strip())]


def _operations(old: Sequence[_Token], new: Sequence[_Token]) -> list[tuple[str, int, int, int, int]]:
    """Give difflib's opcodes; what both texts begin and end with is set aside first, which spares it most of the work."""
    a, b = [token.word for token in old], [token.word for token in new]
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
    """Choose which words to show: all, or the changed ones with as much company on both sides as the limit allows."""
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
    for place, following in zip(kept, [*kept[1:], None], strict=True):
        token = tokens[place]
        add(token.kind, token.word)
        if following is not None and following > place + 1:
            add("cut", " … ")
        elif following is not None and token.spaced:
            add(token.kind if tokens[following].kind == token.kind else "same", " ")
    if kept and kept[-1] < len(tokens) - 1:
        add("cut", " …")
    return tuple(segments)
