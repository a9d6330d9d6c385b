"""How much of the variance in correctness comes from the wording? (Srikanth et al. 2024, section 2.2)

Equation 3 there, Var(R) = mean within-bucket variance + variance of the buckets' means, holds only if all three terms
weigh the buckets alike. Here each bucket weighs the same, or with weights=answers each answer; never a mixture.
It is a share of the variance in correctness, not of the errors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..answers.table import Answers
from ..errors import BadInput
from ..registry import metrics
from .metric import Array, Metric, divide, paired, tally

# MERGED from metrics.consistency: Paraphrastic consistency: is a model right, or wrong, on all wordings of a problem alike? (Srikanth et al. 2024)


def p_c(correct: npt.ArrayLike, bucket: npt.ArrayLike) -> float:
    """Chance that two wordings of a problem, drawn with replacement, are both right or both wrong.

    The paper's estimator (its equation 2): the unweighted mean over buckets of theta^2 + (1 - theta)^2, with theta the
    share of the bucket's variants that are right. Three variants right of four, and two of two:

    >>> p_c([1, 1, 1, 0, 1, 1], ["a", "a", "a", "a", "b", "b"])
    0.8125
    """
    return float(agreement(*tally("P_C", correct, bucket)).mean())


def p_c_distinct(correct: npt.ArrayLike, bucket: npt.ArrayLike) -> float:
    """Chance that two *different* wordings of a problem are both right or both wrong.

    A wording always agrees with itself, so drawing with replacement flatters small buckets. Pairs of distinct variants
    do not: the mean over buckets of at least two variants. Three of the six pairs agree in a, the one pair in b does:

    >>> p_c_distinct([1, 1, 1, 0, 1, 1], ["a", "a", "a", "a", "b", "b"])
    0.75
    """
    k, n = of_pairs("P_C", *tally("P_C", correct, bucket))
    return float(pairs_alike(k, n).mean())


def label_agreement(pred: npt.ArrayLike, bucket: npt.ArrayLike) -> float:
    """Chance that two different wordings of a problem are given the same label, right or wrong.

    P_C calls two different wrong answers consistent; with more than two labels this does not. One pair of three agrees:

    >>> label_agreement(["neutral", "neutral", "contradiction"], ["a", "a", "a"])
    0.3333333333333333
    """
    given, names = paired("label agreement", pred, bucket)
    label, place = (np.unique(column, return_inverse=True)[1] for column in (given, names))
    width = int(label.max()) + 1
    counts = np.bincount(place * width + label, minlength=(int(place.max()) + 1) * width).reshape(-1, width)
    counts = counts[counts.sum(axis=1) >= 2]
    if not len(counts):
        raise BadInput("label agreement without pairs", fix="give a bucket with at least two variants")
    return float(_labels_alike(counts).mean())


def accuracy_buckets(correct: npt.ArrayLike, bucket: npt.ArrayLike) -> float:
    """Mean over buckets of the share of variants that are right, so that every problem weighs alike.

    It is the accuracy that belongs to P_C: the paper's A, the expectation of theta. Pooled it would be 5 of 6:

    >>> accuracy_buckets([1, 1, 1, 0, 1, 1], ["a", "a", "a", "a", "b", "b"])
    0.875
    """
    k, n = tally("accuracy", correct, bucket)
    return float((k / n).mean())


@metrics("p_c.v1")
def p_c_metric() -> Any:
    """Paraphrastic consistency P_C as in the ParaNLU paper (two variants drawn with replacement)."""

    def statistics(answers: Answers) -> Array:
        k, n = answers.variants
        return np.stack([agreement(k, n), n > 0], axis=1)

    return statistics


@metrics("p_c_distinct.v1")
def p_c_distinct_metric() -> Any:
    """Paraphrastic consistency of two distinct variants, unbiased; buckets of at least two."""

    def statistics(answers: Answers) -> Array:
        k, n = answers.variants
        return np.stack([pairs_alike(k, n), n >= 2], axis=1)

    return statistics


@metrics("label_agreement.v1")
def label_agreement_metric() -> Any:
    """Chance that two distinct variants get the same label, right or wrong; buckets of at least two."""

    def statistics(answers: Answers) -> Array:
        counts = answers.label_counts
        return np.stack([_labels_alike(counts), counts.sum(axis=1) >= 2], axis=1)

    return statistics


@metrics("accuracy_buckets.v1")
def accuracy_buckets_metric() -> Any:
    """Mean over buckets of the share of variants that are right (theta), so that buckets weigh alike."""

    def statistics(answers: Answers) -> Array:
        k, n = answers.variants
        return np.stack([k / np.maximum(n, 1), n > 0], axis=1)

    return statistics


def agreement(k: Array, n: Array) -> Array:
    """theta^2 + (1-theta)^2 from counts; 0 for a bucket without variants, which the mean leaves out."""
    return np.asarray((k * k + (n - k) * (n - k)) / np.maximum(n * n, 1))


def pairs_alike(k: Array, n: Array) -> Array:
    """Share of a bucket's pairs of variants that are both right or both wrong; 0 for a bucket without pairs."""
    return np.asarray((k * (k - 1) + (n - k) * (n - k - 1)) / np.maximum(n * (n - 1), 1))


def _labels_alike(counts: Array) -> Array:
    n = counts.sum(axis=1)
    return np.asarray((counts * (counts - 1)).sum(axis=1) / np.maximum(n * (n - 1), 1))


def of_pairs(what: str, k: Array, n: Array) -> tuple[Array, Array]:
    """Keep the buckets that hold a pair of variants; refused where none does."""
    if not (n >= 2).any():
        raise BadInput(f"{what} of pairs without pairs", fix="give a bucket with at least two variants")
    return k[n >= 2], n[n >= 2]


# MERGED from metrics.variance: How much of the variance in correctness comes from the wording? (Srikanth et al. 2024, section 2.2)

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
