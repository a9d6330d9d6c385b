"""What an engine is, and a pool of workers: it gives them jobs, takes what they send, replaces those that are lost."""

import queue
import sys
import time
import warnings
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, ClassVar, Protocol, TypeVar

from ..errors import WorkerLost, caller_level
from ..progress import current
from .messages import Hello, Outcome, Remote, packed, unpacked

Item = TypeVar("Item")
Result = TypeVar("Result")
#: Called with a job that no worker survived, and the reason; gives what stands for its result.
GiveUp = Callable[[Any, str], Any]
#: What is sent: a worker is ready, has done a job or so many rows of it, has printed something, or is gone.
Message = Hello | Outcome | int | str | None
News = queue.SimpleQueue[tuple["Worker", Message]]
#: Jobs for each worker that may be done while an earlier one is not.
AHEAD = 4
#: Workers that a job may kill, or that may end before they are ready, one after the other.
TRIES = 3
#: Seconds that workers have to leave when they are stopped.
_GRACE = 3.0


class Engine(ABC):
    """Anything that can map a function over jobs.

    Jobs hold names, paths and numbers only, and the function is importable, so that both can travel to another machine.
    Results come back in the order of the jobs. An engine of one's own needs `map` alone.
    """

    #: The folder or URL through which parts travel to workers that do not see the run folder.
    shared: str = ""

    #: How many jobs are done at a time.
    count: int = 1

    #: Whether workers are on other machines, which may have what this one lacks: a GPU, an optional part.
    elsewhere: ClassVar[bool] = False

    @property
    def shares_cores(self) -> bool:
        """Whether workers have no more than this process: a model that uses all of it is better asked here."""
        return False

    @abstractmethod
    def map(
        self, function: Callable[[Item], Result], jobs: Iterable[Item], give_up: GiveUp | None = None
    ) -> Iterator[Result]:
        """Apply the function to every job; `give_up` says what stands for one that no worker survives."""

    def prepare(  # noqa: B027
        self,
        folder: str,
        files: Sequence[str] = (),
        plugins: Sequence[str] = (),
        named: Sequence[tuple[str, str]] = (),
        own: bool = False,
    ) -> None:
        """Called before any work, with what workers must see and load: refuse what cannot end well.

        Where the folder is their `own`, workers write into it, and no shared place can stand for it.
        """

    def close(self) -> None:  # noqa: B027
        """Called at the end of a run: let workers, if there are any, end."""


class Worker(Protocol):
    """A worker as the driver sees it. What it sends is put into the queue of news that it was started with."""

    def give(self, function: Callable[..., Any], job: Any) -> None:
        """Send a job."""
        ...

    def stop(self) -> None:
        """Let it end at once; what it was writing does not remain."""
        ...

    def wait(self, limit: float) -> None:
        """Wait until it has ended; kill it at the time `limit`."""
        ...

    def describe_end(self) -> str:
        """How it ended, in words."""
        ...


