"""Spread: how decided a model is, and whether other words make it less so (Arakelyan et al. 2024).

The paper's Kolmogorov-Smirnov statistic over three unordered classes depends on the order of the labels; here it is
that of one probability, the one of the label the original was given. Flipped variants differ by construction, so
neither number comes with a p-value.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ..answers.table import Answers, cut
from ..errors import BadInput
from ..registry import metrics
from .metric import Array, Metric, divide

# MERGED from metrics.divergence: Jensen-Shannon divergence: how far two distributions are apart, in bits or in nats, never as its square root.

#: The divisor that turns nats into the unit asked for.
UNITS = {"2": math.log(2), "e": 1.0}


def jsd(p: npt.ArrayLike, q: npt.ArrayLike, base: str = "2") -> Array:
    """Jensen-Shannon divergence of each row of `p` from the same row of `q`: from 0 (equal) to 1 bit (disjoint).

    >>> jsd([[1, 0, 0], [0.5, 0.5, 0]], [[0, 1, 0], [0.5, 0.5, 0]]).tolist()
    [1.0, 0.0]
    """
    unit = unit_of(base)
    one, other = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    if one.shape != other.shape or one.size == 0:
        fix = "give as many rows of probabilities in both, at least one"
        raise BadInput(f"divergence of arrays of shapes {one.shape} and {other.shape}", fix=fix)
    return divergence(one, other) / unit


def divergence(p: Array, q: Array) -> Array:
    """In nats, along the last axis; rounding must not make it negative, nor larger than it can be."""
    from scipy.special import rel_entr  # late: `otherwords --help` needs no scipy

    middle = (p + q) / 2
    nats = (rel_entr(p, middle) + rel_entr(q, middle)).sum(axis=-1) / 2
    return np.asarray(np.clip(nats, 0, math.log(2)))


def unit_of(base: str) -> float:
    """What nats are divided by, for a logarithm to this base."""
    if base not in UNITS:
        raise BadInput(f"found {base!r}", field="base", fix="use 2 (bits) or e (nats)")
    return UNITS[base]


# MERGED from metrics.shift: Shift: how far a model's probabilities move when only the wording does (Arakelyan et al. 2024).

PAIRS = ("all", "flipped", "kept", "difference")
MEANS = ("all", "flipped", "kept")


def jsd_pairs(p: npt.ArrayLike, original_p: npt.ArrayLike, base: str = "2") -> float:
    """Mean divergence of variants from their originals: a row of each for every pair.

    >>> jsd_pairs([[1, 0], [0.5, 0.5]], [[0, 1], [0.5, 0.5]])
    0.5
    """
    return float(jsd(p, original_p, base).mean())


def jsd_means(p: npt.ArrayLike, original_p: npt.ArrayLike, base: str = "2") -> float:
    """Divergence of the variants' mean distribution from the originals': what moves to and fro cancels out.

    >>> jsd_means([[1, 0], [0, 1]], [[0, 1], [1, 0]])
    0.0
    """
    jsd(p, original_p, base)  # refuses what does not fit
    mean, original = (np.atleast_2d(np.asarray(rows, dtype=np.float64)).mean(axis=0) for rows in (p, original_p))
    return float(jsd(mean, original, base))


def jsd_pairs_by_flip(
    p: npt.ArrayLike, original_p: npt.ArrayLike, flipped: npt.ArrayLike, base: str = "2"
) -> dict[str, float]:
    """Mean divergence of all pairs, of those whose label flipped and of those that kept it, and the difference.

    What has no pairs is left out.

    >>> jsd_pairs_by_flip([[1, 0], [0.5, 0.5]], [[0, 1], [0.5, 0.5]], [True, False])
    {'all': 0.5, 'flipped': 1.0, 'kept': 0.0, 'difference': 1.0}
    >>> jsd_pairs_by_flip([[1, 0]], [[0, 1]], [True])
    {'all': 1.0, 'flipped': 1.0}
    """
    moved = np.atleast_1d(jsd(p, original_p, base))
    sides = sides_of(flipped, len(moved))
    sums, counts = [moved[side].sum() for side in sides], [side.sum() for side in sides]
    return told(PAIRS, _mean_pairs(np.array([*sums, *counts, len(moved)])))


def jsd_means_by_flip(
    p: npt.ArrayLike, original_p: npt.ArrayLike, flipped: npt.ArrayLike, base: str = "2"
) -> dict[str, float]:
    """Divergence of the mean distributions of all pairs, of those whose label flipped and of those that kept it.

    >>> jsd_means_by_flip([[1, 0], [0, 1]], [[0, 1], [1, 0]], [True, False])
    {'all': 0.0, 'flipped': 1.0, 'kept': 1.0}
    """
    jsd(p, original_p, base)  # refuses what does not fit
    pair = [np.atleast_2d(np.asarray(rows, dtype=np.float64)) for rows in (p, original_p)]
    sides = sides_of(flipped, len(pair[0]))
    sums = np.concatenate([rows[side].sum(axis=0) for side in sides for rows in pair])
    counts = [side.sum() for side in sides]
    return told(MEANS, _diverged_means(np.array([*sums, *counts, len(pair[0])])) / unit_of(base))


@metrics("jsd_pairs.v1")
def jsd_pairs_metric(base: str = "2", only_right: bool = False) -> Any:
    """Mean Jensen-Shannon divergence of variant from original, in bits, by whether the label flipped.

    `base` of the logarithm is 2 (bits) or e (nats). `only_right` looks at problems whose original is answered right, as
    the paper does.
    """
    unit = unit_of(base)

    def statistics(answers: Answers) -> Array:
        moved = divergence(answers.p, answers.of_original(answers.p)) / unit
        sides = flipped_and_kept(answers, only_right)
        counts = answers.sum_by_bucket(*sides)
        sums = [answers.add_by_bucket(moved, side) for side in sides]
        return np.column_stack([*sums, counts, counts.sum(axis=1)])

    return Metric(
        statistics, _mean_pairs, uses="both", parts=PAIRS, share=False, counted=lambda rows: rows[:, [4, 2, 3, 4]]
    )


@metrics("jsd_means.v1")
def jsd_means_metric(base: str = "2", only_right: bool = False) -> Any:
    """Jensen-Shannon divergence between the mean distributions of variants and of their originals, in bits.

    `base` of the logarithm is 2 (bits) or e (nats). `only_right` looks at problems whose original is answered right, as
    the paper does.
    """
    unit = unit_of(base)

    def statistics(answers: Answers) -> Array:
        # An original counts once for each of its variants, so that flipped and kept pairs add up to all.
        sides = flipped_and_kept(answers, only_right)
        tables = (answers.p.T, answers.of_original(answers.p).T)
        sums = [answers.add_by_bucket(column, side) for side in sides for table in tables for column in table]
        counts = answers.sum_by_bucket(*sides)
        return np.column_stack([*sums, counts, counts.sum(axis=1)])

    def combine(totals: Array) -> Array:
        return _diverged_means(totals) / unit

    return Metric(
        statistics, combine, uses="both", parts=MEANS, share=False, counted=lambda rows: rows[:, [-1, -3, -2]]
    )


def flipped_and_kept(answers: Answers, only_right: bool) -> tuple[Array, Array]:
    """Which answers are variants whose label differs from the original's, and which are variants with the same.

    With `only_right`, of originals that were answered correctly.
    """
    chosen = answers.is_variant
    if only_right:
        chosen = chosen & (answers.original_pred == answers.gold)
    flipped = answers.pred != answers.original_pred
    return chosen & flipped, chosen & ~flipped


def told(parts: tuple[str, ...], values: Array) -> dict[str, float]:
    """The parts that have a value."""
    return {name: float(value) for name, value in zip(parts, values, strict=True) if not np.isnan(value)}


def sides_of(flipped: npt.ArrayLike, size: int) -> tuple[Array, Array]:
    """The pairs whose label flipped, and the others."""
    mask = np.asarray(flipped)
    if mask.shape != (size,):
        fix = "say of every pair whether its label flipped"
        raise BadInput(f"{size} pairs, and flips of shape {mask.shape}", field="flipped", fix=fix)
    return mask.astype(bool), ~mask.astype(bool)


def _mean_pairs(totals: Array) -> Array:
    """From the sums over flipped and kept pairs and their numbers: the mean of all, of either, and the difference."""
    whole = divide(totals[..., 0] + totals[..., 1], totals[..., 4])
    flipped, kept = divide(totals[..., 0], totals[..., 2]), divide(totals[..., 1], totals[..., 3])
    return np.stack([whole, flipped, kept, flipped - kept], axis=-1)


def _diverged_means(totals: Array) -> Array:
    """From the summed distributions of flipped and kept pairs, variants before originals, and their numbers."""
    sums = totals[..., :-3].reshape(*totals.shape[:-1], 2, 2, -1)
    sums = np.concatenate([sums.sum(axis=-3, keepdims=True), sums], axis=-3)
    means = divide(sums, totals[..., [-1, -3, -2], None, None])
    return divergence(means[..., 0, :], means[..., 1, :])


# MERGED from metrics.spread: Spread: how decided a model is, and whether other words make it less so (Arakelyan et al. 2024).

#: A row of statistics has two columns for each bin; more bins than this would not fit in memory.
MOST_BINS = 1000
PARTS = ("originals", "variants", "flipped", "kept")


def sigma(p: npt.ArrayLike) -> float:
    """Mean standard deviation (ddof 0) of rows of probabilities; K labels allow at most sqrt(K-1)/K.

    >>> sigma([[1.0, 0.0], [0.5, 0.5]])
    0.25
    """
    table = np.atleast_2d(np.asarray(p, dtype=np.float64))
    if table.size == 0:
        raise BadInput("sigma of no answers", fix="give at least one row of probabilities")
    return float(table.std(axis=1).mean())


def sigma_by_flip(p: npt.ArrayLike, flipped: npt.ArrayLike) -> dict[str, float]:
    """Sigma of all variants, of those whose label flipped and of those that kept it; what there is none of is left out.

    >>> sigma_by_flip([[1.0, 0.0], [0.5, 0.5]], [False, True])
    {'variants': 0.25, 'flipped': 0.0, 'kept': 0.5}
    """
    sigma(p)  # refuses what is empty
    spread = np.atleast_2d(np.asarray(p, dtype=np.float64)).std(axis=1)
    sides = sides_of(flipped, len(spread))
    sums, counts = [spread[side].sum() for side in sides], [side.sum() for side in sides]
    return told(PARTS[1:], _means(np.array([0, *sums, *counts, 0]))[1:])


def ks(one: npt.ArrayLike, other: npt.ArrayLike) -> float:
    """Two-sample Kolmogorov-Smirnov statistic: the greatest distance of two distribution functions, exactly.

    >>> ks([0.9, 0.8, 0.7], [0.9, 0.2, 0.1])
    0.6666666666666666
    """
    first, second = (np.sort(np.asarray(values, dtype=np.float64).ravel()) for values in (one, other))
    if first.size == 0 or second.size == 0 or np.isnan(first[-1] + second[-1]):
        raise BadInput("found no value, or NaN", fix="give numbers in both samples")
    places = np.concatenate([first, second])
    below = [np.searchsorted(values, places, side="right") / values.size for values in (first, second)]
    return float(np.abs(below[0] - below[1]).max())


@metrics("sigma.v1")
def sigma_metric(only_right: bool = False) -> Any:
    """Mean standard deviation of the probabilities: on originals, variants, and variants by whether they flipped.

    `only_right` looks at problems whose original is answered right, as the paper does.
    """

    def statistics(answers: Answers) -> Array:
        spread = answers.p.std(axis=1)
        sides = (~answers.is_variant & (answers.correct | (not only_right)), *flipped_and_kept(answers, only_right))
        sums = [answers.add_by_bucket(spread, side) for side in sides]
        counts = answers.sum_by_bucket(*sides)
        return np.column_stack([*sums, counts[:, 1:], counts[:, 0]])

    def counted(rows: Array) -> Array:
        return np.column_stack([rows[:, 5], rows[:, 3] + rows[:, 4], rows[:, 3:5]])

    return Metric(statistics, _means, uses="both", parts=PARTS, share=False, counted=counted)


@metrics("ks.v1")
def ks_metric(bins: int = 100, only_right: bool = False) -> Any:
    """Kolmogorov-Smirnov statistic of the original label's probability, originals against variants, to 1/bins.

    `only_right` looks at problems whose original is answered right, as the paper does.
    """
    # The value is that of probabilities cut to 1/bins: at most the exact one, and less by no more than one bin holds.
    # On ParaNLU's fully trained models 100 bins are off by 0.005 at most, and 1000 by 0.004.
    if not 2 <= bins <= MOST_BINS:
        raise BadInput(f"found {bins}", field="bins", fix=f"give a number from 2 to {MOST_BINS}")

    def statistics(answers: Answers) -> Array:
        chosen = np.logical_or(*flipped_and_kept(answers, only_right))
        count = answers.sum_by_bucket(chosen)
        place = cut(answers.p[np.arange(len(answers.pred)), answers.original_pred], bins)
        rows = np.zeros((answers.n_buckets, 2 * bins + 1), dtype=np.int32)
        rows[np.arange(answers.n_buckets), place[answers.originals]] = count[:, 0] > 0
        np.add.at(rows, (answers.bucket[chosen], bins + place[chosen]), 1)
        rows[:, -1:] = count
        return rows

    def combine(totals: Array) -> Array:
        originals, variants = np.cumsum(totals[..., :bins], -1), np.cumsum(totals[..., bins:-1], -1)
        apart = divide(originals, originals[..., -1:]) - divide(variants, variants[..., -1:])
        return np.asarray(np.abs(apart).max(axis=-1))

    return Metric(statistics, combine, uses="both", share=False, smooth=False)


def _means(totals: Array) -> Array:
    """From the sums of originals, flipped and kept variants, the numbers of the two latter and of originals: PARTS."""
    original, flipped, kept, n_flipped, n_kept, n = np.moveaxis(totals, -1, 0)
    pairs = ((original, n), (flipped + kept, n_flipped + n_kept), (flipped, n_flipped), (kept, n_kept))
    return np.stack([divide(*pair) for pair in pairs], axis=-1)
