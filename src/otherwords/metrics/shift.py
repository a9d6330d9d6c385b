"""Shift: how far probabilities move when only the wording does, and how decided they are (Arakelyan et al. 2024).

Jensen-Shannon divergence is in bits or in nats, never its square root. Flipped variants differ by construction, so it
comes without a p-value.

That of means is above zero where original and variants are exchangeable: by chance, and because the label that the
original was given is a selected one. So it has no interval. With `baseline`, every wording of a problem takes its turn
as the original; what the value has above the mean of these turns has one, and it includes zero where nothing is to be
found.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from ..answers.table import Answers, Array, sum_shares
from ..errors import BadInput
from ..registry import metrics
from .metric import Metric, divide, turns, with_baseline

#: The divisor that turns nats into the unit asked for.
UNITS = {"2": math.log(2), "e": 1.0}
PAIRS = ("all", "flipped", "kept", "difference")
MEANS = ("all", "flipped", "kept")
SIGMAS = ("originals", "variants", "flipped", "kept")
#: Means over buckets differ in their last bits with the order of buckets and labels; rows must not.
PLACES = 12
NO_INTERVAL = "above 0 by chance alone; baseline=true gives what lies above chance, with its interval"


@metrics("jsd_pairs.v1")
def jsd_pairs(base: str = "2", only_right: bool = False) -> Any:
    """Mean Jensen-Shannon divergence of variant from original, in bits, by whether the label flipped.

    `base` of the logarithm is 2 (bits) or e (nats). `only_right` looks at problems whose original is answered right, as
    the paper does. The first variant's probabilities turn round, the second's stay:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 3, "variant": ["", 1, 2], "gold": ["no"] * 3, "pred": ["no", "yes", "no"]}
    >>> rows["p"] = {"no": [1, 0, 1], "yes": [0, 1, 0]}
    >>> [ow.measure("jsd_pairs", part=part, **rows).value for part in ("all", "flipped", "kept")]
    [0.5, 1.0, 0.0]
    """
    unit = unit_of(base)

    def statistics(answers: Answers) -> Array:
        moved = divergence(answers.p, answers.of_original(answers.p)) / unit
        sides = flipped_and_kept(answers, only_right)
        counts = answers.sum_by_bucket(*sides)
        sums = [answers.add_by_bucket(moved, side) for side in sides]
        return np.column_stack([*sums, counts, counts.sum(axis=1)])

    counted = lambda rows: rows[:, [4, 2, 3, 4]]  # noqa: E731
    return Metric(
        statistics,
        _mean_pairs,
        uses="both",
        parts=PAIRS,
        share=False,
        counted=counted,
        gold=only_right,
        bounds=(-1, 1),
        sides=_pair_sides,
        no_interval=lambda answers: _in_one_cluster(answers, only_right),
    )


@metrics("jsd_means.v1")
def jsd_means(base: str = "2", only_right: bool = False, baseline: bool = False) -> Any:
    """Jensen-Shannon divergence between the mean distributions of variants and of their originals, in bits.

    `base` of the logarithm is 2 (bits) or e (nats). `only_right` looks at problems whose original is answered right, as
    the paper does. With `baseline`, also the mean where every wording takes its turn as the original, and how far the
    value is above it. Opposite moves cancel out:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a", "a", "b", "b"], "variant": ["", 1, "", 1], "gold": ["no"] * 4}
    >>> rows |= {"pred": ["no", "yes", "yes", "no"], "p": {"no": [1, 0, 0, 1], "yes": [0, 1, 1, 0]}}
    >>> ow.measure("jsd_means", part="all", **rows).value
    0.0
    """
    unit = unit_of(base)

    def statistics(answers: Answers) -> Array:
        return summed_distributions(answers, only_right, np.argsort(answers.labels))

    def combine(totals: Array) -> Array:
        return _diverged_means(totals) / unit

    if baseline:
        parts = tuple(f"{name}{more}" for name in MEANS for more in ("", "_baseline", "_above"))
        return beside_baseline(lambda answers: _jsd_when(answers, only_right, unit), parts, only_right)
    return Metric(
        statistics,
        combine,
        uses="both",
        parts=MEANS,
        share=False,
        counted=lambda rows: rows[:, [-1, -3, -2]],
        interval=False,
        no_interval=lambda answers: dict.fromkeys(MEANS, NO_INTERVAL),
        gold=only_right,
    )


@metrics("sigma.v1")
def sigma(only_right: bool = False) -> Any:
    """Mean standard deviation of the probabilities: on originals, variants, and variants by whether they flipped.

    `only_right` looks at problems whose original is answered right, as the paper does. With ddof 0, K labels allow at
    most sqrt(K-1)/K:

    >>> import otherwords as ow
    >>> rows = {"bucket": ["a"] * 3, "variant": ["", 1, 2], "gold": ["no"] * 3, "pred": ["no"] * 3}
    >>> rows["p"] = {"no": [1, 1, 0.5], "yes": [0, 0, 0.5]}
    >>> [ow.measure("sigma", part=part, **rows).value for part in ("originals", "variants")]
    [0.5, 0.25]
    """

    def statistics(answers: Answers) -> Array:
        spread = np.sort(answers.p, axis=1).std(axis=1)  # the order of the labels must not change a bit
        counts = ~answers.is_variant & answers.correct if only_right else ~answers.is_variant
        sides = (counts, *flipped_and_kept(answers, only_right))
        sums = [answers.add_by_bucket(spread, side) for side in sides]
        counts = answers.sum_by_bucket(*sides)
        return np.column_stack([*sums, counts[:, 1:], counts[:, 0]])

    def counted(rows: Array) -> Array:
        return np.column_stack([rows[:, 5], rows[:, 3] + rows[:, 4], rows[:, 3:5]])

    return Metric(
        statistics,
        _means,
        uses="both",
        parts=SIGMAS,
        share=False,
        counted=counted,
        gold=only_right,
        bounds=(0, 0.5),
    )


def divergence(p: Array, q: Array) -> Array:
    """In nats, along the last axis; rounding must not make it negative, nor larger than it can be."""
    from scipy.special import rel_entr  # late: `otherwords --help` needs no scipy

    middle = (p + q) / 2
    nats = sum_shares(rel_entr(p, middle) + rel_entr(q, middle)) / 2
    return np.asarray(np.clip(nats, 0, math.log(2)))


def unit_of(base: str) -> float:
    """What nats are divided by, for a logarithm to this base."""
    if base not in UNITS:
        raise BadInput(f"found {base!r}", field="base", fix="use 2 (bits) or e (nats)")
    return UNITS[base]


def flipped_and_kept(answers: Answers, only_right: bool, originals: Array | None = None) -> tuple[Array, Array]:
    """Which answers are variants whose label differs from the original's, and which are variants with the same.

    With `only_right`, of originals that were answered correctly. `originals` are the rows of other wordings that take
    the original's place.
    """
    chosen, label = answers.is_variant, answers.original_pred
    if originals is not None:
        chosen, label = np.ones(len(answers.pred), dtype=bool), answers.pred[originals][answers.bucket]
        chosen[originals] = False
    if only_right:
        chosen = chosen & (label == answers.gold)
    flipped = answers.pred != label
    return chosen & flipped, chosen & ~flipped


def summed_distributions(answers: Answers, only_right: bool, order: Array) -> Array:
    """The probabilities of variants and of their originals, summed over flipped and over kept pairs, and their numbers.

    `order` is that of the labels. An original counts once for each of its variants, so that both kinds add up to all.
    """
    sides = flipped_and_kept(answers, only_right)
    by_name = answers.p[:, order]  # in whatever order the columns of probabilities stand
    tables = (by_name.T, answers.of_original(by_name).T)
    sums = [answers.add_by_bucket(column, side) for side in sides for table in tables for column in table]
    counts = answers.sum_by_bucket(*sides)
    return np.column_stack([*sums, counts, counts.sum(axis=1)])


def mean_distributions(totals: Array) -> tuple[Array, Array]:
    """From those sums, the mean distributions of variants and of their originals: over all pairs, flipped, kept."""
    sums = totals[..., :-3].reshape(*totals.shape[:-1], 2, 2, -1)
    sums = np.concatenate([sums.sum(axis=-3, keepdims=True), sums], axis=-3)
    means = divide(sums, totals[..., [-1, -3, -2], None, None])
    return means[..., 0, :], means[..., 1, :]


# The baseline: every wording takes its turn as the original


class Turn(NamedTuple):
    """A statistic with some wordings in the place of the originals: a value for each part, NaN where it has none.

    `influence` is what each bucket adds to it to first order, `variants` how many it has in it.
    """

    value: Array
    influence: Array
    variants: Array


def beside_baseline(
    measure: Callable[[Answers], Callable[[Array], Turn]], parts: tuple[str, ...], gold: bool
) -> Metric:
    """A metric of a statistic's value, its mean over turns, and the difference, for each of its parts.

    `measure` gives, from answers, the statistic as a function of the originals' rows. A row holds, for the value and
    for its baseline, what the bucket's influence makes of it: their mean over buckets is the statistic. The greatest
    distance of two histograms is not a function of a few sums; its influences are, whatever the size of the table. They
    are widened by what a t distribution is wider than the normal, because percentiles of means are too narrow.
    """
    width = len(parts) // 3

    def statistics(answers: Answers) -> Array:
        turn = measure(answers)
        own = turn(answers.originals)
        baseline = _mean_turn(turn(rows) for rows in turns(answers, gold))
        counts = answers.n_variants > 0
        rows = [_around(one, answers, counts) for one in (own, baseline)]
        there = [np.broadcast_to(~np.isnan(one.value), own.variants.shape) for one in (own, baseline)]
        return np.column_stack([*rows, *there, own.variants, answers.n_variants, counts]) * counts[:, None]

    def combine(totals: Array) -> Array:
        value, baseline, *there = (totals[..., i * width : (i + 1) * width] for i in range(4))
        both = with_baseline(divide(value, there[0]), divide(baseline, there[1]))
        return both.reshape(*totals.shape[:-1], len(parts))

    def counted(rows: Array) -> Array:
        own, every = rows[:, 4 * width : 5 * width], np.repeat(rows[:, -2:-1], width, axis=1)
        return np.stack([own, np.where(own.any(axis=0), every, 0), own], axis=-1).reshape(len(rows), len(parts))

    bare = {name: NO_INTERVAL for place, name in enumerate(parts) if place % 3 < 2}
    return Metric(
        statistics,
        combine,
        uses="both",
        parts=parts,
        share=False,
        counted=counted,
        smooth=False,  # turns are tables of their own: only percentiles are meaningful
        no_interval=lambda answers: bare,
        gold=gold,
        bounds=(-1, 1),
    )


def _mean_turn(every: Iterable[Turn]) -> Turn:
    """The mean of turns, part by part; a turn in which a part has no value is left out of it."""
    whole, times = Turn(*(np.zeros(1),) * 3), np.zeros(1)
    for one in every:
        there = ~np.isnan(one.value)
        value, influence = whole.value + np.where(there, one.value, 0), whole.influence + one.influence * there
        whole, times = Turn(value, influence, one.variants), times + there
    return Turn(divide(whole.value, times), whole.influence / np.maximum(times, 1), whole.variants)


def _around(turn: Turn, answers: Answers, counts: Array) -> Array:
    """The value of each part plus each bucket's influence on it, so that the mean over buckets is the value."""
    clusters = len(np.unique(answers.cluster[counts]))
    wider = math.sqrt(clusters / max(clusters - 3, 1))
    around = np.nan_to_num(turn.value + counts.sum() * wider * turn.influence)
    return np.asarray(np.round(around, PLACES))


