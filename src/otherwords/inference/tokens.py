"""From texts to `Tokens` with a tokenizer of the `tokenizers` library: in parallel, and with word of every cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from tokenizers import Tokenizer


# MERGED from inference.tokens: Token rows of many lengths as flat columns: no Python object per token or per row.

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Tokens:
    """Rows of token ids end to end; row i is `ids[offsets[i]:offsets[i + 1]]`.

    `types` are the segment numbers, where the model has them. `cut` says which rows lost tokens to a length limit.
    For masked-LMs, `at` is the place of the mask in the row, and `own` the token that stood there, or -1 where the
    masked words were not one token.
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
        """How many tokens each row has."""
        return np.diff(self.offsets)

    @property
    def longest(self) -> int:
        """How many tokens the longest row has."""
        return int(self.lengths.max())

    @classmethod
    def of(cls, ids: Sequence[Sequence[int]], cut: Sequence[bool], **columns: Any) -> Tokens:
        """Lay rows end to end; `columns` are `types`, `at` and `own`, where there are any.

        >>> Tokens.of([[101, 7, 102], [101, 102]], cut=[False, False]).lengths.tolist()
        [3, 2]
        """
        offsets = np.zeros(len(ids) + 1, np.int64)
        np.cumsum([len(row) for row in ids], out=offsets[1:])
        types = columns.pop("types", None)
        rest = {name: np.asarray(column, np.int64) for name, column in columns.items() if column is not None}
        flat_types = None if types is None else _flat(types)
        return cls(_flat(ids), offsets, np.asarray(cut, np.bool_), flat_types, **rest)

    def take(self, chosen: Ints) -> Tokens:
        """Some of the rows, in the order asked for."""
        lengths = self.lengths[chosen]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        flat = np.repeat(self.offsets[chosen] - offsets[:-1], lengths) + np.arange(offsets[-1])
        types, at, own = _picked(self.types, flat), _picked(self.at, chosen), _picked(self.own, chosen)
        return Tokens(self.ids[flat], offsets, self.cut[chosen], types, at, own)

    def then(self, more: Tokens) -> Tokens:
        """These rows, and more behind them."""
        return Tokens(
            np.concatenate([self.ids, more.ids]),
            np.concatenate([self.offsets, self.offsets[-1] + more.offsets[1:]]),
            np.concatenate([self.cut, more.cut]),
            _joined(self.types, more.types),
            _joined(self.at, more.at),
            _joined(self.own, more.own),
        )


@dataclass(frozen=True)
class Rows:
    """A batch: token rows side by side, filled up to the longest. `mask` is None where nothing was filled up."""

    ids: Ints
    mask: Ints | None
    types: Ints | None
    at: Ints | None = None
    own: Ints | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def longest(self) -> int:
        """How many tokens the longest row has."""
        return int(self.ids.shape[1])


def side_by_side(tokens: Tokens, chosen: Ints, pad: int = 0) -> Rows:
    """Take the chosen rows as a batch.

    >>> side_by_side(Tokens.of([[5, 6, 7], [8]], cut=[False, False]), np.array([1, 0])).ids.tolist()
    [[8, 0, 0], [5, 6, 7]]
    """
    lengths = tokens.lengths[chosen]
    width = int(lengths.max())
    place = tokens.offsets[chosen][:, None] + np.arange(width)
    at, own = _picked(tokens.at, chosen), _picked(tokens.own, chosen)
    if (lengths == width).all():
        return Rows(tokens.ids[place], None, _picked(tokens.types, place), at, own)
    mask = np.arange(width) < lengths[:, None]
    place = np.where(mask, place, 0)
    ids = np.where(mask, tokens.ids[place], pad)
    types = None if tokens.types is None else np.where(mask, tokens.types[place], 0)
    return Rows(ids, mask.astype(np.int64), types, at, own)


def _picked(column: Ints | None, chosen: Ints) -> Ints | None:
    return None if column is None else column[chosen]


def _joined(one: Ints | None, other: Ints | None) -> Ints | None:
    return None if one is None or other is None else np.concatenate([one, other])


def _flat(rows: Sequence[Sequence[int]]) -> Ints:
    flat = [token for row in rows for token in row]
    return np.array(flat, np.int64)


# MERGED from inference.tokenizing: From texts to `Tokens` with a tokenizer of the `tokenizers` library: in parallel, and with word of every cut.

Pairs = Sequence[tuple[str, str]]


def pair_encoder(tokenizer: Tokenizer, max_length: int, *, types: bool) -> Callable[[Pairs], Tokens]:
    """A function that turns pairs of texts into tokens, and cuts the longer text of those above `max_length`.

    `types` says whether the model has segment numbers. The tokenizer is set for this use from now on, so that it
    should have no other.
    """
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length, strategy="longest_first")
    return lambda pairs: flattened(encodings(tokenizer, [clean_pair(pair) for pair in pairs]), types=types)


def text_encoder(tokenizer: Tokenizer, max_length: int, *, types: bool) -> Callable[[Sequence[str]], Tokens]:
    """The same for single texts; a `max_length` of 0 cuts nothing."""
    tokenizer.no_padding()
    if max_length:
        tokenizer.enable_truncation(max_length)
    else:
        tokenizer.no_truncation()
    return lambda texts: flattened(encodings(tokenizer, [clean(text) for text in texts]), types=types)


def clean(text: str) -> str:
    """Replace lone surrogates, which JSON allows and tokenizers refuse, by a question mark.

    >>> clean("half a \\ud83d smile")
    'half a ? smile'
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def clean_pair(pair: tuple[str, str]) -> tuple[str, str]:
    """Both texts as tokenizers take them."""
    return clean(pair[0]), clean(pair[1])


def encodings(tokenizer: Tokenizer, texts: list[Any]) -> list[Any]:
    """Tokenise on all cores. Where texts lie in the original is not computed: a fifth of the time."""
    encode = getattr(tokenizer, "encode_batch_fast", tokenizer.encode_batch)  # since tokenizers 0.20
    return list(encode(texts))


def flattened(encoded: Sequence[Any], *, types: bool) -> Tokens:
    """Encodings of the `tokenizers` library end to end."""
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=offsets[1:])
    ids = _column((one.ids for one in encoded), offsets[-1])
    segments = _column((one.type_ids for one in encoded), offsets[-1]) if types else None
    # What was cut off is kept as further encodings.
    cut = np.fromiter((bool(one.overflowing) for one in encoded), np.bool_, len(encoded))
    return Tokens(ids, offsets, cut, segments)


def _column(rows: Any, count: Any) -> Ints:
    return np.fromiter(chain.from_iterable(rows), np.int64, int(count))
