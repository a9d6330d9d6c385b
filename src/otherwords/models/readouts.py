"""Readouts: how a label, and where possible probabilities, are read from what a language model replies.

`tokens` takes the log-probabilities of the first token of each label's word, `score` those of the whole words,
`choices` holds the model to the words, and `text` reads free text by a strict rule. What cannot be read is an answer
of its own, and is never guessed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any, NamedTuple, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..language_models.completion import (
    FILTER,
    Capabilities,
    Completion,
    LanguageModel,
    Request,
    TokenScorer,
)
from .predictions import Floats
from .templates import Template

T = TypeVar("T")
TOKENS, SCORE, CHOICES, TEXT, AUTO = "tokens", "score", "choices", "text", "auto"
READOUTS = (AUTO, TOKENS, SCORE, CHOICES, TEXT)
#: How many of the likeliest tokens are asked for, where a server gives as many.
TOP = 20
#: Tokens of a free answer, and of one that the model thinks about first.
_ANSWER_TOKENS, _THINKING_TOKENS = 16, 4096
_MARKS = " \t\r\n*_`#>\"'“”‘’«»()[]{}"
_PREFIX = re.compile(r"(?:the\s+)?(?:final\s+|correct\s+)?(?:answer|label)\s*(?:is\b\s*:?|:|=)", re.I)
_GAP = re.compile(r"[\s_-]+")
_ENDS = ".,;:!?()]}"


class Read(NamedTuple):
    """One answer: a label or None, the log-probability of each label (NaN: unknown), whether it may be stored.

    `logs` is None where nothing is known of probabilities, so that the labels have no mass, not one of 0; `reply` is
    what was said.
    """

    label: str | None
    logs: tuple[float, ...] | None = None
    storable: bool = True
    reply: str = ""


#: What a filter withheld: asked another time, it may come.
_WITHHELD = Read(None, storable=False, reply="(withheld by a filter)")


def refuse_alike(words: Mapping[str, str]) -> None:
    """Refuse words of which one begins another, or that begin with the same word: their first token may be the same."""
    folded = {word: _key(word) for word in words.values()}
    for one, other in combinations(sorted(folded, key=len), 2):
        short, long = folded[one], folded[other]
        if long.startswith(short) or short.split()[:1] == long.split()[:1]:
            raise _alike(one, other)


def _alike(one: str, other: str, token: str = "") -> BadInput:
    alike = f"begin with the same token{f' {token!r}' if token else ''}"
    fix = "use words that begin otherwise, such as letters, or another readout: score, choices or text"
    return BadInput(f"the words {one!r} and {other!r} {alike}, so that it says nothing", field="words", fix=fix)


def knows_tokens(model: LanguageModel) -> TypeGuard[TokenScorer]:
    """Whether a model gives the log-probabilities of any texts, token by token."""
    return hasattr(model, "continuations") and hasattr(model, "first_tokens")


def possible(model: LanguageModel, labels: int, *, thinks: bool) -> dict[str, str]:
    """The readouts that a model can be read by, the most telling first, each with what it needs of the model."""
    can, local = model.capabilities, knows_tokens(model)
    ways: dict[str, str] = {}
    if (local or can.logprobs >= labels) and not thinks:
        ways[TOKENS] = "tokens" if local else f"top{min(can.logprobs, TOP)}"
    if (local or can.scoring) and not thinks:
        ways[SCORE] = "scores"
    thinking = f"+{_THINKING_TOKENS}" if thinks else ""  # more tokens make other answers
    if can.constrained:
        ways[CHOICES] = can.constrained + thinking
    return {**ways, TEXT: f"text{thinking}"}


def wanted_readout(given: str, template: Template) -> str:
    """The readout that was asked for: as given, or as the template says."""
    wanted = template.readout if given == AUTO else given
    if wanted not in READOUTS:
        where = template.where if given == AUTO else ""
        raise BadInput(f"found {wanted!r}", where=where, field="readout", fix=f"use one of {', '.join(READOUTS)}")
    return wanted


def choose(model: LanguageModel, given: str, template: Template, *, chat: bool) -> tuple[str, str]:
    """The readout to use, and what it needs of the model; an error if it cannot do the one that is wanted."""
    thinks = chat and model.capabilities.reasons
    wanted, ways = wanted_readout(given, template), possible(model, len(template.words), thinks=thinks)
    if wanted == AUTO:
        wanted = next(one for one in (TOKENS, CHOICES, TEXT) if one in ways)
    if wanted not in ways:
        reason = _why_not(wanted, model.capabilities, thinks=thinks)
        raise BadInput(reason, field="readout", fix=f"use {' or '.join(ways)}")
    return wanted, ways[wanted]


def _why_not(wanted: str, can: Capabilities, *, thinks: bool) -> str:
    if thinks and wanted in (TOKENS, SCORE):
        return f"cannot be read by {wanted}: it thinks before it answers"
    found = {
        TOKENS: f"the server gives {can.logprobs or 'no'} log-probabilities",
        SCORE: "the server does not score given texts",
        CHOICES: "it cannot be held to given texts",
    }
    return f"cannot be read by {wanted}: {found[wanted]}"


@dataclass(frozen=True)
class Readout:
    """A readout of one model's answers to one template."""

    kind: str
    model: LanguageModel
    template: Template
    chat: bool

    def __call__(self, requests: Sequence[Request]) -> list[Read]:
        """Ask, and read the answers in the order of the requests."""
        read = {TOKENS: self._tokens, SCORE: self._score, CHOICES: self._choices, TEXT: self._text}
        return read[self.kind](requests)

    @cached_property
    def _texts(self) -> list[str]:
        """The words as they follow a prompt."""
        return [self.template.word_before(chat=self.chat) + word for word in self.template.words.values()]

    @cached_property
    def _labels(self) -> list[str]:
        return list(self.template.words)

    def _ask(self, requests: Sequence[Request], read: Callable[[Completion], T]) -> list[T]:
        """Ask, and read each reply as it comes: others are on their way meanwhile."""
        answers = {number: read(reply) for number, reply in self.model.complete(requests)}
        return [answers[number] for number in range(len(requests))]

    def _limited(self, requests: Sequence[Request], tokens: int, **changes: Any) -> list[Request]:
        limit = self.template.parameters.max_tokens or tokens
        return [replace(one, max_tokens=limit, **changes) for one in requests]

    def check(self) -> None:
        """Refuse, before anything is asked, words that the first token cannot tell apart."""
        if self.kind == TOKENS and not knows_tokens(self.model):
            refuse_alike(self.template.words)
        elif self.kind == TOKENS:
            self._first_tokens  # noqa: B018

    @cached_property
    def _first_tokens(self) -> list[tuple[str, int]]:
        """Texts whose first tokens stand for labels, each distinct token once, with the place of the label."""
        assert knows_tokens(self.model)
        words = list(self.template.words.values())
        before = self.template.word_before(chat=self.chat)
        spelled = [[before + word for word in words], words][: 1 if self.template.exact or not before else 2]
        tokens = [self.model.first_tokens(texts) for texts in spelled]
        plain = next((place for place, some in enumerate(tokens) if len({*some}) == len(some)), -1)
        if plain < 0:
            one, other = next((a, b) for a, b in combinations(range(len(words)), 2) if tokens[0][a] == tokens[0][b])
            raise _alike(words[one], words[other])
        if self.template.exact:
            return [(text, place) for place, text in enumerate(spelled[plain])]
        texts = {text: place for place, word in enumerate(words) for text in _variants(word)}
        texts |= {text: place for place, text in enumerate(spelled[plain])}
        owners: dict[int, dict[int, str]] = {}
        for (text, place), token in zip(texts.items(), self.model.first_tokens(list(texts)), strict=True):
            owners.setdefault(token, {})[place] = text
        return [next((text, place) for place, text in own.items()) for own in owners.values() if len(own) == 1]

    def _all_logs(self, requests: Sequence[Request], model: TokenScorer) -> Floats:
        """The log-probability of each label's first tokens, a row for each request."""
        texts = [text for text, _ in self._first_tokens]
        found = model.continuations([replace(one, max_tokens=1) for one in requests], texts, first=True)
        logs = np.full((len(requests), len(self.template.words)), -np.inf)
        for column, (_, place) in enumerate(self._first_tokens):
            logs[:, place] = np.logaddexp(logs[:, place], found[:, column])
        return logs

    def _tokens(self, requests: Sequence[Request]) -> list[Read]:
        if knows_tokens(self.model):
            return [_best(row, self._labels) for row in self._all_logs(requests, self.model)]
        top = min(self.model.capabilities.logprobs, TOP)
        was_read = False

        def read(reply: Completion) -> Read:
            nonlocal was_read
            one = self._from_top(reply)
            was_read |= one.label is not None
            if not was_read and len(own := self._begun_by(one.reply)) > 1:
                raise _alike(own[0], own[1], one.reply)
            return one

        return self._ask(self._limited(requests, 1, logprobs=top), read)

    def _begun_by(self, token: str) -> list[str]:
        """The words that begin with a token."""
        start = token.strip().casefold()
        return [word for word in self.template.words.values() if start and word.casefold().startswith(start)]

    def _from_top(self, reply: Completion) -> Read:
        if reply.finish == FILTER:
            return _WITHHELD
        top = reply.top[0] if reply.top else {}
        likeliest = max(top, key=lambda token: top[token], default=reply.text)
        if not top or len(self._begun_by(likeliest)) > 1:  # any label would be a guess, and so would their mass
            return Read(None, reply=likeliest)
        logs = label_logs(top, self._texts, exact=self.template.exact)
        return _best(logs, self._labels)._replace(reply=likeliest)

    def _score(self, requests: Sequence[Request]) -> list[Read]:
        texts = self._texts
        if knows_tokens(self.model):
            scores = self.model.continuations(requests, texts, first=False)
            return [_best(row, self._labels) for row in scores]
        replies = self._ask([replace(one, scored=text) for one in requests for text in texts], _as_it_is)
        starts = range(0, len(replies), len(texts))
        return [self._from_scores(replies[start : start + len(texts)]) for start in starts]

    def _from_scores(self, replies: Sequence[Completion]) -> Read:
        if any(one.finish == FILTER for one in replies):
            return _WITHHELD
        if all(one.score is None for one in replies):
            return Read(None)
        scores = [np.nan if one.score is None else one.score for one in replies]
        return _best(np.array(scores, np.float64), self._labels)

    def _choices(self, requests: Sequence[Request]) -> list[Read]:
        words = tuple(self.template.words.values())
        return self._ask(self._limited(requests, self._length, choices=words), self._from_text)

    def _text(self, requests: Sequence[Request]) -> list[Read]:
        return self._ask(self._limited(requests, self._length), self._from_text)

    def _from_text(self, reply: Completion) -> Read:
        return read_text(reply, self.template.words)

    @property
    def _length(self) -> int:
        return _THINKING_TOKENS if self.chat and self.model.capabilities.reasons else _ANSWER_TOKENS


