"""Permutation tests for any metric: swap two models' answers to whole clusters, or clusters between two groups.

What is compared is the difference over its standard error in each replicate (Janssen 1997; Chung and Romano 2013). The
bare difference would only test that the two are interchangeable in every respect: where a rate has another denominator
for each model, such as flips of wrong answers, it rejects far too often though the rates are equal.
"""

import warnings
from collections.abc import Sequence

import numpy as np

from ..errors import BadInput, caller_level
from ..metrics.metric import Metric, Outside
from ..storage.files import seed_for
from .bootstrap import Array, Sample, by_cluster, chunks, collapse, fixed_point, totals
from .intervals import slopes

#: Statistics closer than this, as a share, are ties: slopes are differences of two values, and no better than that.
_TIE = 1e-6
#: Variances below this share of what they are the remainder of are rounding.
_NOISE = 1e-12
#: Units times replicates that are held at a time.
_AT_ONCE = 4_000_000


class MetricDifference:
    """The difference of a metric between the two halves of a row of sums: first minus second, per part."""

    def __init__(self, metric: Metric):
        self.metric = metric

    def both(self, totals: Array) -> tuple[Array, Array]:
        """The values of the two, each with its parts along the last axis."""
        half = totals.shape[-1] // 2
        return self.metric.by_part(totals[..., :half]), self.metric.by_part(totals[..., half:])

    def __call__(self, totals: Array) -> Array:
        """The difference, per part."""
        one, other = self.both(totals)
        return np.asarray(one - other)


def paired_sample(
    metric: Metric, rows: Sequence[Array], cluster: Array, name: str, outside: Sequence[Outside] | None = None
) -> Sample:
    """Pair two models: each row holds a cluster's sums for both, which are drawn and swapped together.

    Items from outside the buckets are paired by name, so that both models are seen on the same.
    """
    width = rows[0].shape[1]
    units = by_cluster(np.concatenate(rows, axis=1), cluster)
    collapsed = collapse(units[(units[:, width - 1] > 0) | (units[:, -1] > 0)])
    items = None if outside is None else collapse(_same_items(outside))
    return Sample(*collapsed, MetricDifference(metric), name, items)


def unpaired_sample(metric: Metric, rows: Sequence[Array], clusters: Sequence[Array], name: str) -> Sample:
    """Two groups of different units: the first inside, the second outside, with zeros in each other's columns."""
    samples = []
    for place, (group, cluster) in enumerate(zip(rows, clusters, strict=True)):
        units = by_cluster(group, cluster)
        units = units[units[:, -1] > 0]
        blank = np.zeros_like(units)
        samples.append(collapse(np.concatenate([blank, units] if place else [units, blank], axis=1)))
    return Sample(*samples[0], MetricDifference(metric), name, samples[1])


def _same_items(outside: Sequence[Outside]) -> Array:
    shared, *places = np.intersect1d(outside[0].names, outside[1].names, assume_unique=True, return_indices=True)
    _refuse_other_gold(outside, places, shared)
    if lost := sum(len(one.names) for one in outside) - 2 * len(shared):
        message = f"compared on the {len(shared)} test items that both answered; {lost} answers left out"
        warnings.warn(message, stacklevel=caller_level())
    rows = np.concatenate([one.rows[place] for one, place in zip(outside, places, strict=True)], axis=1)
    if not len(rows):
        return rows
    return by_cluster(rows, np.unique(outside[0].clusters[places[0]], return_inverse=True)[1])


def _refuse_other_gold(outside: Sequence[Outside], places: Sequence[Array], shared: Array) -> None:
    gold = [one.gold[place] for one, place in zip(outside, places, strict=True) if one.gold is not None]
    if len(gold) == 2 and (differ := gold[0] != gold[1]).any():
        where = f"test item {shared[differ][0]}"
        raise BadInput("the two models' test sets have different right answers", where=where, field="gold")


def swap_test(pair: Sample, replicates: int, seed: int, smooth: bool = True) -> Array:
    """The chance of a difference at least as large if it did not matter which model gave which answers.

    `pair` has the rows of the one model next to those of the other, and combines them to a difference per part. In each
    replicate every unit changes sides with probability 1/2; units with equal rows are swapped together, by one binomial
    draw. p = (1 + #) / (replicates + 1), two-sided, so never 0 (Phipson and Smyth 2010). Without a smooth metric there
    is no standard error, and the bare difference is compared.
    """
    random = np.random.default_rng(seed_for(seed, "swap", pair.name))
    half = pair.distinct.shape[1] // 2
    samples = [one for one in ((pair.distinct, pair.counts), pair.outside) if one and len(one[1])]
    moments = [Moments(rows, counts, np.roll(rows, half, axis=1), smooth) for rows, counts in samples]
    observed = _statistic(pair, [one.sums(np.zeros((1, one.width))) for one in moments])[0]
    larger = np.zeros(len(observed))
    for size in chunks(replicates, max(one.width for one in moments), _AT_ONCE):
        drawn = _statistic(pair, [one.sums(_binomial(random, one.counts, size)) for one in moments])
        larger += _as_large(drawn, observed)
    return np.where(np.isnan(observed), np.nan, (1 + larger) / (replicates + 1))


