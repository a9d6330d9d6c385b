"""One scheduler for all local models: tokenise ahead, batch by length and token budget, keep the device busy."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .batching import full_batches, last_batches
from .tokens import Ints, Rows, Tokens, side_by_side

Arrays = tuple[npt.NDArray[Any], ...]
#: How many texts are tokenised at a time, while the device works on those before.
PIECE = 4096


@dataclass
class Scheduler:
    """Compute rows of numbers for texts, in the order of the texts, whatever the order on the device.

    `encode` turns texts into tokens. `start` sends a batch to the device and returns at once; `wait` gives the arrays
    it computed, each with one row per row of the batch. A batch holds at most `budget` tokens, filling included;
    `exact` batches hold rows of one length only, so that nothing is ever filled up. Where the memory of the device
    does not suffice (`is_full` knows such errors), batches are halved from then on.
    """

    encode: Callable[[Sequence[Any]], Tokens]
    start: Callable[[Rows], Any]
    wait: Callable[[Any], Arrays]
    budget: int
    exact: bool = False
    pad: int = 0
    in_flight: int = 2
    is_full: Callable[[Exception], bool] = lambda error: isinstance(error, MemoryError)

    def __call__(self, texts: Sequence[Any]) -> tuple[Arrays, npt.NDArray[np.bool_]]:
        """Compute all rows, and say which texts were cut to the length limit."""
        flight = _Flight(self, len(texts))
        cut = np.zeros(len(texts), np.bool_)
        pool, places = None, np.empty(0, np.int64)
        for first, tokens in self._tokenised(texts):
            cut[first : first + len(tokens)] = tokens.cut
            pool = tokens if pool is None else pool.then(tokens)
            places = np.concatenate([places, np.arange(first, first + len(tokens))])
            batches, rest = full_batches(pool.lengths, self.budget)
            for rows in batches:
                flight.send(pool, rows, places[rows])
            pool, places = pool.take(rest), places[rest]
        if pool is not None:
            for rows in last_batches(pool.lengths, self.budget, exact=self.exact):
                flight.send(pool, rows, places[rows])
        flight.land()
        return flight.arrays, cut

    def _tokenised(self, texts: Sequence[Any]) -> Iterator[tuple[int, Tokens]]:
        """Piece by piece, each in another thread while the one before is computed (tokenizers leave the GIL)."""
        with ThreadPoolExecutor(1) as ahead:
            starts = range(0, len(texts), PIECE)
            coming = deque((start, ahead.submit(self.encode, texts[start : start + PIECE])) for start in starts[:1])
            for start in starts[1:]:
                coming.append((start, ahead.submit(self.encode, texts[start : start + PIECE])))
                first, piece = coming.popleft()
                yield first, piece.result()
            yield from ((first, piece.result()) for first, piece in coming)


@dataclass
class _Flight:
    """The batches under way, and what has landed, in the order of the texts."""

    plan: Scheduler
    count: int
    arrays: Arrays = ()
    _flying: deque[tuple[Tokens, Ints, Ints, Any]] = field(default_factory=deque)

    def send(self, tokens: Tokens, rows: Ints, places: Ints) -> None:
        """Start a batch, after the oldest has landed if enough are under way."""
        size = max(1, self.plan.budget // int(tokens.lengths[rows].max()))
        for start in range(0, len(rows), size):  # one batch, unless the budget has shrunk since it was planned
            some, theirs = rows[start : start + size], places[start : start + size]
            while len(self._flying) >= self.plan.in_flight:
                self._land_one()
            try:
                started = self.plan.start(side_by_side(tokens, some, self.plan.pad))
            except Exception as error:
                self._halve(error, tokens, some, theirs)
            else:
                self._flying.append((tokens, some, theirs, started))

    def land(self) -> None:
        """Wait for all that is under way."""
        while self._flying:
            self._land_one()

    def _land_one(self) -> None:
        tokens, rows, places, started = self._flying.popleft()
        try:
            found = self.plan.wait(started)
        except Exception as error:
            self._halve(error, tokens, rows, places)
            return
        if not self.arrays:
            self.arrays = tuple(np.empty((self.count, *array.shape[1:]), array.dtype) for array in found)
        for mine, array in zip(self.arrays, found, strict=True):
            mine[places] = array

    def _halve(self, error: Exception, tokens: Tokens, rows: Ints, places: Ints) -> None:
        """Where memory ran out on more than one row: let the others land, then go on with half as much at a time."""
        if len(rows) == 1 or not self.plan.is_full(error):
            raise error
        self.land()
        self.plan.budget = min(self.plan.budget, len(rows) * int(tokens.lengths[rows].max()) // 2)
        self.send(tokens, rows, places)
