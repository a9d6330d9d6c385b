"""Majority vote over the wordings of a problem: a mitigation, and what it buys."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..registry import metrics
from .metric import Array, Metric, divide, paired
from .table import Answers


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
