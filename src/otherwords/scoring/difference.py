"""The difference of one pair of models or groups, metric by metric: its interval, its tests, its evidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from ..answers.reading import clusters_of
from ..answers.table import Answers, Array
from ..errors import Unmeasurable
from ..metrics.metric import Metric
from ..progress import current
from ..registry import Bound
from ..significance.across_models import difference_influences
from ..significance.bootstrap import Sample, bootstrap
from ..significance.intervals import (
    Estimate,
    closed_form,
    denominators,
    difference_ends,
    difference_p,
    has_closed_form,
    replicate_ends,
)
from ..significance.pairs import MetricDifference, Pairing, in_order, joint_sample, pair_sample
from ..significance.permutation import exchange_test, max_t, swap_test
from .measure import effective_sizes, evidence_of, reasons_by_part
from .select import IntervalSettings, by_family, collect_measurable, family, number, of_difference, title

#: Why there is no interval where both give the same answers, or others that make no difference to the metric.
SAME = "the answers are the same"
ALIKE = "the same for both in every cluster"
#: Influences that differ by less than this share of the largest are equal: slopes are rounded.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Difference:
    """One metric of two models (or groups): both values, the first minus the second, its interval and p-values.

    `p` is the p-value to decide by: the larger of `p_swap`, from swapping whole clusters between the two, and
    `p_interval`, the level at which the interval leaves out 0. `p_maxt` is adjusted for all metrics by swaps that they
    share, `p_bonferroni`, `p_holm` and `p_bh` are `p` adjusted for all differences of one call. With a `margin`, a
    small `p_not_lower` says that the first is not below the second by so much, `p_not_higher` that it is not above,
    `p_equivalent` both. `interval` names the kind of interval, and `note` says why there is none. `n_units`,
    `n_answers`, `n_clusters` and `n_effective` are those of the side that has fewer. `family` names the metrics that
    say nearly the same: read them as one finding.

    Where groups are compared for several models, a row of the group "(models)" has the mean difference. `p_crossed` and
    the interval are of the test in which models and problems are crossed: decide by it; the adjusted p-values are those
    of all such rows. `p_t` is the papers' t test over the models' scores, which does not hold its level where models
    share problems (it rejects up to 46 % of true nulls): for reproduction only.
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
    n_units: int
    n_answers: int
    unit: str = "share"
    p_bonferroni: float | None = None
    p_holm: float | None = None
    p_bh: float | None = None
    p_t: float | None = None
    family: str = ""
    p: float | None = None
    p_interval: float | None = None
    p_crossed: float | None = None
    p_maxt: float | None = None
    interval: str = ""
    confidence: float | None = None
    n_clusters: int = 0
    n_effective: float | None = None
    note: str = ""
    margin: float | None = None
    p_not_lower: float | None = None
    p_not_higher: float | None = None
    p_equivalent: float | None = None


@dataclass(frozen=True)
class Sides:
    """What is compared: two models or two groups, by name, with their answers; `pairing` says which clusters are one.

    `group` is that of two models, or the model of two groups.
    """

    names: tuple[str, str]
    answers: Sequence[Answers]
    pairing: Pairing
    group: str | None = None


@dataclass(frozen=True)
class ModelPart:
    """One model's difference and how much each cluster moves it: what the test across models needs.

    `influence` is empty for a metric that jumps, or that has rows from outside the clusters.
    """

    row: Difference
    clusters: Array
    influence: Array


@dataclass(frozen=True)
class Compared:
    """One metric of two sides: a row for each part, and the statistics of both, bucket by bucket."""

    sides: Sides
    metric: Metric
    statistics: Sequence[Array]
    rows: list[Difference]

    def model_parts(self) -> list[ModelPart]:
        """What the test across models needs of one model: nothing but its values where a metric jumps."""
        known, moved = np.empty(0), np.empty((0, len(self.rows)))
        if self.metric.smooth and self.metric.outside is None:
            answers = self.sides.answers
            names = [clusters_of(each) for each in answers]
            known, moved = difference_influences(
                self.metric, self.statistics, [each.cluster for each in answers], names
            )
        return [ModelPart(row, known, moved[:, place]) for place, row in enumerate(self.rows)]


