"""Writers made of language models that are asked: on servers, and in files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import BadInput
from .completion import FILTER, LENGTH, Completion, LanguageModel, Message, Request
from .writer import CUT_OFF, WITHHELD, Decoding, Draft

#: Seeds that every server takes.
_SEEDS = 2**31
#: What is wrong with a text that did not end by itself: whatever there is of it, it is not what was to be written.
_FAULTS = {LENGTH: CUT_OFF, FILTER: WITHHELD}


@dataclass(frozen=True)
class CompletionWriter:
    """Writes with a language model: a prompt is the user's message of a chat, or a text to be continued.

    A text has up to `max_new` tokens. With `several`, the model writes more than one text for a request; without, it is
    asked once for each, with seeds of their own.
    """

    model: LanguageModel
    max_new: int
    chat: bool
    several: bool = False

    def compose(self, prompts: Sequence[str], seeds: Sequence[int], decoding: Decoding) -> list[list[Draft]]:
        """Drafts for every prompt, in the order in which they were asked for."""
        asked = [
            (place, request)
            for place, (prompt, seed) in enumerate(zip(prompts, seeds, strict=True))
            for request in self._requests(prompt, seed, decoding)
        ]
        replies = dict(self.model.complete([request for _, request in asked]))
        drafts: list[list[Draft]] = [[] for _ in prompts]
        for number, (place, _) in enumerate(asked):
            drafts[place] += _drafts(replies[number])
        return [some[: decoding.count] for some in drafts]

    def _requests(self, prompt: str, seed: int, decoding: Decoding) -> list[Request]:
        together = decoding.count if self.several else 1
        return [
            self._request(prompt, (seed + number) % _SEEDS, number, together, decoding)
            for number in range(decoding.count // together)
        ]

    def _request(self, prompt: str, seed: int, number: int, together: int, decoding: Decoding) -> Request:
        """One request. Where the model takes no seed, its number tells it from others of the same prompt."""
        can, drawn = self.model.capabilities, decoding.way == "sample"
        temperature = decoding.temperature if drawn else 0.0
        return Request(
            messages=(Message("user", prompt),) if self.chat else (),
            text="" if self.chat else prompt,
            max_tokens=self.max_new,
            temperature=temperature if can.temperature else None,
            top_p=decoding.top_p if drawn and decoding.top_p < 1 else None,
            top_k=decoding.top_k if drawn and decoding.top_k else None,
            seed=seed if drawn and can.seed else None,
            n=together,
            repeat=number,
        )


def _drafts(reply: Completion) -> list[Draft]:
    ends = (reply.finish, *reply.ends)
    texts = (reply.text, *reply.more)
    return [Draft(text, _FAULTS.get(end, "")) for text, end in zip(texts, ends, strict=True)]


def choose_form(chat: str, model: LanguageModel, where: str) -> bool:
    """Whether a model is asked in a chat: as the user says, or where it can."""
    can = model.capabilities
    if chat not in ("auto", "true", "false"):
        raise BadInput(f"found {chat!r}", where=where, field="chat", fix="use auto, true or false")
    wanted = can.chat if chat == "auto" else chat == "true"
    if not (can.chat if wanted else can.plain):
        raise BadInput("cannot be asked so", where=where, field="chat", fix=f"use {str(not wanted).lower()}")
    return wanted


def refuse_short(max_new: int, where: str) -> None:
    """Refuse a number of tokens in which nothing can be written."""
    if max_new < 1:
        raise BadInput(f"found {max_new}", where=where, field="max_new", fix="give 1 or more")


#: The ways of decoding that servers know, with their options; one that is asked directly can do a little more.
SERVED: Mapping[str, tuple[str, ...]] = {"sample": ("temperature", "top_p"), "greedy": ()}
LOCAL: Mapping[str, tuple[str, ...]] = {"sample": ("temperature", "top_k", "top_p"), "greedy": ()}
