"""From texts to `Tokens` with a tokenizer of the `tokenizers` library: in parallel, and with word of every cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from .tokens import Ints, Tokens

if TYPE_CHECKING:
    from tokenizers import Tokenizer

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