def _as_it_is(reply: Completion) -> Completion:
    return reply


def _variants(word: str) -> list[str]:
    """A word as a model may write it: with a space before it or without, and in other cases."""
    return [
        space + one for space in (" ", "") for one in dict.fromkeys((word, word.lower(), word.title(), word.upper()))
    ]


def label_logs(top: Mapping[str, float], texts: Sequence[str], *, exact: bool = False) -> npt.NDArray[np.float64]:
    """The log-probability of each label's first token among the likeliest tokens; NaN where none of it is there.

    A word begins with the longest token that it begins with: what a tokenizer would take, as far as one can tell from
    outside. Its forms in other cases, with a space before them and without, are summed, each token once; not where it
    is `exact`. A token that belongs to several labels belongs to none.

    >>> label_logs({" yes": -0.7, "Yes": -1.6, "Y": -3.0, " no": -2.3}, [" yes", " no", " neutral"]).round(2).tolist()
    [-0.29, -2.3, nan]
    """
    begins = _beginnings(tuple(texts), exact)
    longest: dict[tuple[int, str], str] = {}
    for token in sorted(top.keys() & begins.keys(), key=len):
        longest |= dict.fromkeys(begins[token], token)
    logs = np.full(len(texts), np.nan)
    for place in {place for place, _ in longest}:
        tokens = {token for (own, _), token in longest.items() if own == place}
        alone = sorted(token for token in tokens if len({own for own, _ in begins[token]}) == 1)
        if alone:
            logs[place] = np.logaddexp.reduce([top[token] for token in alone])
    return logs


