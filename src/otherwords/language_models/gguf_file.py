"""Language models in GGUF files, computed by llama.cpp in this process (xllamacpp): no server has to be started.

Requests are answered one after the other, each from its first token on unless told otherwise, so that no answer depends
on what was asked before or at the same time.
"""

from __future__ import annotations

import json
import os
import secrets
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput, MissingExtra, WrongAnswer
from ..storage.files import fingerprint
from .beginnings import continued
from .completion import STOP, Capabilities, Completion, Request, Usage, thinks
from .dialects import body_of, completion_of
from .endpoint import Endpoint

#: How the files begin.
_MAGIC = b"GGUF"
#: Bytes within which all is said about a model: a vocabulary of 256,000 tokens takes ten million.
_HEAD = 64_000_000
#: Tokens that are looked through first for given ones; writing all of a vocabulary takes longer than a small model.
_FIRST_LOOK = 500
#: Tokens of the context where the user names none: a cache for all that some models read would not fit in memory.
_CONTEXT = 8192
#: llama.cpp draws from the likeliest tokens only unless these are set; others draw from all.
_ALL_TOKENS = {"top_k": 0, "top_p": 1.0, "min_p": 0.0}
#: Asks this machine, whatever proxy the environment names.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class GgufFile:
    """A language model and token scorer in a file.

    `context` is how many tokens are read and written at most (0: as many as the model was trained on, up to 8192),
    `threads` how many compute (0: as llama.cpp chooses). With `cache_prompt`, a prompt that begins like the one before
    is not computed again from its beginning: faster, and no longer the same in the last digits.
    """

    def __init__(self, path: Path, *, context: int = 0, threads: int = 0, cache_prompt: bool = False):
        self.path, self.cache_prompt = path, cache_prompt
        self.where = f"gguf:{path}"
        _refuse_wrong(path, context, threads, self.where)
        self._key = secrets.token_hex(16)  # llama.cpp listens on a port of this machine: nobody else is answered there
        self._server = _load(path, context, threads, self._key, self.where)
        (described,) = self._get("/v1/models")["data"]
        self._meta, self._props = described["meta"], self._get("/props")
        if context > (most := int(self._meta["n_ctx_train"])):
            raise BadInput(
                f"the model reads {most} tokens", where=self.where, field="context", fix=f"give up to {most}"
            )
        self._form = Endpoint(path.name, f"{self._server.listening_address}/v1")

    @cached_property
    def identity(self) -> str:
        """The content of the file, and whether beginnings are computed once."""
        return fingerprint(self.path)[:12] + ("+cache_prompt" if self.cache_prompt else "")

    @cached_property
    def capabilities(self) -> Capabilities:
        """What llama.cpp can do with this model."""
        template, chat = str(self._props.get("chat_template") or ""), _has_template(self.path)
        question = {"messages": [{"role": "user", "content": "?"}]}
        return Capabilities(
            chat=chat,
            logprobs=int(self._meta["n_vocab"]),
            scoring=True,
            constrained="grammar",
            cold="cache_prompt",
            context=int(self._meta["n_ctx"]),
            reasons=chat and thinks(template, lambda: self._get("/apply-template", question)["prompt"]),
        )

    def complete(self, requests: Sequence[Request]) -> Iterator[tuple[int, Completion]]:
        """Reply to requests one after the other."""
        for number, request in enumerate(requests):
            if request.scored:
                yield number, self._score(request, request.scored)
            else:
                yield number, self._complete(request)

    def continuations(
        self, requests: Sequence[Request], texts: Sequence[str], *, first: bool
    ) -> npt.NDArray[np.float64]:
        """The log-probability of each text (or of its first token alone) after each request, a row for each request."""
        logs = np.empty((len(requests), len(texts)))
        firsts = self.first_tokens(texts)
        for row, request in enumerate(requests):
            if first:
                logs[row] = self._log_probabilities(request, firsts)
            else:
                logs[row] = [self._score(request, text).score for text in texts]
        return logs

    def first_tokens(self, texts: Sequence[str]) -> list[int]:
        """The first token of each text."""
        return [self.tokens(text)[0] for text in texts]

    def tokens(self, text: str) -> list[int]:
        """The tokens of a text as the continuation of another; what looks like a special token is text."""
        (ids,) = continued([text], self._tokenized)
        if not ids:
            raise BadInput(f"{text!r} has no token", where=self.where, fix="give a text of one character or more")
        return ids

    def _tokenized(self, texts: Sequence[str]) -> list[list[int]]:
        asked = ({"content": text, "add_special": False, "parse_special": False} for text in texts)
        return [[int(one) for one in self._get("/tokenize", body)["tokens"]] for body in asked]

    def _complete(self, request: Request) -> Completion:
        """One reply; further texts have the following seeds, as llama.cpp writes one at a time."""
        first = completion_of(self._form, request, self._ask(replace(request, n=1)))
        seeds = [None if request.seed is None else request.seed + more for more in range(1, request.n)]
        more = [self._ask(replace(request, n=1, seed=seed)) for seed in seeds]
        others = [completion_of(self._form, request, one) for one in more]
        usages = zip(first.usage, *(one.usage for one in others), strict=True)
        texts, ends = tuple(one.text for one in others), tuple(one.finish for one in others)
        return replace(first, usage=Usage(*map(sum, usages)), more=texts, ends=ends)

    def _score(self, request: Request, text: str) -> Completion:
        """The log-probability of a text after a request: the model is made to write exactly its tokens.

        What llama.cpp reports of a token is its probability before the grammar had a say.
        """
        ids = self.tokens(text)
        grammar = f"root ::= {' '.join(f'<[{one}]>' for one in ids)}"
        asked = replace(request, scored="", choices=(), n=1, stop=(), temperature=0.0, max_tokens=len(ids), logprobs=1)
        body = self._ask(asked, grammar=grammar)
        places = body["choices"][0]["logprobs"]["content"]
        if [one["id"] for one in places] != ids:
            raise WrongAnswer(f"{self.where}: llama.cpp did not write the tokens {ids} of {text!r}; it wrote {places}")
        score = float(sum(one["logprob"] for one in places))
        return Completion(text, STOP, score=score, usage=completion_of(self._form, asked, body).usage)

    def _log_probabilities(self, request: Request, ids: Sequence[int]) -> list[float]:
        """Of given tokens in the first place, from the likeliest or, if need be, from all."""
        for count in (min(_FIRST_LOOK, self.capabilities.logprobs), self.capabilities.logprobs):
            body = self._ask(replace(request, max_tokens=1, logprobs=count, temperature=0.0, n=1, stop=()))
            (place,) = body["choices"][0]["logprobs"]["content"]
            known = {one["id"]: float(one["logprob"]) for one in place["top_logprobs"]}
            if known.keys() >= set(ids):
                break
        return [known[one] for one in ids]

    def _ask(self, request: Request, **more: Any) -> Any:
        """What llama.cpp replies to a request, as its server would.

        Penalties count tokens that were written before; llama.cpp counts those of the prompt, too. The first has none.
        """
        if request.max_tokens == 1:
            request = replace(request, frequency_penalty=None, presence_penalty=None)
        _, body = body_of(self._form, request, self.capabilities)
        body = {**_ALL_TOKENS, "cache_prompt": self.cache_prompt, **body, **more}
        ask = self._server.handle_chat_completions if request.messages else self._server.handle_completions
        reply = ask(body)
        if "error" in reply:
            raise _refusal(reply["error"], self.where)
        return reply

    def _get(self, path: str, body: Any = None) -> Any:
        """What llama.cpp says at an address of its own: it has no other way to ask for tokens."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self._server.listening_address}{path}", data, headers)
        with _opener.open(request) as reply:
            return json.load(reply)


def _load(path: Path, context: int, threads: int, key: str, where: str) -> Any:
    try:
        import xllamacpp
    except ImportError as error:
        raise MissingExtra("gguf", "gguf") from error

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.api_keys = [key]
    params.n_parallel, params.n_ctx = 1, context or _CONTEXT
    params.verbosity, params.warmup = -1, False
    params.cache_ram_mib = 0  # it would keep the beginnings of all prompts, gigabytes of them
    if threads:
        params.cpuparams.n_threads = threads
    try:
        server = xllamacpp.Server(params)
        # One that is ended before its thread has begun to work is waited for without end: with a reply, it has begun.
        server.handle_completions({"prompt": "a", "max_tokens": 1, "cache_prompt": False})
        return server
    except RuntimeError as error:
        fix = "try it with llama.cpp's own tools, or give a smaller context"
        raise BadInput("llama.cpp cannot load it", where=where, fix=fix) from error


def _refuse_wrong(path: Path, context: int, threads: int, where: str) -> None:
    for name, value in (("context", context), ("threads", threads)):
        if value < 0:
            raise BadInput(f"found {value}", where=where, field=name, fix="give 1 or more, or 0 for the default")
    try:
        with path.open("rb") as file:
            start = file.read(len(_MAGIC))
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise BadInput(f"cannot be read: {reason}", where=where, fix="give the path of a .gguf file") from error
    if start != _MAGIC:
        raise BadInput("is not a GGUF file", where=where, fix="give the path of a .gguf file")


def _has_template(path: Path) -> bool:
    """Whether a file has a template for chats: llama.cpp has one for those that have none."""
    with path.open("rb") as file:
        return b"tokenizer.chat_template" in file.read(_HEAD)


def _refusal(error: dict[str, Any], where: str) -> Exception:
    message = str(error.get("message", error))
    if error.get("type") == "exceed_context_size_error":
        found = f"a prompt has {error.get('n_prompt_tokens')} tokens, and the context {error.get('n_ctx')}"
        return BadInput(found, where=where, field="context", fix="give a larger context, or shorter prompts")
    return WrongAnswer(f"{where}: llama.cpp refused a request: {message}")