def _jsd_when(answers: Answers, only_right: bool, unit: float) -> Callable[[Array], Turn]:
    """The divergence of the mean distributions, for the parts MEANS."""

    def turn(originals: Array) -> Turn:
        flipped, kept = flipped_and_kept(answers, only_right, originals)
        tables = (answers.p.T, answers.p[originals][answers.bucket].T)
        flat = [answers.add_by_bucket(column, side) for side in (flipped, kept) for table in tables for column in table]
        split = np.array(flat).reshape(2, 2, len(answers.labels), answers.n_buckets)
        sums = np.moveaxis(np.concatenate([split.sum(axis=0, keepdims=True), split]), -1, 0)
        number = answers.sum_by_bucket(flipped | kept, flipped, kept)
        means = divide(sums.sum(axis=0), number.sum(axis=0)[:, None, None])
        steps = np.log(np.where(means > 0, divide(means, means.mean(axis=1, keepdims=True)), 1)) / 2
        moved = sums - np.nan_to_num(means) * number[:, :, None, None]
        influence = np.einsum("bpsk,psk->bp", moved, steps) / np.maximum(number.sum(axis=0), 1)
        return Turn(divergence(means[:, 0], means[:, 1]) / unit, influence / unit, number)

    return turn


def _mean_pairs(totals: Array) -> Array:
    """From the sums over flipped and kept pairs and their numbers: the mean of all, of either, and the difference."""
    first, second = _pair_sides(totals)
    return np.asarray(np.where(np.array(PAIRS) == "difference", first - second, first))


