"""From answers to Scores: statistics per bucket, summed by cluster, with an interval for every number.

`measure` is the door for arrays; answers tables come in through `otherwords.score`.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from .._version import __version__
from ..answers.reading import read
from ..answers.roles import Role
from ..answers.suspicions import warn_suspicious
from ..answers.table import Answers, Array, Location, as_written, is_variant
from ..errors import BadInput, Unmeasurable, setting, shorten
from ..frames import LABEL_MASS
from ..metrics.metric import Metric, Outside, as_metric, role_of
from ..problem import ALL_MODELS, Repeat, Score
from ..registry import Bound, metrics
from ..significance.anytime import anytime_ends, is_plain_share, rule_of, stopped_ends
from ..significance.bootstrap import Sample, bootstrap, by_cluster, collapse
from ..significance.intervals import closed_form, denominators, replicate_ends, undefined
from ..significance.proportions import wilson
from ..storage.in_memory import plain
from .select import (
    IntervalSettings,
    collect_measurable,
    explain_no_pairs,
    is_rate,
    number,
    resampled,
    title,
    warn_about,
)

#: From how many models an interval is made of what is measured on models.
FEWEST_MODELS = 30
#: With fewer clusters than this, an interval rests on too little to rely on.
FEW_CLUSTERS = 20
#: The largest share of replicates that may have no value where an interval is made of the others.
MOST_UNDEFINED = 0.05

#: Both ends of an interval, part by part; and with them the reasons where there is none.
Ends = tuple[Array, Array]
AllEnds = tuple[Array, Array, list[str]]


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
    n_effective: Array
    reasons: list[str]
    heaviest: float = 0.0


def effective_sizes(metric: Metric, samples: Sequence[tuple[Array, Array]], parts: int) -> Array:
    """The number of equally weighted clusters with the same information (Kish 1965), part by part."""
    for rows, counts in samples:
        weight = denominators(metric, rows, parts).astype(np.float64)
        once, twice = (counts[:, None] * weight).sum(axis=0), (counts[:, None] * weight**2).sum(axis=0)
        if once.any():
            break
    return kish(once, twice)


def kish(once: Array, twice: Array) -> Array:
    """The square of a sum of weights over the sum of their squares, 0 where there are none."""
    return np.where(twice > 0, once**2 / np.where(twice > 0, twice, 1.0), 0.0)


def measure(
    metric: str,
    *,
    gold: npt.ArrayLike | None = None,
    pred: npt.ArrayLike,
    bucket: npt.ArrayLike,
    variant: npt.ArrayLike,
    cluster: npt.ArrayLike | None = None,
    p: npt.ArrayLike | Mapping[str, npt.ArrayLike] | None = None,
    again: Mapping[str, Sequence[npt.ArrayLike]] | None = None,
    label_mass: npt.ArrayLike | None = None,
    labels: Sequence[str] = (),
    part: str = "",
    model: str = "model",
    seed: int = 1,
    replicates: int = 10_000,
    confidence: float = 0.95,
    interval: str = "auto",
) -> Score:
    """Measure one model's answers, given as arrays with an entry per answer, with one metric.

    `metric` is a name with options, such as "flip_rate" or "pa(at=0.8)". `variant` names the variant that was answered
    and is empty ("" or None) for the original, of which each bucket has one. `gold`, or the originals, may be left out
    where the metric does not need them. `p` holds probabilities by label, or a row per answer with a column for each of
    `labels`. `again` holds, by way ("usual", "cold"), the answers to the same, a list for each time that it was asked
    again; `label_mass` is what the labels had of a language model's probability. `part` picks a number of a metric that
    gives several. A metric of contrasts takes all variants as contrasts, one of controls as controls. Texts and several
    models need a table: `otherwords.score`.

    >>> score = measure("flip_rate", gold=["yes"] * 3, pred=["yes", "no", "yes"], bucket=["a"] * 3, variant=["", 1, 2])
    >>> score.value, score.n_units, score.n_answers
    (0.5, 1, 2)
    """
    bound, settings = metrics.make(metric), IntervalSettings(seed, replicates, confidence, interval)
    kind = as_metric(bound.function)
    settings.warn_few([bound])
    if kind.across:
        raise Unmeasurable("it compares several models", where=metric, fix="use otherwords.score on a table")
    given = {"gold": gold, "pred": pred, "bucket": bucket, "variant": variant, "cluster": cluster}
    given |= {LABEL_MASS: label_mass}
    probabilities = {f"p:{label}": values for label, values in _by_label(p, labels).items()}
    repeated = {
        Repeat(way, number).column: values
        for way, times in (again or {}).items()
        for number, values in enumerate(times, 1)
    }
    frame = _table(given | probabilities | repeated, metric).with_columns(model=pl.lit(model))
    data = read(_in_role(frame, role_of(kind)), labels, Location(metric))
    warn_suspicious(data.frame, Location(metric), labels)
    parts = kind.part_names(data)
    if part not in parts:
        fix = f"choose one with part=: {', '.join(parts)}; otherwords.score returns all" if parts[0] else "leave it out"
        message = f"no part {part!r}" if part else "the metric has several parts"
        raise BadInput(message, where=metric, field="part", fix=fix)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*nothing to measure")  # of the part that is asked for, an error
        score = measure_answers([bound], data, None, settings)[parts.index(part)]
    if score.value is None:
        fix = "give answers to originals and enough of their variants for the metric"
        reason = f": {why}" if (why := explain_no_pairs([score])) else ""
        raise BadInput(f"nothing to measure{reason}", where=metric, fix=fix)
    return score


def _table(given: Mapping[str, npt.ArrayLike | None], metric: str) -> pl.DataFrame:
    """Arrays as the columns of a table, refused where they have different lengths, or none."""
    columns = {name: _listed(name.partition(":")[0], values) for name, values in given.items() if values is not None}
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        sizes = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise BadInput(f"columns of different lengths: {sizes}", where=metric, fix="give one entry per answer")
    if not lengths["pred"]:
        raise BadInput("no answers", where=metric, fix="give at least one")
    return pl.DataFrame(columns, strict=False, infer_schema_length=None)


def _listed(name: str, values: npt.ArrayLike) -> list[Any]:
    array = np.asarray(values, dtype=object)
    if array.ndim != 1:
        raise BadInput(f"found an array of shape {array.shape}", field=name, fix="give one entry per answer")
    return [plain(value) for value in array.tolist()]


def _by_label(p: Any, labels: Sequence[str]) -> Mapping[str, npt.ArrayLike]:
    """Probabilities by label, from a mapping or from the columns of an array."""
    if p is None:
        return {}
    if isinstance(p, Mapping):
        return {label: _double(values) for label, values in p.items()}
    table = _double(p)
    if table.ndim != 2 or table.shape[1] != len(labels):
        fix = "give a row per answer and a column for each of labels=[...], or a mapping of labels to probabilities"
        raise BadInput(f"found shape {table.shape} for {len(labels)} labels", field="p", fix=fix)
    return {label: table[:, place] for place, label in enumerate(labels)}


def _double(values: npt.ArrayLike) -> Array:
    """Probabilities as an array; those in single precision as the decimals that they stand for."""
    given = np.asarray(values)
    return as_written(given) if given.dtype == np.float32 else given


def _in_role(frame: pl.DataFrame, role: Role) -> pl.DataFrame:
    """Mark the variants as contrasts or controls, for a metric of this role."""
    if role == "contrasts":
        return frame.with_columns(contrast=pl.lit(role))
    if role == "controls":
        return frame.with_columns(control=pl.when(pl.Series(is_variant(frame["variant"]))).then(pl.lit(role)))
    return frame


def warn_few_clusters(who: str, clusters: Sequence[int], groups: bool, of: str = "") -> None:
    """Warn where intervals of a model (`of` what) rest on few clusters: that of the whole, or those of `groups`."""
    few = [n for n in clusters if n < FEW_CLUSTERS]
    if not few:
        return
    message = f"intervals{of} rest on {few[0]} clusters; with fewer than {FEW_CLUSTERS} they are not reliable"
    if groups:
        message = f"{len(few)} of {len(clusters)} groups have fewer than {FEW_CLUSTERS} clusters"
        message = f"{message}; their intervals are not reliable"
    warn_about(who, message)


def _warn_thin(measured: Sequence[Measured], scores: Sequence[Score], model: str) -> None:
    """Warn where intervals rest on few clusters, or on one bucket above all."""
    known = [score.n_clusters for score in scores if score.low is not None]
    role = role_of(measured[0].metric) if measured else "rewordings"
    which = "" if role == "rewordings" else f" of {role}"
    warn_few_clusters(model, [max(known)] if known else [], groups=False, of=which)
    if known and max(known) >= FEW_CLUSTERS and min(known) < FEW_CLUSTERS:  # of some metrics or parts alone
        few = [score.metric for score in scores if score.low is not None and score.n_clusters < FEW_CLUSTERS]
        warn_few_clusters(model, [min(known)], groups=False, of=f" of {', '.join(few)}")
    if known and (heavy := [one for one in measured if one.heaviest > 0.5 and max(one.n_units) > 1]):
        names = ", ".join(one.titles[0].partition(":")[0] for one in heavy)
        share = max(one.heaviest for one in heavy)
        warn_about(model, f"one bucket holds {share:.0%} of the weight in {names}")


def measure_answers(
    chosen: Sequence[Bound],
    data: Answers,
    group: str | None,
    settings: IntervalSettings,
    *,
    models: Sequence[Answers] = (),
    lenient: bool = False,
) -> list[Score]:
    """Score one model with each metric, or with `models` all of them together with each metric across models.

    `lenient` leaves out metrics that need what the table lacks, instead of raising, and warns which.
    """
    model = ALL_MODELS if models else data.model

    def work(bound: Bound, metric: Metric) -> Measured | None:
        return _measured(bound, chosen, metric, data, models) if bool(metric.across) == bool(models) else None

    measured = collect_measurable(chosen, lenient, model, "not measured", work)
    drawing = [one for one in measured if draws(one, settings)]
    values = bootstrap([one.sample for one in drawing], settings.replicates, settings.seed)
    drawn = {id(one): each for one, each in zip(drawing, values, strict=True)}
    ends = [ends_of(one, drawn.get(id(one)), settings) for one in measured]
    scores = [
        score
        for one, each in zip(measured, ends, strict=True)
        for score in scores_of(one, each, data, model, group, settings)
    ]
    if group is None:
        _warn_thin(measured, scores, model)
    if group is None or models:
        _warn_nothing(measured, scores, model, group, lenient)
    return scores


def _warn_nothing(
    measured: Sequence[Measured], scores: Sequence[Score], model: str, group: str | None, lenient: bool
) -> None:
    """Warn of metrics without a value; not of those that were not asked for, where others measure variants."""
    nothing = [score.metric for score in scores if score.value is None]
    measured_variants = any(one.metric.uses != "originals" and max(one.n_units) for one in measured)
    if nothing and not (lenient and measured_variants):
        where = f" in {group}" if group else ""
        reason = f" ({why})" if (why := explain_no_pairs(scores)) else ""
        warn_about(model, f"nothing to measure{where}{reason}", ", ".join(nothing))


def statistics_of(metric: Metric, data: Answers, models: Sequence[Answers] = ()) -> tuple[Array, Array]:
    """The rows of a metric and the cluster of each: a bucket's own, or a model alone.

    Of a collapsed table, a distinct bucket has its row in each of its places.
    """
    rows = metric.rows(list(models) if models else data)
    wanted = len(models) if metric.across == "models" else data.n_buckets
    if not isinstance(rows, np.ndarray) or rows.ndim != 2 or len(rows) != wanted or rows.dtype.kind not in "biuf":
        found = f"shape {rows.shape}" if isinstance(rows, np.ndarray) else shorten(rows)
        message = f"its statistics are {found}, not an array of numbers with a row for each of {wanted} units"
        raise BadInput(message, where="metric", fix="use answers.sum_by_bucket(hits, counted), or give such an array")
    return (rows, np.arange(len(rows))) if metric.across == "models" else (data.of_places(rows), data.cluster_of_places)


def sample_of(
    metric: Metric, rows: Array, cluster: Array, name: str, outside: Outside | None = None, times: Array | None = None
) -> Sample:
    """Sum by cluster and collapse equal rows; clusters without evidence are not drawn. `times` is as in `collapse`."""
    units = by_cluster(rows, cluster)
    there = units[:, -1] > 0
    beyond = None if outside is None else collapse(by_cluster(outside.rows, outside.clusters))
    inside = collapse(units[there], None if times is None else times[there])
    return Sample(*inside, metric.by_part, name, beyond)


def _measured(
    bound: Bound, chosen: Sequence[Bound], metric: Metric, data: Answers, models: Sequence[Answers]
) -> Measured:
    rows, cluster = statistics_of(metric, data, models)
    outside = metric.outside(data) if metric.outside else None
    titles = [title(bound, chosen, part) for part in metric.part_names(data)]
    sample = sample_of(metric, rows, cluster, bound.plugin.full_name, outside, data.clusters and data.clusters.times)
    counts = evidence_of(metric, rows, cluster, data, len(titles), len(models))
    if outside is not None and not counts.any():
        items = len(outside.rows)
        counts = np.array([[len(np.unique(outside.clusters))], [items], [items]])
    weight = denominators(metric, rows, len(titles)).max(axis=1)
    total = weight.sum() if data.clusters is None else (weight * data.clusters.times[cluster]).sum()
    heaviest = float(weight.max() / max(total, 1))
    clusters, units, answers = counts.tolist()
    effective = effective_sizes(metric, sample.strata, len(titles))
    reasons = reasons_of(metric, data)
    return Measured(bound, titles, metric, sample, clusters, units, answers, effective, reasons, heaviest)


def answers_counted(metric: Metric, rows: Array, data: Answers, parts: int, models: int = 1) -> Array:
    """How many answers of each unit count in each part."""
    if metric.counted:
        answers = metric.counted(rows).astype(np.int64)
    else:
        answers = (rows[:, -1:] > 0).astype(np.int64)
        if metric.across != "models":
            answers = answers * data.of_places(data.evidence(metric.uses))[:, None] * max(models, 1)
    return np.ascontiguousarray(np.broadcast_to(answers, (len(rows), parts)))


def reasons_of(metric: Metric, data: Answers) -> list[str]:
    """Why each part of a metric has no interval on these answers, by definition; empty where it may have one."""
    known = metric.reasons(data)
    return [known.get(part, "") for part in metric.part_names(data)]


def evidence_of(metric: Metric, rows: Array, cluster: Array, data: Answers, parts: int, models: int = 1) -> Array:
    """Clusters, units and answers that count: a row of each, a column per part."""
    answers = answers_counted(metric, rows, data, parts, models)
    clusters, units = by_cluster(answers, cluster) > 0, answers > 0
    if data.clusters is not None:
        of_cluster = data.clusters.times[:, None]
        clusters, units, answers = (
            clusters * of_cluster,
            *(each * of_cluster[data.clusters.cluster] for each in (units, answers)),
        )
    return np.stack([clusters.sum(axis=0), units.sum(axis=0), answers.sum(axis=0)])


def _reason(one: Measured, settings: IntervalSettings) -> str:
    """Why a metric has no interval on this table, whatever the values; empty where it has one."""
    if all(one.reasons):
        return one.reasons[0]
    if one.metric.across == "models" and max(one.n_clusters) < FEWEST_MODELS:
        return f"fewer than {FEWEST_MODELS} models"
    if not settings.kind(one.metric):
        return "not a share"
    return "" if max(one.n_clusters) > 1 else "one cluster"


def draws(one: Measured, settings: IntervalSettings) -> bool:
    """Whether replicates are drawn: where the metric needs them, and there is a value that may have an interval."""
    return settings.draws(one.metric) and not _reason(one, settings) and not np.isnan(one.sample.value()).all()


def _is_share(metric: Metric) -> bool:
    """Whether its ends, 0 and 1, mean none and all of the units; a threshold of 1 does not."""
    return metric.share and metric.sides is None and (metric.smooth or not metric.parts)


def reasons_by_part(reasons: Sequence[str], clusters: Sequence[int], drawn: Array | None) -> list[str]:
    """Why each part has no interval, whatever its ends: by definition, for its clusters, or for its replicates."""
    missing = np.zeros(len(reasons)) if drawn is None else undefined(drawn)
    return [
        reason
        or ("one cluster" if n < 2 else "")
        or (f"no value in {share:.0%} of the replicates" if share > MOST_UNDEFINED else "")
        for reason, n, share in zip(reasons, clusters, missing, strict=True)
    ]


def ends_of(one: Measured, drawn: Array | None, settings: IntervalSettings, closed: Ends | None = None) -> AllEnds:
    """Both ends of the interval of each part, and why there are none; in closed form already, or from replicates."""
    parts = len(one.titles)
    low, high, notes = np.full(parts, np.nan), np.full(parts, np.nan), [_reason(one, settings)] * parts
    if all(notes) or np.isnan(one.sample.value()).all():
        return low, high, notes
    kind = settings.kind(one.metric)
    freedom = np.full(parts, np.inf)
    if closed:
        low, high = closed
    elif kind in ("wilson", "mover", "net"):
        found = closed_form(one.metric, one.sample.strata, settings.confidence)
        low, high = found[1:3]
        freedom = freedom if is_rate(one.metric) or one.metric.sides else found.freedom
    elif drawn is not None:
        low, high = replicate_ends(kind, one.sample, drawn, settings.confidence)
    notes = reasons_by_part(one.reasons, one.n_clusters, drawn)
    for i, clusters in enumerate(one.n_clusters):
        if notes[i]:
            continue
        if freedom[i] < min(FEW_CLUSTERS, (clusters - 1) / 2):  # of what is no plain share, and so biased, too
            notes[i] = "too few clusters decide it"
        elif low[i] == high[i] and not (_is_share(one.metric) and low[i] in (0, 1)):
            notes[i] = "all replicates are alike"
    without = [bool(note) for note in notes]
    return np.where(without, np.nan, low), np.where(without, np.nan, high), notes


def scores_of(
    one: Measured, ends: AllEnds, data: Answers, model: str, group: str | None, settings: IntervalSettings
) -> list[Score]:
    """The scores of a metric, one for each part."""
    values, (low, high, notes) = one.sample.value(), ends
    mark = "" if one.metric.share else "unit=number "
    signature = f"{one.bound.signature} {mark}{settings.signature(one.metric, data, 'interval')}"
    scores = []
    for i, (name, value) in enumerate(zip(one.titles, values, strict=True)):
        kind, (lower, upper) = settings.kind(one.metric), (low[i], high[i])
        if _is_share(one.metric) and lower == upper == value and value in (0, 1):
            # All replicates alike: the clusters seen so far cannot show how rare the other answer is.
            kind, (lower, upper) = "wilson", wilson(value * one.n_clusters[i], one.n_clusters[i], settings.confidence)
        known = not np.isnan(lower)
        scores.append(
            Score(
                metric=name,
                signature=signature,
                model=model,
                group=group,
                value=number(value),
                low=number(lower),
                high=number(upper),
                n_units=one.n_units[i],
                n_answers=one.n_answers[i],
                unit="share" if one.metric.share else "number",
                interval=kind if known else "",
                confidence=settings.confidence if known else None,
                replicates=settings.replicates if known and kind in ("percentile", "bca") else None,
                resampled=resampled(data) if known else None,
                n_clusters=one.n_clusters[i],
                n_effective=round(float(one.n_effective[i]), 6),
                note="" if np.isnan(value) else notes[i],
            )
        )
    if anytime := _anytime(one, data, group, settings):
        return [replace(scores[0], **anytime)]
    return scores


def _largest(one: Measured, heaviest: float, settings: IntervalSettings) -> float | None:
    """The most that a cluster may ever weigh, where the user says so."""
    if settings.anytime is True or not settings.anytime:
        return None
    if heaviest > settings.anytime:
        message = (
            f"a cluster weighs {heaviest:g} in {one.titles[0]}, but none should weigh more than {settings.anytime}"
        )
        raise BadInput(message, field=setting("--largest", "anytime"), fix="name a number that no cluster will exceed")
    return float(settings.anytime)


def _anytime(one: Measured, data: Answers, group: str | None, settings: IntervalSettings) -> dict[str, Any]:
    """The ends that hold however often one looks: where they are asked for, and where the asking was stopped by them.

    The metric that stopped it has them for its interval: another would not allow for the looking. Its bets overall are
    those of the asking, in that order; what is in a group is known by its sample, and bet on by the mixture.
    """
    rule, confidence = rule_of(data.frame), settings.confidence
    if not (settings.anytime or rule) or not is_plain_share(one.metric) or not one.n_clusters[0]:
        return {}
    rows, counts = one.sample.distinct, one.sample.counts
    if (rows[:, 0] < 0).any() or (rows[:, 0] > rows[:, 1] + 1e-9).any():  # a metric of the user's that is no share
        return {}
    stopped = rule is not None and rule.signature == one.bound.signature
    if rule and stopped and group is None:
        ends = stopped_ends(one.metric, data, rule, confidence)
    else:
        heaviest = float(rows[:, 1].max())
        largest = max(rule.largest, heaviest) if rule and stopped else _largest(one, heaviest, settings)
        ends = anytime_ends(rows[:, 0], rows[:, 1], confidence, counts=counts, largest=largest)
    found: dict[str, Any] = dict(zip(("anytime_low", "anytime_high"), ends, strict=True))
    if rule and stopped:
        how = f"confidence={confidence}, cluster={resampled(data)}, until={str(rule.until)!r}"
        signature = f"{one.bound.signature} interval=anytime.v1({how}) otherwords={__version__}"
        found |= {"low": ends[0], "high": ends[1], "interval": "anytime", "signature": signature, "note": ""}
        found |= {"confidence": confidence, "replicates": None, "resampled": resampled(data)}
    return found
