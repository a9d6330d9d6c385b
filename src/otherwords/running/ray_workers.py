"""Workers on a Ray cluster: actors that do the jobs which others give to worker processes.

What travels is the JSON text that worker processes get, too. An actor is asked for its news again and again; what it
has to say (a result, rows that are done, text to print) comes with the answer. That needs nothing of Ray but calls of
actors, so it works on a node of the cluster, and from outside through `ray://`.
"""

import io
import json
import logging
import os
import queue
import re
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import shorten
from .messages import Hello, Prints, carry_out, decoded, encode_job, encoded, thread_settings
from .pool import Message, News

_LOGGER = logging.getLogger("ray")
#: Seconds in which Ray must say why a worker ended.
_PATIENCE = 5.0
#: Seconds for which a worker holds back its progress: a driver of many workers has more to do than to count.
_PROGRESS = 0.5
#: What the texts of Ray say, and what that means; the first that fits.
_ENDS = (
    (r"killed by `ray\.kill`", "was stopped{place}"),
    (r"(?i)out_?of_?memory|low on memory", "was ended by Ray{place}, because the memory of the node was used up"),
    (r"node has died.*?(?:unexpectedly|preempted): ([^\n]*)", "was lost{place} with its node ({detail})"),
    (r"node has died", "was lost{place} with its node"),
    (r"creation task.*\n(\S[^\n]*)\s*$", "could not start{place} ({detail})"),
    (r"exit code (\d+)", "ended with exit code {detail}{place}"),
    (r"connection error code|SYSTEM_ERROR", "was killed or crashed{place}"),
    (r"owner|job.*finished", "was ended{place}, because the connection to the cluster was lost"),
)


class RayCluster:
    """The connection to a cluster. `hire` starts workers; a thread puts what they send into the queues they have."""

    def __init__(self, ray: Any, own: bool, head: tuple[str, int]):
        self.ray, self._own, self.head, self._level = ray, own, head, _LOGGER.level
        if own:  # with another, its user sees what he wants to see
            _LOGGER.setLevel(logging.CRITICAL)
            # prints of workers that died to standard output, whatever one asks for
            self._shows = vars(import_module("ray._private.worker"))
            self._print = self._shows["print_to_stdstream"]
            self._shows["print_to_stdstream"] = lambda *_, **__: None
        self._arrived: queue.SimpleQueue[tuple[RayWorker, Any] | None] = queue.SimpleQueue()
        threading.Thread(target=self._pump, name="news of Ray workers", daemon=True).start()

    def hire(self, news: News, cpus: int = 1, gpus: float = 0) -> "RayWorker":
        """Start a worker with so many cores and a share of a GPU (or several). It is ready when it sent its `Hello`.

        It may wait for that until the cluster has room. It works in the folder of this process, where its node has one
        of this name.
        """
        given = thread_settings(max(1, cpus), os.environ)
        if not gpus:
            given.setdefault("CUDA_VISIBLE_DEVICES", "")  # since Ray 2.60, a worker without a share would see all
        calls = {"max_concurrency": 4, "max_restarts": 0, "max_task_retries": 0, "scheduling_strategy": "SPREAD"}
        with quiet():
            kind = self.ray.remote(num_cpus=cpus, num_gpus=gpus, runtime_env={"env_vars": given}, **calls)(RayActor)
            worker = RayWorker(self.ray, kind.remote(*where_from()), news)
        self._ask(worker)
        return worker

    def nodes(self) -> list[dict[str, Any]]:
        """The nodes that are alive and have CPUs, as Ray describes them."""
        return [one for one in self.ray.nodes() if one["Alive"] and one["Resources"].get("CPU")]

    def close(self) -> None:
        """Leave the cluster; one that was started here ends, and so do all workers that are left."""
        self._arrived.put(None)
        if self._own and self.ray.is_initialized():
            with quiet():
                self.ray.shutdown()
            self._shows["print_to_stdstream"] = self._print
        _LOGGER.setLevel(self._level)

    def forget(self) -> None:
        """The cluster is gone: Ray would wait for it in vain, and then end this process."""
        self._own = False
        self._arrived.put(None)

    def _ask(self, worker: "RayWorker") -> None:
        """Ask for the next news of a worker. Ray calls back from threads that must not wait: the pump goes on."""
        try:
            answer = worker.actor.news.remote().future()
        except Exception as error:  # the cluster is gone
            worker.end(error)
            return
        answer.add_done_callback(lambda done: self._arrived.put((worker, done)))

    def _pump(self) -> None:
        while arrived := self._arrived.get():
            worker, answer = arrived
            try:
                messages = [decoded(one) for one in json.loads(answer.result())]
            except BaseException as error:
                self._end(worker, error)
                continue
            self._ask(worker)
            for one in messages:
                worker.hand_on(one)
            del arrived, answer  # what Ray keeps for as long as it is known here

    def _end(self, worker: "RayWorker", error: BaseException) -> None:
        """A worker that cannot be reached now may be asked later why: until then, Ray may not know that it died."""
        if isinstance(error, self.ray.exceptions.ActorUnavailableError) and not worker.doubted:
            worker.doubted = True
            worker.kill()
            self._ask(worker)  # a dead one answers with the reason; one that is not is dead now
        else:
            worker.kill()  # one that is alive, but says what nobody understands
            worker.end(error)