def _pair_sides(totals: Array) -> tuple[Array, Array]:
    """The means of all, of flipped and of kept pairs, which lie in [0, 1], and the two sides of their difference."""
    whole = divide(totals[..., 0] + totals[..., 1], totals[..., 4])
    flipped, kept = divide(totals[..., 0], totals[..., 2]), divide(totals[..., 1], totals[..., 3])
    nothing = np.full_like(whole, np.nan)
    return np.stack([whole, flipped, kept, flipped], axis=-1), np.stack([nothing, nothing, nothing, kept], axis=-1)


def _in_one_cluster(answers: Answers, only_right: bool) -> dict[str, str]:
    """The difference has no interval where one of its sides has none: nobody knows how that varies."""
    sides = dict(zip(("flipped", "kept"), flipped_and_kept(answers, only_right), strict=True))
    few = [name for name, side in sides.items() if len(np.unique(answers.cluster[answers.bucket[side]])) == 1]
    return {"difference": f"{' and '.join(few)} variants in one cluster"} if few else {}


def _diverged_means(totals: Array) -> Array:
    return divergence(*mean_distributions(totals))


def _means(totals: Array) -> Array:
    """From the sums of originals, flipped and kept variants, the numbers of the two latter and of originals: SIGMAS."""
    original, flipped, kept, n_flipped, n_kept, n = np.moveaxis(totals, -1, 0)
    pairs = ((original, n), (flipped + kept, n_flipped + n_kept), (flipped, n_flipped), (kept, n_kept))
    return np.stack([divide(*pair) for pair in pairs], axis=-1)
