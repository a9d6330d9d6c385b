"""Which rows share a batch: those of one length while there are enough, the rest filled up to the longest.

Rows that lie end to end need no filling, and share batches with their neighbours in length.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .tokens import Ints


def full_batches(lengths: Ints, budget: int, slack: float = 0.0) -> tuple[list[Ints], Ints]:
    """Batches that use up the budget of tokens, and the rows left over; shortest first.

    Rows of a batch are of one length, or of lengths so near that at most a share of `slack` is filled up.

    >>> batches, rest = full_batches(np.array([4, 9, 4, 4]), budget=8)
    >>> [batch.tolist() for batch in batches], rest.tolist()
    ([[0, 2], [1]], [3])
    """
    order = np.argsort(lengths, kind="stable")
    batches, rest = [], [np.empty(0, np.int64)]
    while len(order):
        theirs = lengths[order]
        size = max(1, int(np.searchsorted(theirs * np.arange(1, len(order) + 1), budget, "right")))
        width = int(theirs[size - 1])
        if size == max(1, budget // width) and theirs[:size].sum() >= (1 - slack) * size * width:
            batches.append(order[:size])
        else:  # too few of this length
            size = int(np.searchsorted(theirs, theirs[0], "right"))
            rest.append(order[:size])
        order = order[size:]
    return batches, np.concatenate(rest)


def packed_batches(lengths: Ints, budget: int) -> tuple[list[Ints], Ints]:
    """Batches of rows that are to lie end to end, shortest first, and the rows left over: too few for a batch.

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


def fitting(lengths: Ints, budget: int, *, packed: bool) -> int:
    """How many of these rows, from the first on, fit into a batch: one at least.

    >>> fitting(np.array([4, 4, 9]), 17, packed=True), fitting(np.array([4, 4, 9]), 17, packed=False)
    (3, 1)
    """
    if packed:
        return max(1, int(np.searchsorted(lengths.cumsum(), budget, "right")))
    return max(1, budget // int(lengths.max()))


def last_batches(lengths: Ints, budget: int, *, exact: bool) -> list[Ints]:
    """Batches of all rows, longest first; where they need not be `exact`, of several lengths.

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


def _by_length(lengths: Ints) -> Iterator[Ints]:
    order = np.argsort(lengths, kind="stable")
    edges = np.flatnonzero(np.diff(lengths[order])) + 1
    yield from (rows for rows in np.split(order, edges) if len(rows))
