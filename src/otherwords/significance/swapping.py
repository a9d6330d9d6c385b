"""Tests for any metric by exchange: swap two models' answers to whole clusters, or clusters between two groups.

What is compared is the difference over its standard error in each replicate (Janssen 1997; Chung and Romano 2013). The
bare difference would only test that the two are interchangeable in every respect: where a rate has another denominator
for each model, such as flips of wrong answers, it rejects far too often though the rates are equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..storage.files import seed_for
from .resampling import Sample, chunks, fixed_point, totals

Array = npt.NDArray[Any]
#: Values closer than this, as a share, are ties.
_TIE = 1e-9
#: Units times replicates that are held at a time.
_AT_ONCE = 4_000_000


def swap_test(pair: Sample, replicates: int, seed: int, smooth: bool = True) -> Array:
    """The chance of a difference at least as large if it did not matter which model gave which answers.

    `pair` has the rows of the one model beside those of the other, and combines them to a difference per part. In each
    replicate every unit changes sides with probability 1/2; units with equal rows are swapped together, by one binomial
    draw. p = (1 + #) / (replicates + 1), two-sided, so never 0 (Phipson and Smyth 2010). Without a smooth metric there
    is no standard error, and the bare difference is compared.
    """
    random = np.random.default_rng(seed_for(seed, "swap", pair.name))
    samples = [(pair.distinct, pair.counts), *([pair.outside] if pair.outside else [])]
    width = max(1, sum(len(counts) for _, counts in samples))
    observed = _statistic(pair, samples, [np.zeros((1, len(counts))) for _, counts in samples], smooth)[0]
    larger = np.zeros(len(observed))
    for size in chunks(replicates, width, _AT_ONCE):
        moved = [_binomial(random, counts, size) for _, counts in samples]
        larger += _as_large(_statistic(pair, samples, moved, smooth), observed)
    return np.where(np.isnan(observed), np.nan, (1 + larger) / (replicates + 1))


def exchange_test(pair: Sample, replicates: int, seed: int, smooth: bool = True) -> Array:
    """The same for two groups of different units: who belongs to which group is drawn anew, sizes kept.

    The units of the one group are inside, those of the other outside, each with zeros in the other's columns.
    """
    assert pair.outside is not None
    half = pair.distinct.shape[1] // 2
    both = np.concatenate([pair.distinct[:, :half], pair.outside[0][:, half:]])
    rows, place = np.unique(both, axis=0, return_inverse=True)
    told = np.bincount(place.ravel(), np.concatenate([pair.counts, pair.outside[1]])).astype(np.int64)
    here = np.bincount(place.ravel()[: len(pair.counts)], pair.counts, len(rows))
    random = np.random.default_rng(seed_for(seed, "exchange", pair.name))
    observed = _apart(pair, rows, here[None], told, smooth)[0]
    larger = np.zeros(len(observed))
    for size in chunks(replicates, len(rows), _AT_ONCE):
        taken = random.multivariate_hypergeometric(told, pair.n, size, method="marginals")
        larger += _as_large(_apart(pair, rows, taken, told, smooth), observed)
    return np.where(np.isnan(observed), np.nan, (1 + larger) / (replicates + 1))


def _statistic(pair: Sample, samples: list[tuple[Array, Array]], moved: list[Array], smooth: bool) -> Array:
    """The difference, over its standard error where there is one, after so many of each distinct row changed sides."""
    sums = np.zeros((len(moved[0]), pair.distinct.shape[1]))
    for (distinct, counts), some in zip(samples, moved, strict=True):
        if len(counts):
            half = distinct.shape[1] // 2
            change, scale = fixed_point(distinct[:, half:] - distinct[:, :half], int(counts.sum()))
            gained = some @ change / scale
            sums += totals(distinct, counts) + np.concatenate([gained, -gained], axis=1)
    difference = pair.combine(sums)
    if not smooth:
        return difference
    error = np.zeros_like(difference)
    for place, slope in enumerate(_slopes(pair, sums)):
        error[:, place] = sum(_variance(slope, *one, some) for one, some in zip(samples, moved, strict=True))
    return _over(difference, np.sqrt(error))


def _variance(slope: Array, distinct: Array, counts: Array, moved: Array) -> Array:
    """Variance of the value, linearised: that of each unit's influence, as it stands or with its sides changed."""
    if not len(counts):
        return np.zeros(len(slope))
    half = distinct.shape[1] // 2
    as_is = slope @ distinct.T
    changed = slope @ np.concatenate([distinct[:, half:], distinct[:, :half]], axis=1).T
    n = counts.sum()
    mean = (as_is * (counts - moved) + changed * moved).sum(axis=1, keepdims=True) / n
    return np.asarray(((as_is - mean) ** 2 * (counts - moved) + (changed - mean) ** 2 * moved).sum(axis=1))


def _apart(pair: Sample, rows: Array, taken: Array, counts: Array, smooth: bool) -> Array:
    """The same where so many of each distinct row belong to the one group, and the rest to the other."""
    exact, scale = fixed_point(rows, int(counts.sum()))
    sums = np.concatenate([taken @ exact / scale, (counts - taken) @ exact / scale], axis=1)
    difference = pair.combine(sums)
    if not smooth:
        return difference
    half, error = rows.shape[1], np.zeros_like(difference)
    for place, slope in enumerate(_slopes(pair, sums)):
        for side, weight in ((slope[:, :half], taken), (slope[:, half:], counts - taken)):
            moves = side @ rows.T
            mean = (moves * weight).sum(axis=1, keepdims=True) / weight.sum(axis=1, keepdims=True)
            error[:, place] += ((moves - mean) ** 2 * weight).sum(axis=1)
    return _over(difference, np.sqrt(error))


def _slopes(pair: Sample, sums: Array) -> Iterator[Array]:
    """How the value changes with each sum: a row per replicate, for one part after the other."""
    step = 1e-6 * np.maximum(np.abs(sums), 1.0)
    slopes = []
    for column in range(sums.shape[1]):
        ends = []
        for sign in (1, -1):
            moved = sums.copy()
            moved[:, column] += sign * step[:, column]
            ends.append(pair.combine(moved))
        slopes.append((ends[0] - ends[1]) / (2 * step[:, column, None]))
    return iter(np.moveaxis(np.nan_to_num(np.stack(slopes, axis=1)), 2, 0))


def _over(difference: Array, error: Array) -> Array:
    """Divide; a difference without any error is infinite, and none stays none."""
    tiny = 1e-9 * np.maximum(np.abs(difference), 1e-3)
    with np.errstate(invalid="ignore", divide="ignore"):
        told = np.where(error > tiny, difference / error, np.where(np.abs(difference) > _TIE, np.inf, 0.0))
    return np.where(np.isnan(difference), np.nan, told)


def _as_large(drawn: Array, observed: Array) -> Array:
    """How often; a replicate in which the difference is undefined counts as large, so that p is never too small."""
    with np.errstate(invalid="ignore"):
        smaller = np.abs(drawn) < np.abs(observed) * (1 - _TIE)
    return np.asarray((~smaller).sum(axis=0))


def _binomial(random: np.random.Generator, counts: Array, size: int) -> Array:
    """How many of each distinct row change sides; one bit each where all rows differ."""
    if not len(counts) or counts.max() > 1:
        return random.binomial(counts, 0.5, (size, len(counts))).astype(np.float64)
    drawn = np.frombuffer(random.bytes(size * (len(counts) // 8 + 1)), dtype=np.uint8).reshape(size, -1)
    return np.unpackbits(drawn, axis=1)[:, : len(counts)].astype(np.float64)
