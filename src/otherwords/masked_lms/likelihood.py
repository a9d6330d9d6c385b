"""How likely a masked-LM finds a text, token by token, and words of any length at their place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, shorten
from ..inference.tokenizing import clean, encodings
from ..inference.tokens import Ints, Tokens
from .masking import Masked, Masker, refuse_nonsense

Logs = npt.NDArray[np.float32]
#: From questions, and a function that makes tokens of some of them, to the log-probability of each one's `own`.
Ask = Callable[[Callable[[Sequence["Question"]], Tokens], Sequence["Question"]], Logs]


class Question(NamedTuple):
    """How likely token `at` of a row is where it and the following ones, up to before `end`, are masked."""

    ids: Ints
    at: int
    end: int


def pseudo_logp(masker: Masker, ask: Ask, texts: Sequence[str]) -> list[Logs]:
    """The log-probability of every token of each text where it alone is masked; those around the text apart.

    Their sum is the pseudo-log-likelihood of Salazar et al. (2020). A token for words that are in no vocabulary is one
    as any other. Each distinct text is asked about once. One that the tokenizer makes no tokens of, such as blanks or a
    lone accent, has none.
    """
    if not texts:
        raise BadInput("there is no text", fix="give one or more")
    distinct = list(dict.fromkeys(texts))
    read = encodings(masker.tokenizer, [clean(text) for text in distinct])
    asked = [_one_by_one(one) for one in read]
    questions = [question for some in asked for question in some]
    found = ask(_tokens(masker), questions) if questions else np.empty(0, np.float32)
    parts = np.split(found, np.cumsum([len(some) for some in asked[:-1]], dtype=np.int64))
    by_text = dict(zip(distinct, parts, strict=True))
    return [by_text[text] for text in texts]


def word_logp(masker: Masker, ask: Ask, masked: Sequence[Masked]) -> Logs:
    """The log-probability of the masked-out words themselves, of as many tokens as they have.

    As many masks stand there as they have tokens, and are filled from left to right with the right ones: the
    log-probabilities, each given those before it, add up. A token that the words have only a part in counts whole.
    Where one of their tokens is that for words in no vocabulary, it is not a number.
    """
    if not len(masked):
        raise BadInput("there is no text to fill", fix="give one or more (text, first, last)")
    asked = _left_to_right(masker, masked)
    known = [not any(one.ids[one.at] == masker.unknown for one in some) for some in asked]
    kept = [some if good else [] for some, good in zip(asked, known, strict=True)]
    found = ask(_tokens(masker), [question for some in kept for question in some]) if any(known) else np.empty(0)
    owner = np.repeat(np.arange(len(masked)), [len(some) for some in kept])
    sums = np.bincount(owner, found, minlength=len(masked))
    return np.where(known, sums, np.nan).astype(np.float32)


def _one_by_one(encoding: Any) -> list[Question]:
    ids = np.array(encoding.ids, np.int64)
    return [Question(ids, at, at + 1) for at, around in enumerate(encoding.special_tokens_mask) if not around]


def _left_to_right(masker: Masker, masked: Sequence[Masked]) -> list[list[Question]]:
    for item in masked:
        refuse_nonsense(item)
    distinct = list(dict.fromkeys(clean(text) for text, _, _ in masked))
    read = dict(zip(distinct, masker.tokenizer.encode_batch(distinct), strict=True))  # with places in the text
    return [_of_words(read[clean(text)], text, first, last) for text, first, last in masked]


def _of_words(encoding: Any, text: str, first: int, last: int) -> list[Question]:
    words = text[first:last]
    first, last = first + len(words) - len(words.lstrip()), last - len(words) + len(words.rstrip())
    places = [at for at, (start, end) in enumerate(encoding.offsets) if start < last and end > first]
    if not places:
        message = f"the tokenizer makes no tokens of {words!r} in {shorten(text)}"
        raise BadInput(message, fix="mask words, not what the tokenizer leaves out")
    ids = np.array(encoding.ids, np.int64)
    return [Question(ids, at, places[-1] + 1) for at in places]


def _tokens(masker: Masker) -> Callable[[Sequence[Question]], Tokens]:
    """A function that makes rows with their masks; a row that is too long is read around the token asked about."""

    def rows(asked: Sequence[Question]) -> Tokens:
        made = [_row(masker, question) for question in asked]
        ids = np.concatenate([row for row, _ in made])
        offsets = np.concatenate([[0], np.cumsum([len(row) for row, _ in made])]).astype(np.int64)
        cut = np.array([len(one.ids) > masker.max_length for one in asked], np.bool_)
        at, own = np.array([at for _, at in made], np.int64), np.array([one.ids[one.at] for one in asked], np.int64)
        return Tokens(ids, offsets, cut, np.zeros_like(ids) if masker.types else None, at, own)

    return rows


def _row(masker: Masker, asked: Question) -> tuple[Ints, int]:
    ids = asked.ids.copy()
    ids[asked.at : asked.end] = masker.mask_id
    if len(ids) <= masker.max_length:
        return ids, asked.at
    kept = masker.window(len(ids), asked.at)
    return ids[kept], kept.index(asked.at)
