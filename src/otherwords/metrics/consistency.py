"""Paraphrastic consistency: is a model right, or wrong, on all wordings of a problem alike? (Srikanth et al. 2024)"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..registry import metrics
from .metric import Array, paired, tally
from .table import Answers


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
