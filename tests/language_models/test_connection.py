"""The connection to a server: whole replies whatever way they come, and a new connection where the old one is over."""

import asyncio
import gzip
import importlib.util
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpcore2
import httpx2
import pytest

from otherwords.errors import BadInput
from otherwords.language_models.budget import Budget
from otherwords.language_models.completion import Capabilities, Request
from otherwords.language_models.connection import Connection, Received
from otherwords.language_models.endpoint import Endpoint
from otherwords.language_models.sending import Manner, Sender

MOST = 10_000_000
#: Gets the head and the body of a request; writes what it likes, and returns whether it listens for another.
Answer = Callable[[bytes, bytes, asyncio.StreamWriter], Awaitable[bool]]


def reply(content: bytes, *headers: str) -> bytes:
    lines = [f"content-length: {len(content)}", *headers]
    return ("HTTP/1.1 200 OK\r\n" + "".join(f"{one}\r\n" for one in lines) + "\r\n").encode() + content


class Listener:
    """A server in the event loop of a test: what was sent to it, and over how many connections."""

    def __init__(self, answer: Answer):
        self.answer, self.connections = answer, 0
        self.heads: list[bytes] = []
        self.bodies: list[bytes] = []
        self.packets: list[int] = []
        self.open: set[asyncio.Task[None]] = set()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task
        self.open.add(task)
        try:
            while True:
                first = await reader.read(1_000_000)
                self.packets.append(len(first))
                while b"\r\n\r\n" not in first:
                    first += await reader.readexactly(1)
                head, _, body = first.partition(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
                body += await reader.readexactly(length - len(body))
                self.heads.append(head)
                self.bodies.append(body)
                if not await self.answer(head, body, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()


@asynccontextmanager
async def listening(answer: Answer, **how: Any) -> AsyncIterator[tuple[Listener, int]]:
    listener = Listener(answer)
    server = await asyncio.start_server(listener.accept, "127.0.0.1", 0, **how)
    try:
        yield listener, server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for one in listener.open:
            one.cancel()
        await asyncio.gather(*listener.open, return_exceptions=True)


def connection(port: int, host: str = "http://127.0.0.1", verify: ssl.SSLContext | None = None) -> Connection:
    return Connection(f"{host}:{port}/v1", verify or ssl.create_default_context(), connect=5)


async def post(one: Connection, content: bytes = b"{}", most: int = MOST) -> Received:
    async with asyncio.timeout(10):
        return await one.post("/chat/completions", [("authorization", "Bearer x")], content, most)


def always(data: bytes) -> Answer:
    async def answer(head: bytes, body: bytes, writer: asyncio.StreamWriter) -> bool:
        writer.write(data)
        return True

    return answer


def test_requests_follow_each_other_on_one_connection_each_in_one_piece() -> None:
    async def main() -> None:
        async with listening(always(reply(b'{"a": 1}', "X-Own: 2"))) as (server, port), connection(port) as one:
            got = [await post(one, b'{"n": %d}' % number) for number in range(3)]
        assert [(one.status, one.content, one.headers["x-own"]) for one in got] == [(200, b'{"a": 1}', "2")] * 3
        assert server.connections == 1
        assert server.bodies == [b'{"n": 0}', b'{"n": 1}', b'{"n": 2}']
        assert server.packets == [len(head) + 4 + 8 for head in server.heads]
        head = server.heads[0].lower()
        assert head.startswith(b"post /v1/chat/completions http/1.1\r\n")
        for line in (f"host: 127.0.0.1:{port}", "authorization: bearer x", "content-type: application/json"):
            assert line.encode() in head.split(b"\r\n")
        assert b"\r\nuser-agent: otherwords/" in head
        assert head.count(b"content-length") == head.count(b"host:") == 1

    asyncio.run(main())


@pytest.mark.parametrize(
    "ending", ["closed at once", "closed later", "said to be closed", "followed by what nobody asked"]
)
def test_a_connection_that_is_over_is_not_used_again(ending: str) -> None:
    async def answer(head: bytes, body: bytes, writer: asyncio.StreamWriter) -> bool:
        writer.write(reply(b"{}", *(["connection: close"] if ending == "said to be closed" else [])))
        if ending == "followed by what nobody asked":
            await writer.drain()
            await asyncio.sleep(0.01)
            writer.write(reply(b'{"another": "reply"}'))
        if ending == "closed later":
            asyncio.get_running_loop().call_later(0.02, writer.close)
        if ending == "closed at once":
            writer.close()
            await writer.wait_closed()
        return ending != "closed at once"

    async def main() -> None:
        async with listening(answer) as (server, port), connection(port) as one:
            for _ in range(3):
                assert (await post(one)).content == b"{}"
                await asyncio.sleep(0.05)
        assert server.connections == 3

    asyncio.run(main())


def test_bodies_come_in_parts_packed_and_long() -> None:
    text = b"[" + b"1234567, " * 200_000 + b"0]"
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (text[:10], text[10:])) + b"0\r\n\r\n"
    answers = iter(
        [
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks,
            reply(gzip.compress(text), "Content-Encoding: gzip"),
            reply(text),
        ]
    )

    async def answer(head: bytes, body: bytes, writer: asyncio.StreamWriter) -> bool:
        writer.write(next(answers))
        await writer.drain()
        return True

    async def main() -> None:
        async with listening(answer) as (server, port), connection(port) as one:
            assert [(await post(one, text)).content == text for _ in range(3)] == [True] * 3
            assert server.connections == 1
            assert {*server.bodies} == {text}

    asyncio.run(main())


@pytest.mark.parametrize("headers", [[], ["content-encoding: gzip"]])
def test_what_is_too_long_is_no_reply(headers: list[str]) -> None:
    long = gzip.compress(b" " * 3_000_000) if headers else b" " * 3_000_000

    async def main() -> None:
        async with listening(always(reply(long, *headers))) as (_, port), connection(port) as one:
            assert (await post(one, most=1_000_000)).content is None
            assert (await post(one, most=MOST)).content == b" " * 3_000_000

    asyncio.run(main())


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", httpcore2.RemoteProtocolError),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{", httpcore2.RemoteProtocolError),
        (b"no HTTP at all\r\n\r\n", httpcore2.RemoteProtocolError),
        (reply(b"not packed", "content-encoding: gzip"), httpcore2.RemoteProtocolError),
    ],
)
def test_what_breaks_off_is_an_error_and_the_next_request_connects_again(data: bytes, error: type[Exception]) -> None:
    answers = iter([data, reply(b"{}")])

    async def answer(head: bytes, body: bytes, writer: asyncio.StreamWriter) -> bool:
        writer.write(next(answers))
        writer.close()
        await writer.wait_closed()
        return False

    async def main() -> None:
        async with listening(answer) as (_, port), connection(port) as one:
            with pytest.raises(error):
                await post(one)
            await asyncio.sleep(0.02)  # so that the end is known
            assert (await post(one)).content == b"{}"

    asyncio.run(main())


