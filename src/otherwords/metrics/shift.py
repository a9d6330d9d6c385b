"""Shift: how far probabilities move when only the wording does, and how decided they are (Arakelyan et al. 2024).

Jensen-Shannon divergence is in bits or in nats, never its square root. The paper's Kolmogorov-Smirnov statistic over
three unordered classes depends on the order of the labels; here it is that of one probability, the one of the label
the original was given. Flipped variants differ by construction, so neither number comes with a p-value.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ..answers.table import Answers, Array, cut, sum_shares
from ..errors import BadInput
from ..registry import metrics
from .metric import Metric, divide

#: The divisor that turns nats into the unit asked for.
UNITS = {"2": math.log(2), "e": 1.0}
PAIRS = ("all", "flipped", "kept", "difference")
MEANS = ("all", "flipped", "kept")
SIGMAS = ("originals", "variants", "flipped", "kept")
#: A row of statistics has two columns for each bin; more bins than this would not fit in memory.
MOST_BINS = 1000


@metrics("jsd_pairs.v1")
def jsd_pairs(base: str = "2", only_right: bool = False) -> Any:
    """Mean Jensen-Shannon divergence of variant from original, in bits, by whether the label flipped.

    `base` of the logarithm is 2 (bits) or e (nats). `only_right` looks at problems whose original is answered right, as
    the paper does. The first variant's probabilities turn round, the second's stay:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 3, "variant": ["", 1, 2], "gold": ["no"] * 3, "pred": ["no", "yes", "no"]}
    >>> rows["p"] = {"no": [1, 0, 1], "yes": [0, 1, 0]}
    >>> [ow.measure("jsd_pairs", part=part, **rows).value for part in ("all", "flipped", "kept")]
    [0.5, 1.0, 0.0]
    """
    unit = unit_of(base)

    def statistics(answers: Answers) -> Array:
        moved = divergence(answers.p, answers.of_original(answers.p)) / unit
        sides = flipped_and_kept(answers, only_right)
        counts = answers.sum_by_bucket(*sides)
        sums = [answers.add_by_bucket(moved, side) for side in sides]
        return np.column_stack([*sums, counts, counts.sum(axis=1)])

    counted = lambda rows: rows[:, [4, 2, 3, 4]]  # noqa: E731
    return Metric(
        statistics,
        _mean_pairs,
        uses="both",
        parts=PAIRS,
        share=False,
        counted=counted,
        gold=only_right,
        bounds=(-1, 1),
    )


@metrics("jsd_means.v1")
def jsd_means(base: str = "2", only_right: bool = False) -> Any:
    """Jensen-Shannon divergence between the mean distributions of variants and of their originals, in bits.

    `base` of the logarithm is 2 (bits) or e (nats). `only_right` looks at problems whose original is answered right, as
    the paper does. Opposite moves cancel out:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a", "a", "b", "b"], "variant": ["", 1, "", 1], "gold": ["no"] * 4}
    >>> rows |= {"pred": ["no", "yes", "yes", "no"], "p": {"no": [1, 0, 0, 1], "yes": [0, 1, 1, 0]}}
    >>> ow.measure("jsd_means", part="all", **rows).value
    0.0
    """
    unit = unit_of(base)

    def statistics(answers: Answers) -> Array:
        # An original counts once for each of its variants, so that flipped and kept pairs add up to all.
        sides = flipped_and_kept(answers, only_right)
        by_name = answers.p[:, np.argsort(answers.labels)]  # in whatever order the columns of probabilities stand
        tables = (by_name.T, answers.of_original(by_name).T)
        sums = [answers.add_by_bucket(column, side) for side in sides for table in tables for column in table]
        counts = answers.sum_by_bucket(*sides)
        return np.column_stack([*sums, counts, counts.sum(axis=1)])

    def combine(totals: Array) -> Array:
        return _diverged_means(totals) / unit

    return Metric(
        statistics,
        combine,
        uses="both",
        parts=MEANS,
        share=False,
        counted=lambda rows: rows[:, [-1, -3, -2]],
        gold=only_right,
    )


@metrics("sigma.v1")
def sigma(only_right: bool = False) -> Any:
    """Mean standard deviation of the probabilities: on originals, variants, and variants by whether they flipped.

    `only_right` looks at problems whose original is answered right, as the paper does. With ddof 0, K labels allow at
    most sqrt(K-1)/K:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 3, "variant": ["", 1, 2], "gold": ["no"] * 3, "pred": ["no"] * 3}
    >>> rows["p"] = {"no": [1, 1, 0.5], "yes": [0, 0, 0.5]}
    >>> [ow.measure("sigma", part=part, **rows).value for part in ("originals", "variants")]
    [0.5, 0.25]
    """

    def statistics(answers: Answers) -> Array:
        spread = np.sort(answers.p, axis=1).std(axis=1)  # the order of the labels must not change a bit
        counts = ~answers.is_variant & answers.correct if only_right else ~answers.is_variant
        sides = (counts, *flipped_and_kept(answers, only_right))
        sums = [answers.add_by_bucket(spread, side) for side in sides]
        counts = answers.sum_by_bucket(*sides)
        return np.column_stack([*sums, counts[:, 1:], counts[:, 0]])

    def counted(rows: Array) -> Array:
        return np.column_stack([rows[:, 5], rows[:, 3] + rows[:, 4], rows[:, 3:5]])

    return Metric(
        statistics,
        _means,
        uses="both",
        parts=SIGMAS,
        share=False,
        counted=counted,
        gold=only_right,
        bounds=(0, 0.4715),
    )


@metrics("ks.v1")
def ks(bins: int = 100, only_right: bool = False) -> Any:
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
        gap = divide(originals, originals[..., -1:]) - divide(variants, variants[..., -1:])
        return np.asarray(np.abs(gap).max(axis=-1))

    return Metric(statistics, combine, uses="both", share=False, smooth=False, gold=only_right)


def ks_exact(one: npt.ArrayLike, other: npt.ArrayLike) -> float:
    """Two-sample Kolmogorov-Smirnov statistic: the greatest distance of two distribution functions, exactly.

    >>> ks_exact([0.9, 0.8, 0.7], [0.9, 0.2, 0.1])
    0.6666666666666666
    """
    first, second = (np.sort(np.asarray(values, dtype=np.float64).ravel()) for values in (one, other))
    if first.size == 0 or second.size == 0 or np.isnan(first[-1] + second[-1]):
        raise BadInput("found no value, or NaN", fix="give numbers in both samples")
    places = np.concatenate([first, second])
    below = [np.searchsorted(values, places, side="right") / values.size for values in (first, second)]
    return float(np.abs(below[0] - below[1]).max())


def divergence(p: Array, q: Array) -> Array:
    """In nats, along the last axis; rounding must not make it negative, nor larger than it can be."""
    from scipy.special import rel_entr  # late: `otherwords --help` needs no scipy

    middle = (p + q) / 2
    nats = sum_shares(rel_entr(p, middle) + rel_entr(q, middle)) / 2
    return np.asarray(np.clip(nats, 0, math.log(2)))


def unit_of(base: str) -> float:
    """What nats are divided by, for a logarithm to this base."""
    if base not in UNITS:
        raise BadInput(f"found {base!r}", field="base", fix="use 2 (bits) or e (nats)")
    return UNITS[base]


def flipped_and_kept(answers: Answers, only_right: bool) -> tuple[Array, Array]:
    """Which answers are variants whose label differs from the original's, and which are variants with the same.

    With `only_right`, of originals that were answered correctly.
    """
    chosen = answers.is_variant
    if only_right:
        chosen = chosen & (answers.original_pred == answers.gold)
    flipped = answers.pred != answers.original_pred
    return chosen & flipped, chosen & ~flipped


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


def _means(totals: Array) -> Array:
    """From the sums of originals, flipped and kept variants, the numbers of the two latter and of originals: SIGMAS."""
    original, flipped, kept, n_flipped, n_kept, n = np.moveaxis(totals, -1, 0)
    pairs = ((original, n), (flipped + kept, n_flipped + n_kept), (flipped, n_flipped), (kept, n_kept))
    return np.stack([divide(*pair) for pair in pairs], axis=-1)
