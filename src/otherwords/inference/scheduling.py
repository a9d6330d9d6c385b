"""One scheduler for all local models: tokenise ahead, batch by length and token budget, keep the device busy."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import WrongAnswer, shorten
from .tokens import Ints, PaddedRows, Tokens, pad_rows

Arrays = tuple[npt.NDArray[Any], ...]
#: How many texts are tokenised at a time, while the device works on those before; few at first, when it is idle.
PIECE, FIRST = 4096, 128
#: What share of a batch may be padding rather than wait for more rows of one length.
SLACK = 0.03


@dataclass
class Scheduler:
    """Compute rows of numbers for texts, in the order of the texts, whatever the order on the device.

    `encode` tokenises texts. `start` sends a batch to the device and returns at once; `wait` returns the arrays
    it computed, each with one row per row of the batch. A batch holds at most `budget` tokens, padding included;
    `exact` batches hold rows of one length only, so that nothing is ever padded, and `packed` ones are Tokens. Where
    the device runs out of memory (`is_full` recognises such errors), batches are halved from then on.
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
        """Compute all rows, and say which texts were truncated to the length limit."""
        flight = _Flight(self, len(texts))
        cut = np.zeros(len(texts), np.bool_)
        pool, places = None, np.empty(0, np.int64)
        for first, tokens in self._tokenised(texts):
            _refuse_empty(tokens.lengths, texts, first)
            cut[first : first + len(tokens)] = tokens.cut
            pool = tokens if pool is None else pool.concat(tokens)
            places = np.concatenate([places, np.arange(first, first + len(tokens))])
            batches, rest = self._full(pool.lengths, early=first + len(tokens) < PIECE)
            for rows in batches:
                flight.send(pool, rows, places[rows])
            pool, places = pool.take(rest), places[rest]
        if pool is not None:
            for rows in self._last(pool.lengths):
                flight.send(pool, rows, places[rows])
        flight.land()
        return flight.arrays, cut

    def batch(self, tokens: Tokens, rows: Ints) -> PaddedRows | Tokens:
        """The chosen rows as `start` takes them."""
        return tokens.take(rows) if self.packed else pad_rows(tokens, rows, self.pad)

    def _tokenised(self, texts: Sequence[Any]) -> Iterator[tuple[int, Tokens]]:
        """Piece by piece, each in another thread while the one before is computed (tokenizers release the GIL)."""
        with ThreadPoolExecutor(1) as ahead:
            coming: deque[tuple[int, Any]] = deque()
            start, size = 0, min(FIRST, PIECE)
            while start < len(texts):
                coming.append((start, ahead.submit(self._encode, texts, start, start + size)))
                start, size = start + size, min(2 * size, PIECE)
                if len(coming) > 1:
                    first, piece = coming.popleft()
                    yield first, piece.result()
            yield from ((first, piece.result()) for first, piece in coming)

    def _encode(self, texts: Sequence[Any], first: int, last: int) -> Tokens:
        return self.encode(texts[first:last])

    def _full(self, lengths: Ints, *, early: bool = False) -> tuple[list[Ints], Ints]:
        """Batches to send now, and the rows that wait for more: none `early` on, when a GPU would be idle meanwhile.

        It depends on the texts alone what is early, not on the time: so do the batches, and the last bits with them.
        """
        if self.packed and self.in_flight > 1 and early:
            return self._last(lengths), np.empty(0, np.int64)
        if self.packed:
            return packed_batches(lengths, self.budget)
        return full_batches(lengths, self.budget, 0.0 if self.exact else SLACK)

    def _last(self, lengths: Ints) -> list[Ints]:
        if self.packed:
            batches, rest = packed_batches(lengths, self.budget)
            return [*batches, rest] if len(rest) else batches
        return last_batches(lengths, self.budget, exact=self.exact)


# Which rows share a batch