def differences(
    chosen: Sequence[Bound], sides: Sides, settings: IntervalSettings, lenient: bool, margin: float | None = None
) -> list[Compared]:
    """Compare two sides with each metric.

    `lenient` leaves out metrics that need what the tables lack, instead of raising, and warns which.
    """

    def work(bound: Bound, metric: Metric) -> _Pair | None:
        skipped = lenient and (metric.across or not metric.compared)
        return None if skipped else _paired(bound, chosen, metric, sides, settings, same_answers)

    same_answers, paired = _same_answers(sides.answers), sides.pairing.paired
    pairs = collect_measurable(by_family(chosen), lenient, sides.group or "", "not compared", work)
    drawing = [one for one in pairs if one.draws]
    values = bootstrap([one.sample for one in drawing], settings.replicates, settings.seed)
    drawn = {id(one): each for one, each in zip(drawing, values, strict=True)}
    test = swap_test if paired else exchange_test
    swapped = [test(one.sample, settings.replicates, settings.seed, one.metric.smooth) for one in pairs]
    found: list[Compared] = []
    for one, p, maxt in zip(pairs, swapped, _max_t(pairs, swapped, sides.pairing, settings), strict=True):
        current().advance(1)
        signature = f"{one.bound.signature} test={'swap' if paired else 'exchange'}"
        signature += f" {settings.signature(one.metric, sides.answers[0], 'difference')}"
        like = Difference(
            metric="", signature=signature, model=sides.names[0], other=sides.names[1], group=sides.group, value=None,
            other_value=None, difference=None, low=None, high=None, p_swap=None, n_units=0, n_answers=0,
            family=family(one.bound), margin=margin,
        )  # fmt: skip
        found.append(Compared(sides, one.metric, one.rows, _rows(one, drawn.get(id(one)), p, maxt, like)))
    return found


def _max_t(
    pairs: Sequence[_Pair], swapped: Sequence[Array], pairing: Pairing, settings: IntervalSettings
) -> list[Array]:
    """p-values adjusted for all metrics of this pair; one alone needs none."""
    if sum(map(len, swapped)) < 2:
        return list(swapped)
    joint, _ = in_order(joint_sample([one.rows for one in pairs], pairing), pairing.paired)
    adjusted = max_t(
        [one.sample for one in pairs], joint, pairing.paired, settings.replicates, settings.seed,
        [one.metric.smooth for one in pairs], [one.counts[0] for one in pairs],
    )  # fmt: skip
    return [np.maximum(one, each) for one, each in zip(adjusted, swapped, strict=True)]