def exchange_test(pair: Sample, replicates: int, seed: int, smooth: bool = True) -> Array:
    """The same for two groups of different units: group membership is redrawn, with the same sizes.

    The units of the one group are inside, those of the other outside, each with zeros in the other's columns.
    """
    assert pair.outside is not None
    half = pair.distinct.shape[1] // 2
    rows = np.concatenate([pair.distinct[:, :half], pair.outside[0][:, half:]])
    counts = np.concatenate([pair.counts, pair.outside[1]])
    first = np.concatenate([pair.counts, np.zeros_like(pair.outside[1])])
    random = np.random.default_rng(seed_for(seed, "exchange", pair.name))
    blank = np.zeros_like(rows)
    one = Moments(np.concatenate([blank, rows], axis=1), counts, np.concatenate([rows, blank], axis=1), smooth)
    sizes = pair.n, int(pair.outside[1].sum())
    observed = _statistic(pair, [one.sums(first[None])], sizes)[0]
    larger = np.zeros(len(observed))
    for size in chunks(replicates, len(rows), _AT_ONCE):
        larger += _as_large(_statistic(pair, [one.sums(_chosen(random, counts, pair.n, size))], sizes), observed)
    return np.where(np.isnan(observed), np.nan, (1 + larger) / (replicates + 1))


class Moments:
    """Sums and sums of products of rows, some of which are changed to others: all that a standard error needs."""

    def __init__(self, rows: Array, counts: Array, changed: Array, smooth: bool):
        self.counts, self.width, self.n = counts, len(counts), int(counts.sum())
        tables = [_with_products(one, smooth) for one in (rows.astype(np.float64), changed.astype(np.float64))]
        self.start = totals(tables[0], counts)
        self.change, self.scale = fixed_point(tables[1] - tables[0], self.n)

    def sums(self, changed: Array) -> tuple[Array, int]:
        """The sums of every replicate, where so many of each distinct row are changed, and how many units they are."""
        return self.start + changed @ self.change / self.scale, self.n


def _with_products(rows: Array, smooth: bool) -> Array:
    one, other = np.triu_indices(rows.shape[1])
    return np.concatenate([rows, rows[:, one] * rows[:, other]], axis=1) if smooth else rows


def _statistic(pair: Sample, drawn: Sequence[tuple[Array, int]], sizes: tuple[int, int] | None = None) -> Array:
    """The difference, over its standard error where products are known; `sizes` of two unpaired groups."""
    width = pair.distinct.shape[1]
    sums = np.sum([both[:, :width] for both, _ in drawn], axis=0)
    difference = pair.combine(sums)
    if drawn[0][0].shape[1] == width:
        return difference
    error = np.zeros_like(difference)
    for place, slope in enumerate(np.moveaxis(slopes(pair.combine, sums), -1, 0)):
        for both, n in drawn:
            error[:, place] += _variance(slope, both[:, :width], both[:, width:], sizes or (n, n), bool(sizes))
    return _over(difference, np.sqrt(np.maximum(error, 0)))


def _variance(slope: Array, sums: Array, products: Array, sizes: tuple[int, int], unpaired: bool) -> Array:
    """Variance of the value, linearised: that of each unit's influence, slope times row, summed over units."""
    width = slope.shape[1]
    one, other = np.triu_indices(width)
    twice = np.where(one == other, 1.0, 2.0)
    terms = slope[:, one] * slope[:, other] * twice * products
    moved = slope * sums
    halves = moved[:, : width // 2].sum(axis=1), moved[:, width // 2 :].sum(axis=1)
    means = (halves[0] + halves[1]) ** 2 / sizes[0]
    if unpaired:
        means = halves[0] ** 2 / sizes[0] + halves[1] ** 2 / sizes[1]
    left = terms.sum(axis=1) - means
    return np.where(left <= _NOISE * np.abs(terms).sum(axis=1), 0.0, left)


def _over(difference: Array, error: Array) -> Array:
    """Divide; a difference without any error is infinite, and 0 stays 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(error > 0, difference / error, np.where(np.abs(difference) > _NOISE, np.inf, 0.0))
    return np.where(np.isnan(difference), np.nan, ratio)


def _as_large(drawn: Array, observed: Array) -> Array:
    """How often a difference is as large; an undefined one counts, so that p is never too small."""
    with np.errstate(invalid="ignore"):
        smaller = np.abs(drawn) < np.abs(observed) * (1 - _TIE)
    return np.asarray((~smaller).sum(axis=0))


def _binomial(random: np.random.Generator, counts: Array, size: int) -> Array:
    """How many of each distinct row change sides; one bit each where all rows differ."""
    if counts.max() > 1:
        return random.binomial(counts, 0.5, (size, len(counts))).astype(np.float64)
    drawn = np.frombuffer(random.bytes(size * (len(counts) // 8 + 1)), dtype=np.uint8).reshape(size, -1)
    return np.unpackbits(drawn, axis=1)[:, : len(counts)].astype(np.float64)


def _chosen(random: np.random.Generator, counts: Array, n: int, size: int) -> Array:
    """How many of each distinct row are among n units drawn without replacement."""
    total = int(counts.sum())
    if len(counts) * 10 < total:
        return random.multivariate_hypergeometric(counts, n, size, method="marginals").astype(np.float64)
    owner = np.repeat(np.arange(len(counts)), counts)
    keys = random.random((size, total), dtype=np.float32)
    first = owner[np.argpartition(keys, n - 1, axis=1)[:, :n]] + len(counts) * np.arange(size)[:, None]
    return np.bincount(first.ravel(), minlength=size * len(counts)).reshape(size, -1).astype(np.float64)
