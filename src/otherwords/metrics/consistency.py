"""Paraphrastic consistency: is a model right, or wrong, on all wordings of a problem alike? (Srikanth et al. 2024)

And how much of the variance in correctness comes from the wording (section 2.2)? Equation 3 there, Var(R) = mean
within-bucket variance + variance of the buckets' means, holds only if all three terms weigh the buckets alike. Here
each bucket weighs the same, or with weights=answers each answer; never a mixture. It is a share of the variance in
correctness, not of the errors.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from ..answers.table import Answers, Array
from ..errors import BadInput
from ..registry import metrics
from .metric import Metric, divide

WEIGHTS = ("buckets", "answers")
#: Shares that sum to 1 but for this are one label's alone.
ROUNDING = 1e-12


@metrics("p_c.v1")
def p_c() -> Any:
    """Paraphrastic consistency P_C as in the ParaNLU paper (two variants drawn with replacement).

    The paper's estimator (its equation 2): the unweighted mean over buckets of theta^2 + (1 - theta)^2, with theta the
    share of the bucket's variants that are right. Three variants right of four, and two of two:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 5 + ["b"] * 3, "variant": ["", 1, 2, 3, 4, "", 1, 2], "gold": ["yes"] * 8}
    >>> ow.measure("p_c", **rows, pred=["yes"] * 4 + ["no"] + ["yes"] * 3).value
    0.8125
    """

    def statistics(answers: Answers) -> Array:
        k, n = answers.variants
        return np.stack([agreement(k, n), n > 0], axis=1)

    return Metric(statistics, bounds=(0.5, 1), original=False, fewest=2, blind=True, labels_only=True)


@metrics("p_c_distinct.v1")
def p_c_distinct() -> Any:
    """Paraphrastic consistency of two distinct variants, unbiased; buckets of at least two.

    A wording always agrees with itself, so drawing with replacement flatters small buckets. Pairs of distinct variants
    do not. Three of the six pairs agree in a, the one pair in b does:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 5 + ["b"] * 3, "variant": ["", 1, 2, 3, 4, "", 1, 2], "gold": ["yes"] * 8}
    >>> ow.measure("p_c_distinct", **rows, pred=["yes"] * 4 + ["no"] + ["yes"] * 3).value
    0.75
    """

    def statistics(answers: Answers) -> Array:
        k, n = answers.variants
        return np.stack([pairs_alike(k, n), n >= 2], axis=1)

    return Metric(statistics, original=False, fewest=2, blind=True, labels_only=True)


@metrics("label_agreement.v1")
def label_agreement() -> Any:
    """Chance that two distinct variants get the same label, right or wrong; buckets of at least two.

    P_C calls two different wrong answers consistent; with more than two labels this does not. One pair of three agrees:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 4, "variant": ["", 1, 2, 3], "gold": ["entailment"] * 4}
    >>> ow.measure("label_agreement", **rows, pred=["entailment", "neutral", "neutral", "contradiction"]).value
    0.3333333333333333
    """

    def statistics(answers: Answers) -> Array:
        counts = answers.label_counts
        return np.stack([_alike(counts), counts.sum(axis=1) >= 2], axis=1)

    return Metric(statistics, gold=False, original=False, fewest=2, blind=True, labels_only=True)


@metrics("fleiss_kappa.v1")
def fleiss_kappa() -> Any:
    """Label agreement of a problem's variants beyond chance (Fleiss 1971): 1 for one answer each, 0 for chance.

    The problems are Fleiss's subjects, their variants the raters. A model that gives one label to nearly everything
    agrees with itself by chance; kappa takes that off: (P - E) / (1 - E), where P is `label_agreement` and E the sum of
    the labels' squared shares. Fleiss has as many raters for each subject; here numbers may differ, and problems with
    at least two variants weigh alike in both P and the shares (Gwet 2014), which is Fleiss's where they do not. It is
    undefined where all answers are one label. P is 2/3 and E is 5/9:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 4 + ["b"] * 3, "variant": ["", 1, 2, 3, "", 1, 2], "gold": ["yes"] * 7}
    >>> round(ow.measure("fleiss_kappa", **rows, pred=["yes", "yes", "yes", "no", "no", "no", "no"]).value, 12)
    0.25
    """

    def statistics(answers: Answers) -> Array:
        counts = answers.label_counts
        n = counts.sum(axis=1)
        shares = counts / np.maximum(n, 1)[:, None]
        return np.asarray(np.column_stack([_alike(counts), shares, np.ones(len(n))]) * (n >= 2)[:, None])

    def combine(totals: Array) -> Array:
        problems = totals[..., -1]
        shares = np.sort(totals[..., 1:-1], axis=-1)  # added up in the same order whatever the order of labels
        chance = (divide(shares, problems[..., None]) ** 2).sum(axis=-1)
        kappa = divide(divide(totals[..., 0], problems) - chance, np.where(chance > 1 - ROUNDING, 0, 1 - chance))
        return np.asarray(np.clip(kappa, -1, 1))

    return Metric(
        statistics,
        combine,
        share=False,
        gold=False,
        original=False,
        fewest=2,
        bounds=(-1, 1),
        blind=True,
        labels_only=True,
    )


@metrics("accuracy_buckets.v1")
def accuracy_buckets() -> Any:
    """Mean over buckets of the share of variants that are right (theta), so that buckets weigh the same.

    It is the accuracy that belongs to P_C: the paper's A, the expectation of theta. Pooled it would be 5 of 6:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 5 + ["b"] * 3, "variant": ["", 1, 2, 3, 4, "", 1, 2], "gold": ["yes"] * 8}
    >>> ow.measure("accuracy_buckets", **rows, pred=["yes"] * 4 + ["no"] + ["yes"] * 3).value
    0.875
    """

    def statistics(answers: Answers) -> Array:
        k, n = answers.variants
        return np.stack([k / np.maximum(n, 1), n > 0], axis=1)

    return Metric(statistics, original=False, labels_only=True)


# Variance within buckets


@metrics("vap.v1")
def vap(weights: str = "buckets") -> Any:
    """Variance attributable to paraphrasing: mean within-bucket variance of correctness (at most 1/4).

    `weights`: all buckets alike (buckets), or by their size (answers). The paper's P_C is 1 - 2 vap. Three of four are
    right in a, both in b:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 5 + ["b"] * 3, "variant": ["", 1, 2, 3, 4, "", 1, 2], "gold": ["yes"] * 8}
    >>> rows["pred"] = ["yes"] * 4 + ["no"] + ["yes"] * 3
    >>> ow.measure("vap", **rows).value, ow.measure("vap(weights=answers)", **rows).value
    (0.09375, 0.125)
    """
    _check_weights(weights)

    def statistics(answers: Answers) -> Array:
        return _within(weights, *answers.variants)

    # P_C is 1 - 2 vap, so models are compared by that: the same test twice would only dilute the others.
    return Metric(
        statistics,
        lambda sums: _means(sums)[0],
        share=False,
        compared=False,
        original=False,
        fewest=2,
        bounds=(0, 0.25),
        blind=True,
        labels_only=True,
    )


@metrics("pvap.v1")
def pvap(weights: str = "buckets") -> Any:
    """Share of the variance in correctness that is within buckets (PVAP); undefined where all is right or all wrong.

    `weights`: all buckets alike (buckets), or by their size (answers), in all three terms of the law of total variance.
    R is the correctness of one variant of one bucket, so Var(R) = a (1 - a); here a is 0.875, and 0.09375 / 0.109375 is

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 5 + ["b"] * 3, "variant": ["", 1, 2, 3, 4, "", 1, 2], "gold": ["yes"] * 8}
    >>> ow.measure("pvap", **rows, pred=["yes"] * 4 + ["no"] + ["yes"] * 3).value
    0.8571428571428571
    """
    _check_weights(weights)
    return Metric(
        lambda answers: _within(weights, *answers.variants),
        _share,
        original=False,
        fewest=2,
        blind=True,
        labels_only=True,
    )


@metrics("pvap_distinct.v1")
def pvap_distinct() -> Any:
    """PVAP from the distinct-pair P_C: unbiased within buckets, so it may exceed 1.

    The within-bucket variance has ddof 1; both terms are taken over the buckets with at least two variants, unweighted.
    Pairs of one right and one wrong answer would give 2, the most there is. All of the variance, and more:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 5 + ["b"] * 3, "variant": ["", 1, 2, 3, 4, "", 1, 2], "gold": ["yes"] * 8}
    >>> round(ow.measure("pvap_distinct", **rows, pred=["yes"] * 4 + ["no"] + ["yes"] * 3).value, 4)
    1.1429
    """

    def statistics(answers: Answers) -> Array:
        k, n = answers.variants
        counts = n >= 2
        return np.stack([counts * (1 - pairs_alike(k, n)) / 2, counts * k / np.maximum(n, 1), counts], axis=1)

    return Metric(
        statistics,
        lambda sums: _share(sums, most=2.0),
        original=False,
        fewest=2,
        bounds=(0, 2),
        blind=True,
        labels_only=True,
    )


@metrics("p_c_bound.v1")
def p_c_bound() -> Any:
    """Least P_C (paper's) that the accuracy allows: 1 - 2a(1-a), a the unweighted mean over buckets.

    It is the P_C of buckets which are all as accurate as the mean; the distinct-pair P_C may lie below it. Here
    1 - 2 * 0.875 * 0.125:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 5 + ["b"] * 3, "variant": ["", 1, 2, 3, 4, "", 1, 2], "gold": ["yes"] * 8}
    >>> ow.measure("p_c_bound", **rows, pred=["yes"] * 4 + ["no"] + ["yes"] * 3).value
    0.78125
    """

    def statistics(answers: Answers) -> Array:
        return _within("buckets", *answers.variants)

    # A function of accuracy_buckets, so models are compared by it only when it is named.
    return Metric(
        statistics,
        lambda sums: _curve(_means(sums)[1]),
        compared=False,
        original=False,
        no_interval=lambda answers: {"": "a function of accuracy_buckets: see its interval"},
        bounds=(0.5, 1),
        blind=True,
        labels_only=True,
    )


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


def agreement(k: Array, n: Array) -> Array:
    """theta^2 + (1-theta)^2 from counts; 0 for a bucket without variants, which the mean leaves out."""
    return np.asarray((k * k + (n - k) * (n - k)) / np.maximum(n * n, 1))


def pairs_alike(k: Array, n: Array) -> Array:
    """Share of a bucket's pairs of variants that are both right or both wrong; 0 for a bucket without pairs."""
    return np.asarray((k * (k - 1) + (n - k) * (n - k - 1)) / np.maximum(n * (n - 1), 1))


