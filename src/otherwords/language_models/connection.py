"""One connection to a server, for one request after another.

httpx2 knows addresses, headers and compressed bodies; httpcore2, on which it is built, speaks HTTP, also by TLS and
through proxies. The client between the two is left out: it takes two thirds of the processor time of a request.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.request import getproxies, proxy_bypass

import httpcore2
import httpx2

from .._version import __version__
from ..errors import BadInput

#: Seconds after which an idle connection is not reused: servers close theirs.
_KEPT = 5.0
#: Unread bytes at which reading from the network pauses, and bytes that are decompressed at a time.
_ENOUGH, _PIECE = 1_000_000, 16_384
#: Headers of every request: some gateways refuse requests without a user agent.
_HEADERS = (
    ("accept", "*/*"),
    ("accept-encoding", "gzip, deflate"),
    ("content-type", "application/json"),
    ("user-agent", f"otherwords/{__version__}"),
)


class Received(NamedTuple):
    """A server's reply; `content` is None if it is too long once decompressed."""

    status: int
    raw_headers: Sequence[tuple[bytes, bytes]]
    content: bytes | None

    @property
    def headers(self) -> httpx2.Headers:
        """The headers, whatever the case of their names."""
        return httpx2.Headers(list(self.raw_headers))


class Connection:
    """Sends requests to one address, one at a time; connects on demand. Errors are those of httpcore2."""

    def __init__(self, url: str, verify: ssl.SSLContext, connect: float):
        self._address = httpx2.URL(url)
        self._verify, self._extensions = verify, {"timeout": {"connect": connect}}
        self._common = [*httpx2.Request("POST", self._address, headers=_HEADERS).headers.raw]
        self._common = [(name, value) for name, value in self._common if name.lower() != b"content-length"]
        self._urls: dict[str, httpcore2.URL] = {}
        self._line: Any = None
        self._is_proxied = False

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Disconnect."""
        if self._line is not None:
            await self._line.aclose()

    async def post(self, path: str, headers: Iterable[tuple[str, str]], content: bytes, most: int) -> Received:
        """Send a request to a path below the address; `most` is the largest reply in bytes, decompressed."""
        own = [(name.encode(), value.encode()) for name, value in headers]
        length = (b"content-length", b"%d" % len(content))
        request = httpcore2.Request(
            "POST", self._url(path), headers=[*self._common, length, *own], content=content, extensions=self._extensions
        )
        line = await self._connected()
        answer = await line.handle_async_request(request)
        try:
            parts, size = [], 0
            async for part in answer.aiter_stream():
                parts.append(part)
                if (size := size + len(part)) > most:
                    return Received(answer.status, answer.headers, None)
        finally:
            await answer.aclose()
        return Received(answer.status, answer.headers, _unpacked(answer.headers, parts, most))

    def _url(self, path: str) -> httpcore2.URL:
        if path not in self._urls:
            address = self._address.copy_with(raw_path=self._address.raw_path.rstrip(b"/") + path.encode())
            self._urls[path] = httpcore2.URL(
                scheme=address.raw_scheme, host=address.raw_host, port=address.port, target=address.raw_path
            )
        return self._urls[path]

    async def _connected(self) -> Any:
        """The proxy that the environment names, or the connection in use, or a new one if that is closed."""
        if self._line is None:
            proxy = _proxy_for(self._address)
            self._line, self._is_proxied = _through(proxy, self._verify) if proxy else self._new(), bool(proxy)
        elif not self._is_proxied and (self._line.is_closed() or self._line.has_expired()):
            await self._line.aclose()
            self._line = self._new()
        return self._line

    def _new(self) -> httpcore2.AsyncHTTPConnection:
        origin = self._url("").origin
        return httpcore2.AsyncHTTPConnection(
            origin, ssl_context=self._verify, keepalive_expiry=_KEPT, network_backend=_Network()
        )


def _proxy_for(address: httpx2.URL) -> str:
    """The proxy that the environment names for an address (HTTPS_PROXY, ALL_PROXY, but for NO_PROXY), if any."""
    known = getproxies()
    named = known.get(address.scheme) or known.get("all") or ""
    if not named or proxy_bypass(f"{address.host}:{address.port}" if address.port else address.host):
        return ""
    return named if "://" in named else f"http://{named}"


def _through(named: str, verify: ssl.SSLContext) -> httpcore2.AsyncConnectionPool:
    """A connection through a proxy."""
    try:
        proxy = httpx2.Proxy(named)
        url = httpcore2.URL(
            scheme=proxy.url.raw_scheme, host=proxy.url.raw_host, port=proxy.url.port, target=proxy.url.raw_path
        )
    except (ValueError, httpx2.InvalidURL):
        fix = "give it as http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT"
        raise BadInput(
            "is not a valid proxy address", where="$HTTPS_PROXY, $HTTP_PROXY or $ALL_PROXY", fix=fix
        ) from None
    common: dict[str, Any] = {"ssl_context": verify, "max_connections": 1, "keepalive_expiry": _KEPT}
    common |= {"proxy_auth": proxy.raw_auth, "network_backend": _Network()}
    if proxy.url.scheme.startswith("socks"):
        try:
            return httpcore2.AsyncSOCKSProxy(url, **common)
        except (ImportError, RuntimeError):
            fix = "pip install socksio, or use a proxy that speaks HTTP"
            raise BadInput("a SOCKS proxy needs the package socksio", where="$ALL_PROXY", fix=fix) from None
    return httpcore2.AsyncHTTPProxy(url, **common)


def _unpacked(headers: Sequence[tuple[bytes, bytes]], parts: Sequence[bytes], most: int) -> bytes | None:
    """The decompressed body; None if it is too long."""
    if not any(name.lower() == b"content-encoding" for name, _ in headers):
        return parts[0] if len(parts) == 1 else b"".join(parts)
    content = bytearray()
    try:
        for some in httpx2.Response(200, headers=list(headers), content=_pieces(parts)).iter_bytes():
            content += some
            if len(content) > most:
                return None
    except httpx2.DecodingError as error:
        raise httpcore2.RemoteProtocolError(str(error)) from error
    return bytes(content)


def _pieces(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Parts in pieces small enough to be decompressed one by one."""
    for part in parts:
        for start in range(0, len(part), _PIECE):
            yield part[start : start + _PIECE]


