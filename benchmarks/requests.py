"""Many requests: the rate against a server that takes 50 ms for each, 32 at a time, and the memory of 100,000.

What is possible is said twice: 640 a second by the clock of the server, and what a bare loop of httpx2 reaches in the
same minutes, which does nothing but send equal requests and read the replies. A busy or slow machine is slow for both.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from . import isolated

LATENCY, CONCURRENCY = 0.05, 32
#: Problems of the rate, and of both measurements of memory.
RATE, SIZES = 20_000, (10_000, 100_000)
TINY, TINY_SIZES = 200, (100, 200)
#: How much longer than the least possible time it may take: 85 % of the rate that is possible.
AT_MOST = 1 / 0.85

_WORK = """
import json, time, warnings
import polars as pl
import otherwords as ow
model, folder = sys.argv[1:]
from otherwords.datasets.source import Source
from otherwords.running.files import answer_files
start, cpu = time.perf_counter(), time.process_time()
done = answer_files(Source([f"{folder}/problems.jsonl"]), f"{folder}/answers.parquet",
                    [f"stub={model}"], cache=f"{folder}/cache.sqlite", canary=False)
seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
spent = next(iter(done.spent.get("now", {}).values()), {"requests": 0, "retries": 0})
report(rows=done.rows, seconds=seconds, cpu=cpu, requests=spent["requests"], retries=spent["retries"])
"""

#: The bare peer: one client, 32 coroutines, each waits for its reply and sends the next.
_BARE = """
import asyncio, time
import httpx2
url, count, concurrency = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
async def main():
    left = iter(range(count))
    async with httpx2.AsyncClient() as client:
        async def work():
            for number in left:
                asked = [{"role": "user", "content": f"Person {number} walks. " * 12}]
                body = {"model": "stub", "messages": asked, "max_tokens": 1, "logprobs": True, "top_logprobs": 20}
                reply = await client.post(f"{url}/chat/completions", json=body)
                assert reply.json()["choices"]
        await asyncio.gather(*(work() for _ in range(concurrency)))
start, cpu = time.perf_counter(), time.process_time()
asyncio.run(main())
report(seconds=time.perf_counter() - start, cpu=time.process_time() - cpu)
"""


def run(tiny: bool = False) -> list[dict[str, Any]]:
    with _server() as url:
        return [*_rates(url, TINY if tiny else RATE), _memory(url, TINY_SIZES if tiny else SIZES)]


def _rates(url: str, count: int) -> list[dict[str, Any]]:
    """The rate, against the clock of the server and against the bare peer, half of which runs before and half after."""
    half = [url, str(count // 2), str(CONCURRENCY)]
    before = isolated.run(_BARE, *half)
    done = _answered(_api(url, CONCURRENCY), count)
    after = isolated.run(_BARE, *half)
    bare = {name: before[name] + after[name] for name in ("seconds", "cpu")}
    least = math.ceil(count / CONCURRENCY) * LATENCY
    rate = {name: f"{count / one['seconds']:,.0f} a second" for name, one in (("answer", done), ("bare", bare))}
    cpu = {name: 1000 * one["cpu"] / count for name, one in (("answer", done), ("bare", bare))}
    load = f"{os.getloadavg()[0]:.1f} processes ran"
    clock = f"{count:,} problems answered and stored in {done['seconds']:.1f} s, {rate['answer']}; {least:.1f} s "
    clock += f"({CONCURRENCY / LATENCY:,.0f} a second) are possible; {load}"
    peer = f"answer {rate['answer']}, {cpu['answer']:.2f} ms of processor time a request; httpx2.AsyncClient.post in "
    peer += f"{CONCURRENCY} coroutines {rate['bare']}, {cpu['bare']:.2f} ms; {load}"
    of = f"time of `answer` against a stub with {LATENCY * 1000:.0f} ms and {CONCURRENCY} at a time, times"
    return [
        _claim(f"{of} the least", done["seconds"] / least, clock),
        _claim(f"{of} that of a bare loop of httpx2", done["seconds"] / bare["seconds"], peer),
        _claim("processor time of `answer` a request, times that of the bare loop", cpu["answer"] / cpu["bare"], peer),
    ]


def _claim(claim: str, measured: float, detail: str) -> dict[str, Any]:
    return {"claim": claim, "measured": measured, "unit": "x", "at_most": AT_MOST, "detail": detail}


def _memory(url: str, sizes: tuple[int, int]) -> dict[str, Any]:
    """Rows take memory whoever answers them, so each size is compared with a model that is not on a server."""
    asked = [_answered(_api(url, 4 * CONCURRENCY), size) for size in sizes]
    local = [_answered("scripted", size) for size in sizes]
    detail = "; ".join(
        f"{size:,} requests: peak {one['peak_mb']:.0f} MB, {one['seconds']:.0f} s; as many rows without: "
        f"{other['peak_mb']:.0f} MB"
        for size, one, other in zip(sizes, asked, local, strict=True)
    )
    claim = f"peak memory that {sizes[1]:,} requests take beside their rows, above that of {sizes[0]:,}"
    small, large = (one["peak_mb"] - other["peak_mb"] for one, other in zip(asked, local, strict=True))
    return {"claim": claim, "measured": large - small, "unit": "MB", "at_most": 25, "detail": detail}


def _api(url: str, concurrency: int) -> str:
    return f"api:stub(url={url}, readout=tokens, concurrency={concurrency})"


def _answered(model: str, count: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        with (Path(folder) / "problems.jsonl").open("w") as file:
            for number in range(count):
                row = {"id": str(number), "premise": f"Person {number} walks.", "hypothesis": "Somebody moves."}
                file.write(json.dumps({**row, "label": "entailment"}) + "\n")
        done = isolated.run(_WORK, model, folder)
    assert done["rows"] == count
    assert (done["requests"], done["retries"]) == (count * model.startswith("api"), 0)
    return done


@contextmanager
def _server() -> Iterator[str]:
    """The stub in a process of its own."""
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.requests"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


class _Stub(asyncio.Protocol):
    """Replies to every request after 50 ms, with little work: it is not what is measured."""

    _TOP: ClassVar[Any] = [{"token": "neutral", "logprob": -0.3}, {"token": "entailment", "logprob": -1.6}]
    _CHOICE: ClassVar[Any] = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": "neutral"},
        "logprobs": {"content": [{"token": "neutral", "logprob": -0.3, "top_logprobs": _TOP}]},
    }
    _USAGE: ClassVar[Any] = {"prompt_tokens": 60, "completion_tokens": 1}
    _BODY = json.dumps({"model": "stub", "choices": [_CHOICE], "usage": _USAGE}).encode()
    _REPLY = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(_BODY) + _BODY

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport, self._data = transport, b""
        self._loop = asyncio.get_running_loop()

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, mark, rest = self._data.partition(b"\r\n\r\n")
        if mark:
            start = head.lower().index(b"content-length:") + 15
            size = int(head[start:].split(b"\r\n", 1)[0])
            if len(rest) >= size:
                self._data = rest[size:]
                self._loop.call_later(LATENCY, self._reply)

    def _reply(self) -> None:
        if not self._transport.is_closing():
            self._transport.write(self._REPLY)  # type: ignore[attr-defined]


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(_Stub, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
