"""Spread: how decided a model is, and whether other words make it less so (Arakelyan et al. 2024).

The paper's Kolmogorov-Smirnov statistic over three unordered classes depends on the order of the labels; here it is
that of one probability, the one of the label the original was given. Flipped variants differ by construction, so
neither number comes with a p-value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..registry import metrics
from .bins import cut
from .metric import Array, Metric, divide
from .shift import flipped_and_kept, sides_of, told
from .table import Answers

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
