"""The difference of one pair, metric by metric: both values, an interval from the bootstrap, a p-value by exchange."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .choices import Settings, gather, number, title
from .errors import Unmeasurable
from .metrics.metric import Metric
from .metrics.table import Answers
from .progress import current
from .registry import Bound
from .scoring import evidence_of
from .significance.beside import Minus, apart, beside
from .significance.intervals import bca, percentile
from .significance.resampling import Sample, bootstrap
from .significance.swapping import exchange_test, swap_test

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Difference:
    """One metric of two models (or groups): both values, the first minus the second, and what may be said of it.

    `p_swap` comes from swapping whole clusters between the two, `p_bootstrap` from the share of bootstrap differences
    beyond zero; `p_bonferroni`, `p_holm` and `p_bh` are `p_swap` adjusted for all differences told together. `n_units`
    and `n_answers` are those of the model that has fewer, or of both groups together.
    `p_t` is of a t test over several models' scores, where groups are compared.
    """

    metric: str
    signature: str
    model: str
    other: str
    group: str | None
    value: float | None
    other_value: float | None
    difference: float | None
    low: float | None
    high: float | None
    p_swap: float | None
    p_bootstrap: float | None
    n_units: int
    n_answers: int
    unit: str = "share"
    p_bonferroni: float | None = None
    p_holm: float | None = None
    p_bh: float | None = None
    p_t: float | None = None


def differences(
    chosen: Sequence[Bound],
    pair: Sequence[Answers],
    names: Sequence[str],
    group: str | None,
    settings: Settings,
    lenient: bool,
    shared: bool,
) -> list[Difference]:
    """Compare one pair with each metric; `shared` where both were asked the same buckets, which are then paired.

    `lenient` leaves out metrics that need what the tables lack, instead of complaining, and says which.
    """

    def work(bound: Bound, metric: Metric) -> _Pair | None:
        skipped = lenient and (metric.across or not metric.compared)
        return None if skipped else _paired(bound, chosen, metric, pair, shared)

    gathered = gather(chosen, lenient, "not compared", work)
    drawn = bootstrap([one.sample for one in gathered], settings.replicates, settings.seed)
    found = []
    for one, values in zip(gathered, drawn, strict=True):
        current().advance(1)
        found += _told(one, values, pair[0], names, group, settings, shared)
    return found


@dataclass(frozen=True)
class _Pair:
    bound: Bound
    metric: Metric
    titles: list[str]
    sample: Sample
    values: tuple[Array, Array]
    n_clusters: Array
    n_units: Array
    n_answers: Array


def _paired(bound: Bound, chosen: Sequence[Bound], metric: Metric, pair: Sequence[Answers], shared: bool) -> _Pair:
    if metric.across:
        raise Unmeasurable("it is about all models together", where=bound.plugin.name)
    rows = [metric.statistics(one) for one in pair]
    outside = [metric.outside(one) for one in pair] if metric.outside else None
    if shared:
        sample = beside(metric, rows, pair[0].cluster, bound.plugin.full_name, outside)
    elif outside is None:
        sample = apart(metric, rows, [one.cluster for one in pair], bound.plugin.full_name)
    else:
        raise Unmeasurable("it looks outside the buckets, which are not shared", where=bound.plugin.name)
    beyond = sample.n if sample.outside is None else int(sample.outside[1].sum())
    if (max if shared else min)(sample.n, beyond) < 2:
        raise Unmeasurable("fewer than two clusters have something to say", where=bound.plugin.name)
    values = Minus(metric).both(sample.totals())
    titles = [title(bound, chosen, part) for part in metric.part_names(pair[0])]
    counts = [evidence_of(metric, row, one.cluster, one, len(titles)) for row, one in zip(rows, pair, strict=True)]
    if outside is not None and not counts[0].any():
        items = len(np.intersect1d(outside[0].names, outside[1].names))
        counts = [np.full((3, len(titles)), items)] * 2
    units, answers = (np.minimum(*counts) if shared else np.add(*counts))[1:]
    return _Pair(bound, metric, titles, sample, values, np.minimum(*counts)[0], units, answers)


def _told(
    one: _Pair, drawn: Array, data: Answers, names: Sequence[str], group: str | None, settings: Settings, shared: bool
) -> list[Difference]:
    test = swap_test if shared else exchange_test
    swapped = test(one.sample, settings.replicates, settings.seed, one.metric.smooth)
    corrected = settings.kind(one.metric) == "bca"
    low, high = bca(one.sample, drawn, settings.confidence) if corrected else percentile(drawn, settings.confidence)
    how = "swap" if shared else "exchange"
    signature = f"{one.bound.signature} test={how} {settings.signature(one.metric, data, 'difference')}"
    beyond = _beyond_zero(drawn)
    values = one.sample.value()
    alone = one.n_clusters < 2  # of the model that has fewer: nothing can be said of how it would vary
    low, high, swapped, beyond = (np.where(alone, np.nan, told) for told in (low, high, swapped, beyond))
    found = []
    for i, name in enumerate(one.titles):
        found.append(
            Difference(
                metric=name,
                signature=signature,
                model=names[0],
                other=names[1],
                group=group,
                value=number(one.values[0][i]),
                other_value=number(one.values[1][i]),
                difference=number(values[i]),
                low=number(low[i]),
                high=number(high[i]),
                p_swap=number(swapped[i]),
                p_bootstrap=number(beyond[i]),
                n_units=int(one.n_units[i]),
                n_answers=int(one.n_answers[i]),
                unit="share" if one.metric.share else "number",
            )
        )
    return found


def _beyond_zero(drawn: Array) -> Array:
    """Twice the smaller share of bootstrap differences on one side of zero, zero itself on both, and never 0."""
    defined = (~np.isnan(drawn)).sum(axis=0)
    with np.errstate(invalid="ignore"):
        side = np.minimum((drawn <= 1e-12).sum(axis=0), (drawn >= -1e-12).sum(axis=0))  # zero but for rounding is zero
    return np.where(defined > 0, np.minimum(1.0, 2 * (1 + side) / (defined + 1)), np.nan)
