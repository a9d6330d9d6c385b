"""Worst of k: how many problems fail in at least one of k wordings, also where k is more than there are variants.

With more wordings more problems fail, so a suite of five says little about a user who tries twenty. Each problem is
taken to have a rate of its own, and the rates of all problems to follow a beta distribution: the counts are
beta-binomial. Its mean m and the correlation c of two variants of a problem are moments: the mean over problems of the
share that fails, f / n, and of the pairs that both fail, f (f - 1) / (n (n - 1)), which is m^2 + c m (1 - m). None of k
fails with probability prod over i < k of ((1 - m)(1 - c) + i c) / ((1 - c) + i c).

Moments, because they are sums: every interval and test follows as for other metrics. Maximum likelihood, tried on six
kinds of rates, 3 to 8 variants and k = 20, has a root mean square error that is a tenth smaller. Where chance makes c
negative, the logarithm goes on in a straight line: cut off at 0, the interval would be too narrow near it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..answers.table import Answers, Array
from ..errors import BadInput
from ..registry import metrics
from .fooling import counted_problems, relaxed
from .metric import Metric, divide

#: Up to so many times the variants at hand, intervals hold; beyond, the shape of the distribution decides.
FAR = 2
#: Nobody asks more wordings than this, and what a handful of variants say about them is nothing.
MOST = 10_000


@metrics("flip_worst.v1")
def flip_worst(k: int = 10) -> Any:
    """Share of problems with at least one flipped answer among k wordings, also more than the variants at hand.

    Rates of problems are taken to follow a beta distribution. Two of four variants flip in a, none in b:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 5 + ["b"] * 5, "variant": ["", 1, 2, 3, 4] * 2}
    >>> rows["pred"] = ["yes", "no", "no", "yes", "yes"] + ["yes"] * 5
    >>> [round(ow.measure(f"flip_worst(k={k})", **rows).value, 4) for k in (1, 2, 20)]
    [0.25, 0.4167, 0.9402]
    """

    def flips(answers: Answers) -> tuple[Array, Array]:
        return answers.is_variant & (answers.pred != answers.original_pred), np.ones(answers.n_buckets, dtype=bool)

    return _metric(k, flips, _some(k), uses="both", gold=False)


@metrics("r_r_worst.v1")
def r_r_worst(k: int = 10) -> Any:
    """Relaxed fooling rate at k wordings, also more than the variants at hand; r_r_at is for fewer.

    Of the problems answered correctly, the share that k wordings would fool, where rates follow a beta distribution.

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 3 + ["b"] * 3, "variant": ["", 1, 2] * 2, "gold": ["no"] * 6}
    >>> pred = ["no", "yes", "no"] + ["no"] * 3
    >>> [ow.measure(metric, **rows, pred=pred).value for metric in ("r_r_at(k=2)", "r_r_worst(k=2)")]
    [0.5, 0.5]
    """

    def fooled(answers: Answers) -> tuple[Array, Array]:
        return relaxed(answers), counted_problems(answers)

    return _metric(k, fooled, _some(k), uses="both")


@metrics("accuracy_worst.v1")
def accuracy_worst(k: int = 10) -> Any:
    """Accuracy under the worst of k wordings: share of problems all of whose k wordings are answered right.

    The original is not among them. Rates of problems are taken to follow a beta distribution. One of two variants is
    right in a, both in b; with two wordings, the share is the one that is seen:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 3 + ["b"] * 3, "variant": ["", 1, 2] * 2, "gold": ["no"] * 6}
    >>> ow.measure("accuracy_worst(k=2)", **rows, pred=["no", "yes", "no"] + ["no"] * 3).value
    0.5
    """
    some = _some(k)

    def wrong(answers: Answers) -> tuple[Array, Array]:
        return answers.is_variant & ~answers.correct, np.ones(answers.n_buckets, dtype=bool)

    return _metric(k, wrong, lambda totals: 1 - some(totals), uses="variants", original=False)


def some_of(k: int, mean: Array, pairs: Array) -> Array:
    """Chance of at least one event in k, from the mean rate and the chance that two both have it.

    Rates of 0 and 1 stay so: of half the problems always, of the others never. One rate for all is binomial.

    >>> [round(float(some_of(3, np.array(0.5), np.array(pairs))), 4) for pairs in (0.5, 0.25)]
    [0.5, 0.875]
    """
    spread = mean * (1 - mean)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.where(spread > 0, (pairs - mean**2) / spread, 0.0)
        odds = np.where(mean < 1, mean / (1 - mean), 0.0)
    c = np.minimum(correlation, 1)
    beyond, within = np.minimum(c, 0), np.maximum(c, 0)  # below 0 by chance: no beta has it
    none = 1 - mean
    for i in range(1, k):
        own = c if i == 1 else within  # of two, the chance is that of the pairs
        none = none * np.maximum((1 - mean) * (1 - own) + i * own, 0) / ((1 - own) + i * own)
    chance = 1 - none * np.exp(beyond * odds * max(k * (k - 1) / 2 - 1, 0))
    return np.asarray(np.where(np.isnan(pairs), np.nan, chance))


def _some(k: int) -> Callable[[Array], Array]:
    if not 1 <= k <= MOST:
        raise BadInput(f"found {k}", field="k", fix=f"ask for 1 to {MOST:,} wordings")

    def combine(totals: Array) -> Array:
        return some_of(k, divide(totals[..., 0], totals[..., 3]), divide(totals[..., 1], totals[..., 2]))

    return combine


def _metric(
    k: int, events: Callable[[Answers], tuple[Array, Array]], combine: Callable[[Array], Array], **more: Any
) -> Metric:
    """A metric of the variants with an event and the problems that count; those without variants do not.

    Where none of those that count has two variants, nothing is known of the spread of rates, and there is no value.
    """

    def statistics(answers: Answers) -> Array:
        happened, counted = events(answers)
        n = answers.n_variants
        f = answers.sum_by_bucket(happened)[:, 0]
        counted = counted & (n > 0)
        paired = counted & (n > 1)
        share, both = f / np.maximum(n, 1), f * (f - 1) / np.maximum(n * (n - 1), 1)
        return np.column_stack([share * counted, both * paired, paired, counted]).astype(np.float64)

    def too_far(answers: Answers) -> dict[str, str]:
        buckets = np.where(answers.n_variants > 0, answers.occurrences, 0)
        far = buckets.any() and k > FAR * (answers.n_variants * buckets).sum() / buckets.sum()
        return {"": f"{k} wordings are more than {FAR} times the variants at hand"} if far else {}

    return Metric(statistics, combine, rate=True, fewest=2, no_interval=too_far, **more, labels_only=True)
