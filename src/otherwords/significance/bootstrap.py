"""A bootstrap of clusters on summed statistics: one routine for every metric.

Its random numbers hang on the data and the seed alone, so that metrics which coincide have the same replicates.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..storage.files import seed_for

Array = npt.NDArray[Any]
Combine = Callable[[Array], Array]
#: Rows with more columns than this are compared by a number made of each, not column by column.
_WIDE = 12
#: Fewer rows than this are sorted; more are grouped by a data frame.
_FEW = 20_000
#: How many weights are held at a time: 128 MB.
_AT_ONCE = 16_000_000


@dataclass(frozen=True)
class Sample:
    """Statistics of independent units, as distinct rows and counts; `combine` turns their sums into a value per part.

    `outside` are distinct rows and counts of a second sample, drawn separately from the first: a test set's items.
    """

    distinct: Array
    counts: Array
    combine: Combine
    name: str = ""
    outside: tuple[Array, Array] | None = None

    @property
    def n(self) -> int:
        """How many units there are."""
        return int(self.counts.sum())

    @property
    def strata(self) -> list[tuple[Array, Array]]:
        """Distinct rows and counts of what is drawn separately: the units, and what lies outside."""
        inside = (self.distinct, self.counts)
        return [inside] if self.outside is None else [inside, self.outside]

    def totals(self) -> Array:
        """The sum over all units, within and outside the buckets."""
        inside = totals(self.distinct, self.counts)
        return inside if self.outside is None else inside + totals(*self.outside)

    def value(self) -> Array:
        """The metric itself, one value per part."""
        return self.combine(self.totals())


def bootstrap(samples: Sequence[Sample], replicates: int, seed: int) -> list[Array]:
    """Draw as many units as there are, with replacement, again and again; give each metric's values each time.

    Equal rows are drawn together: how often each distinct row occurs in a replicate is one multinomial draw, so the
    cost depends on how many different rows there are. Where nearly all rows differ, units are drawn and counted, once
    for all samples of the same size: each is sorted by its own values, so that none depends on the others.
    """
    drawn: dict[int, Array] = {}
    by_size: dict[int, list[int]] = {}
    for place, one in enumerate(samples):
        if few(one):
            random = np.random.default_rng(seed_for(seed, "bootstrap"))
            drawn[place] = _multinomial(random, one.distinct, one.counts, replicates)
        else:
            by_size.setdefault(one.n, []).append(place)
    for n, places in by_size.items():
        sums = _shared([samples[place] for place in places], n, replicates, seed)
        drawn.update(zip(places, sums, strict=True))
    return [one.combine(_with_outside(one, drawn[place], replicates, seed)) for place, one in enumerate(samples)]


def few(sample: Sample) -> bool:
    """Whether so many rows are equal that drawing by distinct rows is faster than drawing units."""
    return len(sample.counts) * 10 < sample.n or len(sample.counts) <= 8


def _multinomial(random: np.random.Generator, distinct: Array, counts: Array, replicates: int) -> Array:
    n = int(counts.sum())
    if n == 0:
        return np.zeros((replicates, distinct.shape[1]))
    exact, scale = fixed_point(distinct, n)
    sums = [
        random.multinomial(n, counts / n, size=size).astype(np.float64) @ exact
        for size in chunks(replicates, len(counts))
    ]
    return np.asarray(np.concatenate(sums) / scale)


def _shared(samples: Sequence[Sample], n: int, replicates: int, seed: int) -> list[Array]:
    rows = [fixed_point(np.repeat(one.distinct, one.counts, axis=0), n) for one in samples]
    stacked = np.concatenate([exact for exact, _ in rows], axis=1)
    random = np.random.default_rng(seed_for(seed, "bootstrap units", str(n)))
    sums = np.concatenate([_weights(random, n, size) @ stacked for size in chunks(replicates, n)])
    cuts = np.cumsum([exact.shape[1] for exact, _ in rows])[:-1]
    return [part / scale for part, (_, scale) in zip(np.split(sums, cuts, axis=1), rows, strict=True)]


def _weights(random: np.random.Generator, n: int, size: int) -> Array:
    """How often each unit is drawn: a row per replicate."""
    weights = np.empty((size, n))
    block = max(1, 50_000 // n)  # replicates counted together; the draws are the same for any block
    for start in range(0, size, block):
        rows = min(block, size - start)
        drawn = random.integers(0, n, (rows, n))
        if rows > 1:
            drawn += n * np.arange(rows)[:, None]
        weights[start : start + rows] = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)
    return weights


def _with_outside(sample: Sample, sums: Array, replicates: int, seed: int) -> Array:
    if sample.outside is None:
        return sums
    random = np.random.default_rng(seed_for(seed, "bootstrap outside"))
    return sums + _multinomial(random, *sample.outside, replicates)


def chunks(replicates: int, width: int, at_once: int = _AT_ONCE) -> Iterator[int]:
    """Cut the replicates into parts whose weights fit in memory."""
    step = max(1, at_once // width)
    for start in range(0, replicates, step):
        yield min(step, replicates - start)


def fixed_point(rows: Array, n: int) -> tuple[Array, Array]:
    """Scale columns to whole numbers so small that every sum over n units is exact.

    Exact sums come out the same in any order, so on any processor and with any linear algebra library. Whole numbers
    stay as they are; fractions are rounded to about 2^-52 n, far below the bootstrap's own error.
    """
    if np.issubdtype(rows.dtype, np.integer):
        return rows.astype(np.float64), np.ones(rows.shape[1])
    largest = np.abs(rows).max(axis=0)
    scale = 2.0 ** np.floor(52 - np.log2(n * np.where(largest > 0, largest, 1.0)))
    return np.round(rows * scale), scale


# Rows of statistics


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


def collapse(rows: Array, times: Array | None = None) -> tuple[Array, Array]:
    """Give the distinct rows, in an order that depends on their values alone, and how often each occurs.

    A row may stand for several units: `times` says for how many. The result does not know the order or the names of the
    units it came from, and so neither does anything after it.
    """
    times = np.ones(len(rows), dtype=np.int64) if times is None else times
    few = times.sum() < _FEW  # of the units, not the rows: the order is the same however they are counted
    collapsed = _by_sorting(rows, times) if few else _by_key(rows, times) if rows.shape[1] > _WIDE else None
    if collapsed is None:
        names = [f"c{i}" for i in range(rows.shape[1])]
        table = pl.DataFrame(dict(zip(names, np.ascontiguousarray(rows.T), strict=True)))
        table = table.with_columns(pl.Series("count", times))
        distinct = table.group_by(names).agg(pl.col("count").sum()).sort(names)
        collapsed = distinct.select(names).to_numpy(), distinct["count"].to_numpy().astype(np.int64)
    values, counts = collapsed
    if np.issubdtype(values.dtype, np.integer):
        values = values.astype(np.int64)  # sums and differences of small integers overflow
    return values, counts


def collapse_by(group: Array, rows: Array, times: Array) -> list[tuple[Array, Array]]:
    """The same for each group of rows; groups are numbered from 0, and none is empty."""
    distinct, counts = _by_sorting(np.column_stack([group, rows]), times)
    cuts = np.flatnonzero(np.diff(distinct[:, 0])) + 1
    return list(zip(np.split(distinct[:, 1:], cuts), np.split(counts, cuts), strict=True))


def _by_sorting(rows: Array, times: Array) -> tuple[Array, Array]:
    """The same for few rows, for which a data frame costs more than all the rest."""
    order = np.lexsort(rows.T[::-1])
    ordered = rows[order]
    first = np.flatnonzero(np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])[: len(rows)])
    return ordered[first], np.add.reduceat(times[order], first) if len(rows) else times


def _by_key(rows: Array, times: Array) -> tuple[Array, Array] | None:
    """The same for wide rows, by a number made of each; None where two different rows share theirs."""
    integers = np.issubdtype(rows.dtype, np.integer) or rows.dtype == np.bool_
    bits = rows.astype(np.int64) if integers else np.ascontiguousarray(rows + 0.0, dtype=np.float64).view(np.int64)
    factors = np.random.default_rng(0).integers(1, 2**63, rows.shape[1], dtype=np.uint64) | np.uint64(1)
    keys = (bits.view(np.uint64) * factors).sum(axis=1, dtype=np.uint64)
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    if (rows[first][place] != rows).any():
        return None
    counts = np.zeros(len(first), dtype=np.int64)
    np.add.at(counts, place, times)
    return rows[first], counts


def totals(distinct: Array, counts: Array) -> Array:
    """The sum over all units."""
    return np.asarray((distinct * counts[:, None]).sum(axis=0))
