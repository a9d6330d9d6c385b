"""Intervals for every metric from one routine: a bootstrap of clusters on summed statistics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from .storage.files import seed_for

Array = npt.NDArray[Any]


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
    """Give the distinct rows, sorted by value, and how often each occurs.

    The result does not know the order or the names of the units it came from, and so neither does anything after it.
    """
    names = [f"c{i}" for i in range(rows.shape[1])]
    table = pl.DataFrame(dict(zip(names, np.ascontiguousarray(rows.T), strict=True)))
    distinct = table.group_by(names).len("count").sort(names)
    return distinct.select(names).to_numpy(), distinct["count"].to_numpy().astype(np.int64)


def totals(distinct: Array, counts: Array) -> Array:
    """The sum over all units."""
    return np.asarray((distinct * counts[:, None]).sum(axis=0))


def bootstrap(
    distinct: Array,
    counts: Array,
    combine: Callable[[Array], Array],
    replicates: int,
    seed: int,
    name: str = "",
) -> Array:
    """Draw as many clusters as there are, with replacement, again and again; give the metric's value each time.

    Equal rows are drawn together: how often each distinct row occurs in a replicate is one multinomial draw, so the
    cost depends on how many different rows there are, not on how many clusters.
    """
    n = int(counts.sum())
    exact, scale = _fixed_point(distinct, n)
    random = np.random.default_rng(seed_for(seed, "bootstrap", name))
    values = []
    step = max(1, min(replicates, 20_000_000 // len(counts)))
    for start in range(0, replicates, step):
        size = min(step, replicates - start)
        values.append(combine(_weights(random, counts, n, size) @ exact / scale))
    return np.concatenate(values)


def _fixed_point(rows: Array, n: int) -> tuple[Array, Array]:
    """Scale columns to whole numbers so small that every sum over n units is exact.

    Exact sums come out the same in any order, so on any processor and with any linear algebra library. Whole numbers
    stay as they are; fractions are rounded to about 2^-52 n, far below the bootstrap's own error.
    """
    if np.issubdtype(rows.dtype, np.integer):
        return rows.astype(np.float64), np.ones(rows.shape[1])
    largest = np.abs(rows).max(axis=0)
    scale = 2.0 ** np.floor(52 - np.log2(n * np.where(largest > 0, largest, 1.0)))
    return np.round(rows * scale), scale


def _weights(random: np.random.Generator, counts: Array, n: int, size: int) -> Array:
    if len(counts) * 3 < n:
        return random.multinomial(n, counts / n, size=size).astype(np.float64)
    # Nearly all rows differ: drawing units and counting them is faster than a binomial for every row.
    owner, kinds = np.repeat(np.arange(len(counts)), counts), len(counts)
    weights = np.empty((size, kinds))
    block = max(1, 200_000 // n)  # replicates counted together; the draws are the same for any block
    for start in range(0, size, block):
        rows = min(block, size - start)
        drawn = owner[random.integers(0, n, (rows, n))] + kinds * np.arange(rows)[:, None]
        weights[start : start + rows] = np.bincount(drawn.ravel(), minlength=rows * kinds).reshape(rows, kinds)
    return weights


def percentile(values: Array, confidence: float) -> tuple[float | None, float | None]:
    """The percentile interval; replicates in which the metric is undefined do not count."""
    defined = values[~np.isnan(values)]
    if defined.size == 0:
        return None, None
    tail = (1 - confidence) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return float(low), float(high)
