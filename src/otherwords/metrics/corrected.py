"""Corrected values: buckets weighed so that the model's confidence is distributed as on its test set.

ParaNLU drew its problems evenly from ten deciles of a model's confidence in the right label. Weighing each decile by
its share of the test set undoes that for the model by which they were drawn (Srikanth et al. 2024, section 5.2); for
other models it is post-stratification. Deciles that hold test items but no bucket count as 0 in the paper, which lowers
the value; `renormalise` leaves them out instead, and `coverage` says how much of the test set is left.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..problem import SLACK
from ..registry import metrics
from .bins import as_written
from .consistency import agreement
from .metric import Array, Metric, Outside, divide, paired
from .table import Answers
from .testset import confidence_in, items_in

#: [0, 0.1) ... [0.9, 1]; i/10 is the double that "0.3" in a file is read as, 3 * 0.1 is not.
EDGES = np.arange(1, 10) / 10
D = len(EDGES) + 1


def decile(confidence: npt.ArrayLike) -> Array:
    """Number the decile of each probability, from 0 for [0, 0.1) to 9 for [0.9, 1].

    >>> decile([0.0, 0.0999, 0.1, 0.3, 0.7, 1.0]).tolist()
    [0, 0, 1, 3, 7, 9]
    """
    p = as_written(confidence)
    if p.size == 0 or not ((p >= 0) & (p <= 1 + SLACK)).all():
        raise BadInput("no confidence to cut into deciles", fix="give one probability per problem, from 0 to 1")
    return np.searchsorted(EDGES, p, side="right")


def corrected(
    values: npt.ArrayLike, confidence: npt.ArrayLike, test_confidence: npt.ArrayLike, renormalise: bool = False
) -> float:
    """Mean of a value per bucket, as if the model's confidence were distributed as on its test set.

    `values` has an entry per bucket: the share of variants that are right for accuracy, theta^2 + (1-theta)^2 for P_C.
    `confidence` is the model's probability of the right label on the bucket's original, `test_confidence` that on each
    item of the test set. Of four items one is in the decile of the first two buckets, two in the third's, one in none:

    >>> corrected([0.5, 1.0, 1.0], [0.95, 0.92, 0.41], [0.99, 0.45, 0.44, 0.2])
    0.6875
    >>> round(corrected([0.5, 1.0, 1.0], [0.95, 0.92, 0.41], [0.99, 0.45, 0.44, 0.2], renormalise=True), 4)
    0.9167
    """
    value, bucket = paired("a corrected value", values, confidence)
    sums = _by_decile(value, decile(bucket)).sum(axis=0) + _test_rows(test_confidence).sum(axis=0)
    return _told(_weighed(sums, renormalise))


def coverage(confidence: npt.ArrayLike, test_confidence: npt.ArrayLike) -> float:
    """Share of the test set in deciles that hold a bucket.

    >>> coverage([0.95, 0.92, 0.41], [0.99, 0.45, 0.44, 0.2])
    0.75
    """
    sums = _by_decile(np.zeros(np.size(confidence)), decile(confidence)).sum(axis=0)
    return float(_covered(sums + _test_rows(test_confidence).sum(axis=0)))


@metrics("accuracy_corrected.v1")
def accuracy_corrected(testset: Path, renormalise: bool = False) -> Any:
    """Accuracy on variants, confidence distributed as on the test set (A~ in ParaNLU).

    `testset` is a table of the model's answers to its test set (id, gold, p:<label>); `renormalise` speaks of the
    covered deciles only, where the paper counts the others as 0.
    """
    return _metric(testset, lambda k, n: k / np.maximum(n, 1), lambda sums: _weighed(sums, renormalise))


@metrics("p_c_corrected.v1")
def p_c_corrected(testset: Path, renormalise: bool = False) -> Any:
    """Paraphrastic consistency P_C, confidence distributed as on the test set (P~_C in ParaNLU).

    `testset` is a table of the model's answers to its test set (id, gold, p:<label>); `renormalise` speaks of the
    covered deciles only, where the paper counts the others as 0.
    """
    return _metric(testset, agreement, lambda sums: _weighed(sums, renormalise))


@metrics("coverage.v1")
def coverage_metric(testset: Path) -> Any:
    """Share of the test set in deciles of confidence that hold a bucket: what a corrected value speaks for."""
    return _metric(testset, lambda k, n: np.zeros(len(n)), _covered)


def _metric(testset: Path, per_bucket: Callable[[Array, Array], Array], combine: Callable[[Array], Array]) -> Metric:
    """Not smooth: a decile that loses its last bucket takes its share of the test set away at once."""
    items_of = items_in(testset)

    def statistics(answers: Answers) -> Array:
        k, n = answers.variants
        place = decile(confidence_in(answers.gold, answers.labels, answers.frame, answers.model)[answers.originals])
        return np.where(n[:, None] > 0, _by_decile(per_bucket(k, n), place), 0)

    def outside(answers: Answers) -> Outside:
        items = items_of(answers)
        return Outside(items.names, _test_rows(items.confidence), items.gold, items.cluster)

    return Metric(statistics, combine, outside=outside, smooth=False)


def _by_decile(values: Array, place: Array) -> Array:
    """A row per bucket: the value and a one, each in the column of its decile, room for the test items, and a one."""
    rows, every = np.zeros((len(place), 3 * D + 1)), np.arange(len(place))
    rows[every, place] = values
    rows[every, D + place] = 1
    rows[:, -1] = 1
    return rows


def _test_rows(confidence: npt.ArrayLike) -> Array:
    """A row per test item, as wide as the buckets': a one in the column of its decile."""
    place = decile(confidence)
    rows = np.zeros((len(place), 3 * D + 1), dtype=np.int64)
    rows[np.arange(len(place)), 2 * D + place] = 1
    return rows


def _weighed(sums: Array, renormalise: bool) -> Array:
    value, buckets, items = sums[..., :D], sums[..., D : 2 * D], sums[..., 2 * D : 3 * D]
    held = (items * (buckets > 0)).sum(axis=-1)
    weighed = (items * (value / np.maximum(buckets, 1))).sum(axis=-1)
    # Where no decile holds both, the paper's sum is an empty one; it says nothing, and so do we.
    return np.where(held > 0, divide(weighed, held if renormalise else items.sum(axis=-1)), np.nan)


def _covered(sums: Array) -> Array:
    buckets, items = sums[..., D : 2 * D], sums[..., 2 * D : 3 * D]
    covered = divide((items * (buckets > 0)).sum(axis=-1), items.sum(axis=-1))
    return np.where(buckets.sum(axis=-1) > 0, covered, np.nan)


def _told(value: Array) -> float:
    if np.isnan(value):
        fix = "give buckets of the model whose test set it is"
        raise BadInput("no decile of confidence holds both a bucket and a test item", fix=fix)
    return float(value)
