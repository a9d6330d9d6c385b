"""Shift: how far a model's probabilities move when only the wording does (Arakelyan et al. 2024).

Variants whose label flipped have moved by definition: the numbers describe, they test nothing. The divergence is in
bits unless `base` says otherwise, and is not the square root of it, which SciPy's `jensenshannon` returns. The paper
looks at problems answered correctly only: that is `only_right`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..registry import metrics
from .metric import Array, Metric, divide
from .table import Answers

#: The divisor that turns nats into the unit asked for.
UNITS = {"2": math.log(2), "e": 1.0}


def jsd(p: npt.ArrayLike, q: npt.ArrayLike, base: str = "2") -> Array:
    """Jensen-Shannon divergence of each row of `p` from the same row of `q`: from 0 (equal) to 1 bit (disjoint).

    >>> jsd([[1, 0, 0], [0.5, 0.5, 0]], [[0, 1, 0], [0.5, 0.5, 0]]).tolist()
    [1.0, 0.0]
    """
    unit = _unit(base)
    one, other = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    if one.shape != other.shape or one.size == 0:
        fix = "give as many rows of probabilities in both, at least one"
        raise BadInput(f"divergence of arrays of shapes {one.shape} and {other.shape}", fix=fix)
    return _divergence(one, other) / unit


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


@metrics("jsd_pairs.v1")
def jsd_pairs_metric(base: str = "2", only_right: bool = False) -> Any:
    """Mean Jensen-Shannon divergence of variant from original, in bits, by whether the label flipped.

    `base` of the logarithm is 2 (bits) or e (nats). `only_right` looks at problems whose original is answered right, as
    the paper does.
    """
    unit = _unit(base)

    def statistics(answers: Answers) -> Array:
        moved = _divergence(answers.p, answers.of_original(answers.p)) / unit
        sides = flipped_and_kept(answers, only_right)
        counts = answers.sum_by_bucket(*sides)
        sums = [answers.add_by_bucket(moved, side) for side in sides]
        return np.column_stack([*sums, counts, counts.sum(axis=1)])

    def combine(totals: Array) -> Array:
        whole = divide(totals[..., 0] + totals[..., 1], totals[..., 4])
        flipped, kept = divide(totals[..., 0], totals[..., 2]), divide(totals[..., 1], totals[..., 3])
        return np.stack([whole, flipped, kept, flipped - kept], axis=-1)

    parts, counted = ("all", "flipped", "kept", "difference"), lambda rows: rows[:, [4, 2, 3, 4]]
    return Metric(statistics, combine, uses="both", parts=parts, share=False, counted=counted)


@metrics("jsd_means.v1")
def jsd_means_metric(base: str = "2", only_right: bool = False) -> Any:
    """Jensen-Shannon divergence between the mean distributions of variants and of their originals, in bits.

    `base` of the logarithm is 2 (bits) or e (nats). `only_right` looks at problems whose original is answered right, as
    the paper does.
    """
    unit = _unit(base)

    def statistics(answers: Answers) -> Array:
        # An original counts once for each of its variants, so that flipped and kept pairs add up to all.
        sides = flipped_and_kept(answers, only_right)
        tables = (answers.p.T, answers.of_original(answers.p).T)
        sums = [answers.add_by_bucket(column, side) for side in sides for table in tables for column in table]
        counts = answers.sum_by_bucket(*sides)
        return np.column_stack([*sums, counts, counts.sum(axis=1)])

    def combine(totals: Array) -> Array:
        sums = totals[..., :-3].reshape(*totals.shape[:-1], 2, 2, -1)
        sums = np.concatenate([sums.sum(axis=-3, keepdims=True), sums], axis=-3)
        means = divide(sums, totals[..., [-1, -3, -2], None, None])
        return _divergence(means[..., 0, :], means[..., 1, :]) / unit

    parts, counted = ("all", "flipped", "kept"), lambda rows: rows[:, [-1, -3, -2]]
    return Metric(statistics, combine, uses="both", parts=parts, share=False, counted=counted)


def flipped_and_kept(answers: Answers, only_right: bool) -> tuple[Array, Array]:
    """Which answers are variants whose label differs from the original's, and which are variants with the same.

    With `only_right`, of originals that were answered correctly.
    """
    chosen = answers.is_variant
    if only_right:
        chosen = chosen & (answers.original_pred == answers.gold)
    flipped = answers.pred != answers.original_pred
    return chosen & flipped, chosen & ~flipped


def _divergence(p: Array, q: Array) -> Array:
    """In nats, along the last axis; rounding must not make it negative, nor larger than it can be."""
    from scipy.special import rel_entr  # late: `otherwords --help` needs no scipy

    middle = (p + q) / 2
    nats = (rel_entr(p, middle) + rel_entr(q, middle)).sum(axis=-1) / 2
    return np.asarray(np.clip(nats, 0, math.log(2)))


def _unit(base: str) -> float:
    if base not in UNITS:
        raise BadInput(f"found {base!r}", field="base", fix="use 2 (bits) or e (nats)")
    return UNITS[base]