@dataclass(frozen=True)
class _Pair:
    """One metric on two sides, in the order that the data decide; `turned` where it is the other way round.

    `counts` are clusters, units and answers of the side that has fewer: a row of each, a column per part. `reasons`
    say, part by part, why one of the two has no interval itself; `same`, that the answers of the two are.
    """

    bound: Bound
    metric: Metric
    titles: list[str]
    rows: list[Array]
    sample: Sample
    paired: bool
    turned: bool
    counts: Array
    reasons: list[str]
    same: bool
    settings: IntervalSettings

    def sides(self) -> list[list[tuple[Array, Array]]]:
        """The rows and counts of each side, sample by sample."""
        half = self.sample.distinct.shape[1] // 2
        cuts = slice(half), slice(half, None)
        sides = [[(rows[:, cut], counts) for rows, counts in self.sample.strata] for cut in cuts]
        return sides if self.paired else [sides[0][:1], sides[1][1:]]

    @property
    def kind(self) -> str:
        """The kind of interval of its difference; empty where it has none."""
        return of_difference(self.settings.kind(self.metric)) if self.metric.interval else ""

    @property
    def draws(self) -> bool:
        """Whether replicates are needed: for the interval, or to see whether a value may be undefined."""
        return self.metric.interval and self.settings.draws(self.metric)

    def estimates(self) -> list[Estimate]:
        """Both sides in closed form; none where the metric has no such form."""
        if not has_closed_form(self.metric):
            return []
        return [closed_form(self.metric, side, self.settings.confidence) for side in self.sides()]

    def ends(self, drawn: Array | None, estimates: Sequence[Estimate]) -> tuple[Array, Array]:
        """Both ends of the interval of each part."""
        if self.kind == "mover":
            one, other = estimates
            return difference_ends(one, other, self.settings.confidence, self.paired, self.most())
        assert drawn is not None
        return replicate_ends(self.kind, self.sample, drawn, self.settings.confidence)

    def most(self) -> Array:
        """The greatest difference there may be, part by part: 1 of shares, 2 of what is a difference itself."""
        if self.metric.sides is None:
            low, high = self.metric.bounds
            return np.full(len(self.titles), max(high - low, 1.0))
        second = self.metric.sides(np.concatenate([rows for rows, _ in self.sides()[0]]).sum(axis=0))[1]
        return np.where(np.isnan(np.atleast_1d(second)), 1.0, 2.0)

    def alike(self, estimates: Sequence[Estimate]) -> Array:
        """Which parts are the same for both in every cluster: the value, what it weighs, and how it moves the value."""
        left, right = self.sides()
        if not self.paired or all(np.array_equal(one[0], other[0]) for one, other in zip(left, right, strict=True)):
            return np.full(len(self.titles), self.paired)
        one, other = MetricDifference(self.metric).both(self.sample.totals())
        found = np.abs(one - other) <= _ROUNDING
        if not found.any() or not estimates:
            return np.zeros(len(found), dtype=bool)
        units = (each.units for each in estimates)
        for (rows, _), (others, _), (moved, _), (by, _) in zip(left, right, *units, strict=True):
            weighed = [denominators(self.metric, each, len(found)) for each in (rows, others)]
            largest = np.maximum(np.abs(moved), np.abs(by)).max(axis=1, initial=0)
            found &= (weighed[0] == weighed[1]).all(axis=0)
            found &= (np.abs(moved - by) <= _ROUNDING * largest[:, None]).all(axis=1)
        return np.asarray(found)

    def interval_p(self, estimates: Sequence[Estimate]) -> Array:
        """Of closed forms: the level at which the interval leaves out 0."""
        if self.kind != "mover":
            return np.full(len(self.titles), np.nan)
        one, other = estimates
        return difference_p(one, other, self.paired)

    def shares(self, estimates: Sequence[Estimate]) -> tuple[Array, Array, Array] | None:
        """Of closed forms: the influence of each cluster on the difference, its share in it, and how many there are.

        The shares sum up to the difference, the influences to 0; a row per part.
        """
        if self.kind != "mover":
            return None
        sides = []
        for rows, found in zip(self.sides(), estimates, strict=True):
            weight = np.concatenate([denominators(self.metric, one, len(self.titles)) for one, _ in rows]).T
            influence, counts = (np.concatenate(each, axis=1) for each in zip(*found.units, strict=True))
            total = np.maximum((counts * weight).sum(axis=1), 1)
            sides.append((influence, influence + (found.value / total)[:, None] * weight, counts))
        if not self.paired:
            return tuple(np.concatenate([one, each], axis=1) for one, each in zip(sides[0], sides[1], strict=True))  # type: ignore[return-value]
        (one, one_share, counts), (other, other_share, other_counts) = sides
        return one - other, one_share - other_share, np.maximum(counts, other_counts)

    def notes(self, drawn: Array | None, estimates: Sequence[Estimate]) -> list[str]:
        """Why a part has no interval; empty where it has one."""
        if not self.kind:
            return ["not a share" if self.metric.interval else "this metric has none"] * len(self.titles)
        others = reasons_by_part(self.reasons, self.counts[0].tolist(), drawn)
        same = SAME if self.same else ALIKE
        return [same if alike else other for alike, other in zip(self.alike(estimates), others, strict=True)]


def _same_answers(pair: Sequence[Answers]) -> bool:
    """Whether the two gave the same answers to the same wordings."""
    one, other = pair
    names = [each.frame.select(pl.col("bucket", "variant").cast(pl.String)) for each in pair]
    return np.array_equal(one.pred, other.pred) and names[0].equals(names[1])


def _paired(
    bound: Bound,
    chosen: Sequence[Bound],
    metric: Metric,
    sides: Sides,
    settings: IntervalSettings,
    same_answers: bool,
) -> _Pair:
    pair, pairing = sides.answers, sides.pairing
    if metric.across:
        raise Unmeasurable("it is computed over all models together", where=bound.plugin.name)
    rows = [metric.rows(one) for one in pair]
    outside = [metric.outside(one) for one in pair] if metric.outside else None
    same = pairing.clusters[0] is pairing.clusters[1]
    if outside is not None and not same:
        raise Unmeasurable("it uses data outside the shared buckets", where=bound.plugin.name)
    sample, turned = in_order(pair_sample(metric, rows, pairing, outside), pairing.paired)
    beyond = sample.n if sample.outside is None else int(sample.outside[1].sum())
    if (max if pairing.paired else min)(sample.n, beyond) < 2:
        raise Unmeasurable("needs at least two clusters with a value", where=bound.plugin.name)
    parts = metric.part_names(pair[0])
    titles = [title(bound, chosen, part) for part in parts]
    reasons = metric.reasons(pair[1]) | metric.reasons(pair[0])
    counts = [
        evidence_of(metric, row, cluster, one, len(titles))
        for row, cluster, one in zip(rows, pairing.clusters, pair, strict=True)
    ]
    if outside is not None and not counts[0].any():
        items = len(np.intersect1d(outside[0].names, outside[1].names))
        counts = [np.array([[beyond] * len(titles), *[[items] * len(titles)] * 2])] * 2
    return _Pair(
        bound, metric, titles, rows, sample, pairing.paired, turned, np.minimum(*counts),
        [reasons.get(part, "") for part in parts], same_answers, settings,
    )  # fmt: skip


