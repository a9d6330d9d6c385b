"""Token rows as flat columns, without a Python object per token or row: made from texts, selected, padded."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Ints = npt.NDArray[np.int64]
Pairs = Sequence[tuple[str, str]]
#: Characters of a text that are tokenised at first, for each token that is read: words have four or five a token.
_PER_TOKEN = 16
#: Where these give too few tokens (blanks, words of thousands of letters), so many times more are tried ...
_MORE = 8
#: ... and of one text never more than these: a tokenizer needs about a hundred bytes for each.
MOST_CHARACTERS = 4_000_000
#: Characters that are tokenised at a time to count the tokens of a long text.
_COUNTED = 100_000
_PRINTED = re.compile(r"\S")


@dataclass(frozen=True)
class Tokens:
    """Packed rows of token ids; row i is `ids[offsets[i]:offsets[i + 1]]`.

    `types` are the segment numbers, where the model has them. `cut` says which rows were truncated. For masked-LMs,
    `at` is the position of the mask in the row, and `own` the token that was masked out, or -1 where the masked words
    were not one token.
    """

    ids: Ints
    offsets: Ints
    cut: npt.NDArray[np.bool_]
    types: Ints | None = None
    at: Ints | None = None
    own: Ints | None = None

    def __len__(self) -> int:
        return len(self.cut)

    @property
    def lengths(self) -> Ints:
        """The number of tokens of each row."""
        return np.diff(self.offsets)

    @property
    def longest(self) -> int:
        """The number of tokens of the longest row."""
        return int(self.lengths.max())

    @classmethod
    def of(cls, ids: Sequence[Sequence[int]], cut: Sequence[bool], **columns: Any) -> Tokens:
        """Pack rows; `columns` are `types`, `at` and `own`, where there are any.

        >>> Tokens.of([[101, 7, 102], [101, 102]], cut=[False, False]).lengths.tolist()
        [3, 2]
        """
        types = columns.pop("types", None)
        rest = {name: np.asarray(column, np.int64) for name, column in columns.items() if column is not None}
        flat_types = None if types is None else _flat(types)
        return cls(_flat(ids), _offsets(ids), np.asarray(cut, np.bool_), flat_types, **rest)

    def take(self, chosen: Ints) -> Tokens:
        """Some of the rows, in the order asked for."""
        lengths = self.lengths[chosen]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        flat = np.repeat(self.offsets[chosen] - offsets[:-1], lengths) + np.arange(offsets[-1])
        types, at, own = _take(self.types, flat), _take(self.at, chosen), _take(self.own, chosen)
        return Tokens(self.ids[flat], offsets, self.cut[chosen], types, at, own)

    def concat(self, more: Tokens) -> Tokens:
        """These rows, followed by more."""
        return Tokens(
            np.concatenate([self.ids, more.ids]),
            np.concatenate([self.offsets, self.offsets[-1] + more.offsets[1:]]),
            np.concatenate([self.cut, more.cut]),
            _concat(self.types, more.types),
            _concat(self.at, more.at),
            _concat(self.own, more.own),
        )


def fill_up(tokens: Tokens, width: int, tokens_step: int, rows_step: int) -> Tokens:
    """The same rows and more, so that the number of tokens and that of rows are multiples of these steps.

    Further rows hold token 0, up to `width` times; the last may be empty.

    >>> fill_up(Tokens.of([[7, 8, 9]], cut=[False]), width=2, tokens_step=8, rows_step=3).offsets.tolist()
    [0, 3, 5, 7, 8, 8, 8]
    """
    total = -(-len(tokens.ids) // tokens_step) * tokens_step
    ends = np.arange(len(tokens.ids), total, width)[1:]
    ends = np.append(ends, total) if total > len(tokens.ids) else ends
    count = -(-(len(tokens) + len(ends)) // rows_step) * rows_step - len(tokens)
    offsets = np.concatenate([tokens.offsets, ends, np.full(count - len(ends), total)])
    missing = np.zeros(total - len(tokens.ids), np.int64)
    types = None if tokens.types is None else np.concatenate([tokens.types, missing])
    cut = np.concatenate([tokens.cut, np.zeros(count, np.bool_)])
    return Tokens(np.concatenate([tokens.ids, missing]), offsets, cut, types)


@dataclass(frozen=True)
class PaddedRows:
    """A batch of rows padded to the longest, one line per row. `mask` is None where nothing was padded."""

    ids: Ints
    mask: Ints | None
    types: Ints | None
    at: Ints | None = None
    own: Ints | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def longest(self) -> int:
        """The number of tokens of the longest row."""
        return int(self.ids.shape[1])


def pad_rows(tokens: Tokens, chosen: Ints, pad: int = 0) -> PaddedRows:
    """Take the chosen rows as a batch.

    >>> pad_rows(Tokens.of([[5, 6, 7], [8]], cut=[False, False]), np.array([1, 0])).ids.tolist()
    [[8, 0, 0], [5, 6, 7]]
    """
    lengths = tokens.lengths[chosen]
    width = int(lengths.max())
    place = tokens.offsets[chosen][:, None] + np.arange(width)
    at, own = _take(tokens.at, chosen), _take(tokens.own, chosen)
    if (lengths == width).all():
        return PaddedRows(tokens.ids[place], None, _take(tokens.types, place), at, own)
    mask = np.arange(width) < lengths[:, None]
    place = np.where(mask, place, 0)
    ids = np.where(mask, tokens.ids[place], pad)
    types = None if tokens.types is None else np.where(mask, tokens.types[place], 0)
    return PaddedRows(ids, mask.astype(np.int64), types, at, own)


# From texts


def pair_encoder(tokenizer: Tokenizer, max_length: int, *, types: bool) -> Callable[[Pairs], Tokens]:
    """A function that tokenises pairs of texts, and truncates the longer text of those above `max_length`.

    `types` says whether the model has segment numbers. The tokenizer's settings are changed for this use, so it
    should have no other.
    """
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length, strategy="longest_first")
    start = Beginning(count_of(tokenizer), max_length)

    def encode(pairs: Pairs) -> Tokens:
        if max((len(text) for pair in pairs for text in pair), default=0) <= _PER_TOKEN * max_length:
            return flattened(encodings(tokenizer, list(map(clean_pair, pairs))), types=types)
        starts = [start.pair(*pair) for pair in pairs]
        tokens = flattened(encodings(tokenizer, [clean_pair(pair) for pair in starts]), types=types)
        return mark_lost(tokens, lost_pairs(pairs, starts))

    return encode


def text_encoder(tokenizer: Tokenizer, max_length: int, *, types: bool) -> Callable[[Sequence[str]], Tokens]:
    """The same for single texts; a `max_length` of 0 truncates nothing."""
    tokenizer.no_padding()
    if max_length:
        tokenizer.enable_truncation(max_length)
    else:
        tokenizer.no_truncation()
    start = Beginning(count_of(tokenizer), max_length) if max_length else str

    def encode(texts: Sequence[str]) -> Tokens:
        starts = [start(text) for text in texts]
        tokens = flattened(encodings(tokenizer, [clean(text) for text in starts]), types=types)
        return mark_lost(tokens, list(map(is_lost, texts, starts)))

    return encode


def row_encoder(tokenizer: Tokenizer, max_length: int, *, types: bool) -> Callable[[Sequence[Any]], Tokens]:
    """The same for rows of one text or of two; all rows of a call have as many."""
    one, two = text_encoder(tokenizer, max_length, types=types), pair_encoder(tokenizer, max_length, types=types)
    return lambda rows: one([row[0] for row in rows]) if rows and len(rows[0]) == 1 else two(rows)


# Texts of many megabytes


@dataclass(frozen=True)
class Beginning:
    """Cuts from a very long text what is not read, before it is tokenised.

    `count` says how many tokens a text has. What is left ends with a whole word and has twice `max_length` tokens or
    more, so that those which are read are the same. Only where `MOST_CHARACTERS` have next to no tokens is the rest
    lost (`is_lost`).

    >>> Beginning(lambda text: len(text.split()), max_length=2)("one two three " * 99)
    'one two three one two three'
    """

    count: Callable[[str], int]
    max_length: int

    def __call__(self, text: str) -> str:
        """The beginning of a text that decides which tokens are read; shorter texts as they are."""
        limit = _PER_TOKEN * self.max_length
        while len(text) > limit:
            part = whole_words(text[:limit])
            if self._is_enough(part):
                while self._is_enough(half := whole_words(part[: len(part) // 2])):
                    part = half
                return part
            if limit >= MOST_CHARACTERS:
                return part
            limit = min(_MORE * limit, max(MOST_CHARACTERS, limit))
        return text

    def row(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        """The beginnings of one text or of two."""
        return self.pair(*texts) if len(texts) == 2 else (self(texts[0]),)

    def pair(self, first: str, second: str) -> tuple[str, str]:
        """The beginnings of both texts; the one with more tokens has more still, because it may keep one more."""
        starts = self(first), self(second)
        if starts == (first, second) or min(map(self.count, starts)) <= self.max_length // 2:
            return starts
        longer = self._total(first) > self._total(second)
        part, other = starts if longer else starts[::-1]
        whole = first if longer else second
        while len(part) < len(whole) and self.count(part) <= self.count(other):
            part = whole_words(whole[: 2 * len(part) + 2]) if 2 * len(part) + 2 < len(whole) else whole
        return (part, other) if longer else (other, part)

    def _is_enough(self, part: str) -> bool:
        return self.count(part) > 2 * self.max_length

    def _total(self, text: str) -> int:
        """The number of tokens, piece by piece; of texts too long for that, of characters."""
        if len(text) > MOST_CHARACTERS:
            return len(text)
        total = start = 0
        while start < len(text):
            piece = text[start : start + _COUNTED]
            piece = whole_words(piece) if start + _COUNTED < len(text) else piece
            total, start = total + self.count(piece), start + len(piece)
        return total


def around(tokenizer: Tokenizer, max_length: int, text: str, first: int, last: int) -> tuple[str, int, int]:
    """The part of a very long text around text[first:last], and where that is in it; shorter texts as they are.

    On both sides enough is left that of `max_length` tokens around the span all are the same.
    """
    if len(text) <= _PER_TOKEN * max_length:
        return text, first, last
    count = count_of(tokenizer)
    behind = Beginning(count, max_length)(text[last:])
    before = Beginning(lambda part: count(part[::-1]), max_length)(text[:first][::-1])[::-1]
    return before + text[first:last] + behind, len(before), len(before) + last - first


def whole_words(part: str) -> str:
    """The beginning of a text without its last word, of which half may be missing; as it is if there is no other."""
    before = part.rsplit(None, 1)[:1]
    return before[0] if before and 2 * len(before[0]) > len(part) else part


def is_lost(text: str, part: str, start: int = 0) -> bool:
    """Whether a part, which starts there in the text, leaves out more than blanks."""
    if len(part) == len(text):
        return False
    return bool(_PRINTED.search(text, 0, start) or _PRINTED.search(text, start + len(part)))


def lost_pairs(pairs: Sequence[tuple[str, ...]], parts: Sequence[tuple[str, ...]]) -> list[bool]:
    """Of which pairs, or rows of one text, the parts leave out more than blanks."""
    return [any(map(is_lost, pair, part)) for pair, part in zip(pairs, parts, strict=True)]


def mark_lost(tokens: Tokens, lost: Sequence[bool]) -> Tokens:
    """The same rows, with those marked as cut whose texts were cut before."""
    return replace(tokens, cut=tokens.cut | np.asarray(lost, np.bool_)) if any(lost) else tokens


def count_of(tokenizer: Tokenizer) -> Callable[[str], int]:
    """A function that counts the tokens of a text, whether or not the tokenizer truncates."""

    def count(text: str) -> int:
        encoding = tokenizer.encode(clean(text), add_special_tokens=False)
        return len(encoding.ids) + sum(len(more.ids) for more in encoding.overflowing)

    return count


def clean(text: str) -> str:
    """Replace lone surrogates, which JSON allows and tokenizers refuse, by a question mark.

    >>> clean("half a \\ud83d smile")
    'half a ? smile'
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def clean_pair(pair: tuple[str, str]) -> tuple[str, str]:
    """Both texts as tokenizers accept them."""
    return clean(pair[0]), clean(pair[1])


