"""Worker processes on this machine: fresh interpreters. Jobs come on a worker's standard input, and what they gave
goes back on its standard output.
"""

import io
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from .messages import Hello, Prints, carry_out, decoded, encode_job, encoded, thread_settings
from .pool import Message, News, Pool, Worker

_START = "import sys; sys.path[:] = sys.argv[1:]; from otherwords.running.processes import work; work()"


def cores() -> int:
    """How many cores this process may use, which may be fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Processes(Pool):
    """Do several shards at a time, each in a worker process of this machine; the cores are shared out among them.

    With `gpus`, there is a worker for each of these, which sees no other.
    """

    def __init__(self, count: int = 0, gpus: Sequence[int] = ()):
        super().__init__(len(gpus) or count or cores())
        self.gpus = tuple(gpus)
        self._gpu_of: dict[Worker, int] = {}

    @property
    def shares_cores(self) -> bool:
        """Where they have no GPU of their own."""
        return not self.gpus

    def is_done_here(self, jobs: int) -> bool:
        """One job, or all where there is one worker; with GPUs only where there is nothing to do."""
        return jobs == 0 if self.gpus else super().is_done_here(jobs)

    def start(self, news: News) -> Worker:
        """Start a process."""
        settings = thread_settings(max(1, cores() // self.count), os.environ)
        free = [one for one in self.gpus if one not in [self._gpu_of.get(other) for other in self._workers]]
        if free:
            visible = [one for one in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if one]
            settings["CUDA_VISIBLE_DEVICES"] = visible[free[0]] if visible else str(free[0])
        worker = _Process(news, settings)
        if free:
            self._gpu_of[worker] = free[0]
        return worker

    def advice(self) -> str:
        """To take fewer of them."""
        fewer = f"processes:{self.count - 1}" if self.count > 2 else "in-process"
        return f"if the memory did not suffice, use fewer workers: --engine {fewer}"


class _Process:
    """A worker process as the driver sees it."""

    def __init__(self, news: News, settings: dict[str, str]):
        command = [sys.executable, "-c", _START, *map(str, sys.path)]
        environment = {**os.environ, **settings}
        with _interrupts_held_back():
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment, bufsize=0)
        threading.Thread(target=self._receive, args=(news,), daemon=True).start()

    def give(self, function: Callable[..., Any], job: Any) -> None:
        with suppress(OSError):  # it has ended, and `news` will say so
            _write(self._process.stdin.fileno(), encode_job(function, job))  # type: ignore[union-attr]

    def stop(self) -> None:
        self._process.terminate()

    def wait(self, limit: float) -> None:
        try:
            self._process.wait(max(0.1, limit - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdin.close()  # type: ignore[union-attr]

    def describe_end(self) -> str:
        code = self._process.wait()
        if code >= 0:
            return f"process ended with exit code {code}"
        return f"process was killed ({signal.Signals(-code).name})"

    def _receive(self, news: News) -> None:
        message: Message = ""
        with self._process.stdout as stream:  # type: ignore[union-attr]
            while message is not None:
                text = _read(stream.fileno())
                try:
                    message = None if text is None else decoded(json.loads(text))
                except Exception:  # what only the worker knows
                    self._process.kill()
                    message = None
                news.put((self, message))


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Ctrl-C goes to all processes of a terminal: one that is started in the block never gets it, the driver does."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# Messages: a length, and a text


def _write(file: int, text: str) -> None:
    data = text.encode()
    data = len(data).to_bytes(8, "little") + data
    while data:
        data = data[os.write(file, data) :]


def _read(file: int) -> str | None:
    """The next message; None where there are no more."""
    head = _bytes(file, 8)
    data = _bytes(file, int.from_bytes(head, "little")) if head else b""
    return data.decode() if data else None


def _bytes(file: int, count: int) -> bytes:
    parts = []
    while count:
        part = os.read(file, min(count, 1 << 20))
        if not part:
            return b""
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


# In a worker


def work() -> None:
    """Do the jobs that come, until the driver stops this process, or is no longer there."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    commands, answers, nothing = os.dup(0), os.dup(1), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # whatever a job reads or prints is no message
    os.dup2(2, 1)
    channel = _Channel(answers)
    sys.stdout = sys.stderr = io.TextIOWrapper(Prints(channel.send), "utf-8", "backslashreplace", write_through=True)
    jobs: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_take_jobs, args=(commands, jobs), daemon=True).start()
    channel.send(Hello())
    while True:
        channel.send(carry_out(jobs.get(), channel.send))


def _take_jobs(file: int, jobs: "queue.SimpleQueue[str]") -> None:
    while (message := _read(file)) is not None:
        jobs.put(message)
    os._exit(1)  # the driver was killed: another may be at work in its folder already


class _Channel:
    """The way to the driver; several threads may send."""

    def __init__(self, file: int):
        self._file, self._lock = file, threading.Lock()

    def send(self, message: Message) -> None:
        """Send a message."""
        text = json.dumps(encoded(message))
        with self._lock:
            _write(self._file, text)
