"""A small server that speaks as those of language models do, with faults on purpose: what the client is tested with.

Its answers, and which requests fail, depend only on the prompt and on how often it was sent before.
"""

import asyncio
import hashlib
import json
import math
import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

FAULTS = ("429", "500", "cut", "slow", "malformed", "wrong model")
WORDS = ("entailment", "neutral", "contradiction")
#: Status, further headers, body.
Answer = tuple[int, dict[str, str], bytes]


def number(*parts: Any) -> int:
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:6], "big")


class ChatServer:
    """A server on a free port of this machine, in a thread. `faults` is the share of requests that fail, by `kinds`.

    `answer` may reply to a request itself: it gets the path and the body, and may return None.
    """

    def __init__(
        self,
        *,
        faults: float = 0.0,
        kinds: Sequence[str] = FAULTS,
        latency: float = 0.0,
        slow: float = 2.0,
        key: str = "",
        model: str = "",
        logprobs: bool = True,
        answer: Callable[[str, dict[str, Any]], Answer | None] | None = None,
    ):
        self.faults, self.latency, self.slow, self.key, self.model = faults, latency, slow, key, model
        self.logprobs, self.answer, self.kinds = logprobs, answer, kinds
        self.finished: Counter[str] = Counter()
        self.sent: Counter[str] = Counter()
        self.faulty: Counter[str] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.looks = 0
        self.in_flight = self.most_in_flight = 0
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def __enter__(self) -> "ChatServer":
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def requests(self) -> int:
        return sum(self.sent.values())

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._open: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for one in self._open:
            one.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._open.add(task)
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(task)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        line, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").rstrip().split("\r\n")
        headers = {name.lower(): value for name, value in (one.split(": ", 1) for one in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.in_flight += 1
        self.most_in_flight = max(self.in_flight, self.most_in_flight)
        try:
            prompt, fault, (status, more, content) = self._judge(line.split()[1], headers, body)
            await asyncio.sleep(self.slow if fault == "slow" else self.latency)
            head = f"HTTP/1.1 {status} x\r\ncontent-length: {len(content)}\r\ncontent-type: application/json\r\n"
            head += "".join(f"{name}: {value}\r\n" for name, value in more.items())
            writer.write(head.encode() + b"\r\n" + (content[: len(content) // 2] if fault == "cut" else content))
            await writer.drain()
            if status == 200 and not fault and prompt:
                self.finished[prompt] += 1
            return fault != "cut"
        finally:
            self.in_flight -= 1

    def _judge(self, path: str, headers: dict[str, str], raw: bytes) -> tuple[str, str, Answer]:
        given = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
        if self.key and given != self.key:
            return "", "", refusal(401, f"Incorrect API key provided: {given}.", code="invalid_api_key")
        if not raw:
            self.looks += 1
            return "", "", (200, {}, json.dumps({"data": [{"id": self.model or "tiny"}]}).encode())
        body = json.loads(raw)
        prompt = body.get("prompt") or "\n".join(one["content"] for one in body["messages"])
        self.bodies.append(body)
        self.headers.append(headers)
        self.sent[prompt] += 1
        if self.answer and (answer := self.answer(path, body)):
            return prompt, "", answer
        drawn = number("fault", prompt, self.sent[prompt])
        fault = self.kinds[drawn % len(self.kinds)] if drawn // 1000 % 1000 < self.faults * 1000 else ""
        self.faulty[fault] += 1
        if fault == "429":
            return prompt, fault, refusal(429, "Rate limit reached", headers={"retry-after": "0.01"})
        if fault == "500":
            return prompt, fault, refusal(500, "The server had an error")
        if fault == "malformed":
            return prompt, fault, (200, {}, b'{"id": "x", "choices": [')
        name = "another-one" if fault == "wrong model" else self.model or body["model"]
        return prompt, fault, (200, {}, json.dumps(self._reply(path, body, prompt, name)).encode())

    def _reply(self, path: str, body: dict[str, Any], prompt: str, name: str) -> dict[str, Any]:
        named = re.search(r"Answer with one (?:word|number): (.*?)\.", prompt)  # as the built-in templates have it
        words = re.split(r", | or ", named[1]) if named else WORDS
        weights = [1 + number(prompt, one) % 100 for one in words]
        logs = [math.log(0.9 * one / sum(weights)) for one in weights]
        top = [{"token": one, "logprob": log} for one, log in zip(words, logs, strict=True)]
        word = max(top, key=lambda one: one["logprob"])["token"]
        usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": 1}
        if path.endswith("/messages"):
            used = {"input_tokens": len(prompt) // 4, "output_tokens": 1}
            content = [{"type": "text", "text": word}]
            return {"type": "message", "model": name, "content": content, "stop_reason": "end_turn", "usage": used}
        choice: dict[str, Any] = {"index": 0, "finish_reason": "stop"}
        if path.endswith("/chat/completions"):
            choice["message"] = {"role": "assistant", "content": word}
            if body.get("logprobs") and self.logprobs:
                choice["logprobs"] = {"content": [{"token": word, "logprob": -0.1, "top_logprobs": top}]}
        else:
            choice["text"] = word
            if body.get("logprobs") and self.logprobs:
                tops = [{one["token"]: one["logprob"] for one in top}]
                choice["logprobs"] = {"tokens": [word], "token_logprobs": [-0.1], "top_logprobs": tops}
        return {"model": name, "choices": [choice], "usage": usage}


def refusal(status: int, message: str, *, code: str = "", headers: dict[str, str] | None = None) -> Answer:
    """A refusal in OpenAI's words."""
    return (
        status,
        headers or {},
        json.dumps({"error": {"message": message, "type": "x", "code": code or None}}).encode(),
    )
