"""Shift: how far a model's probabilities move when only the wording does (Arakelyan et al. 2024).

Variants whose label flipped have moved by definition: the numbers describe, they test nothing. The divergence is in
bits unless `base` says otherwise, and is not the square root of it, which SciPy's `jensenshannon` returns. The paper
looks at problems answered correctly only: that is `only_right`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..registry import metrics
from .divergence import divergence, jsd, unit_of
from .metric import Array, Metric, divide
from .table import Answers

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
