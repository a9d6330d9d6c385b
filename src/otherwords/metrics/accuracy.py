"""Majority vote over the wordings of a problem: a mitigation, and what it buys."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..answers.table import Answers
from ..errors import BadInput
from ..registry import metrics
from .metric import Array, Metric, divide, paired

# MERGED from metrics.accuracy: Accuracy on the originals and on their variants, and what a model that always says the same would reach.


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


# MERGED from metrics.votes: Majority vote over the wordings of a problem: a mitigation, and what it buys.


def majority_vote(gold: npt.ArrayLike, pred: npt.ArrayLike, bucket: npt.ArrayLike) -> float:
    """Share of problems whose most frequent answer is right; a tie between m answers counts 1/m if one is right.

    All answers given vote: leave the originals' out where only variants shall. Two of three votes are right in the
    first bucket, one of two in the second:

    >>> majority_vote(["yes"] * 5, ["yes", "no", "yes", "no", "yes"], ["a", "a", "a", "b", "b"])
    0.75
    """
    right, given = paired("majority vote", gold, pred)
    names, _ = paired("majority vote", bucket, pred)
    first, codes = np.unique(names, return_index=True, return_inverse=True)[1:]
    labels, both = np.unique(np.concatenate([right, given]), return_inverse=True)
    cells = codes * len(labels) + both[right.size :]
    count = np.bincount(cells, minlength=len(first) * len(labels)).reshape(-1, len(labels))
    return float(_credit(count, both[first]).mean())


def vote_gain(gold: npt.ArrayLike, pred: npt.ArrayLike, bucket: npt.ArrayLike, is_variant: npt.ArrayLike) -> float:
    """Accuracy of the majority vote of original and variants, minus that on the same originals alone.

    The original is wrong, both variants right:

    >>> vote_gain(["yes"] * 3, ["no", "yes", "yes"], ["a", "a", "a"], [False, True, True])
    1.0
    """
    right, given = paired("vote gain", gold, pred)
    names, varied = paired("vote gain", bucket, is_variant)
    varied = varied.astype(bool)
    asked = np.isin(names, names[varied])  # a problem without variants has nothing to vote on
    alone = asked & ~varied
    paired("vote gain", right[alone], given[alone])
    return majority_vote(right[asked], given[asked], names[asked]) - float(np.mean(right[alone] == given[alone]))


@metrics("majority_vote.v1")
def majority_vote_metric(original: bool = True) -> Any:
    """Share of problems whose most frequent answer is right, over variants and (`original`) the original."""

    def statistics(answers: Answers) -> Array:
        return np.column_stack([_votes(answers, original), answers.variants[1] > 0])

    return Metric(statistics, uses="both" if original else "variants")


@metrics("vote_gain.v1")
def vote_gain_metric(original: bool = True) -> Any:
    """Accuracy of the majority vote minus that on the same originals: what the mitigation buys.

    `original` is as in `majority_vote`.
    """

    def statistics(answers: Answers) -> Array:
        said = answers.variants[1] > 0
        return np.column_stack([_votes(answers, original), answers.correct[answers.originals] & said, said])

    return Metric(statistics, lambda totals: divide(totals[..., 0] - totals[..., 1], totals[..., 2]), uses="both")


def _votes(answers: Answers, original: bool) -> Array:
    """What each problem's vote earns; nothing where there is no variant."""
    count = answers.label_counts.copy()
    if original:
        count[np.arange(answers.n_buckets), answers.pred[answers.originals]] += 1
    return _credit(count, answers.gold[answers.originals]) * (answers.variants[1] > 0)


def _credit(count: Array, gold: Array) -> Array:
    """1 where the right answer has the most votes of its bucket, 1/m where m answers have as many, else 0."""
    winners = count == count.max(axis=1, keepdims=True)
    return np.asarray(winners[np.arange(len(gold)), gold] / winners.sum(axis=1))
