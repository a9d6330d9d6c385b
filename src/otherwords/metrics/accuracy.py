"""Accuracy on the originals and on their variants, and what a model that always says the same would reach."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..registry import metrics
from .metric import Array, Metric, divide, paired
from .table import Answers


def accuracy(gold: npt.ArrayLike, pred: npt.ArrayLike) -> float:
    """Share of right answers.

    >>> accuracy(["yes", "no", "no", "yes"], ["yes", "no", "yes", "yes"])
    0.75
    """
    right, given = paired("accuracy", gold, pred)
    return float(np.mean(right == given))


def accuracy_weighted(correct: npt.ArrayLike, count: npt.ArrayLike) -> float:
    """Share of originals answered right, each counted as often as it has variants.

    Beside the accuracy on variants, which weighs buckets by size, this is what to compare: the same problems with the
    same weights. Three problems, right, wrong and right, that have 4, 1 and 0 variants:

    >>> accuracy_weighted([1, 0, 1], [4, 1, 0])
    0.8
    """
    right, weight = paired("weighted accuracy", correct, count)
    if (weight < 0).any() or not weight.any():
        raise BadInput("weighted accuracy of problems without variants", fix="give how many variants each has")
    return float((right.astype(bool) * weight).sum() / weight.sum())


def majority_class(gold: npt.ArrayLike) -> float:
    """Accuracy of always giving the most frequent right answer: the baseline that knows no problem.

    >>> majority_class(["yes", "no", "no", "maybe"])
    0.5
    """
    labels, _ = paired("majority class", gold, gold)
    return float(np.unique(labels, return_counts=True)[1].max() / labels.size)


@metrics("accuracy_original.v1")
def accuracy_original() -> Any:
    """Accuracy on the original problems (A_O in ParaNLU, SA on seeds in MERGE)."""

    def statistics(answers: Answers) -> Array:
        return answers.sum_by_bucket(answers.correct & ~answers.is_variant, ~answers.is_variant)

    return Metric(statistics, uses="originals")


@metrics("accuracy_original_weighted.v1")
def accuracy_original_weighted() -> Any:
    """Accuracy on the original problems, each counted as often as it has variants."""

    def statistics(answers: Answers) -> Array:
        _, n = answers.variants
        return np.stack([answers.correct[answers.originals] * n, n], axis=1)

    return Metric(statistics, uses="originals")


@metrics("accuracy_variants.v1")
def accuracy_variants() -> Any:
    """Accuracy pooled over all variants, so that buckets weigh by size (A_par in ParaNLU, SA in MERGE)."""

    def statistics(answers: Answers) -> Array:
        return np.stack(answers.variants, axis=1)

    return statistics


@metrics("majority_class.v1")
def majority_class_metric() -> Any:
    """Accuracy on the original problems of always giving the most frequent right answer."""

    def statistics(answers: Answers) -> Array:
        gold = answers.gold[answers.originals]
        count = (gold[:, None] == np.arange(len(answers.labels))).astype(np.int64)
        return np.column_stack([count, np.ones(answers.n_buckets, dtype=np.int64)])

    return Metric(statistics, _most_frequent, uses="originals", smooth=False, compared=False, interval=False)


def _most_frequent(totals: Array) -> Array:
    return divide(totals[..., :-1].max(axis=-1), totals[..., -1])
