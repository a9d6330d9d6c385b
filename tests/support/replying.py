"""A language model whose replies are given: each is a Completion, or a function of the request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from otherwords.language_models.completion import Capabilities, Completion, Request


@dataclass
class Replying:
    """Replies, the last request first, as replies of a server may come."""

    reply: Completion | Callable[[Request], Completion]
    capabilities: Capabilities = field(default_factory=lambda: Capabilities(logprobs=5))
    identity: str = "replying"
    asked: list[Request] = field(default_factory=list)

    def complete(self, requests: Sequence[Request]) -> Iterator[tuple[int, Completion]]:
        self.asked += requests
        for number in reversed(range(len(requests))):
            given = self.reply
            yield number, given(requests[number]) if callable(given) else given


@dataclass
class KnowingTokens(Replying):
    """It knows its tokens: texts are cut into pieces by a vocabulary, the longest first."""

    vocabulary: dict[str, float] = field(default_factory=dict)  # with the log-probability of each at any place

    def _pieces(self, text: str) -> list[str]:
        pieces = []
        while text:
            piece = max((one for one in self.vocabulary if text.startswith(one)), key=len, default=text[0])
            pieces.append(piece)
            text = text[len(piece) :]
        return pieces

    def first_tokens(self, texts: Sequence[str]) -> list[int]:
        names = [*self.vocabulary, *map(chr, range(128))]
        return [names.index(self._pieces(text)[0]) for text in texts]

    def continuations(self, requests: Sequence[Request], texts: Sequence[str], *, first: bool) -> np.ndarray:
        self.asked += requests
        rows = [self._pieces(text)[: 1 if first else None] for text in texts]
        scores = [sum(self.vocabulary.get(piece, -9.0) for piece in row) for row in rows]
        return np.tile(np.array(scores), (len(requests), 1))
