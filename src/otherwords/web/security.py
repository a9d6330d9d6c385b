"""Protection of the pages: host names, cross-site requests, sizes, headers, and rate limits on invitation links."""

import ipaddress
import time
from collections import deque
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: No script, style or picture from elsewhere, none inline; no frame around a page; forms go nowhere else.
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
#: The largest body that is read: a page of rewordings of the greatest length.
LARGEST_BODY = 256 * 1024
#: The longest path that any page has, in characters, with room: Python refuses to read a number of thousands of digits.
LONGEST_PATH = 1000
_SAFE = ("GET", "HEAD", "OPTIONS")
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Hosts:
    """Under which names the pages may be asked for: a page of somebody else whose name leads here is refused.

    >>> hosts = Hosts(["annotate.example.org"])
    >>> hosts.allows("annotate.example.org:8000"), hosts.allows("LOCALHOST"), hosts.allows("evil.example")
    (True, True, False)
    >>> hosts.allows("192.168.1.5"), Hosts(any_address=True).allows("192.168.1.5:8000")
    (False, True)
    """

    def __init__(self, names: Iterable[str] = (), any_address: bool = False):
        self.names = {*LOOPBACK, *(name.lower().strip("[]") for name in names)}
        self.any_address = any_address  # an address, other than a name, cannot be made to lead elsewhere

    def allows(self, host: str) -> bool:
        """Whether the header `Host` names one of them, with any port."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
            urlsplit(f"//{host}").port  # noqa: B018 (raises where it is no number)
        except ValueError:
            return False
        if any(sign in host for sign in "/\\@?# \t,"):
            return False
        return name in self.names or (self.any_address and _is_address(name))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_same_site(headers: Headers, scheme: str) -> bool:
    """Whether a request that writes comes from a page of ours: by Sec-Fetch-Site, else by Origin.

    A browser sends one of the two with every POST; what sends neither is no browser, and must say where it is from.
    """
    if site := headers.get("sec-fetch-site"):
        return site == "same-origin"
    return headers.get("origin") == f"{scheme}://{headers.get('host', '')}"


class Guard:
    """Wraps the application: refuses foreign hosts, writes from other sites and large bodies; adds headers to all."""

    def __init__(self, app: ASGIApp, hosts: Hosts, behind_tls: bool):
        self.app, self.hosts, self.behind_tls = app, hosts, behind_tls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return  # no page uses web sockets
        headers = Headers(scope=scope)
        refused = self._refused(scope["method"], scope["path"], headers)
        if refused:
            await refused(scope, receive, self._with_headers(send, scope["path"]))
            return
        await self.app(scope, _limited(receive), self._with_headers(send, scope["path"]))

    def _refused(self, method: str, path: str, headers: Headers) -> PlainTextResponse | None:
        if len(headers.getlist("host")) != 1 or not self.hosts.allows(headers["host"]):
            return PlainTextResponse("This name is not served here.", 421)
        if len(path) > LONGEST_PATH:
            return PlainTextResponse("This address is too long.", 414)
        if not headers.get("content-length", "0").isdigit() or int(headers.get("content-length", "0")) > LARGEST_BODY:
            return PlainTextResponse("Too large.", 413)
        if method not in _SAFE and not is_same_site(headers, "https" if self.behind_tls else "http"):
            return PlainTextResponse("This request comes from another site.", 403)
        return None

    def _with_headers(self, send: Send, path: str) -> Send:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                if self.behind_tls:
                    headers["strict-transport-security"] = "max-age=31536000"
                if path.startswith("/static/") and message["status"] == 200:
                    headers["cache-control"] = "max-age=3600"
            await send(message)

        return sending


class BodyTooLarge(Exception):
    """A body that is longer than it said, or did not say how long it is."""


def _limited(receive: Receive) -> Receive:
    size = 0

    async def receiving() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > LARGEST_BODY:
            raise BodyTooLarge
        return message

    return receiving


class RateLimit:
    """How many failures in a minute are borne: of one address, and of all together. Who succeeds is not counted.

    >>> limit = RateLimit(each=2, together=3)
    >>> for now in (0, 1):
    ...     limit.count("a", now)
    >>> limit.is_over("a", 2), limit.is_over("b", 2), limit.is_over("a", 61)
    (True, False, False)
    """

    def __init__(self, each: int, together: int, seconds: float = 60.0):
        self.each, self.together, self.seconds = each, together, seconds
        self._failed: deque[tuple[float, str]] = deque(maxlen=together)

    def count(self, who: str, now: float | None = None) -> None:
        """Somebody has failed."""
        self._failed.append((time.monotonic() if now is None else now, who))

    def is_over(self, who: str, now: float | None = None) -> bool:
        """Whether somebody has failed too often to try again now."""
        since = (time.monotonic() if now is None else now) - self.seconds
        recent = [name for when, name in list(self._failed) if when > since]
        return len(recent) >= self.together or recent.count(who) >= self.each
