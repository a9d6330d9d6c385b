"""From answers to Scores: statistics per bucket, summed by cluster, with an interval for every number."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ._version import __version__
from .errors import BadInput, Unmeasurable
from .metrics.metric import Metric, Outside, as_metric, ratio
from .metrics.table import Answers
from .problem import ALL_MODELS, Score
from .registry import Bound, metrics
from .significance.intervals import KINDS, bca, percentile
from .significance.resampling import Sample, bootstrap, by_cluster, collapse
from .significance.shares import wilson

Array = npt.NDArray[Any]
#: From how many models an interval is made of what is measured on models.
FEWEST_MODELS = 5
#: What is measured where nobody says what: the numbers of the papers that need nothing but labels.
USUAL = ("accuracy_original", "accuracy_variants", "flip_rate", "p_c", "p_c_distinct", "label_agreement", "pa")


def choose(using: Sequence[str]) -> tuple[list[Bound], bool]:
    """Bind the metrics that are asked for: none are the usual ones, "all" every one that needs no option.

    The second value tells whether they were chosen for the user, so that one may be left out where the table lacks what
    it needs, and need not be explained where it has nothing to measure.
    """
    if "all" not in using:
        return [metrics.make(name) for name in using or USUAL], not using
    named = [metrics.make(name) for name in using if name != "all"]
    known = [plugin for plugin in metrics if ... not in plugin.options().values()]
    every = [metrics.make(plugin.full_name) for plugin in known]
    return every + [one for one in named if one.signature not in {other.signature for other in every}], True


@dataclass(frozen=True)
class Settings:
    """How intervals are made."""

    seed: int = 1
    replicates: int = 10_000
    confidence: float = 0.95
    interval: str = "percentile"

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1 or self.replicates < 1:
            raise BadInput("confidence must lie between 0 and 1, replicates above 0")
        if self.interval not in KINDS:
            raise BadInput(f"no interval {self.interval!r}", fix=f"use {' or '.join(KINDS)}")


@dataclass(frozen=True)
class Measured:
    """One metric on one table: its sample of clusters, and how much evidence there is."""

    bound: Bound
    metric: Metric
    parts: tuple[str, ...]
    sample: Sample
    n_clusters: list[int]
    n_units: list[int]
    n_answers: list[int]


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
    measured: list[Measured] = []
    left_out: dict[str, list[str]] = {}
    for one in chosen:
        metric = as_metric(one.function)
        if bool(metric.across) != bool(models):
            continue
        try:
            measured.append(_gather(one, metric, data, models))
        except Unmeasurable as error:
            if not lenient:
                raise
            left_out.setdefault(error.message, []).append(one.plugin.name)
    model = ALL_MODELS if models else data.model
    if left_out:
        warnings.warn(f"{model}: not measured: {by_reason(left_out)}", stacklevel=3)
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


def by_reason(names: Mapping[str, Sequence[str]]) -> str:
    """Tell what was left out, reason by reason.

    >>> by_reason({"there are no texts": ["jaccard", "token_overlap"]})
    'jaccard, token_overlap (there are no texts)'
    """
    return "; ".join(f"{', '.join(some)} ({reason})" for reason, some in names.items())


def statistics_of(metric: Metric, data: Answers, models: Sequence[Answers] = ()) -> tuple[Array, Array]:
    """The rows of a metric and the cluster of each: a bucket's own, or a model alone."""
    rows = metric.statistics(list(models)) if models else metric.statistics(data)
    return rows, np.arange(len(rows)) if metric.across == "models" else data.cluster


def sample_of(
    metric: Metric, rows: Array, cluster: Array, name: str, outside: Outside | None = None, parts: bool = False
) -> Sample:
    """Sum by cluster and tell equal rows once; clusters that have nothing to say are not drawn."""
    units = by_cluster(rows, cluster)
    told = collapse(units[units[:, -1] > 0])
    combine = metric.combine if parts else lambda totals: np.asarray(metric.combine(totals))[..., None]
    return Sample(*told, combine, name, None if outside is None else collapse(outside.rows))


def _gather(bound: Bound, metric: Metric, data: Answers, models: Sequence[Answers]) -> Measured:
    rows, cluster = statistics_of(metric, data, models)
    outside = metric.outside(data) if metric.outside else None
    names = metric.part_names(data)
    sample = sample_of(metric, rows, cluster, bound.signature, outside, parts=bool(metric.parts))
    evidence = _evidence(metric, rows, data, len(models))
    if outside is not None and not evidence.any():
        evidence, cluster = np.ones((len(outside.rows), 1), dtype=np.int64), np.arange(len(outside.rows))
    evidence = np.broadcast_to(evidence, (len(evidence), len(names)))
    clusters = (by_cluster(np.ascontiguousarray(evidence), cluster) > 0).sum(axis=0).tolist()
    return Measured(
        bound, metric, names, sample, clusters, (evidence > 0).sum(axis=0).tolist(), evidence.sum(axis=0).tolist()
    )


def _evidence(metric: Metric, rows: Array, data: Answers, models: int) -> Array:
    """How many answers of each unit count: one column, or one for each part."""
    if metric.counted:
        return metric.counted(rows).astype(np.int64)
    used = (rows[:, -1:] > 0).astype(np.int64)
    return used if metric.across == "models" else used * data.evidence(metric.uses)[:, None] * max(models, 1)


def _can_vary(one: Measured) -> bool:
    least = FEWEST_MODELS if one.metric.across == "models" else 2
    return one.metric.interval and max(one.n_clusters) >= least and not np.isnan(one.sample.value()).all()


def _scores(
    one: Measured, drawn: Array | None, data: Answers, model: str, group: str | None, settings: Settings
) -> list[Score]:
    values = one.sample.value()
    if drawn is None:
        low = high = np.full(len(values), np.nan)
    elif settings.interval == "bca" and one.metric.smooth:
        low, high = bca(one.sample, drawn, settings.confidence)
    else:
        low, high = percentile(drawn, settings.confidence)
    signature = f"{one.bound.signature} {_interval(one.metric, data, settings)}"
    scores = []
    for i, (part, value) in enumerate(zip(one.parts, values, strict=True)):
        name = f"{one.bound.plugin.name}:{part}" if part else one.bound.plugin.name
        ends = (low[i], high[i]) if one.n_clusters[i] > 1 else (math.nan, math.nan)
        if drawn is not None and _is_rate(one.metric) and ends[0] == ends[1] == value and value in (0, 1):
            # All replicates alike: the clusters seen so far cannot tell how rare the other answer is.
            ends = wilson(value * one.n_clusters[i], one.n_clusters[i], settings.confidence)
        told = (_number(value), _number(ends[0]), _number(ends[1]), one.n_units[i], one.n_answers[i])
        scores.append(Score(name, signature, model, group, *told))
    return scores


def _interval(metric: Metric, data: Answers, settings: Settings) -> str:
    kind = settings.interval if metric.smooth else "percentile"
    cluster = "cluster" if "cluster" in data.frame.columns else "bucket"
    about = f"confidence={settings.confidence}, replicates={settings.replicates}, cluster={cluster}"
    if _is_rate(metric):
        about += ", alike=wilson"
    unit = "" if metric.share else "unit=number "
    return f"{unit}interval={kind}({about}) seed={settings.seed} otherwords={__version__}"


def _is_rate(metric: Metric) -> bool:
    return metric.rate or metric.combine is ratio


def _number(value: Any) -> float | None:
    return None if math.isnan(value) else float(value)
