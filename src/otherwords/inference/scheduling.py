"""One scheduler for all local models: tokenise ahead, batch by length and token budget, keep the device busy."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import WrongAnswer, shorten
from .batching import fitting, full_batches, last_batches, packed_batches
from .tokens import Ints, Rows, Tokens, side_by_side

Arrays = tuple[npt.NDArray[Any], ...]
#: How many texts are tokenised at a time, while the device works on those before; few at first: it waits.
PIECE, FIRST = 4096, 512
#: What share of a batch may be filled up rather than wait for more rows of one length.
SLACK = 0.03
Batch = Rows | Tokens


@dataclass
class Scheduler:
    """Compute rows of numbers for texts, in the order of the texts, whatever the order on the device.

    `encode` turns texts into tokens. `start` sends a batch to the device and returns at once; `wait` gives the arrays
    it computed, each with one row per row of the batch. A batch holds at most `budget` tokens, filling included;
    `exact` batches hold rows of one length only, so that nothing is ever filled up, and `packed` ones hold rows end to
    end, as Tokens. Where the memory of the device does not suffice (`is_full` knows such errors), batches are halved
    from then on.
    """

    encode: Callable[[Sequence[Any]], Tokens]
    start: Callable[[Any], Any]
    wait: Callable[[Any], Arrays]
    budget: int
    exact: bool = False
    packed: bool = False
    pad: int = 0
    in_flight: int = 2
    is_full: Callable[[Exception], bool] = lambda error: isinstance(error, MemoryError)

    def __call__(self, texts: Sequence[Any]) -> tuple[Arrays, npt.NDArray[np.bool_]]:
        """Compute all rows, and say which texts were cut to the length limit."""
        flight = _Flight(self, len(texts))
        cut = np.zeros(len(texts), np.bool_)
        pool, places = None, np.empty(0, np.int64)
        for first, tokens in self._tokenised(texts):
            _refuse_empty(tokens.lengths, texts[first : first + len(tokens)])
            cut[first : first + len(tokens)] = tokens.cut
            pool = tokens if pool is None else pool.then(tokens)
            places = np.concatenate([places, np.arange(first, first + len(tokens))])
            batches, rest = self._full(pool.lengths)
            for rows in batches:
                flight.send(pool, rows, places[rows])
            pool, places = pool.take(rest), places[rest]
        if pool is not None:
            for rows in self._last(pool.lengths):
                flight.send(pool, rows, places[rows])
        flight.land()
        return flight.arrays, cut

    def _tokenised(self, texts: Sequence[Any]) -> Iterator[tuple[int, Tokens]]:
        """Piece by piece, each in another thread while the one before is computed (tokenizers leave the GIL)."""
        with ThreadPoolExecutor(1) as ahead:
            coming: deque[tuple[int, Any]] = deque()
            start, size = 0, min(FIRST, PIECE)
            while start < len(texts):
                coming.append((start, ahead.submit(self.encode, texts[start : start + size])))
                start, size = start + size, min(2 * size, PIECE)
                if len(coming) > 1:
                    first, piece = coming.popleft()
                    yield first, piece.result()
            yield from ((first, piece.result()) for first, piece in coming)

    def _full(self, lengths: Ints) -> tuple[list[Ints], Ints]:
        if self.packed:
            return packed_batches(lengths, self.budget)
        return full_batches(lengths, self.budget, 0.0 if self.exact else SLACK)

    def _last(self, lengths: Ints) -> list[Ints]:
        if self.packed:
            batches, rest = packed_batches(lengths, self.budget)
            return [*batches, rest] if len(rest) else batches
        return last_batches(lengths, self.budget, exact=self.exact)

    def batch(self, tokens: Tokens, rows: Ints) -> Batch:
        """The chosen rows as `start` takes them."""
        return tokens.take(rows) if self.packed else side_by_side(tokens, rows, self.pad)


def _refuse_empty(lengths: Ints, texts: Sequence[Any]) -> None:
    """A model that is given nothing has nothing to answer from; beside other rows it would answer all the same."""
    if (empty := np.flatnonzero(lengths == 0)).size:
        found = shorten(texts[int(empty[0])], 200)
        raise WrongAnswer(f"the tokenizer makes no tokens of {found}; leave out what has no words, or give it some")


@dataclass
class _Flight:
    """The batches under way, and what has landed, in the order of the texts."""

    plan: Scheduler
    count: int
    arrays: Arrays = ()
    _flying: deque[tuple[Tokens, Ints, Ints, Any]] = field(default_factory=deque)

    def send(self, tokens: Tokens, rows: Ints, places: Ints) -> None:
        """Start a batch, after the oldest has landed if enough are under way."""
        while len(rows):  # once, unless the budget has shrunk since the batch was planned
            size = fitting(tokens.lengths[rows], self.plan.budget, packed=self.plan.packed)
            some, theirs, rows, places = rows[:size], places[:size], rows[size:], places[size:]
            while len(self._flying) >= self.plan.in_flight:
                self._land_one()
            try:
                started = self.plan.start(self.plan.batch(tokens, some))
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
        lengths = tokens.lengths[rows]
        held = int(lengths.sum() if self.plan.packed else len(rows) * lengths.max())
        self.plan.budget = min(self.plan.budget, held // 2)
        self.send(tokens, rows, places)
