"""Rows of statistics: summed by cluster, equal ones told once, in an order that depends on their values alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

Array = npt.NDArray[Any]
#: Rows with more columns than this are told apart by a number made of each, not column by column.
_WIDE = 12


def by_cluster(statistics: Array, cluster: Array) -> Array:
    """Add up the rows of each cluster, in an order that depends on their values alone.

    Floats added in another order differ in their last bits; sorted first, they do not.
    """
    count = int(cluster.max()) + 1
    if count == len(statistics):
        return statistics
    if np.issubdtype(statistics.dtype, np.integer):
        sums = np.zeros((count, statistics.shape[1]), dtype=np.int64)
        for column in range(statistics.shape[1]):
            sums[:, column] = np.bincount(cluster, statistics[:, column], count).astype(np.int64)
        return sums
    order = np.lexsort((*statistics.T, cluster))
    starts = np.searchsorted(cluster[order], np.arange(count))
    return np.asarray(np.add.reduceat(statistics[order], starts, axis=0))


def collapse(rows: Array) -> tuple[Array, Array]:
    """Give the distinct rows, in an order that depends on their values alone, and how often each occurs.

    The result does not know the order or the names of the units it came from, and so neither does anything after it.
    """
    found = _by_key(rows) if rows.shape[1] > _WIDE else None
    if found is None:
        names = [f"c{i}" for i in range(rows.shape[1])]
        table = pl.DataFrame(dict(zip(names, np.ascontiguousarray(rows.T), strict=True)))
        distinct = table.group_by(names).len("count").sort(names)
        found = distinct.select(names).to_numpy(), distinct["count"].to_numpy().astype(np.int64)
    values, counts = found
    if np.issubdtype(values.dtype, np.integer):
        values = values.astype(np.int64)  # sums and differences of small integers overflow
    return values, counts


def _by_key(rows: Array) -> tuple[Array, Array] | None:
    """The same for wide rows, by a number made of each; None where two different rows share theirs."""
    integers = np.issubdtype(rows.dtype, np.integer) or rows.dtype == np.bool_
    bits = rows.astype(np.int64) if integers else np.ascontiguousarray(rows + 0.0, dtype=np.float64).view(np.int64)
    factors = np.random.default_rng(0).integers(1, 2**63, rows.shape[1], dtype=np.uint64) | np.uint64(1)
    keys = (bits.view(np.uint64) * factors).sum(axis=1, dtype=np.uint64)
    _, first, place, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    if (rows[first][place] != rows).any():
        return None
    return rows[first], counts.astype(np.int64)


def totals(distinct: Array, counts: Array) -> Array:
    """The sum over all units."""
    return np.asarray((distinct * counts[:, None]).sum(axis=0))
