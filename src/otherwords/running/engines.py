"""Engines: what maps a stage over its shards, in this process or in several.

A worker of `Processes` is a fresh interpreter: jobs come on its standard input, and what they gave goes back.
"""

import importlib
import inspect
import io
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from itertools import chain, islice
from typing import Any, NamedTuple, Protocol, TypeVar

from ..errors import ON_COMMAND_LINE, BadInput, WorkerLost, caller_level
from ..progress import Progress, current, reporting_to
from ..words import language

Item = TypeVar("Item")
Result = TypeVar("Result")
#: The engine of a study that names none, and all there are.
USUAL, NAMES = "in-process", "in-process, processes or processes:N"
#: What libraries read when they are loaded, to decide how many threads they start; the last is read by our own code.
_THREADS = (
    *("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"),
    *("NUMEXPR_NUM_THREADS", "RAYON_NUM_THREADS", "OTHERWORDS_THREADS"),
)
#: Warnings that nobody sees unless he asks for them.
_HIDDEN = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)
#: Jobs for each worker that may be done while an earlier one is not.
_AHEAD = 16
#: Seconds between two reports of a worker's progress, and those that it has to leave when it is stopped.
_REPORT, _GRACE = 0.1, 3.0
_START = "import sys; sys.path[:] = sys.argv[1:]; from otherwords.running.engines import work; work()"


class Engine(Protocol):
    """Anything that can map a function over jobs.

    Jobs hold names, paths and numbers only, and the function is importable, so that both can travel to another machine.
    Results come back in the order of the jobs. No stage needs more than this. Where an engine has a method `close`, it
    is called at the end of a run.
    """

    def map(self, function: Callable[[Item], Result], jobs: Iterable[Item]) -> Iterator[Result]:
        """Apply the function to every job."""
        ...


class InProcess:
    """Do one shard after the other, here."""

    def map(self, function: Callable[[Item], Result], jobs: Iterable[Item]) -> Iterator[Result]:
        """Apply the function to every job, lazily, so that memory stays flat."""
        return map(function, jobs)


def make_engine(name: str) -> "InProcess | Processes":
    """The engine of this name: in-process, processes (as many as there are cores), or processes:N.

    >>> make_engine("processes:4").count
    4
    """
    if name == USUAL:
        return InProcess()
    if match := re.fullmatch(r"processes(?::([1-9]\d{0,3}))?", name):
        return Processes(int(match[1] or 0))
    raise BadInput(f"found {name!r}", field="engine", fix=f"use {NAMES}")


@contextmanager
def closing(engine: Engine) -> Iterator[None]:
    """Let the workers of an engine, if it has any, end with the block."""
    try:
        yield
    finally:
        if close := getattr(engine, "close", None):
            close()


