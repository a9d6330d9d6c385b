"""Do two groups differ over several models? A test in which models and problems are crossed, and the papers' t test.

Models that answer the same problems are no independent sample: if the problems of one group happen to be hard, they are
hard for all. A t over the models' scores (Zgreaban et al. 2025, section 5) takes that for a difference, and rejects up
to 46 % of true nulls. The crossed test has both sources of chance, models and problems, in its variance.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..metrics.metric import Metric
from .bootstrap import Array, by_cluster, collapse, totals
from .intervals import degrees_of_freedom, denominators, slopes

#: Deviations and differences below this share of the largest score are rounding, not variation.
ROUNDING = 1e-12
#: The smallest p-value that is told apart from 0, for one tail.
_LEAST = 1e-12
#: Slopes are differences of two values: influences below this share of their terms are rounding.
_SLOPE_ERROR = 1e-8


class Crossed(NamedTuple):
    """A mean difference over models, its standard error, two-sided p-value and interval; NaN where nothing varies."""

    difference: float
    error: float
    p: float
    low: float
    high: float


def crossed_test(values: npt.ArrayLike, influences: npt.ArrayLike, confidence: float = 0.95) -> Crossed:
    """Is the mean of several models' values zero, for models and clusters of problems like these?

    `values` has each model's difference, `influences` a row per model with each cluster's part in its error (the sum of
    their squares is the squared standard error of that model's value), 0 for a cluster that the model was not asked.

    The variance is V = max(Vm + Vp - Vr, Vm, Vp): of the mean over models, of the mean over clusters, less what both
    contain, the residual. V / Vm has one degree of freedom per model less one, so the critical value matters: it is the
    mean of Student's quantiles for models and for clusters, weighted by Vm and Vp (Cochran and Cox 1957, for two
    samples of unequal variance). With Satterthwaite's degrees of freedom instead, normal data reject up to 12.6 % of
    true nulls at 2 models and 7.8 % at 3, where both variances are alike: a small Vm makes V small and the degrees of
    freedom many at once. This rejects at most 5.5 %. Where few clusters hold most of Vp, they count as fewer.

    >>> shared = [0.02, -0.02, 0.01, -0.01]
    >>> [round(number, 3) for number in crossed_test([0.10, 0.12, 0.11], [shared] * 3)]
    [0.11, 0.032, 0.043, 0.007, 0.213]
    >>> t_test([0.10, 0.12, 0.11], [0.0] * 3).p < 0.01
    True
    """
    value, part = np.asarray(values, dtype=np.float64), np.asarray(influences, dtype=np.float64)
    if value.ndim != 1 or len(value) < 2 or part.ndim != 2 or len(part) != len(value):
        fix = "give a value for each of two or more models, and a row of influences for each"
        raise BadInput(f"found values of shape {value.shape} and influences of shape {part.shape}", fix=fix)
    return Crossed(*(float(each[0]) for each in crossed_tests(value[None], part[None], confidence)))


def crossed_tests(values: Array, influences: Array, confidence: float = 0.95) -> tuple[Array, ...]:
    """The same for many tables at once, along the first axis; what `Crossed` holds, as arrays."""
    from scipy.special import stdtrit

    models = influences.shape[1]
    mean = _sum(values) / models
    noise = ROUNDING * np.abs(values).max(axis=1)
    shared = np.sort(influences, axis=1).sum(axis=1) / models
    spread = _sum((values - mean[:, None]) ** 2) / (models - 1)
    of_models = np.where(np.sqrt(spread) > noise, spread, 0.0) / models
    of_clusters = _sum(shared**2)
    of_both = _sum(((influences - shared[:, None]) ** 2).reshape(len(values), -1)) / (models * (models - 1))
    variance = np.maximum(np.maximum(of_models + of_clusters - of_both, of_models), of_clusters)
    varies = variance > noise**2
    weight = of_models / np.where(varies, of_models + of_clusters, 1.0)
    freedom = degrees_of_freedom(shared.shape[1], of_clusters, _sum(shared**4))

    def quantile(tail: Array) -> Array:
        return np.asarray(-weight * stdtrit(models - 1.0, tail) - (1 - weight) * stdtrit(freedom, tail))

    error = np.sqrt(np.where(varies, variance, 0.0))
    reach = np.where(varies, quantile(np.full(len(values), (1 - confidence) / 2)) * error, np.nan)
    p = 2 * _tail(quantile, np.abs(mean) / np.where(varies, error, 1.0))
    p = np.where(varies, p, np.where(np.abs(mean) <= noise, 1.0, np.nan))  # the same everywhere: nothing to go by
    return mean, error, p, mean - reach, mean + reach


def influences(metric: Metric, units: Array) -> Array:
    """How much each unit moves the value of a smooth metric: a row per unit, a column per part.

    Linearised, centred, and scaled so that the sum of squares estimates the squared standard error. A unit without
    weight in a part has no influence on it.

    >>> influences(Metric(np.asarray), np.array([[1, 4], [0, 2], [2, 2]])).round(4).ravel().tolist()
    [-0.0765, -0.1148, 0.1914]
    """
    slope = slopes(metric.by_part, totals(*collapse(units)).astype(np.float64))
    counts = denominators(metric, units, slope.shape[1]) > 0
    moved = np.where(counts, units @ slope, 0.0)
    n = np.maximum(counts.sum(axis=0), 1)
    moved = np.where(counts, moved - np.sort(moved, axis=0).sum(axis=0) / n, 0.0)
    rounding = _SLOPE_ERROR * (np.abs(units) @ np.abs(slope))
    return np.asarray(np.where(np.abs(moved) > rounding, moved, 0.0) * np.sqrt(n / np.maximum(n - 1, 1)))


def difference_influences(
    metric: Metric, rows: Sequence[Array], cluster: Sequence[Array], names: Sequence[Array]
) -> tuple[Array, Array]:
    """How much each cluster moves the difference of two groups, the first less the second.

    For each group: rows of statistics, the number of each row's cluster, and the names of clusters by number. Returned
    are the names of the clusters of both, sorted, and a row of influences each; a cluster of both moves both.
    """
    known = np.unique(np.concatenate(names))
    moved: Any = 0
    for sign, own, each, numbers in zip((1, -1), names, rows, cluster, strict=True):
        part = influences(metric, by_cluster(each, numbers))
        whole = np.zeros((len(known), part.shape[1]))
        whole[np.searchsorted(known, own)] = part
        moved = moved + sign * whole
    return known, moved


def side_by_side(models: Sequence[tuple[Array, Array]]) -> Array:
    """A row for each model, a column for each cluster that any of them has, from names and influences of each.

    >>> side_by_side([(np.array(["a", "b"]), np.array([1.0, 2.0])), (np.array(["b", "c"]), np.array([3.0, 4.0]))])
    array([[1., 2., 0.],
           [0., 3., 4.]])
    """
    known = np.unique(np.concatenate([names for names, _ in models]))
    table = np.zeros((len(models), len(known)))
    for row, (names, moved) in zip(table, models, strict=True):
        row[np.searchsorted(known, names)] = moved
    return table


def _sum(values: Array) -> Array:
    """The sum of each row, in an order that depends on the values alone, not on that of models and problems."""
    return np.asarray(np.sort(values, axis=1).sum(axis=1))


def _tail(quantile: Callable[[Array], Array], statistic: Array) -> Array:
    """The tail at which the quantile is the statistic, by bisection of its logarithm."""
    low, high = np.full(len(statistic), np.log(_LEAST)), np.full(len(statistic), np.log(0.5))
    for _ in range(50):
        middle = (low + high) / 2
        above = quantile(np.exp(middle)) > statistic
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray(np.exp(high))


class T(NamedTuple):
    """A t statistic, its degrees of freedom, and the two-sided p-value."""

    t: float
    df: float
    p: float


def t_test(one: npt.ArrayLike, other: npt.ArrayLike, paired: bool = True) -> T:
    """Compare the means of two lists of scores: paired where they belong to the same models, else after Welch.

    The papers' test. It does not hold its level where the models answered the same problems: see `crossed_test`.
    Where nothing varies, but for rounding, equal means give t = 0 and p = 1, and others an infinite t and p = 0.

    >>> [round(number, 3) for number in t_test([0.80, 0.85, 0.90], [0.70, 0.78, 0.79])]
    [7.766, 2.0, 0.016]
    >>> t_test([0.1 + 0.2] * 3, [0.3] * 3)
    T(t=0.0, df=2.0, p=1.0)
    """
    a, b = (np.asarray(scores, dtype=np.float64) for scores in (one, other))
    if min(a.size, b.size) < 2 or (paired and a.shape != b.shape):
        raise BadInput(f"found {a.size} and {b.size} scores", fix="give two or more of each, equally many if paired")
    noise = ROUNDING * float(max(np.abs(a).max(), np.abs(b).max()))
    samples = [a - b] if paired else [a, b]
    parts = np.array([_squared_error(sample, noise) for sample in samples])
    freedom = np.array([sample.size - 1.0 for sample in samples])
    spread, difference = float(parts.sum()), float(a.mean() - b.mean())
    df = float(spread**2 / (parts**2 / freedom).sum()) if spread else float(freedom.sum())
    if abs(difference) <= noise:
        difference = 0.0
    if spread == 0:
        return T(0.0, df, 1.0) if difference == 0 else T(float(np.copysign(np.inf, difference)), df, 0.0)
    return _two_sided(difference / float(np.sqrt(spread)), df)


def _squared_error(sample: npt.NDArray[np.float64], noise: float) -> float:
    """The squared standard error of a mean, 0 where the scores differ by rounding alone."""
    deviation = float(np.std(sample, ddof=1))
    return deviation**2 / sample.size if deviation > noise else 0.0


def _two_sided(t: float, df: float) -> T:
    from scipy.special import stdtr

    p: Any = 2 * stdtr(df, -abs(t))
    return T(t, df, float(p))
