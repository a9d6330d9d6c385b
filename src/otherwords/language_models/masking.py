"""Masked texts as tokens, and the likelihood that a masked-LM gives to texts, and to words of several tokens."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, shorten
from ..inference.tokens import Ints, Tokens, around, clean, encodings, is_lost, mark_lost, whole_words

if TYPE_CHECKING:
    from tokenizers import Tokenizer

#: A text and the span of characters that is masked, text[first:last].
Masked = tuple[str, int, int]
Logs = npt.NDArray[np.float32]
#: Characters of a text whose tokens are masked one by one: each costs a row of its own.
MOST_SCORED = 100_000
#: From a function that tokenises questions, and the questions, to the log-probability of each one's token.
Ask = Callable[[Callable[[Sequence["Question"]], Tokens], Sequence["Question"]], Logs]


class Masker:
    """Tokenise texts with one masked span each.

    A text of more than `max_length` tokens loses those far from the mask, so that no mask is ever truncated. Where
    tokens include the blank before a word (Ġdog), the mask replaces both: most such tokenizers have a mask that
    includes the blank, and for the others it is left out.
    """

    def __init__(self, tokenizer: Tokenizer, max_length: int, *, types: bool, mask: str = ""):
        self.tokenizer, self.max_length, self.types = tokenizer, max_length, types
        self.mask = mask or mask_token(tokenizer)
        tokenizer.no_padding()
        tokenizer.no_truncation()  # rows are truncated here, around the mask
        self.mask_id = _number(tokenizer, self.mask)
        self._leaves_blank = _leaves_blank(tokenizer, self.mask)
        self.unknown = _unknown(tokenizer)
        self._before = tokenizer.encode(self.mask).ids.index(self.mask_id)  # [CLS]
        self._behind = len(tokenizer.encode(self.mask).ids) - self._before - 1  # [SEP]

    def __call__(self, items: Sequence[Masked]) -> Tokens:
        """Tokens of the masked texts, with `at` and `own`."""
        parts = [self.near(item) for item in items]
        pairs = zip(items, parts, strict=True)
        lost = [is_lost(text, part, first - at) for (text, first, _), (part, at, _) in pairs]
        return mark_lost(self._rows(parts), lost)

    def near(self, item: Masked) -> Masked:
        """The part of a very long text around its span: enough that no other token is read; other texts whole."""
        refuse_bad_span(item)
        return around(self.tokenizer, self.max_length, *item)

    def _rows(self, items: Sequence[Masked]) -> Tokens:
        texts = [clean(text) for text, _, _ in items]
        distinct = list(dict.fromkeys(texts))  # often one text is masked at many places
        whole = dict(zip(distinct, (one.ids for one in encodings(self.tokenizer, distinct)), strict=True))
        masked = [
            self._before_mask(text[:a]) + self.mask + text[b:] for text, (_, a, b) in zip(texts, items, strict=True)
        ]
        encoded = zip(encodings(self.tokenizer, masked), texts, items, strict=True)
        rows = [self._row(one, text[:first], whole[text]) for one, text, (_, first, _) in encoded]
        ids, types, cut, at, own = zip(*rows, strict=True) if rows else ((), (), (), (), ())
        return Tokens.of(ids, cut, types=types if self.types else None, at=at, own=own)

    def _before_mask(self, text: str) -> str:
        return text.removesuffix(" ") if self._leaves_blank else text

    def _row(self, encoding: Any, before: str, whole: list[int]) -> tuple[list[int], list[int], bool, int, int]:
        """Ids and segment numbers, whether the row was truncated, the mask's position, and the masked token."""
        ids, types = encoding.ids, encoding.type_ids if self.types else []
        at = self._place(ids, before)
        own = self._own(ids, at, whole)
        if len(ids) <= self.max_length:
            return ids, types, False, at, own
        kept = self.window(len(ids), at)
        return [ids[i] for i in kept], [types[i] for i in kept] if types else [], True, kept.index(at), own

    def _place(self, row: list[int], before: str) -> int:
        """The position of the mask: a text may contain other masks, so those before it are counted."""
        if row.count(self.mask_id) == 1:
            return row.index(self.mask_id)
        earlier = self.tokenizer.encode(before).ids.count(self.mask_id)
        return [place for place, token in enumerate(row) if token == self.mask_id][earlier]

    def _own(self, row: list[int], at: int, whole: list[int]) -> int:
        """The masked token, if it was one: then all other tokens are the same in the row without the mask."""
        same = len(row) == len(whole) and row[:at] == whole[:at] and row[at + 1 :] == whole[at + 1 :]
        return whole[at] if same and whole[at] != self.unknown else -1

    def window(self, length: int, at: int) -> list[int]:
        """The positions of a long row that the model reads: those around the mask, and special ones at the ends."""
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
            _make_special(tokenizer, name)
            return name
    raise BadInput("the tokenizer has no mask token ([MASK], <mask>)", fix="use a model that was trained with one")