def cores() -> int:
    """How many cores this process may use, which may be fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Processes:
    """Do several shards at a time, each in a worker process; what one prints, warns of and raises looks as done here.

    The workers start with the first shards and keep what they load (a model, a parser) until `close`. The cores are
    shared out among them. A single job is done here: there is nothing to share.
    """

    def __init__(self, count: int = 0):
        self.count = count or cores()
        self._workers: list[_Worker] = []
        self._news: queue.SimpleQueue[tuple[_Worker, Any]] = queue.SimpleQueue()
        self._shown: set[Any] = set()
        self._mapping: object = None

    def map(self, function: Callable[[Item], Result], jobs: Iterable[Item]) -> Iterator[Result]:
        """Apply the function to every job; results come in the order of the jobs, and so do warnings and errors."""
        stream = iter(jobs)
        first = list(islice(stream, 2))
        if len(first) < 2 or self.count < 2:
            yield from map(function, chain(first, stream))
            return
        try:
            yield from self._spread(function, enumerate(chain(first, stream)))
        except BaseException:  # also where nobody wants the rest: no job outlives its stage
            self.close()
            raise

    def close(self) -> None:
        """End all workers, whatever they are doing. The next job starts new ones."""
        workers, self._workers, self._news, self._mapping = self._workers, [], queue.SimpleQueue(), None
        for one in workers:
            one.stop()
        limit = time.monotonic() + _GRACE
        for one in workers:
            one.wait(limit)

    def _spread(self, function: Callable[[Item], Result], jobs: Iterator[tuple[int, Item]]) -> Iterator[Result]:
        if self._mapping:
            self.close()  # its workers are at jobs of a map that nobody finished
        mapping = self._mapping = object()
        outcomes: dict[int, _Outcome] = {}
        idle, wanted, more = list(self._workers), 0, True
        while True:
            if self._mapping is not mapping:
                raise RuntimeError("another map was begun on this engine")
            while more and len(outcomes) < _AHEAD * self.count and (idle or len(self._workers) < self.count):
                if more := (job := next(jobs, None)) is not None:
                    (idle.pop() if idle else self._hire()).give(function, *job)
            if wanted in outcomes:
                yield self._settle(outcomes.pop(wanted))
                wanted += 1
            elif len(idle) == len(self._workers):
                self._mapping = None
                return
            else:
                worker, outcome = self._listen()
                idle.append(worker)
                outcomes[worker.number] = outcome
                more = more and outcome.error is None  # an earlier job may fail, too, and comes first

    def _hire(self) -> "_Worker":
        self._workers.append(_Worker(self._news, max(1, cores() // self.count)))
        return self._workers[-1]

    def _listen(self) -> "tuple[_Worker, _Outcome]":
        """The next job that is done; until then, show what workers print, and how far they are."""
        while True:
            try:
                worker, message = self._news.get(timeout=1)  # on Windows, Ctrl-C is noticed only between two of these
            except queue.Empty:
                continue
            if isinstance(message, _Outcome):
                return worker, message
            if message is None:
                raise self._lost(worker)
            if isinstance(message, int):
                current().advance(message)
            else:
                sys.stderr.write(message)

    def _settle(self, outcome: "_Outcome") -> Any:
        """Warn of what a job warned of, unless another did before it; give its result, or raise its error."""
        for packed in outcome.warnings:
            warning = _unpacked(packed)
            key = getattr(warning, "once", (type(warning), str(warning)))
            if key not in self._shown:
                self._shown.add(key)
                warnings.warn(warning, stacklevel=caller_level())  # type: ignore[call-overload]
        if outcome.error is not None:
            raise _unpacked(outcome.error) from _Remote(outcome.trace)
        return outcome.result

    def _lost(self, worker: "_Worker") -> WorkerLost:
        fewer = f"processes:{self.count - 1}" if self.count > 2 else USUAL
        hint = f"if the memory did not suffice, use fewer workers: --engine {fewer}"
        return WorkerLost(f"a worker process {worker.describe_end()} while it worked on shard {worker.number}; {hint}")


class _Outcome(NamedTuple):
    """What became of a job: its result, or an error; and what it warned of. Errors and warnings are packed."""

    result: Any = None
    error: "_Packed | None" = None
    trace: str = ""
    warnings: "tuple[_Packed, ...]" = ()


class _Remote(Exception):
    """Where an error was raised in a worker, for --debug."""

    def __str__(self) -> str:
        return f"in a worker process:\n{self.args[0]}"


class _Worker:
    """A worker as the driver sees it. What it sends is put into the queue `news`; None when it has ended."""

    def __init__(self, news: "queue.SimpleQueue[tuple[_Worker, Any]]", threads: int):
        self.number = -1
        command = [sys.executable, "-c", _START, *map(str, sys.path)]
        with _interrupts_held_back():
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=_environment(threads), bufsize=0)
        threading.Thread(target=self._receive, args=(news,), daemon=True).start()

    def give(self, function: Callable[..., Any], number: int, job: Any) -> None:
        """Send a job."""
        self.number = number
        with suppress(OSError):  # it has ended, and `news` will say so
            _write(self._process.stdin.fileno(), (ON_COMMAND_LINE.get(), function, job))  # type: ignore[union-attr]

    def stop(self) -> None:
        """Let it end at once; what it was writing does not remain."""
        self._process.terminate()

    def wait(self, limit: float) -> None:
        """Wait until it has ended; kill it at the time `limit`."""
        try:
            self._process.wait(max(0.1, limit - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdin.close()  # type: ignore[union-attr]

    def describe_end(self) -> str:
        """How it ended, in words."""
        code = self._process.wait()
        if code >= 0:
            return f"ended with exit code {code}"
        return f"was killed ({signal.Signals(-code).name})"

    def _receive(self, news: "queue.SimpleQueue[tuple[_Worker, Any]]") -> None:
        message: Any = ""
        with self._process.stdout as stream:  # type: ignore[union-attr]
            while message is not None:
                message = _decoded(_read(stream.fileno()))
                news.put((self, message))


def _environment(threads: int) -> Mapping[str, str]:
    """That of this process, with a worker's share of the cores, so that all workers together use each core once."""
    given = {name: os.environ.get(name, "") for name in _THREADS}
    return {**os.environ, **{name: str(min(threads, int(n))) if n.isdigit() and int(n) else str(threads)
                             for name, n in given.items()}}  # fmt: skip


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


# Messages: a length, and JSON


def _write(file: int, message: Any) -> None:
    data = json.dumps(_encoded(message)).encode()
    data = len(data).to_bytes(8, "little") + data
    while data:
        data = data[os.write(file, data) :]


def _read(file: int) -> Any:
    """The next message, still encoded; None where there are no more."""
    head = _bytes(file, 8)
    data = _bytes(file, int.from_bytes(head, "little")) if head else b""
    return json.loads(data) if data else None


