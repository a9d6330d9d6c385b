"""Kolmogorov-Smirnov statistics of probabilities before and after rewording (Arakelyan et al. 2024, Figure 3).

The paper's is over three unordered classes, and depends on their order (`ks_labels`). That of one probability does not:
the one of the label that the original was given. Flipped variants differ by construction, so none has a p-value; and
all are above zero by chance alone, so none has an interval (see `shift`).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..answers.table import Answers, Array, cut
from ..errors import BadInput
from ..problem import label_key
from ..registry import metrics
from .metric import BASELINE, Metric, divide
from .shift import (
    MEANS,
    NO_INTERVAL,
    PAIRS,
    Turn,
    beside_baseline,
    flipped_and_kept,
    mean_distributions,
    summed_distributions,
)

#: A row of statistics has two columns for each bin, or four; more bins than this would not fit in memory.
MOST_BINS = 1000
BY_CHANCE = "above 0 by chance alone"


@metrics("ks.v1")
def ks(bins: int = 100, only_right: bool = False, baseline: bool = False) -> Any:
    """Kolmogorov-Smirnov statistic of the original label's probability, originals against variants, to 1/bins.

    `only_right` looks at problems whose original is answered right, as the paper does. With `baseline`, also the mean
    where every wording takes its turn as the original, and how far the value is above it. The original of a is sure,
    its variants are not; in two turns of three it is the other way round for one of them:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 3, "variant": ["", 1, 2], "gold": ["no"] * 3, "pred": ["no"] * 3}
    >>> rows["p"] = {"no": [0.9, 0.6, 0.6], "yes": [0.1, 0.4, 0.4]}
    >>> [round(ow.measure("ks(baseline=true)", part=part, **rows).value, 4) for part in ("value", "baseline", "above")]
    [1.0, 0.6667, 0.3333]
    """
    # The value is that of probabilities cut to 1/bins: at most the exact one, and less by no more than one bin holds.
    # On ParaNLU's fully trained models 100 bins are off by 0.005 at most, and 1000 by 0.004.
    _refuse_bins(bins)

    def statistics(answers: Answers) -> Array:
        chosen = np.logical_or(*flipped_and_kept(answers, only_right))
        count = answers.sum_by_bucket(chosen)
        place = cut(answers.p[np.arange(len(answers.pred)), answers.original_pred], bins)
        rows = np.zeros((answers.n_buckets, 2 * bins + 1), dtype=np.int32)
        rows[np.arange(answers.n_buckets), place[answers.originals]] = count[:, 0] > 0
        np.add.at(rows, (answers.bucket[chosen], bins + place[chosen]), 1)
        rows[:, -1:] = count
        return rows

    def combine(totals: Array) -> Array:
        return _widest(totals[..., :bins], totals[..., bins:-1])

    if baseline:
        return beside_baseline(lambda answers: _ks_when(answers, only_right, bins), BASELINE, only_right)
    return Metric(
        statistics,
        combine,
        uses="both",
        share=False,
        smooth=False,
        interval=False,
        no_interval=lambda answers: {"": NO_INTERVAL},
        gold=only_right,
    )


@metrics("ks_split.v1")
def ks_split(bins: int = 100, only_right: bool = False) -> Any:
    """The statistic `ks` by whether the label flipped: of all variants, flipped ones, others, and the difference.

    Probabilities are cut to so many `bins`. `only_right` looks at problems whose original is answered right, as the
    paper does. An original counts once in each part in which it has a variant. The first variant flips, the second
    stays as it is:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 3, "variant": ["", 1, 2], "gold": ["no"] * 3, "pred": ["no", "yes", "no"]}
    >>> rows["p"] = {"no": [0.9, 0.2, 0.9], "yes": [0.1, 0.8, 0.1]}
    >>> [ow.measure("ks_split", part=part, **rows).value for part in ("all", "flipped", "kept", "difference")]
    [0.5, 1.0, 0.0, 1.0]
    """
    _refuse_bins(bins)

    def statistics(answers: Answers) -> Array:
        flipped, kept = flipped_and_kept(answers, only_right)
        place = cut(answers.p[np.arange(len(answers.pred)), answers.original_pred], bins)
        counts = answers.sum_by_bucket(flipped, kept)
        rows = np.zeros((answers.n_buckets, 3, 2, bins), dtype=np.int32)
        every = np.arange(answers.n_buckets)
        for part, side in enumerate((flipped | kept, flipped, kept)):
            rows[every, part, 0, place[answers.originals]] = answers.sum_by_bucket(side)[:, 0] > 0
            np.add.at(rows[:, part, 1], (answers.bucket[side], place[side]), 1)
        return np.column_stack([rows.reshape(answers.n_buckets, -1), counts, counts.sum(axis=1)])

    def combine(totals: Array) -> Array:
        both = totals[..., :-3].reshape(*totals.shape[:-1], 3, 2, bins)
        found = _widest(both[..., 0, :], both[..., 1, :])
        return np.concatenate([found, found[..., 1:2] - found[..., 2:]], axis=-1)

    return Metric(
        statistics,
        combine,
        uses="both",
        parts=PAIRS,
        share=False,
        smooth=False,
        interval=False,
        counted=lambda rows: rows[:, [-1, -3, -2, -1]],
        no_interval=lambda answers: dict.fromkeys(PAIRS, BY_CHANCE),
        gold=only_right,
        bounds=(-1, 1),
    )


@metrics("ks_labels.v1")
def ks_labels(order: str = "", only_right: bool = False) -> Any:
    """Kolmogorov-Smirnov statistic over the labels of the mean distributions of variants and of their originals.

    It depends on the `order` of the labels, such as entailment+neutral+contradiction as in the paper; without one they
    stand by their names. `only_right` looks at problems whose original is answered right, as the paper does.

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a", "a"], "variant": ["", 1], "gold": ["no"] * 2, "pred": ["no", "yes"]}
    >>> rows["p"] = {"no": [0.75, 0.25], "yes": [0.25, 0.75]}
    >>> ow.measure("ks_labels", part="flipped", **rows).value
    0.5
    """

    def statistics(answers: Answers) -> Array:
        return summed_distributions(answers, only_right, _label_order(answers.labels, order))

    def combine(totals: Array) -> Array:
        return _widest(*mean_distributions(totals))

    return Metric(
        statistics,
        combine,
        uses="both",
        parts=MEANS,
        share=False,
        smooth=False,
        interval=False,
        counted=lambda rows: rows[:, [-1, -3, -2]],
        no_interval=lambda answers: dict.fromkeys(MEANS, BY_CHANCE),
        gold=only_right,
    )


def ks_exact(one: npt.ArrayLike, other: npt.ArrayLike) -> float:
    """Two-sample Kolmogorov-Smirnov statistic: the greatest distance of two distribution functions, exactly.

    >>> ks_exact([0.9, 0.8, 0.7], [0.9, 0.2, 0.1])
    0.6666666666666666
    """
    first, second = (np.sort(np.asarray(values, dtype=np.float64).ravel()) for values in (one, other))
    if first.size == 0 or second.size == 0 or np.isnan(first[-1] + second[-1]):
        raise BadInput("found no value, or NaN", fix="give numbers in both samples")
    places = np.concatenate([first, second])
    below = [np.searchsorted(values, places, side="right") / values.size for values in (first, second)]
    return float(np.abs(below[0] - below[1]).max())


def _refuse_bins(bins: int) -> None:
    if not 2 <= bins <= MOST_BINS:
        raise BadInput(f"found {bins}", field="bins", fix=f"give a number from 2 to {MOST_BINS}")


def _widest(first: Array, second: Array) -> Array:
    """The largest difference of two cumulated distributions along the last axis, whatever their sums are."""
    one, other = np.cumsum(first, -1), np.cumsum(second, -1)
    gap = divide(one, one[..., -1:]) - divide(other, other[..., -1:])
    return np.asarray(np.abs(gap).max(axis=-1))


def _label_order(labels: Sequence[str], order: str) -> Array:
    """The places of the labels in the order that is named, or by their names."""
    if not order:
        return np.argsort(labels)
    known = {label_key(label): place for place, label in enumerate(labels)}
    named = [label_key(label) for label in order.split("+")]
    if sorted(named) != sorted(known):
        fix = f"name each label once, as in {'+'.join(labels)}"
        raise BadInput(f"found {order!r}", field="order", fix=fix)
    return np.array([known[label] for label in named])


def _ks_when(answers: Answers, only_right: bool, bins: int) -> Callable[[Array], Turn]:
    """The Kolmogorov-Smirnov statistic; its influences are those of the two shares at the place of the distance."""
    every = np.arange(len(answers.pred))

    def turn(originals: Array) -> Turn:
        chosen = np.logical_or(*flipped_and_kept(answers, only_right, originals))
        count = answers.sum_by_bucket(chosen)[:, 0]
        held = count > 0
        if not held.any():
            return Turn(np.array([np.nan]), np.zeros((answers.n_buckets, 1)), count[:, None])
        place = cut(answers.p[every, answers.pred[originals][answers.bucket]], bins)
        own, others = place[originals], place[chosen]
        histograms = np.bincount(own[held], minlength=bins), np.bincount(others, minlength=bins)
        below = [np.cumsum(one) / one.sum() for one in histograms]
        gap = below[0] - below[1]
        most = int(np.abs(gap).argmax())
        first = ((own <= most) - below[0][most]) * held / held.sum()
        inside = np.bincount(answers.bucket[chosen], others <= most, answers.n_buckets)
        second = (inside - below[1][most] * count) / count.sum()
        influence = np.sign(gap[most]) * (first - second)
        return Turn(np.abs(gap[most : most + 1]), influence[:, None], count[:, None])

    return turn
