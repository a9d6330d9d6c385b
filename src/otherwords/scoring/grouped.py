"""Scores of groups: what has an interval in closed form is measured for thousands of groups in one go.

The groups of a column become one table whose buckets are pairs of group and bucket, so that a metric's statistics are
computed once. Metrics that draw replicates are measured group by group.
"""

import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from ..answers.groups import coded, scored_as_a_whole, split
from ..answers.reading import read
from ..answers.table import Answers, Array, Location
from ..errors import caller_level
from ..metrics.metric import Metric, as_metric
from ..problem import Score
from ..registry import Bound
from ..significance.bootstrap import Sample, by_cluster, collapse_by
from ..significance.intervals import closed_forms, weights
from .measure import (
    FEW_CLUSTERS,
    Measured,
    answers_counted,
    ends_of,
    kish,
    measure_answers,
    scores_of,
    statistics_of,
    warn_nothing,
)
from .select import IntervalSettings, collect_measurable, is_rate, title

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
            warnings.warn(f"{place.model}: no answers for {names}", stacklevel=caller_level())
        return []
    data = read(answers, labels, place)  # a wrong row is found in the whole, before any group
    by = by if chosen else ()
    scores = measure_answers(chosen, data, None, settings, lenient=lenient) if scored_as_a_whole(answers, by) else []
    for column in by:
        scores += _measure_column(chosen, data, place, column, settings, lenient)
    _warn_thin_groups(scores, place.model)
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
            groups = [f"{column}={name}" for name in names[portion.start : portion.stop]]
            expanded, group = _expanded(data, np.where((code >= portion.start) & (code < portion.stop), code, -1))
            _measure_portion(at_once, chosen, expanded, group - portion.start, groups, settings, lenient, found)
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
    closed = settings.kind(metric) in ("wilson", "mover") and (is_rate(metric) or metric.sides is not None)
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
    return Answers(data.labels, place, data.is_variant[rows], gold, pred, cluster, frame, data.fields), group


def _measure_portion(
    chosen: Sequence[Bound],
    named: Sequence[Bound],
    data: Answers,
    group: Array,
    names: Sequence[str],
    settings: IntervalSettings,
    lenient: bool,
    found: dict[str, list[Score]],
) -> None:
    """Add the scores of some groups, of which `data` is the expanded table, to those found."""

    def work(bound: Bound, metric: Metric) -> list[Measured]:
        return list(_measured_by_group(bound, named, metric, data, group, len(names)))

    measured = collect_measurable(chosen, lenient, f"{data.model}: not measured", work)
    by_group: list[list[Measured]] = [[] for _ in names]
    for metric in measured:
        ends = closed_forms(metric[0].metric, [one.samples[0] for one in metric], settings.confidence)
        for place, (one, each) in enumerate(zip(metric, ends, strict=True)):
            by_group[place].append(one)
            ends_found = ends_of(one, None, settings, each)
            found[names[place]] += scores_of(one, ends_found, data, data.model, names[place], settings)
    for name, own in zip(names, by_group, strict=True):
        warn_nothing(own, found[name], data.model, name, lenient)


def _measured_by_group(
    bound: Bound, named: Sequence[Bound], metric: Metric, data: Answers, group: Array, groups: int
) -> Iterator[Measured]:
    """A metric on each group of an expanded table."""
    rows, cluster = statistics_of(metric, data)
    if metric.fewest > 1:  # where no problem of a group has so many variants, the group has no value
        most = np.zeros(groups, dtype=np.int64)
        np.maximum.at(most, group, data.n_variants)
        rows = np.where((most >= metric.fewest)[group][:, None], rows, 0)
    titles = [title(bound, named, part) for part in metric.part_names(data)]
    counted = answers_counted(metric, rows, data, len(titles))
    units, of_unit = by_cluster(rows, cluster), np.zeros(int(cluster.max()) + 1, dtype=np.int64)
    of_unit[cluster] = group
    clusters = _add(of_unit, by_cluster(counted, cluster) > 0, groups).astype(np.int64).tolist()
    buckets, answers = (_add(group, each, groups).astype(np.int64).tolist() for each in (counted > 0, counted))
    weight = weights(metric, units, len(titles)).astype(np.float64)
    effective = kish(_add(of_unit, weight, groups), _add(of_unit, weight**2, groups))
    there = units[:, -1] > 0
    samples = iter(collapse_by(of_unit[there], units[there]) if there.any() else [])
    filled = np.isin(np.arange(groups), of_unit[there])
    for place in range(groups):
        distinct, counts = next(samples) if filled[place] else (units[:0], np.zeros(0, dtype=np.int64))
        sample = Sample(distinct, counts, metric.by_part)
        yield Measured(bound, titles, metric, sample, clusters[place], buckets[place], answers[place], effective[place])


def _add(group: Array, values: Array, groups: int) -> Array:
    """The sum of each column, group by group."""
    columns = [np.bincount(group, column, groups) for column in np.moveaxis(values, -1, 0)]
    return np.stack(columns, axis=-1)


def _warn_thin_groups(scores: Sequence[Score], model: str) -> None:
    clusters: dict[str, int] = {}
    for score in scores:
        if score.group is not None and score.low is not None:
            clusters[score.group] = max(clusters.get(score.group, 0), score.n_clusters)
    if few := [group for group, n in clusters.items() if n < FEW_CLUSTERS]:
        message = f"{model}: {len(few)} of {len(clusters)} groups have fewer than {FEW_CLUSTERS} clusters"
        warnings.warn(f"{message}; their intervals are not reliable", stacklevel=caller_level())