class Pool(Engine):
    """Does several jobs at a time, each in a worker; what one prints, warns of and raises looks as if done here.

    The workers start with the first jobs and keep what they load (a model, a parser) until `close`. A worker that is
    lost costs the job in hand, which another does; a job that three workers do not survive is given up.
    """

    def __init__(self, count: int):
        self.count = count
        self._workers: list[Worker] = []
        self._idle: list[Worker] = []
        self._news: News = queue.SimpleQueue()
        self._shown: set[Any] = set()
        self._mapping: _Mapping | None = None

    def map(
        self, function: Callable[[Item], Result], jobs: Iterable[Item], give_up: GiveUp | None = None
    ) -> Iterator[Result]:
        """Apply the function to every job; results come in the order of the jobs, and so do warnings and errors.

        For a job that is given up, `give_up` is called with it and the reason; its result stands for the job's.
        """
        stream = iter(jobs)
        first = list(islice(stream, 2))
        if self.is_done_here(len(first)):
            yield from map(function, chain(first, stream))
            return
        try:
            yield from self._spread(function, chain(first, stream), give_up)
        except BaseException:  # also where nobody wants the rest: no job outlives its stage
            self.close()
            raise

    def is_done_here(self, jobs: int) -> bool:
        """Whether so few jobs (0, 1, or 2 for more) are done in this process: there is nothing to share."""
        return jobs < 2 or self.count < 2

    @abstractmethod
    def start(self, news: News) -> Worker:
        """Start a worker; it says Hello when it is ready."""

    @abstractmethod
    def advice(self) -> str:
        """What may help where workers are lost."""

    def close(self) -> None:
        """End all workers, whatever they are doing. The next job starts new ones."""
        workers, self._workers, self._idle, self._news = self._workers, [], [], queue.SimpleQueue()
        self._mapping = None
        for one in workers:
            one.stop()
        limit = time.monotonic() + _GRACE
        for one in workers:
            one.wait(limit)

    def _spread(self, function: Callable[..., Any], jobs: Iterator[Any], give_up: GiveUp | None) -> Iterator[Any]:
        if self._mapping:
            self.close()  # its workers are at jobs of a map that nobody finished
        mapping = self._mapping = _Mapping(function, enumerate(jobs))
        while True:
            if self._mapping is not mapping:
                raise RuntimeError("another map was begun on this engine")
            starting = len(self._workers) - len(self._idle) - len(mapping.given)
            if mapping.waiting and self._idle:
                mapping.give(self._idle.pop())
            elif len(mapping.waiting) > starting and len(self._workers) < self.count:
                self._workers.append(self.start(self._news))
            elif len(mapping.waiting) <= starting and mapping.may_take(AHEAD * self.count):
                mapping.take()
            elif mapping.wanted in mapping.outcomes:
                job, outcome = mapping.outcomes.pop(mapping.wanted)
                mapping.wanted += 1
                yield self._settle(job, outcome, give_up)
            elif not mapping.given and not mapping.waiting:
                self._mapping = None
                return
            else:
                self._listen(mapping)

    def _listen(self, mapping: "_Mapping") -> None:
        """Take in what a worker sends, if one does within a second; show what it prints, and how far it is."""
        try:
            worker, message = self._news.get(timeout=1)  # on Windows, Ctrl-C is noticed only between two of these
        except queue.Empty:
            self.wait_on(len(self._workers) - len(self._idle) - len(mapping.given))
            return
        if isinstance(message, int):
            current().advance(message)
        elif isinstance(message, str):
            sys.stderr.write(message)
        elif message is None:
            self._replace(worker, mapping)
        else:
            self._idle.append(worker)
            if isinstance(message, Outcome):
                mapping.done(worker, message)
            else:
                mapping.failed_starts = 0
                self.greet(message)

    def greet(self, hello: Hello) -> None:
        """A worker is ready: refuse one that will not do."""

    def wait_on(self, starting: int) -> None:
        """Nobody sent anything for a second, and so many workers are not ready yet."""

    def _replace(self, worker: Worker, mapping: "_Mapping") -> None:
        """A worker is gone: forget it, and let another do what it was at."""
        self._workers.remove(worker)
        worker.wait(time.monotonic())
        if worker in self._idle:
            self._idle.remove(worker)
        elif worker in mapping.given:
            mapping.lose(worker)
        else:
            mapping.failed_starts += 1
            if mapping.failed_starts == TRIES:
                end = f"a worker {worker.describe_end()} before it was ready, {TRIES} times"
                raise WorkerLost(f"{end}; {self.advice()}")

    def _settle(self, job: Any, outcome: Outcome, give_up: GiveUp | None) -> Any:
        """Warn of what a job warned of, unless another did before it; give its result, or raise its error."""
        for one in outcome.warnings:
            warning = unpacked(one)
            key = getattr(warning, "once", (type(warning), str(warning)))
            if key not in self._shown:
                self._shown.add(key)
                warnings.warn(warning, stacklevel=caller_level())  # type: ignore[call-overload]
        if outcome.error is None:
            return outcome.result
        error = unpacked(outcome.error)
        if not isinstance(error, WorkerLost) or outcome.trace:
            raise error from Remote(outcome.trace)
        reason = f"{error}; {self.advice()}"
        if give_up is None:
            raise WorkerLost(reason)
        return give_up(job, reason)


class _Mapping:
    """The state of one map: jobs that wait for a worker, those that are given to one, and what became of others."""

    def __init__(self, function: Callable[..., Any], jobs: Iterator[tuple[int, Any]]):
        self._function, self._jobs = function, jobs
        self.waiting: deque[tuple[int, Any]] = deque()
        self.given: dict[Worker, tuple[int, Any]] = {}
        self.outcomes: dict[int, tuple[Any, Outcome]] = {}
        self.wanted = self.failed_starts = 0
        self._more = True
        self._losses: Counter[int] = Counter()

    def may_take(self, most: int) -> bool:
        """Whether another job can be taken: no more than so many are ahead of the one whose result is wanted."""
        return self._more and len(self.outcomes) + len(self.given) + len(self.waiting) < most

    def take(self) -> None:
        """Take the next job."""
        job = next(self._jobs, None)
        if job is None:
            self._more = False
        else:
            self.waiting.append(job)

    def give(self, worker: Worker) -> None:
        """Give a worker the first job that waits."""
        self.given[worker] = self.waiting.popleft()
        worker.give(self._function, self.given[worker][1])

    def done(self, worker: Worker, outcome: Outcome) -> None:
        """A worker has done its job."""
        number, job = self.given.pop(worker)
        self._losses.pop(number, None)
        self._end(number, job, outcome)

    def lose(self, worker: Worker) -> None:
        """A worker was lost with its job: it waits for another, unless it has taken too many with it."""
        number, job = self.given.pop(worker)
        self._losses[number] += 1
        if self._losses[number] < TRIES:
            self.waiting.appendleft((number, job))
            return
        end = f"a worker {worker.describe_end()}, as {TRIES - 1} did before it"
        message = f"{end}, while it worked on shard {getattr(job, 'number', number)}"
        self._end(number, job, Outcome(error=packed(WorkerLost(message))))

    def _end(self, number: int, job: Any, outcome: Outcome) -> None:
        self.outcomes[number] = (job, outcome)
        if outcome.error is not None and outcome.trace:  # an earlier job may fail, too, and comes first
            self._more = False
            self.waiting = deque(one for one in self.waiting if one[0] < number)
