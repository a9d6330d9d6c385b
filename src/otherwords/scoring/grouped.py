"""Scores of groups, and their averages: what has an interval in closed form is measured for thousands at once.

The groups of a column become one table whose buckets are pairs of group and bucket, so that a metric's statistics are
computed once. Metrics that draw replicates are measured group by group.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from ..answers.alignment import align
from ..answers.groups import coded, groups, scored_as_a_whole, split
from ..answers.looked_up import FAMILY, families, key_of
from ..answers.reading import read
from ..answers.table import Answers, Array, Clusters, Location
from ..errors import BadInput, setting
from ..metrics.metric import Metric, as_metric
from ..problem import ALL_MODELS, Score
from ..registry import Bound
from ..significance.bootstrap import Sample, by_cluster, collapse_by
from ..significance.intervals import closed_forms, denominators
from .measure import (
    Measured,
    answers_counted,
    ends_of,
    kish,
    measure_answers,
    reasons_of,
    scores_of,
    statistics_of,
    warn_few_clusters,
)
from .select import IntervalSettings, collect_measurable, explain_no_pairs, list_some, title, warn_about

#: What the mean over models stands for, in place of a model.
MEAN_OF_MODELS = "(mean)"
#: How many answers of groups are in memory at a time, besides the table itself.
_AT_ONCE = 1_000_000


def measure_groups(
    chosen: Sequence[Bound],
    answers: pl.DataFrame,
    place: Location,
    by: Sequence[str],
    labels: Sequence[str],
    settings: IntervalSettings,
    lenient: bool,
) -> list[Score]:
    """Score one model with each metric, overall and by groups of columns."""
    if answers.height == 0:
        if chosen:
            names = ", ".join(one.plugin.name for one in chosen)
            warn_about(place.model, f"no answers for {names}")
        return []
    data = read(answers, labels, place)  # a wrong row is found in the whole, before any group
    by = by if chosen else ()
    scores = measure_answers(chosen, data, None, settings, lenient=lenient) if scored_as_a_whole(answers, by) else []
    for column in by:
        scores += _measure_column(chosen, data, place, column, settings, lenient)
    _warn_thin_groups(scores, place.model)
    _warn_empty_groups(scores, chosen, place.model, lenient)
    return scores


def measure_together(
    chosen: Sequence[Bound],
    answers: pl.DataFrame,
    by: Sequence[str],
    labels: Sequence[str],
    settings: IntervalSettings,
    lenient: bool,
) -> list[Score]:
    """Score all models of a table together with each metric across models, overall and by groups of columns."""
    every, scores = answers["model"].n_unique(), []
    for group, part in groups(answers, by):
        if (here := part["model"].n_unique()) < every:
            warn_about("", f"only {here} of {every} models have answers in {group}")
        try:
            models = align(part.sort("model", maintain_order=True).partition_by("model", maintain_order=True), labels)
        except BadInput as error:
            if group is None:
                raise
            together = ", ".join(title(one, [one]) for one in chosen if as_metric(one.function).across)
            warn_about(group, f"not measured together: {together} ({error.message})")
            continue
        scores += measure_answers(chosen, models[0], group, settings, models=models, lenient=lenient)
    return scores


def _measure_column(
    chosen: Sequence[Bound], data: Answers, place: Location, column: str, settings: IntervalSettings, lenient: bool
) -> list[Score]:
    """The scores of all groups of a column: group by group, in the order of the metrics."""
    at_once = [one for one in chosen if _in_one_go(as_metric(one.function), settings)]
    one_by_one = [one for one in chosen if one not in at_once]
    names, code = coded(data.frame, column)
    found: dict[str, list[Score]] = {f"{column}={name}": [] for name in names}
    if at_once and names:
        for portion in _portions(code):
            titles = [f"{column}={name}" for name in names[portion.start : portion.stop]]
            expanded, group = _expanded(data, np.where((code >= portion.start) & (code < portion.stop), code, -1))
            for score in _measure_portion(at_once, chosen, expanded, group - portion.start, titles, settings, lenient):
                found[str(score.group)].append(score)
    if one_by_one:
        for name, part in split(data.frame, column):
            own = read(part, data.labels, place)  # a group has no label set of its own
            found[f"{column}={name}"] += measure_answers(one_by_one, own, f"{column}={name}", settings, lenient=lenient)
    order = [f"{one.signature} " for one in chosen]

    def place_of(score: Score) -> int:
        return next(place for place, signature in enumerate(order) if score.signature.startswith(signature))

    return [one for group in found.values() for one in (sorted(group, key=place_of) if one_by_one else group)]


def _in_one_go(metric: Metric, settings: IntervalSettings) -> bool:
    """Whether a metric needs nothing but its rows: no replicates, no other models, no test set."""
    closed = bool(settings.kind(metric)) and not settings.draws(metric)
    return closed and metric.interval and not metric.across and metric.outside is None


def _portions(code: Array) -> Iterator[range]:
    """Ranges of groups with so many rows that they fit in memory together."""
    sizes = np.bincount(code[code >= 0])
    start, total = 0, 0
    for place, size in enumerate(sizes.tolist()):
        if total and total + size > _AT_ONCE:
            yield range(start, place)
            start, total = place, 0
        total += size
    yield range(start, len(sizes))


def _expanded(data: Answers, code: Array) -> tuple[Answers, Array]:
    """The rows of all groups as one table, and the group of each bucket of it.

    Its buckets are pairs of a group and a bucket that has a row in it: the variants there, and the original.
    """
    inside = code >= 0
    key = code * data.n_buckets + data.bucket
    pairs = np.unique(key[inside])
    group, bucket = np.divmod(pairs, data.n_buckets)
    variants = np.flatnonzero(inside & data.is_variant)
    originals = data.originals[bucket] if data.has_originals else np.empty(0, dtype=np.int64)
    rows = np.concatenate([originals, variants])
    place = np.concatenate([np.arange(len(originals)), np.searchsorted(pairs, key[variants])])
    cluster = np.unique(group * data.n_buckets + data.cluster[bucket], return_inverse=True)[1]
    gold, pred, frame = data.gold[rows], data.pred[rows], data.frame[rows]
    clusters = None if data.clusters is None else _expanded_clusters(data.clusters, group, bucket)
    return Answers(data.labels, place, data.is_variant[rows], gold, pred, cluster, frame, data.fields, clusters), group


def _expanded_clusters(clusters: Clusters, group: Array, bucket: Array) -> Clusters:
    """The distinct clusters of a collapsed table, in each of the groups that their buckets have rows in."""
    order = np.argsort(clusters.bucket, kind="stable")
    begin, end = (np.searchsorted(clusters.bucket[order], bucket, side) for side in ("left", "right"))
    sizes = end - begin
    pair = np.repeat(np.arange(len(bucket)), sizes)
    places = order[np.repeat(begin, sizes) + np.arange(len(pair)) - np.repeat(np.cumsum(sizes) - sizes, sizes)]
    key = group[pair] * len(clusters.times) + clusters.cluster[places]
    order = np.argsort(key, kind="stable")
    distinct, cluster = np.unique(key[order], return_inverse=True)
    return Clusters(pair[order], cluster, clusters.times[distinct % len(clusters.times)])


def _measure_portion(
    chosen: Sequence[Bound],
    named: Sequence[Bound],
    data: Answers,
    group: Array,
    names: Sequence[str],
    settings: IntervalSettings,
    lenient: bool,
) -> Iterator[Score]:
    """The scores of some groups, of which `data` is the expanded table: metric by metric, group by group."""

    def work(bound: Bound, metric: Metric) -> list[Measured]:
        return list(_measured_by_group(bound, named, metric, data, group, len(names)))

    measured = collect_measurable(chosen, lenient, data.model, "not measured", work)
    for metric in measured:
        ends = closed_forms(metric[0].metric, [one.sample.strata[0] for one in metric], settings.confidence)
        for place, (one, each) in enumerate(zip(metric, ends, strict=True)):
            ends_found = ends_of(one, None, settings, each)
            yield from scores_of(one, ends_found, data, data.model, names[place], settings)


def _measured_by_group(
    bound: Bound, named: Sequence[Bound], metric: Metric, data: Answers, group: Array, n_groups: int
) -> Iterator[Measured]:
    """A metric on each group of an expanded table."""
    rows, cluster = statistics_of(metric, data)
    times, group_of_bucket, group = data.times[:, None], group, data.of_places(group)
    if metric.fewest > 1:  # where no problem of a group has so many variants, the group has no value
        most = np.zeros(n_groups, dtype=np.int64)
        np.maximum.at(most, group_of_bucket, data.n_variants)
        rows = np.where((most >= metric.fewest)[group][:, None], rows, 0)
    titles = [title(bound, named, part) for part in metric.part_names(data)]
    reasons = reasons_of(metric, data)
    counted = answers_counted(metric, rows, data, len(titles))
    units, of_unit = by_cluster(rows, cluster), np.zeros(int(cluster.max()) + 1, dtype=np.int64)
    of_unit[cluster] = group
    clusters = _add(of_unit, (by_cluster(counted, cluster) > 0) * times, n_groups).astype(np.int64).tolist()
    each_place = ((counted > 0) * times[cluster], counted * times[cluster])
    buckets, answers = (_add(group, each, n_groups).astype(np.int64).tolist() for each in each_place)
    weight = denominators(metric, units, len(titles)).astype(np.float64)
    effective = kish(_add(of_unit, weight * times, n_groups), _add(of_unit, weight**2 * times, n_groups))
    there = units[:, -1] > 0
    samples = iter(collapse_by(of_unit[there], units[there], times[there, 0]) if there.any() else [])
    filled = np.isin(np.arange(n_groups), of_unit[there])
    for place in range(n_groups):
        distinct, counts = next(samples) if filled[place] else (units[:0], np.zeros(0, dtype=np.int64))
        sample = Sample(distinct, counts, metric.by_part)
        yield Measured(
            bound, titles, metric, sample, clusters[place], buckets[place], answers[place], effective[place], reasons
        )


def _add(group: Array, values: Array, n_groups: int) -> Array:
    """The sum of each column, group by group."""
    columns = [np.bincount(group, column, n_groups) for column in np.moveaxis(values, -1, 0)]
    return np.stack(columns, axis=-1)


def _warn_thin_groups(scores: Sequence[Score], model: str) -> None:
    clusters: dict[str, int] = {}
    for score in scores:
        if score.group is not None and score.low is not None:
            clusters[score.group] = max(clusters.get(score.group, 0), score.n_clusters)
    warn_few_clusters(model, list(clusters.values()), groups=True)


def _warn_empty_groups(scores: Sequence[Score], chosen: Sequence[Bound], model: str, lenient: bool) -> None:
    """Warn of metrics without a value in groups, as of those over all data: once for all groups."""
    by_group: dict[str, list[Score]] = {}
    for one in scores:
        if one.group is not None:
            by_group.setdefault(one.group, []).append(one)
    of_variants = tuple(f"{one.signature} " for one in chosen if as_metric(one.function).uses != "originals")
    empty: dict[tuple[str, str], list[str]] = {}
    for group, own in by_group.items():
        nothing = ", ".join(one.metric for one in own if one.value is None)
        measured_variants = any(one.n_units and one.signature.startswith(of_variants) for one in own)
        if nothing and not (lenient and measured_variants):
            empty.setdefault((nothing, explain_no_pairs(own)), []).append(group)
    for (names, why), some in empty.items():
        reason = f" ({why})" if why else ""
        warn_about(model, f"nothing to measure in {list_some(some, 'groups')}{reason}", names)


# Averages over groups


class GroupWeights(NamedTuple):
    """The share of each group of a column in an average, all clusters of the groups, and whether they share none."""

    column: str
    shares: dict[str, float]
    clusters: int
    independent: bool


#: What a group's score has and their average has not.
_OF_A_GROUP: dict[str, Any] = dict.fromkeys(("shrunk", "shrunk_low", "shrunk_high", "anytime_low", "anytime_high"))


def weigh_groups(answers: pl.DataFrame, column: str, sizes: Mapping[str, float]) -> GroupWeights:
    """Weigh the groups of a column by their numbers of problems, or by `sizes`, which must have them all."""
    option = setting("--size", "sizes")
    if not column:
        fix = f"name their column: {setting('--average COLUMN', 'average=COLUMN')}"
        raise BadInput("sizes of no groups", field=option, fix=fix)
    parts = {str(value): part for value, part in split(answers, column)}
    if len(parts) < 2:
        raise BadInput(
            f"{len(parts)} groups to average over", field=column, fix="name a column with two or more values"
        )
    if sizes and (wrong := sorted(set(sizes) ^ set(parts))):
        message = f"no size, or no group: {', '.join(wrong)}"
        raise BadInput(message, field=option, fix=f"give one for each of {', '.join(parts)}")
    if bad := [name for name, size in sizes.items() if not 0 < size < math.inf]:
        raise BadInput(f"found {sizes[bad[0]]!r} for {bad[0]}", field=option, fix="give a number of problems above 0")
    numbers = {name: sizes.get(name, part["bucket"].n_unique()) for name, part in parts.items()}
    unit = "cluster" if "cluster" in answers.columns else "bucket"
    units = [part[unit].cast(pl.String).unique() for part in parts.values()]
    most = max(numbers.values())  # sums of huge sizes are not finite
    total = math.fsum(number / most for number in numbers.values())
    shares = {f"{column}={name}": number / most / total for name, number in numbers.items()}
    clusters = pl.concat(units).n_unique()
    return GroupWeights(column, shares, clusters, sum(map(len, units)) == clusters)


def averages(scores: Sequence[Score], weights: GroupWeights) -> list[Score]:
    """Each metric's average over groups, weighted by their sizes, model by model; then over the models.

    Models weigh alike. Where a group has no value, there is no average. Its interval comes from those of the groups
    (Zou and Donner 2008), where they share no cluster; the mean over models, which share their problems, has none.
    """
    together: dict[tuple[str, str], dict[str, Score]] = {}
    for one in scores:
        if one.group in weights.shares:
            together.setdefault((one.metric, one.model), {})[one.group] = one
    found = [_average(rows, weights) for rows in together.values() if len(rows) == len(weights.shares)]
    by_metric: dict[str, list[Score]] = {}
    for one in found:
        if one.model != ALL_MODELS:
            by_metric.setdefault(one.metric, []).append(one)
    return [*found, *(_mean_of_models(rows) for rows in by_metric.values() if len(rows) > 1)]


def _average(rows: Mapping[str, Score], weights: GroupWeights) -> Score:
    pairs = [(weights.shares[group], one) for group, one in rows.items()]
    known = all(one.value is not None for _, one in pairs)
    value = math.fsum(weight * one.value for weight, one in pairs if one.value is not None) if known else None
    ends = _average_ends(value, pairs) if weights.independent else (None, None)
    shares = ", ".join(f"{group.partition('=')[2]}: {weight:.6g}" for group, weight in weights.shares.items())
    like = replace(next(iter(rows.values())), **_OF_A_GROUP)
    return replace(
        like,
        signature=f"{like.signature.partition(' shrunk=')[0]} average={weights.column}({shares})",
        group=f"{weights.column}=(average)",
        value=value,
        low=ends[0],
        high=ends[1],
        n_units=sum(one.n_units for _, one in pairs),
        n_answers=sum(one.n_answers for _, one in pairs),
        interval="" if ends[0] is None else "mover",
        n_clusters=min(sum(one.n_clusters for _, one in pairs), weights.clusters),
        n_effective=_effective(pairs) if weights.independent else None,
        note="" if value is None or ends[0] is not None else "groups share clusters, or one has no interval",
    )


def _effective(pairs: Sequence[tuple[float, Score]]) -> float | None:
    """The number of equally weighted clusters with the same information, from the groups' effective numbers."""
    parts = [weight**2 / one.n_effective for weight, one in pairs if one.n_effective]
    return round(1 / math.fsum(parts), 6) if len(parts) == len(pairs) else None


