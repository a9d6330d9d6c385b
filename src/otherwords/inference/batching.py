"""Which rows share a batch: those of one length while there are enough, the rest filled up to the longest."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .tokens import Ints


def full_batches(lengths: Ints, budget: int) -> tuple[list[Ints], Ints]:
    """Batches of rows of one length that use up the budget of tokens, and the rows left over.

    >>> batches, rest = full_batches(np.array([4, 9, 4, 4]), budget=8)
    >>> [batch.tolist() for batch in batches], rest.tolist()
    ([[0, 2], [1]], [3])
    """
    batches, rest = [], [np.empty(0, np.int64)]
    for rows in _by_length(lengths):
        size = max(1, budget // int(lengths[rows[0]]))
        whole = len(rows) // size * size
        batches += [rows[start : start + size] for start in range(0, whole, size)]
        rest.append(rows[whole:])
    return batches, np.concatenate(rest)


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