class _Network(httpcore2.AsyncNetworkBackend):
    """Connects by asyncio."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout):
                _, stream = await loop.create_connection(_Stream, host, port, happy_eyeballs_delay=0.25)
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout(str(error)) from error
        except OSError as error:
            raise httpcore2.ConnectError(str(error)) from error
        return stream


class _Stream(asyncio.Protocol, httpcore2.AsyncNetworkStream):
    """Bytes to and from a server. What is written is sent when a reply is waited for: headers and body in one piece."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport
        self._unsent: list[bytes] = []
        self._received = bytearray()
        self._waiter: asyncio.Future[None] | None = None
        self._is_over = self._is_paused = False
        self._error: Exception | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        if len(self._received) > _ENOUGH and not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake()

    def connection_lost(self, error: Exception | None) -> None:
        self._is_over, self._error = True, error
        self._wake()

    def _wake(self) -> None:
        if self._waiter and not self._waiter.done():
            self._waiter.set_result(None)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._unsent.append(buffer)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """What came, at least a byte; nothing at the end. How long that may take is for the caller to say."""
        if self._unsent:
            self._transport.write(b"".join(self._unsent))
            self._unsent.clear()
        while not self._received and not self._is_over:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        if not self._received and self._error:
            raise httpcore2.ReadError(str(self._error)) from self._error
        data, self._received = bytes(self._received[:max_bytes]), self._received[max_bytes:]
        if self._is_paused and not self._is_over:
            self._is_paused = False
            self._transport.resume_reading()
        return data

    async def aclose(self) -> None:
        self._transport.abort()
        await asyncio.sleep(0)  # until the socket is closed

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout):
                secured = await loop.start_tls(self._transport, self, ssl_context, server_hostname=server_hostname)
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout(str(error)) from error
        except OSError as error:  # ssl.SSLError is one
            raise httpcore2.ConnectError(str(error)) from error
        assert secured
        self._transport = secured
        return self

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":  # between two requests: at the end, or with what nobody asked for
            return self._is_over or bool(self._received)
        return self._transport.get_extra_info(info)