def _average_ends(value: float | None, pairs: Sequence[tuple[float, Score]]) -> tuple[float, float] | tuple[None, None]:
    """The ends of a weighted sum of independent values, from theirs."""
    far = [(weight * (one.value - one.low), weight * (one.high - one.value)) for weight, one in pairs
           if one.value is not None and one.low is not None and one.high is not None]  # fmt: skip
    if value is None or len(far) < len(pairs):
        return None, None
    return value - math.hypot(*(low for low, _ in far)), value + math.hypot(*(high for _, high in far))


def family_means(scores: Sequence[Score], by: Sequence[str]) -> list[Score]:
    """Each metric's mean over the models of a family, for each of the columns that are looked up in a family map.

    Of all data, and of every group that there is. Models weigh alike.
    """
    found: list[Score] = []
    for column in by:
        if not column.startswith(FAMILY):
            continue
        known = families(column, list(dict.fromkeys(one.model for one in scores)))
        together: dict[tuple[str, str, str], list[Score]] = {}
        for one in scores:
            if one.model in known:
                together.setdefault((known[one.model], one.group or "", one.metric), []).append(one)
        for (family, group, _), rows in sorted(together.items(), key=lambda pair: pair[0][:2]):
            name = f"{group}, {key_of(column)}={family}" if group else f"{key_of(column)}={family}"
            found.append(replace(_mean_of_models(rows), group=name))
    return found


def _mean_of_models(rows: Sequence[Score]) -> Score:
    values = [one.value for one in rows if one.value is not None]
    return replace(
        rows[0],
        signature=f"{rows[0].signature} models={len(rows)}",
        model=MEAN_OF_MODELS,
        value=math.fsum(values) / len(values) if len(values) == len(rows) else None,
        low=None,
        high=None,
        n_units=min(one.n_units for one in rows),
        n_answers=min(one.n_answers for one in rows),
        n_clusters=min(one.n_clusters for one in rows),
        note="models answer the same problems",
        interval="",
        confidence=None,
        replicates=None,
        resampled=None,
    )