def test_a_server_that_is_not_there_cannot_be_reached() -> None:
    async def main() -> None:
        async with listening(always(b"")) as (_, port):
            pass
        async with connection(port) as one:
            with pytest.raises(httpcore2.ConnectError):
                await post(one)

    asyncio.run(main())


def test_a_request_that_is_given_up_leaves_the_connection_unused() -> None:
    answers = iter([b"", reply(b"{}")])

    async def answer(head: bytes, body: bytes, writer: asyncio.StreamWriter) -> bool:
        writer.write(next(answers))
        return True

    async def main() -> None:
        async with listening(answer) as (server, port), connection(port) as one:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await post(one)
            assert (await post(one)).content == b"{}"
            assert server.connections == 2

    asyncio.run(main())


def test_a_proxy_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with listening(always(reply(b"{}"))) as (proxy, port):
            monkeypatch.setenv("http_proxy", f"http://me:secret@127.0.0.1:{port}")
            monkeypatch.delenv("no_proxy", raising=False)
            monkeypatch.delenv("NO_PROXY", raising=False)
            async with connection(80, "http://models.example") as one:
                assert [(await post(one)).status for _ in range(2)] == [200, 200]
            monkeypatch.setenv("no_proxy", "127.0.0.1")
            async with connection(port) as one:
                assert (await post(one)).status == 200
        assert proxy.heads[0].startswith(b"POST http://models.example/v1/chat/completions HTTP/1.1")
        assert b"proxy-authorization: basic bwu6c2vjcmv0" in proxy.heads[0].lower()
        assert proxy.heads[2].startswith(b"POST /v1/chat/completions HTTP/1.1")
        assert b"proxy-authorization" not in proxy.heads[2].lower()
        assert proxy.connections == 2

    asyncio.run(main())


@pytest.mark.parametrize(
    ("proxy", "message"),
    [("gopher://me:secret@127.0.0.1", "is not a valid proxy address"), ("socks5://me:secret@x", "socksio")],
)
def test_what_is_no_proxy_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch, proxy: str, message: str) -> None:
    if message == "socksio" and importlib.util.find_spec("socksio"):
        pytest.skip("socksio is installed")
    monkeypatch.setenv("http_proxy", proxy)

    async def main() -> None:
        async with connection(80, "http://models.example") as one:
            await post(one)

    with pytest.raises(BadInput, match=message) as caught:
        asyncio.run(main())
    assert "secret" not in str(caught.value)


def test_what_is_no_address_is_refused() -> None:
    with pytest.raises(httpx2.InvalidURL):
        Connection(f"http://{'ä' * 80}/v1", ssl.create_default_context(), connect=5)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of this machine with its key, signed by itself."""
    if not shutil.which("openssl"):
        pytest.skip("needs openssl to make a certificate")
    path = tmp_path_factory.mktemp("tls") / "own.pem"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    made += ["-keyout", str(path.with_suffix(".key")), "-out", str(path), "-days", "2", "-subj", "/CN=localhost"]
    subprocess.run([*made, "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    path.write_text(path.read_text() + path.with_suffix(".key").read_text())
    return path


def test_encrypted_replies_are_read_and_unknown_certificates_refused(certificate: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    text = b'"' + b"x" * 2_000_000 + b'"'

    async def main() -> None:
        known = ssl.create_default_context(cafile=str(certificate))
        async with listening(always(reply(text)), ssl=context) as (server, port):
            async with connection(port, "https://127.0.0.1", known) as one:
                assert [(await post(one, text)).content == text for _ in range(2)] == [True, True]
            assert server.connections == 1
            async with connection(port, "https://127.0.0.1") as one:
                with pytest.raises(httpcore2.ConnectError, match="certificate"):
                    await post(one)

    asyncio.run(main())


def test_authorities_are_those_of_httpx2(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's own are none on many a Mac, and where Python was not built for this machine."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    known = ssl.create_default_context(cafile=str(certificate))
    monkeypatch.setattr(httpx2, "create_ssl_context", lambda: known)
    body = b'{"model": "m", "choices": [{"message": {"role": "assistant", "content": "yes"}}]}'

    async def main() -> list[Any]:
        async with listening(always(reply(body)), ssl=context) as (_, port):
            sender = Sender(Endpoint("m", f"https://127.0.0.1:{port}/v1"), Capabilities(), 1, Manner(5, 5))
            return await sender.try_once([Request(text="Is it?")], Budget())

    (ended,) = asyncio.run(main())
    assert ended.reply
    assert ended.reply.text == "yes"