def _rows(one: _Pair, drawn: Array | None, swapped: Array, maxt: Array, like: Difference) -> list[Difference]:
    """A row for each part, turned to the order of the user's names."""
    values, difference = MetricDifference(one.metric).both(one.sample.totals()), one.sample.value()
    estimates = one.estimates() if one.kind else []
    notes = one.notes(drawn, estimates)
    effective = np.minimum(*(effective_sizes(one.metric, side, len(one.titles)) for side in one.sides()))
    low, high = np.full((2, len(notes)), np.nan)
    interval_p = np.full(len(notes), np.nan)
    if not all(notes):
        low, high = one.ends(drawn, estimates)
        interval_p = one.interval_p(estimates)
    one_sided = np.full((2, len(notes)), np.nan)
    if like.margin is not None and (not all(notes) or {SAME, ALIKE} & set(notes)):
        there = [note in ("", SAME, ALIKE) for note in notes]
        one_sided = np.where(there, np.stack(_margin_tests(one, drawn, like.margin, estimates)), np.nan)
    if one.turned:
        values, difference, (low, high), one_sided = values[::-1], -difference, (-high, -low), one_sided[::-1]
    tested = one.counts[0] > 1  # of the side that has fewer: how it would vary is unknown
    rows = []
    for i, (name, note) in enumerate(zip(one.titles, notes, strict=True)):
        note = note or ("" if low[i] < high[i] or math.isnan(difference[i]) else "all clusters are alike")
        known = not note and not math.isnan(low[i])
        row = replace(
            like,
            metric=name,
            value=number(values[0][i]),
            other_value=number(values[1][i]),
            difference=number(difference[i] + 0.0),  # no minus zero
            low=number(low[i] + 0.0) if known else None,
            high=number(high[i] + 0.0) if known else None,
            p_swap=number(swapped[i]) if tested[i] else None,
            p_interval=number(interval_p[i]) if tested[i] and known else None,
            p_maxt=number(maxt[i]) if tested[i] else None,
            n_units=int(one.counts[1, i]),
            n_answers=int(one.counts[2, i]),
            unit="share" if one.metric.share else "number",
            n_clusters=int(one.counts[0, i]),
            n_effective=round(float(effective[i]), 6),
            note="" if math.isnan(difference[i]) else note,
            p_not_lower=number(one_sided[0][i]),
            p_not_higher=number(one_sided[1][i]),
            p_equivalent=number(np.maximum(*one_sided)[i]),
        )
        both = [p for p in (row.p_swap, row.p_interval) if p is not None]
        row = replace(row, p=max(both, default=None))
        rows.append(replace(row, interval=one.kind, confidence=one.settings.confidence) if known else row)
    return rows


def _margin_tests(one: _Pair, drawn: Array | None, margin: float, estimates: Sequence[Estimate]) -> tuple[Array, Array]:
    """One-sided p-values of "the difference is at most -margin" and of "it is at least the margin".

    These are score tests: the standard error is that at the margin. What is missing to it would be lost or won in
    lumps, as the differences of the clusters are: their mean square over their mean size, one whole cluster added. So
    few changes, or none, do not make the two equivalent (of n clusters all alike: t = sqrt(n margin / (1 - margin))).
    """
    from scipy.special import stdtr  # late: most comparisons have no margin

    value, clusters = one.sample.value(), np.maximum(one.counts[0], 1)
    if shares := one.shares(estimates):
        influence, share, counts = shares
        error = (counts * influence**2).sum(axis=1) * clusters / np.maximum(clusters - 1, 1)
        squares, sizes = ((counts * np.abs(share) ** power).sum(axis=1) for power in (2, 1))
        lump = (squares + clusters**-2.0) / (sizes + 1 / clusters)
        effective = np.minimum(*(effective_sizes(one.metric, side, len(value)) for side in one.sides()))
        lump = lump * clusters / np.clip(effective, 1, clusters)  # a large cluster may be lost as a whole, too
    else:
        error, lump = np.full(len(value), np.nan), 1 / clusters
        if drawn is not None:
            error = np.nanvar(np.where(np.isnan(drawn).all(axis=0), 0.0, drawn), axis=0)
    found = []
    for missing in (value + margin, margin - value):
        left = np.clip(missing, 0, 1) if one.metric.share else np.zeros(len(value))
        spread = np.sqrt(error + left * (1 - left) * lump)
        with np.errstate(invalid="ignore", divide="ignore"):
            t = np.where(spread > 0, -missing / spread, np.nan)
        found.append(np.where(clusters > 1, stdtr(np.maximum(clusters - 1, 1), t), np.nan))
    return found[0], found[1]
