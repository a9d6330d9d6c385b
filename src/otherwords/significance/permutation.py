"""Permutation tests for any metric: swap two models' answers to whole clusters, or clusters between two groups.

What is compared is the difference over its standard error in each replicate (Janssen 1997; Chung and Romano 2013). The
bare difference would only test that the two are interchangeable in every respect: where a rate has another denominator
for each model, such as flips of wrong answers, it rejects far too often though the rates are equal. Several metrics are
tested together by the largest of them (maxT, Westfall and Young 1993). Random numbers hang on the data and the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..storage.files import seed_for
from .bootstrap import Array, Sample, chunks, fixed_point, totals
from .multiple import TIE, step_down
from .pairs import MetricDifference

#: Variances below this share of what they are the remainder of are rounding.
_NOISE = 1e-12
#: Units times replicates that are held at a time.
_AT_ONCE = 4_000_000
#: Units times replicates in all, for many metrics at once; beyond, there are fewer replicates, but not below _FEWEST.
_MOST_SHARED, _FEWEST = 2_000_000_000, 999
#: Numbers that the sums and products of several metrics may take up at a time: 512 MB.
_MOST_NUMBERS = 64_000_000


def swap_test(pair: Sample, replicates: int, seed: int, smooth: bool = True) -> Array:
    """The chance of a difference at least as large if it did not matter which model gave which answers.

    `pair` has the rows of the one model next to those of the other, and combines them to a difference per part. In each
    replicate every unit changes sides with probability 1/2; units with equal rows are swapped together, by one binomial
    draw. p = (1 + #) / (replicates + 1), two-sided, so never 0 (Phipson and Smyth 2010). Without a smooth metric there
    is no standard error, and the bare difference is compared.
    """
    random = np.random.default_rng(seed_for(seed, "swap"))
    return _test(pair, [_swaps(*one) for one in _samples(pair)], replicates, random, smooth)


def exchange_test(pair: Sample, replicates: int, seed: int, smooth: bool = True) -> Array:
    """The same for two groups of different units: group membership is redrawn, with the same sizes.

    The units of the one group are inside, those of the other outside, each with zeros in the other's columns.
    """
    return _test(pair, [_exchanges(pair)], replicates, np.random.default_rng(seed_for(seed, "exchange")), smooth)


def sign_test(drops: Array) -> float:
    """The exact chance of a sum at least as large, in either direction, if each cluster's drop had a sign at random.

    `drops` are whole numbers: how many more items of a cluster are right before than after. With one item in each
    cluster this is McNemar's exact test. Chances below 1e-15 are not told apart.

    >>> sign_test(np.array([1] * 10 + [-1] * 2)), sign_test(np.array([0, 0]))
    (0.03857421875, 1.0)
    """
    sizes, counts = np.unique(np.abs(drops[drops != 0]), return_counts=True)
    total = int(sizes @ counts)
    if total == 0:
        return 1.0
    spectrum = np.ones(total // 2 + 1, dtype=np.complex128)
    turn = np.exp(-2j * np.pi * np.arange(len(spectrum)) / (total + 1))
    for size, count in zip(sizes, counts, strict=True):
        spectrum *= ((1 + turn ** int(size)) / 2) ** int(count)
    chance = np.fft.irfft(spectrum, total + 1)  # of the sum of those that keep their sign
    reached = np.abs(2 * np.arange(total + 1) - total) >= abs(int(drops.sum()))
    return min(1.0, max(1e-15, round(float(chance[reached].sum()), 15)))


def _test(
    pair: Sample, relabelled: Sequence[_Relabelling], replicates: int, random: np.random.Generator, smooth: bool
) -> Array:
    moments = [one.moments(smooth) for one in relabelled]
    sizes = _sizes(pair)
    observed = _statistic(pair, [one.sums(each.start) for one, each in zip(moments, relabelled, strict=True)], sizes)[0]
    larger = np.zeros(len(observed))
    for size in chunks(replicates, max(len(one.counts) for one in relabelled), _AT_ONCE):
        sums = [one.sums(each.draw(random, size)) for one, each in zip(moments, relabelled, strict=True)]
        larger += _as_large(_statistic(pair, sums, sizes), observed)
    return np.where(np.isnan(observed), np.nan, (1 + larger) / (replicates + 1))


def max_t(
    pairs: Sequence[Sample],
    joint: Sample,
    paired: bool,
    replicates: int,
    seed: int,
    smooth: Sequence[bool],
    clusters: Sequence[Array],
) -> list[Array]:
    """The p-values of several metrics adjusted for all of them: the chance that *any* differs as much as this one does.

    `joint` has the rows of all `pairs` side by side; each swap (or exchange) of its units is one for all metrics, so
    that near-copies cost nothing. Step-down: the metric that differs most is held against the largest statistic of all,
    the next against the largest of the others, and so on (Westfall and Young 1993, algorithm 4.1). Statistics are
    differences over their standard errors; of metrics that jump, over their spread in the replicates. `clusters` is
    how many each part rests on; below two it is not tested. Items outside the buckets are swapped metric by metric.
    """
    units = sum(int(counts.sum()) for _, counts in _samples(joint))
    replicates = min(replicates, max(_FEWEST, _MOST_SHARED // max(units, 1)))
    shared = _swaps(joint.distinct, joint.counts) if paired else _exchanges(joint)
    stream = seed_for(seed, "swap" if paired else "exchange")
    columns, observed, drawn = _columns(pairs, joint), [], []
    for block in _blocks([_numbers(one, even) * len(shared.counts) for one, even in zip(pairs, smooth, strict=True)]):
        tests = [_Shared(pairs[i], shared, columns[i], paired, smooth[i], seed) for i in block]
        observed += [one.observed() for one in tests]
        random, values = np.random.default_rng(stream), []
        for size in chunks(replicates, len(shared.counts), _AT_ONCE):
            changed = shared.draw(random, size)
            values.append([one.replicates(changed) for one in tests])
        drawn += [np.concatenate(one) for one in zip(*values, strict=True)]
    many = np.concatenate(clusters)
    scale = np.concatenate(
        [np.ones(one.shape[1]) if even else _spread(one) for one, even in zip(drawn, smooth, strict=True)]
    )
    bounded = [_bounded(np.concatenate(one, axis=-1) / scale, many) for one in (observed, drawn)]
    return np.split(step_down(*bounded), np.cumsum([len(one) for one in observed])[:-1])


def _bounded(statistic: Array, units: Array) -> Array:
    """t / sqrt(1 + t^2 / n), which is at most sqrt(n); without a value below two units.

    In a part of a few units t is infinite wherever they agree, which would drown all other metrics.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        bounded = np.sign(statistic) / np.sqrt(1 / statistic**2 + 1 / np.maximum(units, 1))
    return np.where(units < 2, np.nan, np.where(statistic == 0, 0.0, bounded))


def _spread(drawn: Array) -> Array:
    """The deviation of each column from zero; 1 where it has none."""
    root = np.sqrt(np.nanmean(np.append(drawn, np.zeros((1, drawn.shape[1])), axis=0) ** 2, axis=0))
    return np.where(root > 0, root, 1.0)


def _columns(pairs: Sequence[Sample], joint: Sample) -> list[Array]:
    """Which columns of the joint rows are those of each metric, first and second side."""
    half, start, columns = joint.distinct.shape[1] // 2, 0, []
    for width in (one.distinct.shape[1] // 2 for one in pairs):
        one = np.arange(start, start + width)
        columns.append(np.concatenate([one, half + one]))
        start += width
    return columns


def _numbers(pair: Sample, smooth: bool) -> int:
    width = int(pair.distinct.shape[1])
    return width * (width + 3) // 2 if smooth else width


def _blocks(numbers: Sequence[int]) -> Iterator[list[int]]:
    """Cut metrics into runs that fit in memory together."""
    block: list[int] = []
    for place in range(len(numbers)):
        if block and sum(numbers[i] for i in block) + numbers[place] > _MOST_NUMBERS:
            yield block
            block = []
        block.append(place)
    yield block


def _samples(pair: Sample) -> list[tuple[Array, Array]]:
    return [one for one in pair.strata if len(one[1])]


def _sizes(pair: Sample) -> list[int]:
    return [int(counts.sum()) for _, counts in _samples(pair)]


@dataclass(frozen=True)
class _Relabelling:
    """Rows of which some are changed to others at random; `start` is how many of each are changed in the data."""

    rows: Array
    changed: Array
    counts: Array
    start: Array
    draw: Callable[[np.random.Generator, int], Array]

    def moments(self, smooth: bool, columns: Array | slice = slice(None)) -> Moments:
        return Moments(self.rows[:, columns], self.counts, self.changed[:, columns], smooth)


def _swaps(rows: Array, counts: Array) -> _Relabelling:
    """Units that change sides, each with probability 1/2: one bit each where few are alike."""
    if counts.max() > 1 and counts.sum() < 10 * len(counts):
        rows, counts = np.repeat(rows, counts, axis=0), np.ones(int(counts.sum()), dtype=np.int64)

    def draw(random: np.random.Generator, size: int) -> Array:
        if counts.max() > 1:
            return random.binomial(counts, 0.5, (size, len(counts))).astype(np.float64)
        drawn = np.frombuffer(random.bytes(size * (len(counts) // 8 + 1)), dtype=np.uint8).reshape(size, -1)
        return np.unpackbits(drawn, axis=1)[:, : len(counts)].astype(np.float64)

    changed = np.roll(rows, rows.shape[1] // 2, axis=1)
    return _Relabelling(rows, changed, counts, np.zeros((1, len(counts))), draw)


def _exchanges(pair: Sample) -> _Relabelling:
    """Units of two groups, of which as many as there are in the first become the first."""
    assert pair.outside is not None
    half = pair.distinct.shape[1] // 2
    rows = np.concatenate([pair.distinct[:, :half], pair.outside[0][:, half:]])
    counts = np.concatenate([pair.counts, pair.outside[1]])
    first = np.concatenate([pair.counts, np.zeros_like(pair.outside[1])])[None]
    blank = np.zeros_like(rows)
    sides = np.concatenate([blank, rows], axis=1), np.concatenate([rows, blank], axis=1)
    return _Relabelling(*sides, counts, first, lambda random, size: _chosen(random, counts, pair.n, size))


class _Shared:
    """One metric under relabellings that it shares with others; its items outside the buckets are its own."""

    def __init__(self, pair: Sample, shared: _Relabelling, columns: Array, paired: bool, smooth: bool, seed: int):
        self.pair, self.random = pair, np.random.default_rng(seed_for(seed, "swap outside"))
        own = [_swaps(*pair.outside)] if paired and pair.outside and len(pair.outside[1]) else []
        self.relabelled = [shared, *own]
        self.moments = [shared.moments(smooth, columns), *(one.moments(smooth) for one in own)]
        self.sizes = [
            pair.n,
            *([] if pair.outside is None or not len(pair.outside[1]) else [int(pair.outside[1].sum())]),
        ]

    def observed(self) -> Array:
        """Its statistic in the data, per part."""
        return np.asarray(self._statistics([one.start for one in self.relabelled])[0])

    def replicates(self, changed: Array) -> Array:
        """Its statistics where so many of each shared row are changed, a row per replicate."""
        return self._statistics([changed, *(one.draw(self.random, len(changed)) for one in self.relabelled[1:])])

    def _statistics(self, changed: Sequence[Array]) -> Array:
        sums = [one.sums(each) for one, each in zip(self.moments, changed, strict=True)]
        return _statistic(self.pair, sums, self.sizes)


class Moments:
    """Sums and sums of products of rows, some of which are changed to others: all that a standard error needs."""

    def __init__(self, rows: Array, counts: Array, changed: Array, smooth: bool):
        tables = [_with_products(one, smooth) for one in (rows.astype(np.float64), changed.astype(np.float64))]
        self.start = totals(tables[0], counts)
        self.change, self.scale = fixed_point(tables[1] - tables[0], int(counts.sum()))

    def sums(self, changed: Array) -> Array:
        """The sums of every replicate, where so many of each distinct row are changed."""
        return np.asarray(self.start + changed @ self.change / self.scale)


def _with_products(rows: Array, smooth: bool) -> Array:
    one, other = np.triu_indices(rows.shape[1])
    return np.concatenate([rows, rows[:, one] * rows[:, other]], axis=1) if smooth else rows


def _statistic(pair: Sample, drawn: Sequence[Array], sizes: Sequence[int]) -> Array:
    """The difference, over its standard error where products are known.

    `drawn` has the sums of each sample of paired units, or of the units of two groups together, and `sizes` how many
    units there are: in each sample, or in each group.
    """
    width = pair.distinct.shape[1]
    sums = np.sum([both[:, :width] for both in drawn], axis=0)
    difference = pair.combine(sums)
    if drawn[0].shape[1] == width:
        return difference
    unpaired = len(sizes) > len(drawn)
    error = np.zeros_like(difference)
    assert isinstance(pair.combine, MetricDifference)
    for place, slope in enumerate(np.moveaxis(pair.combine.slopes(sums), -1, 0)):
        for both, n in zip(drawn, sizes, strict=False):
            error[:, place] += _variance(slope, both[:, :width], both[:, width:], sizes if unpaired else [n], unpaired)
    return _over(difference, np.sqrt(np.maximum(error, 0)))


def _variance(slope: Array, sums: Array, products: Array, sizes: Sequence[int], unpaired: bool) -> Array:
    """Variance of the value, linearised: that of each unit's influence, slope times row, summed over units."""
    width = slope.shape[1]
    one, other = np.triu_indices(width)
    twice = np.where(one == other, 1.0, 2.0)
    terms = slope[:, one] * slope[:, other] * twice * products
    moved = slope * sums
    halves = moved[:, : width // 2].sum(axis=1), moved[:, width // 2 :].sum(axis=1)
    means = (halves[0] + halves[1]) ** 2 / max(sizes[0], 1)
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
        smaller = np.abs(drawn) < np.abs(observed) * (1 - TIE)
    return np.asarray((~smaller).sum(axis=0))


def _chosen(random: np.random.Generator, counts: Array, n: int, size: int) -> Array:
    """How many of each distinct row are among n units drawn without replacement."""
    total = int(counts.sum())
    if len(counts) * 10 < total:
        return random.multivariate_hypergeometric(counts, n, size, method="marginals").astype(np.float64)
    owner = np.repeat(np.arange(len(counts)), counts)
    keys = random.random((size, total), dtype=np.float32)
    first = owner[np.argpartition(keys, n - 1, axis=1)[:, :n]] + len(counts) * np.arange(size)[:, None]
    return np.bincount(first.ravel(), minlength=size * len(counts)).reshape(size, -1).astype(np.float64)
