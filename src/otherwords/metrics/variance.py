"""How much of the variance in correctness comes from the wording? (Srikanth et al. 2024, section 2.2)

Equation 3 there, Var(R) = mean within-bucket variance + variance of the buckets' means, holds only if all three terms
weigh the buckets alike. Here each bucket weighs the same, or with weights=answers each answer; never a mixture.
It is a share of the variance in correctness, not of the errors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..registry import metrics
from .consistency import accuracy_buckets, of_pairs, pairs_alike
from .metric import Array, Metric, divide, tally

WEIGHTS = ("buckets", "answers")


def vap(correct: npt.ArrayLike, bucket: npt.ArrayLike, weights: str = "buckets") -> float:
    """Variance attributable to paraphrasing: the mean within-bucket variance of correctness (ddof 0).

    Three of four are right in a, both in b. The paper's P_C is 1 - 2 vap.

    >>> vap([1, 1, 1, 0, 1, 1], ["a", "a", "a", "a", "b", "b"])
    0.09375
    >>> vap([1, 1, 1, 0, 1, 1], ["a", "a", "a", "a", "b", "b"], weights="answers")
    0.125
    """
    within, _ = _means(_within(weights, *tally("VAP", correct, bucket)).sum(axis=0))
    return float(within)


def pvap(correct: npt.ArrayLike, bucket: npt.ArrayLike, weights: str = "buckets") -> float:
    """Proportion of the variance in correctness attributable to paraphrasing: VAP / Var(R).

    R is the correctness of one variant of one bucket, so Var(R) = a (1 - a); here a is 0.875, and 0.09375 / 0.109375 is

    >>> pvap([1, 1, 1, 0, 1, 1], ["a", "a", "a", "a", "b", "b"])
    0.8571428571428571
    """
    return _defined(_share(_within(weights, *tally("PVAP", correct, bucket)).sum(axis=0)))


def pvap_distinct(correct: npt.ArrayLike, bucket: npt.ArrayLike) -> float:
    """The same with the unbiased within-bucket variance (ddof 1), that of the distinct-pair P_C; it may exceed 1.

    Both terms are taken over the buckets with at least two variants, unweighted. Pairs of one right and one wrong
    answer would give 2, the most there is. All of the variance, and more:

    >>> round(pvap_distinct([1, 1, 1, 0, 1, 1], ["a", "a", "a", "a", "b", "b"]), 4)
    1.1429
    """
    k, n = of_pairs("PVAP", *tally("PVAP", correct, bucket))
    return _defined(_share(_between_pairs(k, n).sum(axis=0), most=2.0))


def p_c_bound(correct: npt.ArrayLike, bucket: npt.ArrayLike) -> float:
    """The least P_C (the paper's) that the accuracy allows: that of buckets which are all as accurate as the mean.

    The distinct-pair P_C may lie below it. Here 1 - 2 * 0.875 * 0.125:

    >>> p_c_bound([1, 1, 1, 0, 1, 1], ["a", "a", "a", "a", "b", "b"])
    0.78125
    """
    return float(_curve(np.asarray(accuracy_buckets(correct, bucket))))


def p_c_at(accuracy: npt.ArrayLike, pvap: npt.ArrayLike) -> Array:
    """The P_C of a model of this accuracy (mean theta) and PVAP: the curves of the paper's figures.

    With PVAP 1 it is the least P_C that the accuracy allows.

    >>> p_c_at([0.5, 0.8, 1.0], 1).tolist()
    [0.5, 0.68, 1.0]
    >>> p_c_at(0.8, [0, 0.5]).tolist()
    [1.0, 0.8400000000000001]
    """
    a, share = np.asarray(accuracy, dtype=np.float64), np.asarray(pvap, dtype=np.float64)
    for name, values in (("accuracy", a), ("pvap", share)):
        if not ((values >= 0) & (values <= 1)).all():
            raise BadInput(f"found {values.tolist()}", field=name, fix="give shares from 0 to 1")
    return _curve(a, share)


@metrics("vap.v1")
def vap_metric(weights: str = "buckets") -> Any:
    """Variance attributable to paraphrasing: mean within-bucket variance of correctness (at most 1/4).

    `weights`: all buckets alike (buckets), or by their size (answers).
    """
    _check(weights)
    # P_C is 1 - 2 vap, so models are compared by that: the same test twice would only dilute the others.
    return Metric(
        lambda answers: _within(weights, *answers.variants), lambda sums: _means(sums)[0], share=False, compared=False
    )


@metrics("pvap.v1")
def pvap_metric(weights: str = "buckets") -> Any:
    """Share of the variance in correctness that is within buckets (PVAP); undefined where all is right or all wrong.

    `weights`: all buckets alike (buckets), or by their size (answers), in all three terms of the law of total variance.
    """
    _check(weights)
    return Metric(lambda answers: _within(weights, *answers.variants), _share)


@metrics("pvap_distinct.v1")
def pvap_distinct_metric() -> Any:
    """PVAP from the distinct-pair P_C: unbiased within buckets, so it may exceed 1."""
    return Metric(lambda answers: _between_pairs(*answers.variants), lambda sums: _share(sums, most=2.0))


@metrics("p_c_bound.v1")
def p_c_bound_metric() -> Any:
    """Least P_C (paper's) that the accuracy allows: 1 - 2a(1-a), a the unweighted mean over buckets."""
    # It says of a model what accuracy_buckets says: not compared unless it is named.
    return Metric(
        lambda answers: _within("buckets", *answers.variants), lambda sums: _curve(_means(sums)[1]), compared=False
    )


def _within(weights: str, k: Array, n: Array) -> Array:
    """Per bucket: its variance, its share of right answers, and one, all times the bucket's weight."""
    _check(weights)
    theta = k / np.maximum(n, 1)
    weight = n if weights == "answers" else n > 0
    return np.stack([weight * theta * (1 - theta), weight * theta, weight], axis=1)


def _between_pairs(k: Array, n: Array) -> Array:
    told = n >= 2
    return np.stack([told * (1 - pairs_alike(k, n)) / 2, told * k / np.maximum(n, 1), told], axis=1)


def _means(sums: Array) -> tuple[Array, Array]:
    return divide(sums[..., 0], sums[..., 2]), divide(sums[..., 1], sums[..., 2])


def _share(sums: Array, most: float = 1.0) -> Array:
    """Within over total. `most` cuts off rounding: the mean of theta(1-theta) is at most a(1-a), in pairs twice it."""
    within, a = _means(sums)
    return np.minimum(divide(within, a * (1 - a)), most)


def _curve(a: Array, share: Array | float = 1.0) -> Array:
    return np.asarray(1 - 2 * share * a * (1 - a))


def _defined(value: Array) -> float:
    if np.isnan(value):
        raise BadInput("PVAP of answers that are all right or all wrong", fix="there is no variance to share")
    return float(value)


def _check(weights: str) -> None:
    if weights not in WEIGHTS:
        raise BadInput(f"found {weights!r}", field="weights", fix=f"use {' or '.join(WEIGHTS)}")