class RayWorker:
    """A worker as the driver sees it: an actor. What it sends is put into the queue `news`; None when it has ended."""

    def __init__(self, ray: Any, actor: Any, news: News):
        self.actor, self.doubted, self._stopped = actor, False, False
        self.hello: Hello | None = None
        self._ray, self._news, self._error, self._ended = ray, news, "", threading.Event()

    def give(self, function: Callable[..., Any], job: Any) -> None:
        """Send a job."""
        text = encode_job(function, job)
        with suppress(Exception):  # it has ended, and `news` will say so
            self.actor.give.remote(text)

    def stop(self) -> None:
        """Let it end at once, with the processes that it started."""
        self._stopped = True
        if self.hello:
            with suppress(Exception):  # the cluster is gone, and the worker with it
                self.actor.leave.remote()
        else:
            self.kill()  # it waits for a place, or starts

    def wait(self, limit: float) -> None:
        """Wait until it has ended; let Ray kill it at the time `limit`."""
        if not self._ended.wait(max(0.1, limit - time.monotonic())):
            self.kill()

    def kill(self) -> None:
        """Let Ray kill it, which leaves the processes that it started."""
        with suppress(Exception):
            self._ray.kill(self.actor, no_restart=True)

    def describe_end(self) -> str:
        """How it ended, in words."""
        self._ended.wait(_PATIENCE)
        return self._error or "does not answer"

    def hand_on(self, message: Message) -> None:
        """Hand on what it sent."""
        if isinstance(message, Hello):
            self.hello = message
        self._news.put((self, message))

    def end(self, error: BaseException) -> None:
        """It is gone, for this reason."""
        self._error = "was stopped" if self._stopped else describe(error)
        if self.doubted and self._error.startswith("was stopped on"):
            self._error = "could not be reached any more"
        self._ended.set()
        self._news.put((self, None))


def where_from() -> tuple[str, list[str]]:
    """The folder of this process, and those where it finds modules, for workers to find files and modules there."""
    return str(Path.cwd()), [str(Path(one).absolute()) for one in sys.path]


def describe(error: BaseException) -> str:
    """What Ray knows of the end of a worker, in words: its own texts are of many lines, and about Ray."""
    text = str(error)
    host = re.search(r"^\tip: (\S+)|on the node \(IP: ([^,\s]+)", text, re.MULTILINE)
    place = f" on node {host[1] or host[2]}" if host else ""
    for pattern, words in _ENDS:
        if match := re.search(pattern, text, re.DOTALL):
            return words.format(place=place, detail=" ".join((match[1] if match.groups() else "").split()))
    return f"ended{place} ({shorten(next(iter(text.strip().splitlines()), type(error).__name__), 200)})"


@contextmanager
def quiet() -> Iterator[None]:
    """Ray may neither write to the terminal, nor take the signals of this process."""
    level = _LOGGER.level
    _LOGGER.setLevel(logging.CRITICAL)
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM) if main else None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        _LOGGER.setLevel(level)
        if before is not None:
            signal.signal(signal.SIGTERM, before)


# On a node


class RayActor:
    """A worker on its node: does one job after the other in a thread of its own, and tells its news when asked."""

    def __init__(self, folder: str, path: Sequence[str]):
        if Path(folder).is_dir():
            os.chdir(folder)
        sys.path.extend(one for one in path if one not in sys.path and Path(one).exists())
        self._jobs: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._news = _News()
        self._news.send(_hello())
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115
        prints = Prints(self._news.send)
        sys.stdout = sys.stderr = io.TextIOWrapper(prints, "utf-8", "backslashreplace", write_through=True)
        threading.Thread(target=self._work, daemon=True).start()

    def give(self, job: str) -> None:
        """Take a job."""
        self._jobs.put(job)

    def news(self) -> str:
        """What there is to say since the last call; wait until there is something."""
        return self._news.take()

    def leave(self) -> None:
        """End at once, with all processes that were started here: Ray would leave them."""
        for one in import_module("psutil").Process().children(recursive=True):  # Ray brings it along
            with suppress(Exception):
                one.kill()
        os._exit(0)

    def _work(self) -> None:
        try:
            while True:
                self._news.send(carry_out(self._jobs.get(), self._news.send))
        finally:
            os._exit(1)  # a job called `sys.exit`: without this thread, nothing would ever come


class _News:
    """Messages to the driver, until it asks for them."""

    def __init__(self) -> None:
        self._messages: queue.SimpleQueue[Message] = queue.SimpleQueue()

    def send(self, message: Message) -> None:
        """Send a message: an outcome, a number of rows that are done, or a text to print."""
        self._messages.put(message)

    def take(self) -> str:
        """All messages, as JSON; rows that are done are one number, and may wait for what follows."""
        taken, rows, limit = [self._messages.get()], 0, time.monotonic() + _PROGRESS
        while True:
            while taken and isinstance(count := taken[-1], int):
                rows += count
                taken.pop()
            left = max(0, limit - time.monotonic())
            try:
                if not left:  # a job that prints without end must not keep it all
                    raise queue.Empty
                taken.append(self._messages.get(timeout=0 if taken else left))
            except queue.Empty:
                return json.dumps([encoded(one) for one in (*([rows] if rows else []), *taken)])


def _hello() -> Hello:
    return Hello(place=import_module("ray").util.get_node_ip_address())
