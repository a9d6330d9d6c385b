"""Pattern accuracy against the seeds: how far it drops, and at which threshold they match (MERGE's QT and MT)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ..registry import metrics
from .metric import Array, Metric, divide, paired, tally
from .pattern import exact, large_enough, passing, said
from .table import Answers

#: Thresholds are tried in hundredths, as Table 3 prints them; a step of PA between two of them is not looked at.
GRID = tuple(Fraction(one, 100) for one in range(1, 101))


def pa_drop(
    correct: npt.ArrayLike, bucket: npt.ArrayLike, original: npt.ArrayLike, at: float = 0.9, of: int = 0
) -> float:
    """Pattern accuracy minus the accuracy on the same problems' originals: what holding on to an answer costs.

    Negative where the model loses, as the column QT of MERGE's Table 3 prints it; the table's caption has the
    difference the other way round. `original` says of every answer whether its bucket's original is right. Both
    originals are right, and all three variants of one problem, but one of two of the other:

    >>> pa_drop([1, 1, 1, 1, 0], ["a", "a", "a", "b", "b"], [1, 1, 1, 1, 1])
    -0.5
    """
    k, n, right = _counts(correct, bucket, original, of)
    return float(passing(k, n, (exact(at),), of).mean() - right.mean())


def matching_threshold(
    correct: npt.ArrayLike, bucket: npt.ArrayLike, original: npt.ArrayLike, of: int = 0
) -> tuple[float, float]:
    """At which share of right variants pattern accuracy is nearest the accuracy on the originals.

    Pattern accuracy is a step function, so a whole interval is nearest: its two ends, in hundredths. One of two
    originals is right; the variants pass at every threshold in one problem, and up to 1/2 in the other:

    >>> matching_threshold([1, 1, 1, 0], ["a", "a", "b", "b"], [1, 1, 0, 0])
    (0.51, 1.0)
    """
    k, n, right = _counts(correct, bucket, original, of)
    low, high = _nearest(passing(k, n, GRID, of).sum(axis=0), right.sum())
    return float(low), float(high)


@metrics("pa_drop.v1")
def pa_drop_metric(at: float = 0.9, of: int = 0) -> Any:
    """Pattern accuracy minus accuracy on the same originals (QT in MERGE's Table 3: negative where a model loses).

    `at` and `of` are as in `pa`.
    """
    thresholds = (exact(at),)

    def statistics(answers: Answers) -> Array:
        return _rows(answers, thresholds, of)

    return Metric(statistics, lambda totals: divide(totals[..., 0] - totals[..., 1], totals[..., 2]), uses="both")


@metrics("matching_threshold.v1")
def matching_threshold_metric(of: int = 0) -> Any:
    """Thresholds, in hundredths, low to high, where pattern accuracy is nearest that on originals (MERGE's MT).

    `of` is as in `pa`.
    """

    def statistics(answers: Answers) -> Array:
        return _rows(answers, GRID, of)

    def combine(totals: Array) -> Array:
        found = _nearest(totals[..., : len(GRID)], totals[..., -2])
        return np.where(totals[..., -1:] > 0, found, np.nan)

    return Metric(statistics, combine, uses="both", parts=("low", "high"), smooth=False)


def _rows(answers: Answers, thresholds: tuple[Fraction, ...], of: int) -> Array:
    """A column per threshold passed, then whether the original is right, then whether there is anything to say."""
    counted = said(answers, of)
    right = answers.correct[answers.originals] * counted
    return np.column_stack([passing(*answers.variants, thresholds, of), right, counted])


def _counts(
    correct: npt.ArrayLike, bucket: npt.ArrayLike, original: npt.ArrayLike, of: int
) -> tuple[Array, Array, Array]:
    """Per problem with variants enough: how many are right, how many there are, whether the original is right."""
    seeds, names = paired("pattern accuracy", original, bucket)
    k, n = tally("pattern accuracy", correct, bucket)
    right = seeds.astype(bool)[np.unique(names, return_index=True)[1]]
    return *large_enough(k, n, of), right[n >= of]


def _nearest(passed: Array, right: Array) -> Array:
    """The first and the last of the thresholds whose count of passing problems is nearest that of right originals.

    The count never grows with the threshold, so all that is equally near lies side by side.
    """
    gap = np.abs(passed - np.asarray(right)[..., None])
    nearest = gap == gap.min(axis=-1, keepdims=True)
    first, behind = nearest.argmax(axis=-1), nearest[..., ::-1].argmax(axis=-1)
    return np.stack([(first + 1) / len(GRID), (len(GRID) - behind) / len(GRID)], axis=-1)
