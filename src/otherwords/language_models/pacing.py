"""How fast a server is asked: as many requests at a time as it bears, and none before it wants to be asked again."""

from __future__ import annotations

import asyncio
import math
import random
import re
import time
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

#: Requests at a time to begin with.
FIRST = 16
#: Seconds of the first wait after a failure, at most; each further one doubles it, up to the last.
BACKOFF, LONGEST = 0.5, 30.0
#: Seconds after which one that waits looks whether all is stopped.
_GLANCE = 0.2
_NUMBER = re.compile(r"^\s*(r|t|w|remaining|reset)\s*=\s*(\d{1,18}(?:\.\d+)?)\s*$", re.I)
_PARTS = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
#: A number of seconds from here on is a time since 1970, and from the second on one in milliseconds.
_SINCE_1970, _MILLISECONDS = 1e9, 1e12
#: What headers count, and what a request takes of it: one, or its tokens.
_COUNTED = {"requests": False, "tokens": True, "input-tokens": True, "output-tokens": True}
#: Names of headers with what is left of a limit and when there is more: OpenAI's, Anthropic's, and those that count
#: requests without saying so, the last as drafts of the IETF had them.
_LEFT = [
    *((f"x-ratelimit-remaining-{kind}", f"x-ratelimit-reset-{kind}", own) for kind, own in _COUNTED.items()),
    *(
        (f"anthropic-ratelimit-{kind}-remaining", f"anthropic-ratelimit-{kind}-reset", own)
        for kind, own in _COUNTED.items()
    ),
    ("x-ratelimit-remaining", "x-ratelimit-reset", False),
    ("ratelimit-remaining", "ratelimit-reset", False),
]


class Pace:
    """How many requests are in flight: one more after as many replies as there are, half as many after a 429 or 503.

    A refusal of a request that was sent before the last halving does not halve again. Used in one event loop at a
    time; what was learned stays for the next.
    """

    def __init__(self, most: int):
        self.most = most
        self.limit = float(min(FIRST, most))
        self.in_flight = 0
        self.halved = -math.inf
        self.stopped = False
        self._resume = self._spread = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

    def begin(self) -> None:
        """Start in a new event loop."""
        self.in_flight = 0
        self.stopped = False
        self._waiting.clear()

    def stop(self) -> None:
        """Let all that wait go on: nothing more is to be sent."""
        self.stopped = True
        for place in self._waiting:
            if not place.done():
                place.set_result(None)

    async def enter(self) -> float:
        """Wait until one more request may be in flight, or all is stopped; the time it starts at.

        After a pause each waits a little longer, by chance: together they would meet the server at one moment.
        """
        paused = begin = 0.0
        while not self.stopped:
            if self._resume > max(paused, time.monotonic()):
                paused = self._resume
                begin = paused + random.uniform(0, self._spread)
            if (rest := begin - time.monotonic()) > 0:
                await asyncio.sleep(min(rest, _GLANCE))
                continue
            if self.in_flight < int(self.limit):
                break
            place = asyncio.get_running_loop().create_future()
            self._waiting.append(place)
            await place
        self.in_flight += 1
        return time.monotonic()

    def leave(self) -> None:
        """A request is no longer in flight."""
        self.in_flight -= 1
        self._wake()

    def _wake(self) -> None:
        room = int(self.limit) - self.in_flight
        while room > 0 and self._waiting:
            place = self._waiting.popleft()
            if not place.done():  # else it was given up
                place.set_result(None)
                room -= 1

    def grow(self) -> None:
        """A reply came."""
        self.limit = min(float(self.most), self.limit + 1 / self.limit)

    def halve(self, started: float) -> None:
        """The server has too many requests, of which one was sent at a time."""
        if started >= self.halved:
            self.limit = max(1.0, self.limit / 2)
            self.halved = time.monotonic()

    def pause(self, seconds: float) -> None:
        """Send nothing more for some seconds; after a longer pause, the next requests are spread further."""
        if (until := time.monotonic() + seconds) > self._resume:
            self._resume, self._spread = until, min(BACKOFF, seconds)


