"""What a language model is asked, and what it replies: the same for servers, local files and folders.

A `Request` goes in, a `Completion` comes out. What a model can do is said by its `Capabilities`, which are known before
it is asked anything that matters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

#: Why a completion ended: by itself, at the limit of tokens, or because a filter of the server withheld it.
STOP, LENGTH, FILTER = "stop", "length", "filter"
#: What a model thinks before it answers, where that is not set apart.
_THOUGHT = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.S | re.I)
_THOUGHT_END = re.compile(r"</(?:think|thinking|reasoning)>", re.I)
_THOUGHT_START = re.compile(r"<(?:think|thinking|reasoning)>", re.I)


class Message(NamedTuple):
    """A message of a chat: `role` is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True)
class Request:
    """One request: the messages of a chat, or a `text` that is to be continued, and how.

    What is None is not sent: some servers refuse what they do not know. With `logprobs`, the completion has so many of
    the likeliest tokens at each place. With `choices`, it must be one of these texts. With `scored`, nothing is
    written: the completion has the log-probability of this text as the continuation. `n` texts are written.

    `way` and `repeat` say how a request is repeated on purpose, and for which time: "" is as usual, "cold" without the
    server's memory of beginnings, "alone" with no other request at the same time.
    """

    messages: tuple[Message, ...] = ()
    text: str = ""
    max_tokens: int = 16
    temperature: float | None = 0.0
    top_p: float | None = None
    top_k: int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    seed: int | None = None
    n: int = 1
    stop: tuple[str, ...] = ()
    logprobs: int = 0
    choices: tuple[str, ...] = ()
    scored: str = ""
    way: str = ""
    repeat: int = 0


class Usage(NamedTuple):
    """Tokens of a request, as the server counts them; `cached` are part of `prompt`, `reasoning` of `completion`."""

    prompt: int = 0
    cached: int = 0
    completion: int = 0
    reasoning: int = 0


NO_USAGE = Usage()


@dataclass(frozen=True)
class Completion:
    """A reply: the final answer without reasoning, why it ended, and what was asked for beside it.

    `top` has for each place the likeliest tokens, as text, with their log-probabilities; several tokens with one text
    (bytes that are no text by themselves) are summed. `score` is the log-probability of the text that was to be scored.
    `more` are further texts where several were asked for, and `ends` why each of these ended.
    """

    text: str
    finish: str = STOP
    top: tuple[Mapping[str, float], ...] = ()
    score: float | None = None
    usage: Usage = NO_USAGE
    more: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()

    @property
    def is_withheld(self) -> bool:
        """Whether a filter withheld it, or one of its texts: asked another time, it may come."""
        return FILTER in (self.finish, *self.ends)


def final_answer(text: str) -> str:
    """What a model wrote, without what it thought before; nothing where that has no end.

    >>> [final_answer(text) for text in ("<think>Is it?</think> yes", "Is it?</think> yes", "<think>Is it?", " yes")]
    ['yes', 'yes', '', ' yes']
    """
    rest = _THOUGHT.sub("", text)
    rest = _THOUGHT_END.split(rest)[-1]  # a server may have written the beginning into the prompt
    if _THOUGHT_START.search(rest):
        return ""
    return rest if rest == text else rest.lstrip()


def thinks(template: str, render: Callable[[], str]) -> bool:
    """Whether a model thinks first: its template for chats knows of thoughts, and a prompt that it renders ends none.

    >>> thinks("{{ text }}<think>", lambda: "why?<think>"), thinks("{{ text }}<think></think>", lambda: "</think>")
    (True, False)
    """
    return bool(_THOUGHT_START.search(template)) and not _THOUGHT_END.search(render())


@dataclass(frozen=True)
class Capabilities:
    """What a language model can do.

    `chat` and `plain` say how it can be asked, `logprobs` how many tokens it gives at each place (0: none), `scoring`
    whether it tells the log-probability of given texts, `constrained` by which field it is held to choices ("": not at
    all), `cold` by which field it forgets beginnings, `context` how many tokens it reads (0: unknown), `reasons`
    whether it thinks before it answers in a chat. It may refuse `temperature` or `seed`, and drop other fields without
    a word.
    """

    chat: bool = True
    plain: bool = True
    logprobs: int = 0
    scoring: bool = False
    constrained: str = ""
    temperature: bool = True
    seed: bool = True
    cold: str = ""
    context: int = 0
    reasons: bool = False
    dropped: tuple[str, ...] = ()


class LanguageModel(Protocol):
    """A language model that can be asked. `identity` is what its answers are known by."""

    @property
    def identity(self) -> str:
        """Tells two models of one name apart."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""
        ...

    def complete(self, requests: Sequence[Request]) -> Iterator[tuple[int, Completion]]:
        """Reply to requests as replies come, each with the number of its request. What cannot be asked raises."""
        ...


class TokenScorer(LanguageModel, Protocol):
    """A language model on this machine that knows its tokens, and gives the log-probabilities of any texts."""

    def continuations(
        self, requests: Sequence[Request], texts: Sequence[str], *, first: bool
    ) -> npt.NDArray[np.float64]:
        """The log-probability of each text (or of its first token alone) after each request, a row for each request."""
        ...

    def first_tokens(self, texts: Sequence[str]) -> list[int]:
        """The first token of each text, to tell whether two texts begin alike."""
        ...