def full_batches(lengths: Ints, budget: int, slack: float = 0.0) -> tuple[list[Ints], Ints]:
    """Batches that use up the budget of tokens, and the rows left over; shortest first.

    Rows of a batch have one length, or lengths so close that at most a share of `slack` is padding.

    >>> batches, rest = full_batches(np.array([4, 9, 4, 4]), budget=8)
    >>> [batch.tolist() for batch in batches], rest.tolist()
    ([[0, 2], [1]], [3])
    """
    order = np.argsort(lengths, kind="stable")
    batches, rest = [], [np.empty(0, np.int64)]
    while len(order):
        ordered = lengths[order]
        size = max(1, int(np.searchsorted(ordered * np.arange(1, len(order) + 1), budget, "right")))
        width = int(ordered[size - 1])
        if size == max(1, budget // width) and ordered[:size].sum() >= (1 - slack) * size * width:
            batches.append(order[:size])
        else:  # too few of this length
            size = int(np.searchsorted(ordered, ordered[0], "right"))
            rest.append(order[:size])
        order = order[size:]
    return batches, np.concatenate(rest)


def packed_batches(lengths: Ints, budget: int) -> tuple[list[Ints], Ints]:
    """Batches of rows to be packed, shortest first, and the rows left over: too few for a batch.

    >>> batches, rest = packed_batches(np.array([4, 3, 4, 4]), budget=8)
    >>> [batch.tolist() for batch in batches], rest.tolist()
    ([[1, 0]], [2, 3])
    """
    order = np.argsort(lengths, kind="stable")
    batches = []
    while lengths[order].sum() > budget:
        size = fitting(lengths[order], budget, packed=True)
        batches.append(order[:size])
        order = order[size:]
    return batches, order


def last_batches(lengths: Ints, budget: int, *, exact: bool) -> list[Ints]:
    """Batches of all rows, longest first; of several lengths, unless they must be `exact`.

    >>> [batch.tolist() for batch in last_batches(np.array([4, 5, 4, 1]), budget=10, exact=False)]
    [[1, 2], [0, 3]]
    """
    if exact:
        groups = reversed(list(_by_length(lengths)))
        sized = ((rows, max(1, budget // int(lengths[rows[0]]))) for rows in groups)
        return [rows[start : start + size] for rows, size in sized for start in range(0, len(rows), size)]
    order = np.argsort(lengths, kind="stable")[::-1]
    batches = []
    while len(order):
        size = max(1, budget // int(lengths[order[0]]))
        batches.append(order[:size])
        order = order[size:]
    return batches


def fitting(lengths: Ints, budget: int, *, packed: bool) -> int:
    """How many of these rows, from the first on, fit into a batch: one at least.

    >>> fitting(np.array([4, 4, 9]), 17, packed=True), fitting(np.array([4, 4, 9]), 17, packed=False)
    (3, 1)
    """
    if packed:
        return max(1, int(np.searchsorted(lengths.cumsum(), budget, "right")))
    return max(1, budget // int(lengths.max()))


def _by_length(lengths: Ints) -> Iterator[Ints]:
    order = np.argsort(lengths, kind="stable")
    edges = np.flatnonzero(np.diff(lengths[order])) + 1
    yield from (rows for rows in np.split(order, edges) if len(rows))


def _refuse_empty(lengths: Ints, texts: Sequence[Any], first: int) -> None:
    """Refuse rows without tokens: padded in a batch, they would get an answer."""
    if (empty := np.flatnonzero(lengths == 0)).size:
        text = shorten(texts[first + int(empty[0])], 200)
        raise WrongAnswer(f"the tokenizer returned no tokens for {text}; leave out texts without words")


@dataclass
class _Flight:
    """The batches on the device, and the results so far, in the order of the texts."""

    plan: Scheduler
    count: int
    arrays: Arrays = ()
    _flying: deque[tuple[Tokens, Ints, Ints, Any]] = field(default_factory=deque)

    def send(self, tokens: Tokens, rows: Ints, places: Ints) -> None:
        """Start a batch, after waiting for the oldest if enough are in flight."""
        while len(rows):  # once, unless the budget has shrunk since the batch was planned
            size = fitting(tokens.lengths[rows], self.plan.budget, packed=self.plan.packed)
            batch, batch_places, rows, places = rows[:size], places[:size], rows[size:], places[size:]
            while len(self._flying) >= self.plan.in_flight:
                self._land_one()
            try:
                started = self.plan.start(self.plan.batch(tokens, batch))
            except Exception as error:
                self._halve(error, tokens, batch, batch_places)
            else:
                self._flying.append((tokens, batch, batch_places, started))

    def land(self) -> None:
        """Wait for all batches in flight."""
        while self._flying:
            self._land_one()

    def _land_one(self) -> None:
        tokens, rows, places, started = self._flying.popleft()
        try:
            results = self.plan.wait(started)
        except Exception as error:
            self._halve(error, tokens, rows, places)
            return
        if not self.arrays:
            self.arrays = tuple(np.empty((self.count, *array.shape[1:]), array.dtype) for array in results)
        for whole, array in zip(self.arrays, results, strict=True):
            whole[places] = array

    def _halve(self, error: Exception, tokens: Tokens, rows: Ints, places: Ints) -> None:
        """Where memory ran out on more than one row: wait for the others, then go on with half as much at a time."""
        if len(rows) == 1 or not self.plan.is_full(error):
            raise error
        self.land()
        lengths = tokens.lengths[rows]
        held = int(lengths.sum() if self.plan.packed else len(rows) * lengths.max())
        self.plan.budget = min(self.plan.budget, held // 2)
        self.send(tokens, rows, places)
