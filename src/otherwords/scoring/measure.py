"""From answers to Scores: statistics per bucket, summed by cluster, with an interval for every number."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..answers.alignment import aligned
from ..answers.groups import groups
from ..answers.reading import read
from ..answers.table import Answers, Place
from ..metrics.metric import Metric, Outside
from ..problem import ALL_MODELS, Score
from ..registry import Bound
from ..significance.bootstrap import Sample, bca, bootstrap, by_cluster, collapse, percentile
from ..significance.proportions import wilson
from .select import Settings, gather, is_rate, number, title

Array = npt.NDArray[Any]
#: From how many models an interval is made of what is measured on models.
FEWEST_MODELS = 5


@dataclass(frozen=True)
class Measured:
    """One metric on one table: its sample of clusters, and how much evidence there is for each part."""

    bound: Bound
    titles: list[str]
    metric: Metric
    sample: Sample
    n_clusters: list[int]
    n_units: list[int]
    n_answers: list[int]


def measure_groups(
    chosen: Sequence[Bound],
    answers: pl.DataFrame,
    place: Place,
    by: Sequence[str],
    labels: Sequence[str],
    settings: Settings,
    lenient: bool,
) -> list[Score]:
    """Score one model with each metric, overall and by groups of columns."""
    if answers.height == 0:
        if chosen:
            warnings.warn(f"{place.model}: no answers for {', '.join(one.plugin.name for one in chosen)}", stacklevel=3)
        return []
    scores = []
    for group, part in groups(answers, by if chosen else ()):
        if group is not None:
            labels = labels or read(answers, labels, place).labels  # as in the whole: a group has none of its own
        data = read(part, labels, place)  # a wrong row is found in the whole, before any group
        labels = data.labels
        scores += measure(chosen, data, group, settings, lenient=lenient)
    return scores


def measure_together(
    chosen: Sequence[Bound],
    answers: pl.DataFrame,
    by: Sequence[str],
    labels: Sequence[str],
    settings: Settings,
    lenient: bool,
) -> list[Score]:
    """Score all models of a table together with each metric across models, overall and by groups of columns."""
    every, scores = answers["model"].n_unique(), []
    for group, part in groups(answers, by):
        if (here := part["model"].n_unique()) < every:
            warnings.warn(f"only {here} of {every} models have answers in {group}", stacklevel=3)
        models = aligned(part.sort("model", maintain_order=True).partition_by("model", maintain_order=True), labels)
        scores += measure(chosen, models[0], group, settings, models=models, lenient=lenient)
    return scores


def measure(
    chosen: Sequence[Bound],
    data: Answers,
    group: str | None,
    settings: Settings,
    *,
    models: Sequence[Answers] = (),
    lenient: bool = False,
) -> list[Score]:
    """Score one model with each metric, or with `models` all of them together with each metric across models.

    `lenient` leaves out metrics that need what the table lacks, instead of complaining, and says which.
    """
    model = ALL_MODELS if models else data.model

    def work(bound: Bound, metric: Metric) -> Measured | None:
        return _measured(bound, chosen, metric, data, models) if bool(metric.across) == bool(models) else None

    measured = gather(chosen, lenient, f"{model}: not measured", work)
    told = [one for one in measured if _can_vary(one)]
    values = bootstrap([one.sample for one in told], settings.replicates, settings.seed)
    drawn = {id(one): each for one, each in zip(told, values, strict=True)}
    scores = [score for one in measured for score in _scores(one, drawn.get(id(one)), data, model, group, settings)]
    nothing = [score.metric for score in scores if score.value is None]
    measured_variants = any(one.metric.uses != "originals" and max(one.n_units) for one in measured)
    if nothing and not (lenient and measured_variants):
        where = f" in {group}" if group else ""
        warnings.warn(f"{', '.join(nothing)} of {model}: nothing to measure{where}", stacklevel=3)
    return scores


def statistics_of(metric: Metric, data: Answers, models: Sequence[Answers] = ()) -> tuple[Array, Array]:
    """The rows of a metric and the cluster of each: a bucket's own, or a model alone."""
    rows = metric.statistics(list(models)) if models else metric.statistics(data)
    return rows, np.arange(len(rows)) if metric.across == "models" else data.cluster


def sample_of(metric: Metric, rows: Array, cluster: Array, name: str, outside: Outside | None = None) -> Sample:
    """Sum by cluster and tell equal rows once; clusters that have nothing to say are not drawn."""
    units = by_cluster(rows, cluster)
    beyond = None if outside is None else collapse(by_cluster(outside.rows, outside.clusters))
    return Sample(*collapse(units[units[:, -1] > 0]), metric.by_part, name, beyond)


def _measured(
    bound: Bound, chosen: Sequence[Bound], metric: Metric, data: Answers, models: Sequence[Answers]
) -> Measured:
    rows, cluster = statistics_of(metric, data, models)
    outside = metric.outside(data) if metric.outside else None
    titles = [title(bound, chosen, part) for part in metric.part_names(data)]
    sample = sample_of(metric, rows, cluster, bound.plugin.full_name, outside)
    counts = evidence_of(metric, rows, cluster, data, len(titles), len(models))
    if outside is not None and not counts.any():
        items = len(outside.rows)
        counts = np.array([[len(np.unique(outside.clusters))], [items], [items]])
    return Measured(bound, titles, metric, sample, *counts.tolist())


def evidence_of(metric: Metric, rows: Array, cluster: Array, data: Answers, parts: int, models: int = 1) -> Array:
    """Clusters, units and answers that count: a row of each, a column per part."""
    if metric.counted:
        answers = metric.counted(rows).astype(np.int64)
    else:
        answers = (rows[:, -1:] > 0).astype(np.int64)
        if metric.across != "models":
            answers = answers * data.evidence(metric.uses)[:, None] * max(models, 1)
    answers = np.ascontiguousarray(np.broadcast_to(answers, (len(rows), parts)))
    clusters = (by_cluster(answers, cluster) > 0).sum(axis=0)
    return np.stack([clusters, (answers > 0).sum(axis=0), answers.sum(axis=0)])


def _can_vary(one: Measured) -> bool:
    least = FEWEST_MODELS if one.metric.across == "models" else 2
    return one.metric.interval and max(one.n_clusters) >= least and not np.isnan(one.sample.value()).all()


def _scores(
    one: Measured, drawn: Array | None, data: Answers, model: str, group: str | None, settings: Settings
) -> list[Score]:
    values = one.sample.value()
    if drawn is None:
        low = high = np.full(len(values), np.nan)
    elif settings.kind(one.metric) == "bca":
        low, high = bca(one.sample, drawn, settings.confidence)
    else:
        low, high = percentile(drawn, settings.confidence)
    unit = "" if one.metric.share else "unit=number "
    alike = ", alike=wilson" if is_rate(one.metric) else ""
    signature = f"{one.bound.signature} {unit}{settings.signature(one.metric, data, 'interval', alike)}"
    scores = []
    for i, (name, value) in enumerate(zip(one.titles, values, strict=True)):
        ends = (low[i], high[i]) if one.n_clusters[i] > 1 else (math.nan, math.nan)
        if drawn is not None and is_rate(one.metric) and ends[0] == ends[1] == value and value in (0, 1):
            # All replicates alike: the clusters seen so far cannot tell how rare the other answer is.
            ends = wilson(value * one.n_clusters[i], one.n_clusters[i], settings.confidence)
        told = (number(value), number(ends[0]), number(ends[1]), one.n_units[i], one.n_answers[i])
        scores.append(Score(name, signature, model, group, *told))
    return scores