@lru_cache(maxsize=100)
def _beginnings(texts: tuple[str, ...], exact: bool) -> Mapping[str, Sequence[tuple[int, str]]]:
    """All that a label's word may begin with, but for blanks alone: for each, the places and forms that begin so."""
    found: dict[str, list[tuple[int, str]]] = {}
    for place, text in enumerate(texts):
        for form in [text] if exact else _variants(text.strip()):
            for end in range(1, len(form) + 1):
                if form[:end].strip():
                    found.setdefault(form[:end], []).append((place, form))
    return found


def _best(logs: Floats, labels: Sequence[str]) -> Read:
    """The likeliest label of those that are known; none where none is, or all are impossible: it would be a guess."""
    values = logs.tolist()
    known = [(value, -place) for place, value in enumerate(values) if value > -math.inf]
    return Read(labels[-max(known)[1]] if known else None, tuple(values))


def read_text(reply: Completion, words: Mapping[str, str]) -> Read:
    """Read a free answer by the strict rule of `find_label`; what a filter withheld is not stored."""
    if reply.finish == FILTER:
        return _WITHHELD
    return Read(find_label(reply.text, words), reply=reply.text)


def find_label(text: str, words: Mapping[str, str]) -> str | None:
    """The label that a text answers with, or None.

    The text, without quotes and markup, must begin with the word of a label, perhaps after "Answer:" or "The answer
    is", and end there or go on after a punctuation mark or on a new line. The word of another label anywhere in it
    makes it no answer.

    >>> words = {"entailed": "yes", "not-entailed": "no"}
    >>> [find_label(text, words) for text in ("**Yes.**", "Answer: no", "yes and no", "maybe")]
    ['entailed', 'not-entailed', None, None]
    """
    plain = _without_marks(text, words)
    if prefix := _PREFIX.match(plain):
        plain = _without_marks(plain[prefix.end() :], words)
    named = _named(plain, words)
    if len({label for _, _, label in named}) != 1 or named[0][0] != 0:
        return None
    _, end, label = named[0]
    rest = plain[end:].lstrip(" \t*_`#\"'“”‘’«»")
    return label if not rest or rest[0] in _ENDS or rest[0] in "\r\n" else None


def _without_marks(text: str, words: Mapping[str, str]) -> str:
    """A text without quotes and markup around it, but for those with which words begin or end, as in "(A)"."""
    first, last = ("".join({word[place] for word in words.values()}) for place in (0, -1))
    begin, end = (_MARKS.translate(dict.fromkeys(map(ord, own))) for own in (first, last))
    return text.lstrip(begin).rstrip(end)


def _named(text: str, words: Mapping[str, str]) -> list[tuple[int, int, str]]:
    """Where a text names labels: a longer word hides those within it."""
    longest_first = sorted(words, key=lambda label: len(words[label]), reverse=True)
    spelled = "|".join(f"({_pattern(words[label])})" for label in longest_first)
    found = re.finditer(rf"(?<![^\W_])(?:{spelled})(?![^\W_])", text, re.I)
    return [(one.start(), one.end(), longest_first[(one.lastindex or 1) - 1]) for one in found]


def _pattern(word: str) -> str:
    """How a word may be written: with other blanks or hyphens between its parts."""
    parts = _GAP.split(word)
    return r"[\s_-]+".join(map(re.escape, parts)) if any(parts) else re.escape(word)


def _key(word: str) -> str:
    return _GAP.sub(" ", word).casefold()
