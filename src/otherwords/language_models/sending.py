"""Sending many requests to a server: as many at a time as it can handle, with retries where these make sense.

This is the only layer of retries. A reply is stored before it is counted; an interruption loses only what was in
flight.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import BadInput, LimitReached, MissingExtra, OtherwordsError, ServerFailed, shorten
from .budget import Budget, Reservation, boundless
from .completion import Capabilities, Completion, Request
from .dialects import NO_LOGPROBS, Malformed, body_of, completion_of, lacks_logprobs
from .endpoint import Endpoint
from .pacing import Pace, asked_to_wait, backoff, rest_until_reset
from .refusals import BUSY, is_same_model, judge, message_of

if TYPE_CHECKING:
    import ssl

    from .connection import Connection, Received

#: Tries of a request that fails while others succeed, and of the very first one: a server that is not there is not.
TRIES, FIRST_TRIES = 15, 3
#: Failures in a row, and seconds without a reply, after which a server is given up.
FAILURES, PATIENCE = 10, 120.0
#: Why a reply is none, though it is JSON; another try rarely helps.
UNREADABLE_REPLY = "sent a reply that lacks what was asked for"

#: Bytes that a reply may have at most, unpacked.
_LARGEST = 64_000_000
#: Seconds that connecting may take at most.
_CONNECT = 20.0
#: Takes replies under their keys.
Keep = Callable[[dict[bytes, Completion]], None]


class Asked(NamedTuple):
    """A request and the key of its reply."""

    key: bytes
    request: Request


class Try(NamedTuple):
    """How a request ended: with a reply, with an error that is final, or with a reason to try it again.

    `wait` are seconds that the server asks for. A try that was `charged` may have cost something.
    """

    reply: Completion | None = None
    error: OtherwordsError | None = None
    reason: str = ""
    wait: float = 0.0
    busy: bool = False
    charged: bool = False
    rest: float = 0.0


class Manner(NamedTuple):
    """How a server is asked: seconds that a reply may take, and seconds without any reply."""

    timeout: float = 120.0
    patience: float = PATIENCE


class Sender:
    """Sends requests of one model. What it learns of the server, its pace and its name, stays for the next call."""

    def __init__(self, endpoint: Endpoint, can: Capabilities, concurrency: int, manner: Manner):
        self.endpoint, self.can, self.manner = endpoint, can, manner
        self.pace = Pace(concurrency)
        self.names: set[str] = set()
        self._right_name = self._strange_name = ""
        self._failures, self._last_reply = 0, 0.0
        self._error: BaseException | None = None
        self._verify: ssl.SSLContext | None = None

    async def send(self, requests: Sequence[Asked], budget: Budget, keep: Keep, *, alone: bool = False) -> None:
        """Send all requests; `keep` is given the replies as they come, those of one moment together.

        The first request ever is sent by itself: what is wrong with the server shows there. So is each that must be
        `alone`. What stops the sending is raised when the requests in flight have ended.
        """
        self.pace.begin()
        self._error, self._last_reply, self._failures = None, time.monotonic(), 0
        keeper, asked = _Keeper(keep, self._fail), iter(requests)
        if not self.names:
            await self._work(budget, keeper, islice(asked, 1))
        count = 1 if alone else min(self.pace.most, len(requests))
        workers = [asyncio.create_task(self._work(budget, keeper, asked)) for _ in range(count)]
        try:
            await asyncio.gather(*workers)
        finally:
            for one in workers:
                one.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            keeper.flush()
        if self._error:
            raise self._error

    async def try_once(self, requests: Sequence[Request], budget: Budget) -> list[Try]:
        """Try requests once, all at the same time. What the server refuses or does not understand is a result, too."""

        async def one_of(request: Request) -> Try:
            async with self._connection() as connection:
                held = await self._reserve(budget, request, retry=False)  # what is refused here, no server has refused
                try:
                    return await self._paced(_Way(connection, budget), request, held) if held else Try()
                except BadInput as error:
                    return Try(error=error)

        self.pace.begin()
        self._error = None
        return list(await asyncio.gather(*map(one_of, requests)))

    def _connection(self) -> Connection:
        """A connection, without retries of its own, which follows no server to another."""
        from httpx2 import InvalidURL, create_ssl_context

        from .connection import Connection

        self._verify = self._verify or create_ssl_context()  # knows authorities where Python's own finds none
        try:
            return Connection(self.endpoint.url, self._verify, connect=min(self.manner.timeout, _CONNECT))
        except InvalidURL as error:
            fix, where = "give it as http://HOST:PORT/v1 or https://HOST/v1", f"api:{self.endpoint.model}"
            raise BadInput(f"is not a valid address ({self._name(error)})", where=where, field="url", fix=fix) from None

    async def _work(self, budget: Budget, keeper: _Keeper, asked: Iterator[Asked]) -> None:
        """Take requests and get their replies, until there are none left, or something stopped the sending."""
        async with self._connection() as connection:
            while self._error is None and (one := next(asked, None)):
                try:
                    reply = await self._ask(_Way(connection, budget), one.request)
                except Exception as error:
                    self._fail(error)
                    return
                if reply is not None:
                    await keeper.add(one.key, reply)

    def _fail(self, error: Exception) -> None:
        """Stop the sending for a reason."""
        self._error = self._error or error
        if not isinstance(error, LimitReached):  # what a limit has room for is still sent
            self.pace.stop()

    async def _ask(self, way: _Way, request: Request) -> Completion | None:
        """Get the reply to a request; None where something else stopped the sending."""
        failures = tries = 0
        while self._error is None:
            held = await self._reserve(way.budget, request, retry=failures > 0)
            if held is None:
                return None
            ended = await self._paced(way, request, held)
            if ended.reply is not None:
                self._last_reply, self._failures = time.monotonic(), 0
                self._stop_if_boundless(way.budget, request, ended.reply)
                return ended.reply
            if ended.error is not None:
                raise ended.error
            if self._error is not None:
                return None
            failures, tries = failures + 1, tries + (not ended.busy)
            self._failures += 1
            self._give_up_if_hopeless(ended, tries)
            await self._rest(ended.wait + min(backoff(failures), self.manner.patience))
        return None

    def _stop_if_boundless(self, budget: Budget, request: Request, reply: Completion) -> None:
        """Stop, with this reply kept, where a limit of costs cannot hold: the server writes more than it may."""
        written, most = reply.usage.completion, max(1, request.max_tokens) * request.n
        if budget.max_cost is not None and written > most and "max_tokens" not in self.can.dropped:
            self._fail(boundless(self.endpoint.model, f"it wrote {written:,} tokens where {most:,} were allowed"))

    async def _rest(self, seconds: float) -> None:
        """Wait, unless something else stops the sending."""
        until = time.monotonic() + seconds
        while self._error is None and (rest := until - time.monotonic()) > 0:
            await asyncio.sleep(min(rest, 0.2))

    async def _reserve(self, budget: Budget, request: Request, *, retry: bool) -> Reservation | None:
        while self._error is None:
            held = budget.reserve(self.endpoint.identity, self.endpoint.model, request, self.can, retry=retry)
            if held:
                return held
            await asyncio.sleep(0.02)
        return None

    async def _paced(self, way: _Way, request: Request, held: Reservation) -> Try:
        """Try a request when it is its turn, and learn from how it ended."""
        try:
            started = await self.pace.enter()
        except asyncio.CancelledError:
            way.budget.release(held)
            raise
        try:
            if self.pace.stopped:
                way.budget.release(held)
                return Try()
            ended = await self._settled(way, request, held)
        finally:
            self.pace.leave()
        if ended.reply is not None:
            self.pace.grow()
        elif ended.busy:
            self.pace.halve(started)
            self.pace.pause(ended.wait if ended.wait <= self.manner.patience else 0.0)
        if ended.rest:
            self.pace.pause(min(ended.rest, self.manner.patience))
        return ended

    async def _settled(self, way: _Way, request: Request, held: Reservation) -> Try:
        """Try a request, and settle what it cost."""
        ended = Try(charged=True)  # should it be cancelled in flight
        try:
            ended = await self._try(way.connection, request)
        finally:
            way.budget.settle(held, ended.reply.usage if ended.reply else None, charged=ended.charged)
        return ended

    async def _try(self, connection: Connection, request: Request) -> Try:
        import httpcore2

        path, body = body_of(self.endpoint, request, self.can)
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
        headers = self.endpoint.headers().items()
        try:
            async with asyncio.timeout(self.manner.timeout):
                received = await connection.post(path, headers, content, _LARGEST)
        except (httpcore2.ConnectError, httpcore2.ConnectTimeout, httpcore2.ProxyError) as error:
            return Try(reason=f"cannot be reached ({self._name(error)})")
        except (TimeoutError, httpcore2.TimeoutException):
            return Try(reason=f"did not reply within {self.manner.timeout:g} seconds", charged=True)
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            return Try(reason=f"broke off ({self._name(error)})", charged=True)
        return self._read(request, received)

    def _name(self, error: Exception) -> str:
        return self.endpoint.scrub(str(error) or type(error).__name__)

    def _read(self, request: Request, received: Received) -> Try:
        """What came back: a reply, a refusal, or neither."""
        status, content = received.status, received.content
        if content is None:
            return Try(reason=f"sent more than {_LARGEST // 1_000_000} MB", charged=True)
        if not 200 <= status < 300:
            headers = received.headers
            judged = judge(self.endpoint, request, status, content, headers.get("location", ""))
            if isinstance(judged, Completion):
                return Try(judged, charged=True)
            wait = asked_to_wait(headers) or (rest_until_reset(headers, 1) if status == 429 else 0.0)
            return Try(None, judged, f"replied with {status}", wait, status in BUSY)
        try:
            body = self.endpoint.read_json(content)
        except (ValueError, RecursionError):
            return Try(reason=f"sent a reply that is no JSON: {self._begin(content)}", charged=True)
        try:
            if isinstance(body, dict) and "error" in body and not body.get("choices"):
                raise Malformed("an error in the body of a reply")
            reply = completion_of(self.endpoint, request, body)
        except Malformed:
            return Try(reason=f"{UNREADABLE_REPLY}: {self._begin(content)}", charged=True)
        if reason := self._wrong_name(body.get("model")):
            return Try(reason=reason, charged=True)
        if lacks_logprobs(request, reply):
            fix = "use another readout: choices, or text"
            return Try(error=BadInput(NO_LOGPROBS, where=f"api:{self.endpoint.model}", fix=fix), charged=True)
        limited = any(b"ratelimit" in name.lower() for name, _ in received.raw_headers)  # faster than to look for each
        rest = rest_until_reset(received.headers, sum(reply.usage[::2]) or 1) if limited else 0.0
        return Try(reply, charged=True, rest=rest)

    def _begin(self, content: bytes) -> str:
        return shorten(message_of(self.endpoint, content), 100)

    def _wrong_name(self, name: Any) -> str:
        """Why a reply is not of the model that was asked.

        Where the server goes by a name that has nothing to do with the one asked for, as one that serves a single file
        does, the name in the very first reply is taken to be right if the next try has it, too, unless the user names
        it, or the server turns out to go by the one asked for.
        """
        if not isinstance(name, str) or not name:
            self.names.add("")
            return ""
        if name == self._right_name:
            return ""
        right = self.endpoint.served_as
        if right:
            is_right = name == right
        elif is_right := is_same_model(self.endpoint.model, name):
            self.names = {one for one in self.names if not one or is_same_model(self.endpoint.model, one)}
        else:
            is_right = name in self.names or (not self.names and name == self._strange_name)
        if not is_right:
            self._strange_name = name
            return f"replied as {name!r}"
        self.names.add(name)
        self._right_name = name
        return ""

    def _give_up_if_hopeless(self, ended: Try, tries: int) -> None:
        """The circuit breaker: raise where another try makes no sense."""
        server = f"api:{self.endpoint.model}: {self.endpoint.url}"
        if not self.names and tries >= FIRST_TRIES:
            fix = "start the server, or check the url" if "reached" in ended.reason else "see what the server says"
            fix = "check served_as" if self.endpoint.served_as and "replied as" in ended.reason else fix
            raise ServerFailed(f"{server} {ended.reason}, {tries} times; {fix}")
        if ended.wait > self.manner.patience:
            raise ServerFailed(f"{server} {ended.reason} and refuses requests for {ended.wait:,.0f} seconds")
        silent = time.monotonic() - self._last_reply
        if self._failures >= FAILURES and silent > self.manner.patience:
            found = f"{self._failures:,} requests in a row failed, for {silent:,.0f} seconds"
            raise ServerFailed(f"{server} {ended.reason}; {found}")
        if tries >= TRIES:
            named = ": say served_as=..., if that is right" if "replied as" in ended.reason else ""
            raise ServerFailed(f"{server} {ended.reason}, {tries} times for one request{named}")


class _Way(NamedTuple):
    """How a worker sends: over which connection, on which budget."""

    connection: Connection
    budget: Budget


class _Keeper:
    """Hands over replies, those of one moment of the event loop together: they are stored in one transaction.

    Whoever adds a reply waits until it is stored, and only then sends the next request: so no more can be lost than may
    be in flight. `fail` is called with what goes wrong there: the event loop would only log it.
    """

    def __init__(self, keep: Keep, fail: Callable[[Exception], None]):
        self._keep, self._fail = keep, fail
        self._replies: dict[bytes, Completion] = {}
        self._stored: asyncio.Future[None] | None = None

    async def add(self, key: bytes, reply: Completion) -> None:
        if self._stored is None:
            loop = asyncio.get_running_loop()
            self._stored = loop.create_future()
            loop.call_soon(self.flush)
        self._replies[key] = reply
        await asyncio.shield(self._stored)  # others wait for it, too

    def flush(self) -> None:
        replies, self._replies = self._replies, {}
        stored, self._stored = self._stored, None
        try:
            if replies:
                self._keep(replies)
        except Exception as error:
            self._fail(error)
        if stored and not stored.done():
            stored.set_result(None)


def refuse_missing() -> None:
    """Raise where the client is not installed."""
    try:
        import httpx2  # noqa: F401
    except ImportError:
        raise MissingExtra("api", "api") from None