def _bytes(file: int, count: int) -> bytes:
    parts = []
    while count:
        part = os.read(file, min(count, 1 << 20))
        if not part:
            return b""
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _encoded(value: Any) -> Any:
    """A value as JSON: names, numbers, lists, and records (dataclasses, named tuples) of importable classes."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) in (list, tuple):
        return {type(value).__name__: [_encoded(one) for one in value]}
    if isinstance(value, Mapping):
        return {"dict": [[_encoded(key), _encoded(one)] for key, one in value.items()]}
    if inspect.isfunction(value) or isinstance(value, type):
        return {"name": f"{value.__module__}:{value.__qualname__}"}
    if is_dataclass(value) or hasattr(value, "_fields"):
        names = getattr(value, "_fields", None) or [one.name for one in fields(value)]
        return {
            "record": _encoded(type(value))["name"],
            "fields": {one: _encoded(getattr(value, one)) for one in names},
        }
    raise TypeError(f"{type(value).__name__} cannot travel: give workers names, paths and numbers")


def _decoded(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "record" in value:
        return _found(value["record"])(**{name: _decoded(one) for name, one in value["fields"].items()})
    [(kind, content)] = value.items()
    if kind == "name":
        return _found(content)
    if kind == "dict":
        return {_decoded(key): _decoded(one) for key, one in content}
    return {"list": list, "tuple": tuple}[kind](map(_decoded, content))


def _found(name: str) -> Any:
    module, _, path = name.partition(":")
    found: Any = importlib.import_module(module)
    for one in path.split("."):
        found = getattr(found, one)
    return found


class _Packed(NamedTuple):
    """An error or a warning on its way: its class, arguments and attributes, and its text where these cannot travel."""

    content: str
    text: str
    warning: bool


def _packed(error: BaseException) -> _Packed:
    text = str(error) if isinstance(error, Warning) else f"{type(error).__name__}: {error}"
    content = ""
    with suppress(Exception):  # one that holds an open file
        content = json.dumps(_encoded((type(error), error.__reduce__()[1], error.__dict__)))
    return _Packed(content, text, isinstance(error, Warning))


def _unpacked(packed: _Packed) -> BaseException:
    with suppress(Exception):  # of a class that cannot be imported here
        kind, given, attributes = _decoded(json.loads(packed.content))
        error: BaseException = kind.__new__(kind, *given)
        error.__dict__.update(attributes)
        return error
    return UserWarning(packed.text) if packed.warning else RuntimeError(packed.text)


# In a worker


def work() -> None:
    """Do the jobs that come, until the driver stops this process, or is no longer there."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    commands, answers, nothing = os.dup(0), os.dup(1), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # whatever a job reads or prints is no message
    os.dup2(2, 1)
    channel = _Channel(answers)
    sys.stdout = sys.stderr = io.TextIOWrapper(_Prints(channel), "utf-8", "backslashreplace", write_through=True)
    jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_take_jobs, args=(commands, jobs), daemon=True).start()
    while True:
        channel.send(_carry_out(jobs.get(), channel))


def _take_jobs(file: int, jobs: "queue.SimpleQueue[Any]") -> None:
    while (message := _read(file)) is not None:
        jobs.put(message)
    os._exit(1)  # the driver was killed: another may be at work in its folder already


def _carry_out(message: Any, channel: "_Channel") -> _Outcome:
    language.forget()  # what each shard would warn of first: the driver shows the first of them
    report = _Report(channel)
    outcome = _Outcome()
    with warnings.catch_warnings(record=True) as caught, reporting_to(report):
        warnings.simplefilter("always")
        for kind in _HIDDEN:
            warnings.simplefilter("ignore", kind)
        try:
            on_command_line, function, job = _decoded(message)
            ON_COMMAND_LINE.set(on_command_line)
            outcome = _Outcome(function(job))
            _encoded(outcome)
        except SystemExit:  # it is stopped
            raise
        except BaseException as error:
            outcome = _Outcome(error=_packed(error), trace=traceback.format_exc())
    report.send()
    return outcome._replace(warnings=tuple(_packed(one.message) for one in caught))  # type: ignore[arg-type]


class _Channel:
    """The way to the driver; several threads may send."""

    def __init__(self, file: int):
        self._file, self._lock = file, threading.Lock()

    def send(self, message: Any) -> None:
        """Send a message: an outcome, a number of rows that are done, or a text to print."""
        with self._lock:
            _write(self._file, message)


class _Prints(io.RawIOBase):
    """A stream whose text the driver prints on its standard error."""

    def __init__(self, channel: _Channel):
        self._channel = channel

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._channel.send(bytes(data).decode("utf-8", "replace"))
        return len(data)


class _Report(Progress):
    """Tells the driver how many rows are done, a few times a second."""

    def __init__(self, channel: _Channel):
        self._channel, self._count, self._last = channel, 0, time.monotonic()

    def advance(self, count: int) -> None:
        """So many more rows are done."""
        self._count += count
        if time.monotonic() - self._last > _REPORT:
            self.send()

    def send(self) -> None:
        """Tell the driver now."""
        if self._count:
            self._channel.send(self._count)
        self._count, self._last = 0, time.monotonic()
