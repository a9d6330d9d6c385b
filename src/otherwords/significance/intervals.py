"""Intervals: of a share in closed form, of the difference of two shares, and from the replicates of a bootstrap.

A share of clusters gets Wilson's interval (1927) on its effective sample size, with as many degrees of
freedom as the clusters' influences allow; a difference of two shares gets MOVER (Zou and Donner 2008) on their ends.
`python -m benchmarks coverage` shows what they cover. Other values get percentiles, or BCa (Efron 1987).
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..metrics.metric import Metric, ratio
from .bootstrap import Array, Sample

#: The kinds of interval that a user may ask for; "auto" is Wilson's or MOVER where it fits, else percentiles.
KINDS = ("auto", "wilson", "percentile", "bca")
#: Standard errors below this are rounding: a real one would need 10^17 clusters.
_NOTHING = 1e-9
#: Influences below this are rounding: those of ten million clusters are larger.
_ROUNDING = 1e-13
#: The end of an interval that is not there.
_NONE = np.array([np.nan])
#: Places to which ends are rounded, so that no processor's last bits are in them.
_PLACES = 12


class Units(NamedTuple):
    """Influences of independent units on a value, along the last axis, and how many units each stands for.

    The influence is what the value would lose without the unit; `counts` is 0 where a unit has no weight in it.
    """

    influence: Array
    counts: Array


def share_interval(value: Array, samples: Sequence[Units], confidence: float) -> tuple[Array, Array]:
    """The interval of a share in [0, 1], or of any smooth function of sums with values there.

    `value` may have any shape; the influences have one more axis. Samples are independent of each other, such as the
    buckets and a test set. Wilson's interval takes the effective sample size v (1 - v) / SE^2 for the number of trials,
    and a quantile of t for that of the normal; its degrees of freedom fall with the kurtosis of the influences,
    because few clusters that matter tell little about the error. Where nothing varies, it is Wilson's over the
    clusters. An interval is never narrower than that of no event at all: seeing one flip cannot mean to know more.
    A single cluster has none (NaN).

    >>> flips, variants = np.array([1, 0, 0, 0] * 25), np.full(100, 4)
    >>> influence = (flips - flips.sum() / variants.sum() * variants) / variants.sum()
    >>> low, high = share_interval(np.array(0.0625), [Units(influence, np.ones(100))], 0.95)
    >>> print(f"{low:.4f} {high:.4f}")
    0.0442 0.0877
    """
    return share_ends(value, _spread(samples), confidence)


class _Caps(NamedTuple):
    """Of a mean of the clusters' own values: how many are above 0, how many below 1, of how many; the largest's weight.

    A share is at most that of the clusters that have the event, by weight. That bounds it where one or two of them
    leave the error so uncertain that a second flip would narrow the interval.
    """

    have: Array
    lack: Array
    n: Array
    largest: Array

    @classmethod
    def of(cls, value: Array, own: Array, weight: Array, counts: Array) -> "_Caps":
        """From each cluster's own value and weight, along the axis before the last; no bounds where it is no mean."""
        own, there = np.nan_to_num(own), np.where(weight > 0, counts[..., None], 0)
        n, whole = there.sum(axis=-2), (weight * there).sum(axis=-2)
        mean = (own * weight * there).sum(axis=-2) / np.where(whole > 0, whole, 1)
        is_mean = np.abs(mean - value) <= _NOTHING
        largest = np.where(there > 0, weight, 0).max(axis=-2, initial=0) * n / np.where(whole > 0, whole, 1)
        have, lack = ((there * some).sum(axis=-2) for some in (own > _NOTHING, own < 1 - _NOTHING))
        return cls(have, lack, n, np.where(is_mean, largest, np.inf))

    def ends(self, tail: Array | float) -> tuple[Array, Array]:
        """The ends of Clopper and Pearson for the clusters that lack the event and those that have it."""
        from scipy.special import betaincinv

        def upper(k: Array) -> Array:
            some = betaincinv(k + 1.0, np.maximum(self.n - k, 1.0), tail)
            return np.where(k < self.n, some * self.largest, np.inf)

        return 1 - upper(self.lack), upper(self.have)


