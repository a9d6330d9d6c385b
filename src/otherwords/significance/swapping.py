"""Tests for any metric by exchange: swap two models' answers to whole clusters, or clusters between two groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..storage.files import seed_for
from .resampling import Sample, chunks, collapse, fixed_point, totals

Array = npt.NDArray[Any]
#: Differences closer than this are ties: sums of fractions differ by less.
_TIE = 1e-12


def swap_test(pair: Sample, replicates: int, seed: int) -> Array:
    """The chance of a difference at least as large if it did not matter which model gave which answers.

    `pair` has the rows of the one model beside those of the other, and combines them to a difference per part. In each
    replicate every unit changes sides with probability 1/2; units with equal rows are swapped together, by one binomial
    draw. p = (1 + #) / (replicates + 1), two-sided, so never 0 (Phipson and Smyth 2010).
    """
    random = np.random.default_rng(seed_for(seed, "swap", pair.name))
    sums = _swapped(random, pair.distinct, pair.counts, replicates)
    if pair.outside is not None:
        sums = sums + _swapped(random, *pair.outside, replicates)
    return _p_value(pair, pair.combine(sums), replicates)


def exchange_test(pair: Sample, replicates: int, seed: int) -> Array:
    """The same for two groups of different units: who belongs to which group is drawn anew, sizes kept.

    The units of the one group are inside, those of the other outside, each with zeros in the other's columns.
    """
    assert pair.outside is not None
    half = pair.distinct.shape[1] // 2
    rows = np.concatenate([pair.distinct[:, :half], pair.outside[0][:, half:]])
    counts = np.concatenate([pair.counts, pair.outside[1]])
    distinct, counts = collapse(np.repeat(rows, counts, axis=0))
    random = np.random.default_rng(seed_for(seed, "exchange", pair.name))
    exact, scale = fixed_point(distinct, int(counts.sum()))
    taken = np.concatenate([
        random.multivariate_hypergeometric(counts, pair.n, size, method="marginals").astype(np.float64) @ exact
        for size in chunks(replicates, len(counts))
    ])  # fmt: skip
    sums = np.concatenate([taken, counts @ exact - taken], axis=1) / np.tile(scale, 2)
    return _p_value(pair, pair.combine(sums), replicates)


def _swapped(random: np.random.Generator, distinct: Array, counts: Array, replicates: int) -> Array:
    """Sums of both models after swapping: what the one gains, the other loses."""
    if not len(counts):
        return np.zeros((replicates, distinct.shape[1]))
    half = distinct.shape[1] // 2
    change, scale = fixed_point(distinct[:, half:] - distinct[:, :half], int(counts.sum()))
    moved = np.concatenate([_binomial(random, counts, size) @ change for size in chunks(replicates, len(counts))])
    return np.asarray(totals(distinct, counts) + np.concatenate([moved / scale, -moved / scale], axis=1))


def _binomial(random: np.random.Generator, counts: Array, size: int) -> Array:
    """How many of each distinct row change sides; one bit each where all rows differ."""
    if counts.max() > 1:
        return random.binomial(counts, 0.5, (size, len(counts))).astype(np.float64)
    drawn = np.frombuffer(random.bytes(size * (len(counts) // 8 + 1)), dtype=np.uint8).reshape(size, -1)
    bits = np.unpackbits(drawn, axis=1)
    return bits[:, : len(counts)].astype(np.float64)


def _p_value(pair: Sample, drawn: Array, replicates: int) -> Array:
    """Two-sided; a replicate in which the difference is undefined counts as large, so that p is never too small."""
    observed = np.abs(pair.value())
    with np.errstate(invalid="ignore"):
        smaller = np.abs(drawn) < observed - _TIE
    p = (1 + (~smaller).sum(axis=0)) / (replicates + 1)
    return np.where(np.isnan(observed), np.nan, p)