def _make_special(tokenizer: Tokenizer, mask: str) -> None:
    """Make a mask token that is only in the vocabulary special: otherwise it is read as `<`, `m`, `a` ..."""
    from tokenizers import AddedToken

    added = {token.content: token for token in tokenizer.get_added_tokens_decoder().values()}
    if mask not in added or not added[mask].special:
        tokenizer.add_special_tokens([AddedToken(mask, lstrip=mask in added and added[mask].lstrip, special=True)])


def _number(tokenizer: Tokenizer, mask: str) -> int:
    number = tokenizer.token_to_id(mask)
    if number is None:
        raise BadInput(f"the tokenizer does not know the mask token {mask!r}", fix="use the tokenizer of the model")
    _make_special(tokenizer, mask)
    return number


def _leaves_blank(tokenizer: Tokenizer, mask: str) -> bool:
    """Whether a blank before the mask becomes its own token (a Ġ <mask>), unlike a blank before a word."""
    return len(tokenizer.encode(f"a {mask}").ids) > len(tokenizer.encode(f"a{mask}").ids)


def _unknown(tokenizer: Tokenizer) -> int | None:
    """The id of the token for unknown words, whose probability is that of no word."""
    model: Any = tokenizer.model
    name = getattr(model, "unk_token", None)
    return tokenizer.token_to_id(name) if name else getattr(model, "unk_id", None)


def refuse_bad_span(item: Masked) -> None:
    """Raise where a span is empty, or not in its text."""
    text, first, last = item
    if not 0 <= first < last <= len(text):
        message = f"invalid span {first} to {last} in {shorten(text)} ({len(text)} characters)"
        raise BadInput(message, fix="give (text, first, last) with 0 <= first < last <= len(text)")


# Likelihood


class Question(NamedTuple):
    """How likely is token `at` of a row where the tokens ids[at:end] are masked?"""

    ids: Ints
    at: int
    end: int


def pseudo_logp(masker: Masker, ask: Ask, texts: Sequence[str]) -> list[Logs]:
    """The log-probability of every token of each text where it alone is masked, special tokens excepted.

    Their sum is the pseudo-log-likelihood of Salazar et al. (2020). A token for unknown words counts like any other.
    Each distinct text is asked about once. A text without tokens, such as blanks or a lone accent, has no numbers.
    Of a text of more than `MOST_SCORED` characters only the words up to there count, with a warning.
    """
    if not texts:
        raise BadInput("no texts", fix="give at least one")
    distinct = list(dict.fromkeys(texts))
    read = encodings(masker.tokenizer, [clean(_scored(text)) for text in distinct])
    asked = [_one_by_one(one) for one in read]
    questions = [question for some in asked for question in some]
    logp = ask(_tokens(masker), questions) if questions else np.empty(0, np.float32)
    parts = np.split(logp, np.cumsum([len(some) for some in asked[:-1]], dtype=np.int64))
    by_text = dict(zip(distinct, parts, strict=True))
    return [by_text[text] for text in texts]