def share_ends(
    value: Array, spread: tuple[Array, Array, Array], confidence: Array | float, caps: _Caps | None = None
) -> tuple[Array, Array]:
    """The interval of a share from its squared error, the degrees of freedom of that, and how many clusters there are.

    `share_interval` says how.
    """
    from scipy.special import ndtri, stdtrit  # late: `otherwords --help` needs no scipy

    tail = (1 + confidence) / 2
    error, freedom, n = spread
    z, t = ndtri(tail), stdtrit(np.maximum(freedom, 1.0), tail)
    with np.errstate(invalid="ignore", divide="ignore"):
        varies = (error > _NOTHING**2) & (value > 0) & (value < 1)
        size = np.where(varies, value * (1 - value) / np.where(varies, error, 1.0), n)
        low, high = _score_interval(value, size, np.where(varies, t, z))
        if caps is not None:
            least, most = caps.ends(tail)
            low, high = np.where(varies, np.maximum(low, least), low), np.where(varies, np.minimum(high, most), high)
        floor = z * z / (n + z * z)
        low, high = np.minimum(low, 1 - floor), np.maximum(high, floor)
    low, high = np.where(value <= 0, 0.0, low), np.where(value >= 1, 1.0, high)
    known = (n > 1) & ~np.isnan(value)
    return tuple(np.round(np.where(known, np.clip(end, 0, 1), np.nan), _PLACES) for end in (low, high))  # type: ignore[return-value]


