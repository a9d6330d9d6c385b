"""Which prompts begin alike, and how they are tokenised when their beginning is tokenised once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from .completion import Message

#: Characters that a group of prompts must save for its beginning to be computed apart: some hundred tokens.
WORTHWHILE = 1024
#: Groups that are looked for: with more, a batch for each would cost more than it saves.
MOST_GROUPS = 64
#: Characters at the end of a shared beginning that stay with the rest: how a text is split may depend on what follows.
_MARGIN = 8
#: Prompts of a group that are tokenised in one piece, to see that two pieces give the same tokens.
_TRIED = 16

#: A last message with which the frame of a chat is found, with all that a template may write in another way, and how
#: many chats must share a frame to look for it.
_MARKER, _ENOUGH = 'The "last" message\'s\n\\{text} & ünd of this chat.', 4

Chat = tuple[Message, ...]
Encode = Callable[[Sequence[str], bool], list[list[int]]]


@dataclass(frozen=True)
class Group:
    """Prompts, by number, that share their first `shared` characters."""

    shared: int
    members: list[int]


def group_by_beginning(texts: Sequence[str], worthwhile: int = WORTHWHILE) -> list[Group]:
    """Groups of texts that begin alike, and last those that share too little; each in the order of the texts.

    >>> group_by_beginning(["shots one", "other", "shots two", "shots"], worthwhile=8)
    [Group(shared=5, members=[0, 2, 3]), Group(shared=0, members=[1])]
    """
    order = sorted(range(len(texts)), key=texts.__getitem__)
    alike = [_common(texts[a], texts[b]) for a, b in pairwise(order)]
    groups: list[Group] = []
    loose: list[int] = []
    parts = [(0, len(order))]
    while parts:
        first, last = parts.pop()
        start, end, shared = _best(alike, first, last) if len(groups) < MOST_GROUPS else (first, last, 0)
        if shared * (end - start - 1) < worthwhile:
            loose += order[first:last]
            continue
        groups.append(Group(shared, sorted(order[start:end])))
        parts += [(a, b) for a, b in ((first, start), (end, last)) if a < b]
    return groups + ([Group(0, sorted(loose))] if loose else [])


def _best(alike: Sequence[int], first: int, last: int) -> tuple[int, int, int]:
    """The run of sorted texts that saves most when its beginning is computed once: start, end, characters shared.

    This is the largest rectangle below the numbers of characters that neighbours share.
    """
    best, saved = (first, last, 0), 0
    rising: list[tuple[int, int]] = []  # where a height begins, and the height
    for place in range(first, last):
        height = alike[place] if place + 1 < last else 0
        start = place
        while rising and rising[-1][1] >= height:
            start, shared = rising.pop()
            if shared * (place - start) > saved:
                best, saved = (start, place + 1, shared), shared * (place - start)
        rising.append((start, height))
    return best


def _common(one: str, other: str) -> int:
    """How many characters two texts share at the beginning; by halving, because comparing slices is fast."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def split_place(texts: Sequence[str], shared: int, encode: Encode, *, special: bool) -> int:
    """Where to split texts so that both pieces, tokenised apart, give the tokens of the whole; 0 where nowhere.

    The last places where a line or a word begins are tried, with some of the texts. What surrounds the place is the
    same in all of them. `special` says whether the beginning gets special tokens.
    """
    tried = [texts[len(texts) * number // _TRIED] for number in range(_TRIED)] if len(texts) > _TRIED else texts
    whole = encode(tried, special)
    for place in _places(texts[0], shared - _MARGIN):
        (head,) = encode([texts[0][:place]], special)
        rests = encode([text[place:] for text in tried], False)
        if head and all(rest and [*head, *rest] == row for rest, row in zip(rests, whole, strict=True)):
            return place
    return 0


def _places(text: str, last: int) -> list[int]:
    """Where the last word begins, with the blank before it, and where the last line begins: the later first."""
    space = line = 0
    for place in range(last, 0, -1):
        before, after = text[place - 1], text[place]
        if not space and after == " " and not before.isspace():
            space = place
        if before == "\n" and not after.isspace():
            line = place
            break
    return sorted({place for place in (space, line) if place}, reverse=True)


def common_tokens(rows: Sequence[list[int]]) -> int:
    """How many tokens all rows share at the beginning, one less than the shortest row has at most."""
    one, other = min(rows), max(rows)
    most = min(map(len, rows)) - 1
    return next((place for place in range(most) if one[place] != other[place]), max(most, 0))


def continued(texts: Sequence[str], encode: Callable[[Sequence[str]], list[list[int]]]) -> list[list[int]]:
    """The tokens of texts as they follow a prompt: behind a line's end, where the tokenizer keeps it.

    Some tokenizers put a blank before a text that stands alone, but not before one that follows something.
    """
    line, *rows = encode(["\n", *(f"\n{text}" for text in texts)])
    alone = encode(texts)
    return [row[len(line) :] if row[: len(line)] == line else own for row, own in zip(rows, alone, strict=True)]


# Chats


def chat_texts(chats: Sequence[Chat], render: Callable[[Chat], str]) -> list[str]:
    """The texts of chats. Of chats that differ in the last message alone, one is rendered, and the others are like it.

    Rendering a chat of many shots takes longer than computing its answer on a GPU. What a template may treat in its own
    way (blanks at the ends, marks of thoughts and tools) is rendered as it is.
    """
    common = Counter((*chat[:-1], chat[-1].role) for chat in chats)
    frames: dict[object, tuple[str, str] | None] = {}
    texts = []
    for chat in chats:
        *before, last = chat
        key, frame = (*before, last.role), None
        if common[key] >= _ENOUGH and last.content == last.content.strip() and "<" not in last.content:
            if key not in frames:
                frames[key] = _frame(chat, render)
            frame = frames[key]
        texts.append(frame[0] + last.content + frame[1] if frame else render(chat))
    return texts


def _frame(chat: Chat, render: Callable[[Chat], str]) -> tuple[str, str] | None:
    """What stands before and behind the last message, if it is the same for two of them."""
    *before, last = chat
    start, found, end = render((*before, Message(last.role, _MARKER))).partition(_MARKER)
    return (start, end) if found and start + last.content + end == render(chat) else None
