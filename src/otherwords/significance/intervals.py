"""Intervals from bootstrap replicates: percentile, and BCa where the metric is smooth (Efron 1987)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .resampling import Sample

Array = npt.NDArray[Any]
KINDS = ("percentile", "bca")


def percentile(values: Array, confidence: float) -> tuple[Array, Array]:
    """Cut off the tails, part by part; replicates in which the metric is undefined do not count.

    `values` has a row per replicate; where no replicate is defined, so is no end of the interval (NaN).
    """
    tail = (1 - confidence) / 2
    return _quantiles(values, np.full(values.shape[1], tail), np.full(values.shape[1], 1 - tail))


def bca(sample: Sample, values: Array, confidence: float) -> tuple[Array, Array]:
    """Correct the percentiles for bias (replicates off the value) and acceleration (a spread that changes with it).

    Acceleration comes from leaving out one unit at a time. Where it cannot be told, because all replicates lie on one
    side of the value or no unit matters, the percentiles stay as they are.
    """
    from scipy.special import ndtr, ndtri  # late: `otherwords --help` needs no scipy

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
    for distinct, counts in filter(None, [(sample.distinct, sample.counts), sample.outside]):
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