def _net_ends(
    value: Array, spread: tuple[Array, Array, Array], noise: Array, confidence: Array | float
) -> tuple[Array, Array]:
    """The interval of a share less a noise floor: what is left is in truth never below 0, but may be by chance.

    Its error has two parts: noise, which is the same whatever the share, and that of a share p, which is
    p (1 - p) / n: the ends solve (v - p)^2 = q^2 (noise + p (1 - p) / n). For the upper end, as much as can be is that
    of a share, since what was seen of rare flips says little of them. For the lower end, only `noise` is noise: the
    squared error due to clusters in which the same text got two answers. Without noise, both are Wilson's.
    """
    from scipy.special import ndtri, stdtrit

    tail = (1 + confidence) / 2
    error, freedom, n = spread
    z = ndtri(tail)
    q = np.where(error > _NOTHING**2, stdtrit(np.maximum(freedom, 1.0), tail), z)
    product = np.clip(value, 0, 1) * (1 - np.clip(value, 0, 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        most = product / n
        size = np.where((error > _NOTHING**2) & (error < most), product / error, n)
        floor = z * z / (n + z * z)
        high = np.maximum(_solve(value, error - np.minimum(error, most), size, q)[1], floor)
        rest = error - noise
        size = np.where((rest > _NOTHING**2) & (product > 0), product / rest, np.inf)
        below = value - q * np.sqrt(np.where(value > 0, noise, error))
        low = np.minimum(np.where(below > 0, _solve(value, noise, size, q)[0], below), 1 - floor)
    known = (n > 1) & ~np.isnan(value)
    return tuple(np.round(np.where(known, np.clip(end, -1, 1), np.nan), _PLACES) for end in (low, high))  # type: ignore[return-value]


def _solve(value: Array, noise: Array, size: Array, q: Array) -> tuple[Array, Array]:
    """Both p of which (value - p)^2 = q^2 (noise + p (1 - p) / size)."""
    square = q * q / size
    middle, scale = value + square / 2, 1 + square
    root = np.sqrt(np.maximum(middle * middle - scale * (value * value - q * q * np.maximum(noise, 0)), 0))
    return (middle - root) / scale, (middle + root) / scale


def _spread(samples: Sequence[Units]) -> tuple[Array, Array, Array]:
    """The squared standard error of a value, its degrees of freedom, and how many units there are (of the smallest)."""
    errors, freedoms, sizes = [], [], []
    for influence, counts in samples:
        n = counts.sum(axis=-1)
        squares = (counts * influence**2).sum(axis=-1)
        errors.append(squares * n / np.maximum(n - 1, 1))
        freedoms.append(degrees_of_freedom(n, squares, (counts * influence**4).sum(axis=-1)))
        sizes.append(n)
    if len(samples) == 1:
        return errors[0], freedoms[0], sizes[0]
    error = np.sum(errors, axis=0)
    by_freedom = np.sum([one**2 / df for one, df in zip(errors, freedoms, strict=True)], axis=0)  # Satterthwaite
    with np.errstate(invalid="ignore", divide="ignore"):
        whole = error**2 / np.where(by_freedom > 0, by_freedom, 1.0)
    freedom = np.where(by_freedom > 0, whole, np.max(freedoms, axis=0))
    most = np.max(sizes, axis=0)
    return error, freedom, np.min([np.where(n > 0, n, most) for n in sizes], axis=0)


def degrees_of_freedom(n: Array | int, squares: Array, fourths: Array) -> Array:
    """Degrees of freedom of a variance, from the sums of the second and fourth powers of the influences of `n` units.

    One less than there are units, fewer where a few units hold most of it.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        excess = np.where(squares > 0, n * fourths / np.where(squares > 0, squares, 1.0) ** 2, 1.0) - 1
        limited = np.where(excess > 0, 2 * n / np.where(excess > 0, excess, 1.0), n - 1)
    return np.asarray(np.maximum(1, np.minimum(n - 1, limited)))


def _score_interval(share: Array, n: Array, q: Array) -> tuple[Array, Array]:
    """Wilson's interval, for any number of trials and any quantile."""
    square = q * q / n
    half = q * np.sqrt(np.maximum(share * (1 - share), 0) / n + square / (4 * n))
    return (share + square / 2 - half) / (1 + square), (share + square / 2 + half) / (1 + square)


def difference_interval(
    values: Sequence[Array], ends: Sequence[tuple[Array, Array]], correlation: Array
) -> tuple[Array, Array]:
    """The interval of a difference from those of its two sides (MOVER), which vary together as `correlation` says.

    >>> sides = (np.array(0.9), np.array(0.8)), [(np.array(0.85), np.array(0.93)), (np.array(0.74), np.array(0.85))]
    >>> [round(float(end), 4) for end in difference_interval(*sides, np.array(0.0))]
    [0.0293, 0.1671]
    """
    one, other = values
    (one_low, one_high), (other_low, other_high) = ends
    far = (one - one_low, other_high - other), (one_high - one, other - other_low)
    below, above = (np.sqrt(np.maximum(a * a + b * b - 2 * correlation * a * b, 0)) for a, b in far)
    difference = one - other
    return np.round(difference - below, _PLACES), np.round(difference + above, _PLACES)


def correlation(one: Array, other: Array, counts: Array) -> Array:
    """How two values vary together over the units that they share: 0 where one does not vary."""
    product = (counts * one * other).sum(axis=-1)
    scale = np.sqrt((counts * one**2).sum(axis=-1) * (counts * other**2).sum(axis=-1))
    return np.clip(np.where(scale > _NOTHING**2, product / np.where(scale > 0, scale, 1.0), 0.0), -1, 1)


def slopes(combine: Callable[[Array], Array], sums: Array) -> Array:
    """How each part of a value changes with each sum: (..., columns, parts), by central differences."""
    width = sums.shape[-1]
    step = 1e-6 * np.maximum(np.abs(sums), 1.0)
    moved = np.eye(width) * step[..., None, :]
    ends = combine(np.concatenate([sums[..., None, :] + moved, sums[..., None, :] - moved], axis=-2))
    return np.nan_to_num((ends[..., :width, :] - ends[..., width:, :]) / (2 * step[..., :, None]))


# Of a metric on its rows


class Estimate(NamedTuple):
    """The value of a metric, part by part, its interval, and the influence of every unit of every sample on it.

    `at` gives the interval at another confidence, which may differ from part to part; `freedom` says how many clusters
    decide the error, in degrees of freedom.
    """

    value: Array
    low: Array
    high: Array
    units: list[Units]
    at: Callable[[Any], tuple[Array, Array]]
    freedom: Array


def has_closed_form(metric: Metric) -> bool:
    """Whether a metric has an interval without replicates: smooth, between two bounds, or a difference of such."""
    return metric.sides is not None or (metric.smooth and all(map(math.isfinite, metric.bounds)))


def closed_form(metric: Metric, samples: Sequence[tuple[Array, Array]], confidence: float) -> Estimate:
    """The value of a metric with its interval, from rows of statistics and how often each occurs, sample by sample.

    Several data sets may be stacked along the first axes, as in simulations.
    """
    sums = np.sum([(rows * counts[..., None]).sum(axis=-2) for rows, counts in samples], axis=0)
    if metric.sides is None:
        return _estimate(metric, metric.by_part, sums, samples, confidence)
    both = [_estimate(metric, _side(metric, place), sums, samples, confidence, place) for place in (0, 1)]
    one, other = both
    alone = np.isnan(other.value)  # a share by itself
    units = [
        Units(first - np.where(alone[..., None], 0, second), np.maximum(counts, others))
        for (first, counts), (second, others) in zip(one.units, other.units, strict=True)
    ]

    def at(confidence: Any) -> tuple[Array, Array]:
        low, high = difference_ends(one, other, confidence)
        share = one.at(confidence)
        return np.where(alone, share[0], low), np.where(alone, share[1], high)

    return Estimate(metric.by_part(sums), *at(confidence), units, at, np.minimum(one.freedom, other.freedom))


def difference_ends(
    one: Estimate, other: Estimate, confidence: Array | float, paired: bool = True, most: Array | float = 1.0
) -> tuple[Array, Array]:
    """The interval of the difference of two estimates, of the same units or (not `paired`) of different ones.

    `most` is the greatest difference that there may be: 2 of what are differences of shares themselves.

    MOVER, and never narrower than a t interval of the difference itself: Wilson's ends lie nearer the middle than the
    error of a rate, which with a handful of clusters and rates near 1/2 made intervals of differences too narrow
    (92.1 % covered of 95; so 93.5).
    """
    from scipy.special import stdtrit

    together = correlated(one, other) if paired else np.zeros_like(one.value)
    ends = one.at(confidence), other.at(confidence)
    low, high = difference_interval((one.value, other.value), ends, together)
    opposite = [Units(-influence, counts) for influence, counts in other.units]
    units = _differences(one.units, opposite) if paired else [*one.units, *opposite]
    error, freedom, _ = _spread(units)
    reach = stdtrit(np.maximum(freedom, 1.0), (1 + confidence) / 2) * np.sqrt(error)
    middle = one.value - other.value
    low, high = np.minimum(low, middle - reach), np.maximum(high, middle + reach)
    return np.round(np.maximum(low, -most), _PLACES), np.round(np.minimum(high, most), _PLACES)


def difference_p(one: Estimate, other: Estimate, paired: bool = True) -> Array:
    """The least level at which the interval of the difference leaves out 0, part by part; 1 where there is none.

    Permuted answers tell too often of a difference where only the spread differs, as between a model that errs on whole
    problems and one that errs here and there; this does not.
    """
    fails, holds = np.full(np.shape(one.value), -12.0), np.zeros(np.shape(one.value))  # powers of ten of the level
    for _ in range(40):
        middle = (fails + holds) / 2
        low, high = difference_ends(one, other, 1 - 10**middle, paired)
        out = (low > 0) | (high < 0)
        fails, holds = np.where(out, fails, middle), np.where(out, middle, holds)
    return np.where(np.isnan(one.value + other.value), np.nan, np.round(10**holds, _PLACES))


def _differences(one: Sequence[Units], opposite: Sequence[Units]) -> list[Units]:
    return [Units(a + b, np.maximum(n, m)) for (a, n), (b, m) in zip(one, opposite, strict=True)]


def closed_forms(
    metric: Metric, samples: Sequence[tuple[Array, Array]], confidence: float
) -> list[tuple[Array, Array]]:
    """The intervals of many data sets, each as rows and counts: those of about the same size are stacked."""
    ends: list[tuple[Array, Array]] = [(_NONE, _NONE)] * len(samples)
    by_size: dict[int, list[int]] = {}
    for place, (_, counts) in enumerate(samples):
        by_size.setdefault(len(counts).bit_length(), []).append(place)
    for places in by_size.values():
        most = max(len(samples[place][1]) for place in places)
        rows = np.zeros((len(places), most, samples[0][0].shape[1]))
        counts = np.zeros((len(places), most))
        for i, place in enumerate(places):
            each, count = samples[place]
            rows[i, : len(count)], counts[i, : len(count)] = each, count
        found = closed_form(metric, [(rows, counts)], confidence)
        for i, place in enumerate(places):
            ends[place] = found.low[i], found.high[i]
    return ends


def correlated(one: Estimate, other: Estimate) -> Array:
    """How two estimates on the same units vary together, part by part."""
    influences = [np.concatenate([units.influence for units in each.units], axis=-1) for each in (one, other)]
    counts = [np.concatenate([units.counts for units in each.units], axis=-1) for each in (one, other)]
    return correlation(influences[0], influences[1], np.maximum(*counts))


def denominators(metric: Metric, rows: Array, parts: int, side: int = 0) -> Array:
    """The denominator of each row in each part: what it weighs, on one side of a difference."""
    if metric.combine is ratio:
        return np.broadcast_to(rows[..., 1:2], (*rows.shape[:-1], parts))
    if metric.counted is None:
        return np.broadcast_to(rows[..., -1:], (*rows.shape[:-1], parts))
    flat = rows.reshape(-1, rows.shape[-1])  # `counted` may count on two axes
    each = metric.weights(flat)[side] if metric.weights else metric.counted(flat)
    return np.broadcast_to(each.reshape(*rows.shape[:-1], each.shape[-1]), (*rows.shape[:-1], parts))


def _side(metric: Metric, place: int) -> Callable[[Array], Array]:
    def side(sums: Array) -> Array:
        assert metric.sides is not None
        value = np.asarray(metric.sides(sums)[place])
        return value if metric.parts else value[..., None]

    return side


def _estimate(
    metric: Metric,
    combine: Callable[[Array], Array],
    sums: Array,
    samples: Sequence[tuple[Array, Array]],
    confidence: float,
    side: int = 0,
) -> Estimate:
    low, high = _range(metric)
    value = (np.asarray(combine(sums), dtype=np.float64) - low) / (high - low)
    units = []
    for rows, counts in samples:
        without = (np.asarray(combine(sums[..., None, :] - rows), dtype=np.float64) - low) / (high - low)
        influence = np.nan_to_num(value[..., None, :] - np.nan_to_num(without, nan=0.0))
        influence = np.where(np.abs(influence) <= _ROUNDING, 0.0, influence)
        # The two sides of a difference need not be about the same units.
        there = denominators(metric, rows, value.shape[-1]) > 0 if metric.sides is None else ~np.isnan(combine(rows))
        each = np.where(there, counts[..., None], 0.0)
        units.append(Units(np.moveaxis(influence, -1, -2), np.moveaxis(each, -1, -2)))
    spread, caps = _spread(units), None
    if len(samples) == 1:
        own = (np.asarray(combine(rows), dtype=np.float64) - low) / (high - low)
        caps = _Caps.of(value, own, denominators(metric, rows, value.shape[-1], side), counts)
    inside = (value >= -_ROUNDING) & (value <= 1 + _ROUNDING)
    noise = _noise(metric, samples, units, spread[0]) if metric.floor else None

    def at(confidence: Any) -> tuple[Array, Array]:
        if noise is not None:
            return _net_ends(value, spread, noise, confidence)
        ends = share_ends(value, spread, confidence, caps)
        lower, upper = (np.where(inside, low + (high - low) * end, np.nan) for end in ends)
        return lower, upper

    scaled = [Units((high - low) * influence, each) for influence, each in units]
    return Estimate(low + (high - low) * value, *at(confidence), scaled, at, spread[1])


def _noise(metric: Metric, samples: Sequence[tuple[Array, Array]], units: Sequence[Units], error: Array) -> Array:
    """How much of a squared error is due to clusters in which noise was seen."""
    assert metric.floor is not None
    whole, noisy = np.zeros_like(error), np.zeros_like(error)
    for (rows, _), (influence, counts) in zip(samples, units, strict=True):
        squares = counts * influence**2
        whole += squares.sum(axis=-1)
        noisy += (squares * (np.nan_to_num(metric.floor(rows)) > _NOTHING)[..., None, :]).sum(axis=-1)
    return error * np.where(whole > 0, noisy / np.where(whole > 0, whole, 1.0), 0.0)


def _range(metric: Metric) -> tuple[float, float]:
    """Where Wilson's interval has its ends: 0 and 1 for a share and its sides, else the metric's bounds."""
    low, high = metric.bounds
    within = metric.share and low >= 0 and high <= 1
    return (0.0, 1.0) if within or metric.sides is not None or metric.floor is not None else (low, high)


# From the replicates of a bootstrap


def percentile(values: Array, confidence: float) -> tuple[Array, Array]:
    """Cut off the tails, part by part; replicates in which the metric is undefined do not count.

    `values` has a row per replicate; where no replicate is defined, so is no end of the interval (NaN).
    """
    tail = (1 - confidence) / 2
    return _quantiles(values, np.full(values.shape[1], tail), np.full(values.shape[1], 1 - tail))


def replicate_ends(kind: str, sample: Sample, values: Array, confidence: float) -> tuple[Array, Array]:
    """Both ends of each part from its replicates: by "bca", or by "percentile"."""
    return bca(sample, values, confidence) if kind == "bca" else percentile(values, confidence)


def undefined(values: Array) -> Array:
    """The share of replicates in which each part has no value."""
    return np.asarray(np.isnan(values).mean(axis=0))


def bca(sample: Sample, values: Array, confidence: float) -> tuple[Array, Array]:
    """Correct the percentiles for bias (replicates off the value) and acceleration (a spread that changes with it).

    Acceleration comes from leaving out one unit at a time. Where it is undefined, because all replicates lie on one
    side of the value or no unit matters, the percentiles stay as they are.
    """
    from scipy.special import ndtr, ndtri

    value = sample.value()
    with np.errstate(invalid="ignore"):
        below = (values < value).sum(axis=0) + (values == value).sum(axis=0) / 2
    share = below / np.maximum((~np.isnan(values)).sum(axis=0), 1)
    bias = ndtri(np.where((share <= 0) | (share >= 1), 0.5, share))
    a = _acceleration(sample)
    ends = []
    for tail in ((1 - confidence) / 2, (1 + confidence) / 2):
        z = bias + ndtri(tail)
        ends.append(ndtr(bias + z / (1 - a * z)))
    return _quantiles(values, *ends)


def _acceleration(sample: Sample) -> Array:
    """Skewness of the influence of single units; each unit's share counts by the size of its own sample."""
    total = sample.totals()
    cubes, squares = np.zeros(len(sample.value())), np.zeros(len(sample.value()))
    for distinct, counts in sample.strata:
        if not len(counts):
            continue  # the buckets do not count, as for the accuracy on a test set
        without = sample.combine(total - distinct)
        known = ~np.isnan(without)
        weight = counts[:, None] * known
        without = np.where(known, without, 0)
        mean = (without * weight).sum(axis=0) / np.maximum(weight.sum(axis=0), 1)
        n = counts.sum()
        influence = (n - 1) * (mean - without) * known
        cubes += (counts[:, None] * influence**3).sum(axis=0) / n**3
        squares += (counts[:, None] * influence**2).sum(axis=0) / n**2
    return np.where(squares > 0, cubes / (6 * np.where(squares > 0, squares, 1) ** 1.5), 0.0)


def _quantiles(values: Array, low: Array, high: Array) -> tuple[Array, Array]:
    ends = np.full((2, values.shape[1]), np.nan)
    for part in range(values.shape[1]):
        defined = values[:, part][~np.isnan(values[:, part])]
        if defined.size:
            ends[:, part] = np.quantile(defined, [low[part], high[part]])
    return ends[0], ends[1]
