"""Storing answers while the model works on: a thread that writes what is answered, in few large transactions."""

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence

from .cache import Cache, Keyed
from .predictions import Predictions

#: Answers that make a transaction, however short the time since the last one; twice as many may wait.
ROWS = 100_000
#: How long the thread rests after a transaction, in times of its duration: the longer, the larger is the next one.
REST = 2
#: Seconds for an answer from which on a model is slow: it waits until its batch is stored, which it will not notice.
SLOW = 1 / 2000


class AnswerWriter:
    """Stores batches of answers in a cache, in the background, in the order in which they come.

    While one transaction is written, answers come together for the next; so a fast model has few, large ones. A slow
    one waits for each batch to be stored, and nothing but the batch in flight can be lost. When the block ends,
    whatever ends it, all that was added is stored. What goes wrong is raised by the next call, or at the end.
    """

    def __init__(self, cache: Cache):
        self.cache = cache
        #: Batches that were added, and those of them that are in the file: a look-up that begins now finds these.
        self.added = self.stored = 0
        #: What was asked of each model, until all that look it up find it: batches added by then, keys, answers.
        self.recent: defaultdict[int, deque[tuple[int, dict[bytes, int], Predictions]]] = defaultdict(deque)
        self._changed = threading.Condition()
        self._queue: deque[Keyed | Callable[[], None]] = deque()
        self._rows = 0  # that wait, or are being stored
        self._hurried = self._closing = False
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None
        self._last, self._due = time.monotonic(), 0.0

    def __enter__(self) -> "AnswerWriter":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread:
            self._thread.join()
        if self._error and not kind:
            raise self._error

    def add(self, model: int, keys: Sequence[bytes], answers: Predictions) -> None:
        """Store a batch soon; wait while too much is waiting already, and for that of a slow model."""
        self._put(Keyed(model, keys, answers))
        self.added += 1
        if time.monotonic() - self._last > SLOW * len(keys):
            self.wait()
        self._last = time.monotonic()

    def then(self, work: Callable[[], None]) -> None:
        """Do something, in that thread, when everything added so far is stored."""
        self._put(work)

    def wait(self) -> None:
        """Wait until everything added so far is stored and done."""
        done = threading.Event()
        self.then(done.set)
        with self._changed:
            self._hurried = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._error or done.is_set())
            self._hurried = False
            if self._error:
                raise self._error

    def _put(self, item: Keyed | Callable[[], None]) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._error or self._rows < 2 * ROWS)
            if self._error:
                raise self._error
            self._queue.append(item)
            self._rows += _rows(item)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="answer-cache", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def _work(self) -> None:
        try:
            while items := self._next():
                if batches := [one for one in items if isinstance(one, Keyed)]:
                    self._store(batches)
                for one in items:
                    if not isinstance(one, Keyed):
                        one()
                with self._changed:
                    self._changed.notify_all()
        except BaseException as error:
            with self._changed:
                self._error = error
                self._queue.clear()
                self._changed.notify_all()

    def _store(self, batches: list[Keyed]) -> None:
        start = time.monotonic()
        self.cache.store(batches)
        end = time.monotonic()
        self._due = end + REST * (end - start)
        with self._changed:
            self.stored += len(batches)
            self._rows -= sum(map(_rows, batches))
            self._changed.notify_all()

    def _next(self) -> list[Keyed | Callable[[], None]]:
        """What is to be done now, after waiting for it; nothing at the end."""
        with self._changed:
            while not self._is_due():
                self._changed.wait(max(0.0, self._due - time.monotonic()) if self._queue else None)
            items = list(self._queue)
            self._queue.clear()
            return items

    def _is_due(self) -> bool:
        if self._closing or not self._queue:
            return self._closing
        waits_for_none = not isinstance(self._queue[0], Keyed)
        return waits_for_none or self._hurried or self._rows >= ROWS or time.monotonic() >= self._due


def _rows(item: Keyed | Callable[[], None]) -> int:
    return len(item.keys) if isinstance(item, Keyed) else 0
