"""A language model on a server: asked once for equal requests, from its stored replies where they are, in a thread.

The event loop is in a thread of its own, because the caller may have one already, as a notebook does.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from .. import progress
from ..errors import BadInput, ServerFailed
from ..storage.files import digest
from . import budget as budgets
from .batch_files import RequestTaker
from .budget import Budget, Counted
from .completion import Capabilities, Completion, Request
from .dialects import body_of
from .endpoint import Endpoint
from .replies import ReplyStore, replies_path
from .sending import Asked, Manner, Sender, refuse_missing

T = TypeVar("T")
#: Requests at a time, unless the user says otherwise.
CONCURRENCY = 32
#: More at a time than any machine has connections for is a slip.
MOST = 4096
#: Seconds between two notes of progress.
_NOTE = 0.2
#: Bytes of a key.
_KEY = 20


def refuse_wrong(where: str, concurrency: int, manner: Manner) -> None:
    """Refuse options that make no sense, before anything is sent."""
    if not 1 <= concurrency <= MOST:
        raise BadInput(f"found {concurrency}", where=where, field="concurrency", fix=f"give 1 to {MOST:,}")
    for name, value in (("timeout", manner.timeout), ("patience", manner.patience)):
        if not value > 0:
            raise BadInput(f"found {value:g}", where=where, field=name, fix="give seconds, more than 0")


class Served:
    """A LanguageModel on a server."""

    def __init__(
        self,
        endpoint: Endpoint,
        capabilities: Capabilities = Capabilities(),  # noqa: B008 (frozen)
        *,
        concurrency: int = CONCURRENCY,
        manner: Manner = Manner(),  # noqa: B008
    ):
        refuse_missing()
        self.endpoint, self._capabilities = endpoint, capabilities
        self._sender = Sender(endpoint, capabilities, concurrency, manner)
        self._store: Path | None = None
        self._not_before = 0.0

    @property
    def identity(self) -> str:
        """The model and where it is served."""
        return self.endpoint.identity

    @property
    def capabilities(self) -> Capabilities:
        """What it can do, as far as is known."""
        return self._capabilities

    @capabilities.setter
    def capabilities(self, found: Capabilities) -> None:
        self._capabilities = self._sender.can = found

    def keep_replies(self, answers: Path, not_before: float) -> None:
        """Keep replies beside an answer cache, and use none that is older than a time."""
        self._store, self._not_before = replies_path(answers), not_before

    def key(self, request: Request) -> bytes:
        """What the reply to a request is stored under: all that is sent, and which repetition it is."""
        path, body = body_of(self.endpoint, request, self._capabilities)
        return bytes.fromhex(digest(self.identity, path, body, request.scored, request.way, request.repeat))[:_KEY]

    def complete(self, requests: Sequence[Request]) -> Iterator[tuple[int, Completion]]:
        """Reply to requests as replies come, each with the number of its request; equal ones are asked once."""
        numbers: dict[bytes, list[int]] = {}
        for number, request in enumerate(requests):
            numbers.setdefault(self.key(request), []).append(number)
        budget = budgets.current()
        with ExitStack() as stack:
            store = self._open(budget, stack)
            for key, reply in store.find(list(numbers), self._not_before) if store else ():
                for number in numbers.pop(key):
                    yield number, reply
            progress.advance_part(1 - sum(map(len, numbers.values())) / max(1, len(requests)))
            if budget.batch:
                if not numbers:
                    return
                self._take(budget.batch, {key: requests[some[0]] for key, some in numbers.items()})
                raise Counted
            if budget.dry_run:
                for key, some in numbers.items():
                    budget.plan(self.identity, self.endpoint.model, requests[some[0]], key)
                raise Counted
            left = sum(map(len, numbers.values()))
            for key, reply in self._sent(numbers, requests, budget, store) if numbers else ():
                for number in numbers[key]:
                    yield number, reply
                left -= len(numbers[key])
                progress.advance_part(1 - left / len(requests))

    def _take(self, batch: RequestTaker, requests: dict[bytes, Request]) -> None:
        """Give requests to a batch, and store the replies that it knows."""
        taken = {key: batch.take(self.endpoint, self._capabilities, one, key) for key, one in requests.items()}
        known = {key: reply for key, reply in taken.items() if reply and not reply.is_withheld}
        if known and self._store:
            with ReplyStore(self._store) as store:
                store.store(self.identity, known)

    def _open(self, budget: Budget, stack: ExitStack) -> ReplyStore | None:
        """The stored replies, if they are kept; a dry run makes no file."""
        if self._store is None or (budget.dry_run and not self._store.exists()):
            return None
        return stack.enter_context(ReplyStore(self._store))

    def _sent(
        self,
        numbers: dict[bytes, list[int]],
        requests: Sequence[Request],
        budget: Budget,
        store: ReplyStore | None,
    ) -> Iterator[tuple[bytes, Completion]]:
        """Ask the server; replies come as it gives them. Those that must be alone are asked one by one, at the end.

        The reply to the first request ever is handed over before another is sent: whoever reads it may refuse it.
        """
        asked = [Asked(key, requests[some[0]]) for key, some in numbers.items()]
        first = [] if self._sender.names else asked[:1]
        crowd = [one for one in asked[len(first) :] if one.request.way != "alone"]
        last = [one for one in asked[len(first) :] if one.request.way == "alone"]
        count = 0
        try:
            for some, alone in ((first, True), (crowd, False), (last, True)):
                for one in self._in_thread(some, budget, store, alone) if some else ():
                    count += 1
                    yield one
        except ServerFailed as error:
            raise type(error)(f"{error}; {count:,} of {len(asked):,} requests were answered") from error

    def _in_thread(
        self, asked: Sequence[Asked], budget: Budget, store: ReplyStore | None, alone: bool
    ) -> Iterator[tuple[bytes, Completion]]:
        done: queue.SimpleQueue[dict[bytes, Completion] | BaseException | None] = queue.SimpleQueue()
        keep = partial(self._keep, store=store, done=done)
        rate = _Rate(budget, self.identity)
        for some in in_thread(lambda: self._sender.send(asked, budget, keep, alone=alone), done):
            yield from some.items()
            rate.note()

    def _keep(
        self,
        replies: dict[bytes, Completion],
        store: ReplyStore | None,
        done: queue.SimpleQueue[dict[bytes, Completion] | BaseException | None],
    ) -> None:
        """Store replies, then count them; those that were withheld are not stored."""
        lasting = {key: one for key, one in replies.items() if not one.is_withheld}
        if store and lasting:
            store.store(self.identity, lasting)
        done.put(replies)


def in_thread(
    send: Callable[[], Coroutine[Any, Any, None]], done: queue.SimpleQueue[T | BaseException | None]
) -> Iterator[T]:
    """What a coroutine puts into a queue while it runs in a thread. Whoever stops reading ends it, as Ctrl-C does."""
    sending = _Sending(send)
    context = contextvars.copy_context()  # errors name options or keywords, as the caller's do
    thread = threading.Thread(target=context.run, args=(sending.run, done.put), name="language-model", daemon=True)
    thread.start()
    try:
        while (item := _wait_for(done)) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        sending.stop()
        thread.join()


def _wait_for(done: queue.SimpleQueue[T]) -> T:
    """The next item. A wait without end would not see Ctrl-C: Polars lets the system resume what that interrupts."""
    while True:
        with suppress(queue.Empty):
            return done.get(timeout=_NOTE)


class _Sending:
    """An event loop in a thread that sends requests; another thread can stop it."""

    def __init__(self, send: Callable[[], Coroutine[Any, Any, None]]):
        self._send = send
        self._running: tuple[asyncio.AbstractEventLoop, asyncio.Task[None]] | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def run(self, end: Callable[[BaseException | None], None]) -> None:
        """Send all; `end` is called at the end, with what ended it."""
        try:
            asyncio.run(self._main())
        except asyncio.CancelledError:
            end(None)
        except BaseException as error:
            end(error)
        else:
            end(None)

    async def _main(self) -> None:
        task = asyncio.create_task(self._send())
        with self._lock:
            self._running = (asyncio.get_running_loop(), task)
            if self._stopped:
                task.cancel()
        await task

    def stop(self) -> None:
        """Send nothing more, and wait for nothing that is in flight."""
        with self._lock:
            self._stopped = True
            if self._running:
                loop, task = self._running
                with suppress(RuntimeError):  # it has ended
                    loop.call_soon_threadsafe(task.cancel)


class _Rate:
    """Notes requests, tokens and money beside the progress, some times a second."""

    def __init__(self, budget: Budget, identity: str):
        self._budget, self._spent = budget, budget.spent(identity)
        self._requests, self._tokens = self._spent.requests, self._spent.tokens
        self._begin = self._last = time.monotonic()

    def note(self) -> None:
        """Say how fast it goes."""
        now = time.monotonic()
        if now - self._last < _NOTE:
            return
        self._last, seconds = now, now - self._begin
        requests, tokens = self._spent.requests - self._requests, self._spent.tokens - self._tokens
        text = f"{progress.rate(requests / seconds)} requests/s, {progress.rate(tokens / seconds)} tokens/s"
        cost = "" if self._spent.cost is None else f", {self._budget.cost:,.4f} {self._budget.prices.currency}".rstrip()
        progress.current().note(text + cost)
        self._budget.save_sometimes()
