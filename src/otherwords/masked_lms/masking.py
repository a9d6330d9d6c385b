"""From a text and the span that is masked to tokens: where the mask stands, and which token stood there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import BadInput, shorten
from ..inference.tokenizing import clean, encodings
from ..inference.tokens import Tokens

if TYPE_CHECKING:
    from tokenizers import Tokenizer

#: A text, and its characters from one place to before another, which are masked.
Masked = tuple[str, int, int]


class Masker:
    """Tokenise texts with one masked span each.

    A text of more than `max_length` tokens loses those far from the mask, so that no mask is ever cut off. The blank
    before a masked word stays in the text; tokenizers whose words carry it have a mask that swallows it.
    """

    def __init__(self, tokenizer: Tokenizer, max_length: int, *, types: bool, mask: str = ""):
        self.tokenizer, self.max_length, self.types = tokenizer, max_length, types
        self.mask = mask or mask_token(tokenizer)
        tokenizer.no_padding()
        tokenizer.no_truncation()  # rows are cut here, around the mask
        self._mask_id = _number(tokenizer, self.mask)
        self._unknown = _unknown(tokenizer)
        self._before = tokenizer.encode(self.mask).ids.index(self._mask_id)  # [CLS]
        self._behind = len(tokenizer.encode(self.mask).ids) - self._before - 1  # [SEP]

    def __call__(self, items: Sequence[Masked]) -> Tokens:
        """Tokens of the masked texts, with `at` and `own`."""
        for item in items:
            _refuse_nonsense(item)
        texts = [clean(text) for text, _, _ in items]
        spans = [(first, last) for _, first, last in items]
        found = self._ids([text[:a] + self.mask + text[b:] for text, (a, b) in zip(texts, spans, strict=True)])
        distinct = list(dict.fromkeys(texts))
        whole = dict(zip(distinct, self._ids(distinct), strict=True))
        rows = [list(encoding.ids) for encoding in found]
        at = [self._place(row, text[:a]) for row, text, (a, _) in zip(rows, texts, spans, strict=True)]
        pairs = zip(rows, at, texts, strict=True)
        own = [self._own(row, place, list(whole[text].ids)) for row, place, text in pairs]
        kept = [self._window(len(row), place) for row, place in zip(rows, at, strict=True)]
        types = [_some(list(one.type_ids), part) for one, part in zip(found, kept, strict=True)] if self.types else None
        cut = [len(part) < len(row) for row, part in zip(rows, kept, strict=True)]
        at = [part.index(place) for part, place in zip(kept, at, strict=True)]
        return Tokens.of(
            [_some(row, part) for row, part in zip(rows, kept, strict=True)], cut, types=types, at=at, own=own
        )

    def _ids(self, texts: list[str]) -> list[Any]:
        return encodings(self.tokenizer, texts)

    def _place(self, row: list[int], before: str) -> int:
        """Where the mask stands: a text may have masks of its own, so that those before it are counted."""
        if row.count(self._mask_id) == 1:
            return row.index(self._mask_id)
        earlier = self.tokenizer.encode(before).ids.count(self._mask_id)
        return [place for place, token in enumerate(row) if token == self._mask_id][earlier]

    def _own(self, row: list[int], at: int, whole: list[int]) -> int:
        """The token that stood at the mask, if one alone did: the row without the mask is the row with it."""
        same = len(row) == len(whole) and row[:at] == whole[:at] and row[at + 1 :] == whole[at + 1 :]
        return whole[at] if same and whole[at] != self._unknown else -1

    def _window(self, length: int, at: int) -> Sequence[int]:
        """The places of a row that the model reads: all, or what is around the mask between the special tokens."""
        if length <= self.max_length:
            return range(length)
        room = self.max_length - self._before - self._behind
        last = length - self._behind - room
        first = min(max(at - room // 2, self._before), last)
        return [*range(self._before), *range(first, first + room), *range(length - self._behind, length)]


def mask_token(tokenizer: Tokenizer) -> str:
    """The tokenizer's mask token: [MASK], <mask>; made special if it is in the vocabulary but not special yet."""
    added = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
    names = [name for name in (*added, "[MASK]", "<mask>") if name.strip("[]<>| ").lower() == "mask"]
    for name in names:
        if tokenizer.token_to_id(name) is not None:
            tokenizer.add_special_tokens([] if name in added else [name])
            return name
    raise BadInput("the tokenizer has no mask token ([MASK], <mask>)", fix="use a model that was trained with one")


def _number(tokenizer: Tokenizer, mask: str) -> int:
    number = tokenizer.token_to_id(mask)
    if number is None:
        raise BadInput(f"the tokenizer does not know the mask token {mask!r}", fix="use the tokenizer of the model")
    return number


def _unknown(tokenizer: Tokenizer) -> int | None:
    """The number of the token for words that are in no vocabulary: its probability is that of no word."""
    model: Any = tokenizer.model
    name = getattr(model, "unk_token", None)
    return tokenizer.token_to_id(name) if name else getattr(model, "unk_id", None)


def _refuse_nonsense(item: Masked) -> None:
    text, first, last = item
    if not 0 <= first < last <= len(text):
        message = f"nothing to mask from {first} to {last} in {shorten(text)} ({len(text)} characters)"
        raise BadInput(message, fix="give (text, first, last) with 0 <= first < last <= len(text)")


def _some(row: list[int], places: Sequence[int]) -> list[int]:
    return row if isinstance(places, range) else [row[place] for place in places]
