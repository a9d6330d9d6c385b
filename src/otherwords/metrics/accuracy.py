"""Accuracy on the originals and on their variants, of a constant answer, and of a majority vote over wordings."""

from typing import Any

import numpy as np
import numpy.typing as npt

from ..answers.table import Answers, Array
from ..registry import metrics
from .metric import Metric, both_shares, divide, first_less_second, paired


def accuracy(gold: npt.ArrayLike, pred: npt.ArrayLike) -> float:
    """Share of right answers, where nothing is reworded: a test set, one column of a paper.

    >>> accuracy(["yes", "no", "no", "yes"], ["yes", "no", "yes", "yes"])
    0.75
    """
    right, given = paired("accuracy", gold, pred)
    return float(np.mean(right == given))


@metrics("accuracy_original.v1")
def accuracy_original() -> Any:
    """Accuracy on the original problems (A_O in ParaNLU, SA on seeds in MERGE)."""

    def statistics(answers: Answers) -> Array:
        return answers.sum_by_bucket(answers.correct & ~answers.is_variant, ~answers.is_variant)

    return Metric(statistics, uses="originals", blind=True, labels_only=True)


@metrics("accuracy_original_weighted.v1")
def accuracy_original_weighted() -> Any:
    """Accuracy on the original problems, each counted as often as it has variants.

    The accuracy on variants weighs buckets by size; this is what to compare it with: the same problems with the same
    weights. The original of a is right and has four variants, that of b is wrong and has one:

    >>> import otherwords as ow
    >>> bucket, variant = ["a"] * 5 + ["b"] * 2, ["", 1, 2, 3, 4, "", 1]
    >>> pred = ["yes"] * 5 + ["no", "yes"]
    >>> ow.measure("accuracy_original_weighted", gold=["yes"] * 7, pred=pred, bucket=bucket, variant=variant).value
    0.8
    """

    def statistics(answers: Answers) -> Array:
        _, n = answers.variants
        return np.stack([answers.correct[answers.originals] * n, n], axis=1)

    return Metric(statistics, uses="originals", blind=True, labels_only=True)


@metrics("accuracy_seeds.v1")
def accuracy_seeds() -> Any:
    """Accuracy on the original problems that have a variant, each counted once (ALL_Seed in MERGE).

    Variants cannot be made of every problem, and those of which they can are not the same in difficulty. Two originals
    have variants, of which one is right; the third has none and does not count:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a", "a", "a", "b", "b", "c"], "variant": ["", 1, 2, "", 1, ""], "gold": ["yes"] * 6}
    >>> ow.measure("accuracy_seeds", **rows, pred=["yes", "no", "no", "no", "yes", "yes"]).value
    0.5
    """

    def statistics(answers: Answers) -> Array:
        seeds = answers.n_variants > 0
        return np.stack([answers.correct[answers.originals] & seeds, seeds], axis=1).astype(np.int64)

    return Metric(statistics, uses="originals", blind=True, labels_only=True)


@metrics("accuracy_variants.v1")
def accuracy_variants() -> Any:
    """Accuracy pooled over all variants, so that buckets weigh by size (A_par in ParaNLU, SA in MERGE)."""

    def statistics(answers: Answers) -> Array:
        return np.stack(answers.variants, axis=1)

    return Metric(statistics, original=False, labels_only=True)


@metrics("accuracy_drop.v1")
def accuracy_drop() -> Any:
    """Accuracy on variants minus that on their originals, each counted as often as it has variants: negative is loss.

    It is `accuracy_variants` less `accuracy_original_weighted`: the same problems with the same weights. The accuracy
    on all originals is about other problems, and often lower, because the hardest have no variants. The original of a
    is right, as are two of its three variants; that of b, with one variant, is wrong twice; c has no variant:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 4 + ["b", "b", "c"], "variant": ["", 1, 2, 3, "", 1, ""], "gold": ["yes"] * 7}
    >>> ow.measure("accuracy_drop", **rows, pred=["yes", "yes", "yes", "no", "no", "no", "no"]).value
    -0.25
    """

    def statistics(answers: Answers) -> Array:
        right, n = answers.variants
        return np.stack([right, answers.correct[answers.originals] * n, n], axis=1)

    return Metric(statistics, first_less_second, uses="both", bounds=(-1, 1), sides=both_shares, labels_only=True)


@metrics("majority_class.v1")
def majority_class() -> Any:
    """Accuracy on the original problems of always giving the most frequent right answer."""

    def statistics(answers: Answers) -> Array:
        gold = answers.bucket_gold
        count = (gold[:, None] == np.arange(len(answers.labels))).astype(np.int64)
        return np.column_stack([count, np.ones(answers.n_buckets, dtype=np.int64)])

    def combine(totals: Array) -> Array:
        return divide(totals[..., :-1].max(axis=-1), totals[..., -1])

    return Metric(
        statistics,
        combine,
        uses="originals",
        smooth=False,
        compared=False,
        interval=False,
        original=False,
        blind=True,
        labels_only=True,
    )


# Majority vote over the wordings of a problem: a mitigation, and its gain


@metrics("majority_vote.v1")
def majority_vote(original: bool = True) -> Any:
    """Share of problems whose most frequent answer is right, over variants and (`original`) the original.

    A tie between m answers counts 1/m if one of them is right. Two of three votes are right in a, one of two in b:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a", "a", "a", "b", "b"], "variant": ["", 1, 2, "", 1], "gold": ["yes"] * 5}
    >>> ow.measure("majority_vote", **rows, pred=["yes", "no", "yes", "no", "yes"]).value
    0.75
    """

    def statistics(answers: Answers) -> Array:
        return np.column_stack([_votes(answers, original), answers.n_variants > 0])

    return Metric(statistics, uses="both" if original else "variants", original=original, labels_only=True)


@metrics("vote_gain.v1")
def vote_gain(original: bool = True) -> Any:
    """Accuracy of the majority vote minus that on the same originals: what the mitigation buys.

    `original` is as in `majority_vote`. The original is wrong, both variants are right:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 3, "variant": ["", 1, 2], "gold": ["yes"] * 3}
    >>> ow.measure("vote_gain", **rows, pred=["no", "yes", "yes"]).value
    1.0
    """

    def statistics(answers: Answers) -> Array:
        has_variants = answers.n_variants > 0
        right = answers.correct[answers.originals] & has_variants
        return np.column_stack([_votes(answers, original), right, has_variants])

    return Metric(statistics, first_less_second, uses="both", bounds=(-1, 1), sides=both_shares, labels_only=True)


def _votes(answers: Answers, original: bool) -> Array:
    """The credit of each problem's vote: 1 where the right answer wins, 1/m in a tie of m; 0 without variants."""
    count = answers.label_counts.copy()
    if original:
        count[np.arange(answers.n_buckets), answers.pred[answers.originals]] += 1
    winners = count == count.max(axis=1, keepdims=True)
    gold = answers.bucket_gold
    credit = np.asarray(winners[np.arange(len(gold)), gold] / winners.sum(axis=1))
    return credit * (answers.n_variants > 0)