def encodings(tokenizer: Tokenizer, texts: list[Any], *, special: bool = True) -> list[Any]:
    """Tokenise on all cores, without offsets into the text: they take a fifth of the time."""
    encode = getattr(tokenizer, "encode_batch_fast", tokenizer.encode_batch)  # since tokenizers 0.20
    return list(encode(texts, add_special_tokens=special))


def flattened(encoded: Sequence[Any], *, types: bool) -> Tokens:
    """Pack encodings of the `tokenizers` library."""
    offsets = _offsets(encoded)
    ids = _column((one.ids for one in encoded), offsets[-1])
    segments = _column((one.type_ids for one in encoded), offsets[-1]) if types else None
    # What was truncated is kept as further encodings.
    cut = np.fromiter((bool(one.overflowing) for one in encoded), np.bool_, len(encoded))
    return Tokens(ids, offsets, cut, segments)


def _offsets(rows: Sequence[Any]) -> Ints:
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows)), out=offsets[1:])
    return offsets


def _flat(rows: Sequence[Sequence[int]]) -> Ints:
    return np.array([token for row in rows for token in row], np.int64)


def _column(rows: Any, count: Any) -> Ints:
    return np.fromiter(chain.from_iterable(rows), np.int64, int(count))


def _take(column: Ints | None, chosen: Ints) -> Ints | None:
    return None if column is None else column[chosen]


def _concat(first: Ints | None, second: Ints | None) -> Ints | None:
    return None if first is None or second is None else np.concatenate([first, second])