def _alike(counts: Array) -> Array:
    """Share of a bucket's pairs of variants with the same label, from counts by label; 0 for a bucket without pairs."""
    n = counts.sum(axis=1)
    return np.asarray((counts * (counts - 1)).sum(axis=1) / np.maximum(n * (n - 1), 1))


def _within(weights: str, k: Array, n: Array) -> Array:
    """Per bucket: its variance, its share of right answers, and one, all times the bucket's weight."""
    theta = k / np.maximum(n, 1)
    weight = n if weights == "answers" else n > 0
    return np.stack([weight * theta * (1 - theta), weight * theta, weight], axis=1)


def _means(sums: Array) -> tuple[Array, Array]:
    return divide(sums[..., 0], sums[..., 2]), divide(sums[..., 1], sums[..., 2])


def _share(sums: Array, most: float = 1.0) -> Array:
    """Within over total. `most` cuts off rounding: the mean of theta(1-theta) is at most a(1-a), in pairs twice it."""
    within, a = _means(sums)
    return np.minimum(divide(within, a * (1 - a)), most)


def _curve(a: Array, share: Array | float = 1.0) -> Array:
    return np.asarray(1 - 2 * share * a * (1 - a))


def _check_weights(weights: str) -> None:
    if weights not in WEIGHTS:
        raise BadInput(f"found {weights!r}", field="weights", fix=f"use {' or '.join(WEIGHTS)}")