def word_logp(masker: Masker, ask: Ask, masked: Sequence[Masked]) -> Logs:
    """The log-probability of the masked-out words themselves, however many tokens they have.

    There is a mask for each of their tokens, and these are filled in from left to right: the log-probabilities, each
    given the tokens before it, add up. A token of which the words are only a part counts fully. Where one of their
    tokens is that for unknown words, the result is NaN.
    """
    if not len(masked):
        raise BadInput("no texts to fill", fix="give at least one (text, first, last)")
    asked = _left_to_right(masker, masked)
    known = [not any(one.ids[one.at] == masker.unknown for one in some) for some in asked]
    kept = [some if good else [] for some, good in zip(asked, known, strict=True)]
    logp = ask(_tokens(masker), [question for some in kept for question in some]) if any(known) else np.empty(0)
    owner = np.repeat(np.arange(len(masked)), [len(some) for some in kept])
    sums = np.bincount(owner, logp, minlength=len(masked))
    return np.where(known, sums, np.nan).astype(np.float32)


def _scored(text: str) -> str:
    if len(text) <= MOST_SCORED:
        return text
    warnings.warn(f"of texts of more than {MOST_SCORED:,} characters, the likelihood counts only these", stacklevel=4)
    return whole_words(text[:MOST_SCORED])


def _one_by_one(encoding: Any) -> list[Question]:
    ids = np.array(encoding.ids, np.int64)
    return [Question(ids, at, at + 1) for at, around in enumerate(encoding.special_tokens_mask) if not around]


def _left_to_right(masker: Masker, masked: Sequence[Masked]) -> list[list[Question]]:
    masked = [masker.near(item) for item in masked]
    distinct = list(dict.fromkeys(clean(text) for text, _, _ in masked))
    read = dict(zip(distinct, masker.tokenizer.encode_batch(distinct), strict=True))  # with offsets into the text
    return [_of_words(read[clean(text)], text, first, last) for text, first, last in masked]


def _of_words(encoding: Any, text: str, first: int, last: int) -> list[Question]:
    words = text[first:last]
    first, last = first + len(words) - len(words.lstrip()), last - len(words) + len(words.rstrip())
    places = [at for at, (start, end) in enumerate(encoding.offsets) if start < last and end > first]
    if not places:
        message = f"the tokenizer returned no tokens for {words!r} in {shorten(text)}"
        raise BadInput(message, fix="mask words, not characters that the tokenizer drops")
    ids = np.array(encoding.ids, np.int64)
    return [Question(ids, at, places[-1] + 1) for at in places]


def _tokens(masker: Masker) -> Callable[[Sequence[Question]], Tokens]:
    """A function that makes rows with their masks; a row that is too long is truncated around the token asked about."""

    def rows(asked: Sequence[Question]) -> Tokens:
        masked = [_row(masker, question) for question in asked]
        ids = np.concatenate([row for row, _ in masked])
        offsets = np.concatenate([[0], np.cumsum([len(row) for row, _ in masked])]).astype(np.int64)
        cut = np.array([len(one.ids) > masker.max_length for one in asked], np.bool_)
        at, own = np.array([at for _, at in masked], np.int64), np.array([one.ids[one.at] for one in asked], np.int64)
        return Tokens(ids, offsets, cut, np.zeros_like(ids) if masker.types else None, at, own)

    return rows


def _row(masker: Masker, asked: Question) -> tuple[Ints, int]:
    ids = asked.ids.copy()
    ids[asked.at : asked.end] = masker.mask_id
    if len(ids) <= masker.max_length:
        return ids, asked.at
    kept = masker.window(len(ids), asked.at)
    return ids[kept], kept.index(asked.at)
