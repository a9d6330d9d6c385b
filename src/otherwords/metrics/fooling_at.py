"""Fooling rates at a fixed number of variants, so that suites with more of them do not look worse.

A problem with n variants of which f fool is fooled within k of them, drawn at random, with probability
1 - C(n-f, k) / C(n, k): the expectation over all draws, without drawing.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..registry import metrics
from .fooling import Statistics, columns, counted_problems, measure, relaxed, strict
from .metric import Array, Metric, ratio
from .table import Answers


def fooled_within(k: int, fooling: npt.ArrayLike, count: npt.ArrayLike) -> Array:
    """Chance that k variants, drawn without replacement from `count`, hold at least one of the `fooling` ones.

    Three of ten fool and five are drawn: 1 - C(7,5) / C(10,5) = 1 - 21/252.

    >>> fooled_within(5, [3], [10]).tolist()
    [0.9166666666666666]
    """
    _check(k)
    f, n = (each.ravel() for each in np.broadcast_arrays(np.asarray(fooling), np.asarray(count)))
    if (n < k).any() or (f < 0).any() or (f > n).any():
        raise BadInput("found more draws or fooling variants than variants", fix=f"leave out problems with n < {k}")
    # The chance depends on the two counts alone: worked out once for each pair that occurs, in whole numbers.
    first, place = np.unique(n * (int(n.max(initial=0)) + 1) + f, return_index=True, return_inverse=True)[1:]
    chances = [1 - Fraction(comb(int(n[i] - f[i]), k), comb(int(n[i]), k)) for i in first]
    return np.array(chances, dtype=np.float64)[place]


def r_r_at(
    bucket: npt.ArrayLike, variant: npt.ArrayLike, gold: npt.ArrayLike, pred: npt.ArrayLike, k: int = 5
) -> float:
    """Relaxed fooling rate at k variants, over the correctly answered problems that have so many.

    >>> r_r_at(["a"] * 3, [None, 1, 2], ["no"] * 3, ["no", "yes", "no"], k=1)
    0.5
    """
    return measure(_at_statistics(relaxed, k), ratio, columns(bucket, variant, gold, pred))


def r_s_at(
    bucket: npt.ArrayLike,
    variant: npt.ArrayLike,
    gold: npt.ArrayLike,
    pred: npt.ArrayLike,
    k: int = 5,
    opposite: str = "",
) -> float:
    """Strict fooling rate at k variants, over the correctly answered problems that have so many.

    >>> gold = ["entailment"] * 3
    >>> r_s_at(["a"] * 3, [None, 1, 2], gold, ["entailment", "contradiction", "neutral"], k=1)
    0.5
    """
    return measure(_at_statistics(strict(opposite), k), ratio, columns(bucket, variant, gold, pred))


def r_s_without_neutral_at(
    bucket: npt.ArrayLike,
    variant: npt.ArrayLike,
    gold: npt.ArrayLike,
    pred: npt.ArrayLike,
    k: int = 5,
    opposite: str = "",
) -> float:
    """Strict fooling rate at k variants, of the problems whose gold label has an opposite, all others left out.

    >>> gold = ["entailment"] * 3 + ["neutral"] * 2
    >>> pred = ["entailment", "contradiction", "neutral", "neutral", "entailment"]
    >>> r_s_without_neutral_at(["a"] * 3 + ["b"] * 2, [None, 1, 2, None, 1], gold, pred, k=1)
    0.5
    """
    return measure(_at_statistics(strict(opposite), k, opposite), ratio, columns(bucket, variant, gold, pred))


def too_few_variants(
    bucket: npt.ArrayLike, variant: npt.ArrayLike, gold: npt.ArrayLike, pred: npt.ArrayLike, k: int = 5
) -> list[str]:
    """The correctly answered problems that have fewer than k variants, in the order of the table.

    >>> too_few_variants(["a", "a", "b", "c"], [None, 1, None, None], ["no"] * 4, ["no", "no", "no", "yes"], k=1)
    ['b']
    """
    _check(k)
    answers = columns(bucket, variant, gold, pred)
    few = _few(answers, k)
    return [str(name) for name in answers.frame["bucket"][np.sort(answers.originals[few])]]


@metrics("r_r_at.v1")
def r_r_at_metric(k: int = 5) -> Any:
    """Relaxed fooling rate at k variants: the expectation over which k are drawn; problems with fewer say nothing."""
    return Metric(_at_statistics(relaxed, k))


@metrics("r_s_at.v1")
def r_s_at_metric(k: int = 5, opposite: str = "") -> Any:
    """Strict fooling rate at k variants: the expectation over which k are drawn; problems with fewer say nothing.

    `opposite` names two labels, as in "a<->b", where they are not entailment and contradiction.
    """
    return Metric(_at_statistics(strict(opposite), k))


@metrics("r_s_without_neutral_at.v1")
def r_s_without_neutral_at_metric(k: int = 5, opposite: str = "") -> Any:
    """Strict fooling rate at k variants, of the problems whose gold label has an opposite.

    `opposite` names two labels, as in "a<->b", where they are not entailment and contradiction.
    """
    return Metric(_at_statistics(strict(opposite), k, opposite))


@metrics("too_few_variants.v1")
def too_few_variants_metric(k: int = 5) -> Any:
    """Share of the correctly answered problems that have fewer than k variants."""
    _check(k)

    def statistics(answers: Answers) -> Array:
        return np.stack([_few(answers, k), answers.correct[answers.originals]], axis=1).astype(np.int64)

    return Metric(statistics, uses="both", compared=False)


def _at_statistics(fools: Statistics, k: int, opposite: str | None = None) -> Statistics:
    """Rows of: the chance of being fooled within k variants, and one; zeros for a problem that has fewer.

    With `opposite`, zeros also for a problem whose gold label has none.
    """
    _check(k)

    def statistics(answers: Answers) -> Array:
        count = answers.variants[1]
        enough = counted_problems(answers, opposite) & (count >= k)
        fooling = answers.sum_by_bucket(fools(answers))[:, 0]
        rows = np.zeros((answers.n_buckets, 2))
        rows[enough, 0], rows[enough, 1] = fooled_within(k, fooling[enough], count[enough]), 1
        return rows

    return statistics


def _few(answers: Answers, k: int) -> Array:
    return np.asarray(answers.correct[answers.originals] & (answers.variants[1] < k))


def _check(k: int) -> None:
    if k < 1:
        raise BadInput(f"found {k}", field="k", fix="draw at least one variant")