def backoff(failures: int) -> float:
    """Seconds to wait after so many failures of a request: at random, up to a limit that doubles (full jitter)."""
    return random.uniform(0, min(LONGEST, BACKOFF * 2 ** min(failures - 1, 10)))


def asked_to_wait(headers: Mapping[str, str], now: datetime | None = None) -> float:
    """Seconds that a refusal asks to wait for, as a number or a date; 0 where it does not.

    >>> asked_to_wait({"retry-after": "2"}), asked_to_wait({"retry-after-ms": "150"}), asked_to_wait({})
    (2.0, 0.15, 0.0)
    """
    try:
        if text := headers.get("retry-after-ms", ""):
            return max(0.0, float(text) / 1000)
        text = headers.get("retry-after", "").strip()
        if re.fullmatch(r"\d+(\.\d+)?", text):
            return float(text)
        return _until(parsedate_to_datetime(text), now) if text else 0.0
    except ValueError:
        return 0.0


def rest_until_reset(headers: Mapping[str, str], tokens: int, now: datetime | None = None) -> float:
    """Seconds until a server accepts more, where its headers say that nothing is left of a limit.

    `tokens` is what a request takes: fewer than that are as good as none. The headers are OpenAI's, Anthropic's, those
    without a kind (`x-ratelimit-remaining`), and the IETF's, as `RateLimit: "default";r=0;t=5`.

    >>> used = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m2.5s"}
    >>> rest_until_reset(used, 10), rest_until_reset({"x-ratelimit-remaining-requests": "7"}, 10)
    (62.5, 0.0)
    """
    rest = _structured_rest(headers)
    for left, reset, counts_tokens in _LEFT:
        remaining = headers.get(left, "").strip()
        if re.fullmatch(r"-?\d+", remaining) and int(remaining) < (tokens if counts_tokens else 1):
            rest = max(rest, _duration(headers.get(reset, ""), now))
    return rest


def _structured_rest(headers: Mapping[str, str]) -> float:
    """The same of the IETF's `RateLimit`; one that names no time is over after the window of its `RateLimit-Policy`.

    An older draft wrote `limit=10, remaining=0, reset=5`.
    """
    windows = {name: given.get("w", 0.0) for name, given in _policies(headers.get("ratelimit-policy", ""))}
    found = [(name, given) for name, given in _policies(headers.get("ratelimit", "")) if given]
    if any("remaining" in given for _, given in found):
        found = [("", {key: value for _, given in found for key, value in given.items()})]
    rests = [
        given.get("t", given.get("reset", windows.get(name, 0.0)))
        for name, given in found
        if given.get("r", given.get("remaining", 1.0)) < 1
    ]
    return max(rests, default=0.0)


def _policies(text: str) -> list[tuple[str, dict[str, float]]]:
    """The members of such a header: each with its name, if it has one, and its numbers."""
    members = [member.split(";") for member in text.split(",")]
    return [
        (parts[0].strip(), {name: float(number) for part in parts for name, number in _NUMBER.findall(part)})
        for parts in members
    ]


def _duration(text: str, now: datetime | None) -> float:
    """Seconds of `6m0s`, `20ms`, `1.5`, or until a time: 2026-01-01T00:00:00Z, or since 1970; 0 for anything else."""
    text = text.strip()
    if parts := _PARTS.findall(text) if re.fullmatch(rf"(?:{_PARTS.pattern})+", text) else []:
        return sum(float(number) * _UNITS[unit] for number, unit in parts)
    try:
        if not re.fullmatch(r"\d+(\.\d+)?", text):
            return _until(datetime.fromisoformat(text), now)
        seconds = float(text)
        if seconds < _SINCE_1970:
            return seconds
        return _until(datetime.fromtimestamp(seconds / (1000 if seconds >= _MILLISECONDS else 1), UTC), now)
    except (ValueError, OverflowError, OSError):
        return 0.0


def _until(then: datetime, now: datetime | None) -> float:
    aware = then if then.tzinfo else then.replace(tzinfo=UTC)
    return max(0.0, (aware - (now or datetime.now(UTC))).total_seconds())
