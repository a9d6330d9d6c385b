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
#: What is measured where nobody says what: the numbers of the papers that need nothing but labels.
USUAL = ("accuracy_original", "accuracy_variants", "flip_rate", "p_c", "p_c_distinct", "label_agreement", "pa")


def choose(using: Sequence[str]) -> tuple[list[Bound], bool]:
    """Bind the metrics that are asked for: none are the usual ones, "all" every one that needs no option.

    The second value tells whether they were chosen for the user, so that one may be left out where the table lacks what
    it needs, and need not be explained where it has nothing to measure.
    """
    if list(using) != ["all"]:
        return [metrics.make(name) for name in using or USUAL], not using
    known = [plugin for plugin in metrics if ... not in plugin.options().values()]
    return [metrics.make(plugin.full_name) for plugin in known], True


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
    n_units: int
    n_answers: int


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
    told = [one for one in measured if _can_vary(one.sample)]
    values = bootstrap([one.sample for one in told], settings.replicates, settings.seed)
    drawn = {id(one): each for one, each in zip(told, values, strict=True)}
    scores = [score for one in measured for score in _scores(one, drawn.get(id(one)), data, model, group, settings)]
    nothing = [score.metric for score in scores if score.value is None]
    measured_variants = any(one.metric.uses != "originals" and one.n_units for one in measured)
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
    used = rows[:, -1] > 0
    if outside is not None and not used.any():
        return Measured(bound, metric, names, sample, len(outside.rows), len(outside.rows))
    units = int(used.sum())
    answers = units if metric.across == "models" else int(data.evidence(metric.uses)[used].sum()) * max(len(models), 1)
    return Measured(bound, metric, names, sample, units, answers)


def _can_vary(sample: Sample) -> bool:
    units = max(sample.n, 0 if sample.outside is None else int(sample.outside[1].sum()))
    return units > 1 and not np.isnan(sample.value()).all()


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
    for part, value, ends in zip(one.parts, values, zip(low, high, strict=True), strict=True):
        name = f"{one.bound.plugin.name}:{part}" if part else one.bound.plugin.name
        if drawn is not None and _is_rate(one.metric) and ends[0] == ends[1] == value and value in (0, 1):
            # All replicates alike: the clusters seen so far cannot tell how rare the other answer is.
            ends = wilson(value * one.sample.n, one.sample.n, settings.confidence)
        ends = (_number(ends[0]), _number(ends[1]))
        scores.append(Score(name, signature, model, group, _number(value), *ends, one.n_units, one.n_answers))
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
