"""Do two models, or two groups of one model's variants, differ? A difference with interval and p-value per metric."""

import math
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from .._version import __version__
from ..answers.alignment import Columns, ModelTable, Names, align, load, two_groups, two_models
from ..answers.groups import columns_of, groups, one_answer
from ..answers.reading import clusters_of
from ..answers.roles import ROLES, Role
from ..answers.table import Answers, Array, is_original
from ..errors import BadInput, Unmeasurable, caller_level
from ..frames import AnyTable, as_list, frame_or_name
from ..metrics.metric import Metric, as_metric
from ..problem import Task, get_task
from ..progress import current
from ..registry import Bound
from ..significance.across_models import crossed_test, difference_influences, side_by_side, t_test
from ..significance.bootstrap import Sample, bootstrap
from ..significance.intervals import bca, percentile
from ..significance.multiple import adjust
from ..significance.permutation import MetricDifference, exchange_test, paired_sample, swap_test, unpaired_sample
from ..storage import tables
from .measure import evidence_of
from .results import Difference, Results
from .select import IntervalSettings, by_family, choose, collect_measurable, family, metrics_by_role, number, title

#: Fields of a difference with p-values adjusted for all of one call, and how.
ADJUSTED: dict[str, str] = {"p_bonferroni": "bonferroni", "p_holm": "holm", "p_bh": "benjamini-hochberg"}


def compare(
    answers: AnyTable | str | os.PathLike[str],
    other: AnyTable | str | os.PathLike[str] | None = None,
    using: str | Sequence[str] = (),
    *,
    models: Sequence[str] = (),
    by: str | Sequence[str] = (),
    task: str | Task = "",
    columns: Columns | None = None,
    labels: Mapping[str, str] | None = None,
    seed: int = 1,
    replicates: int = 10_000,
    confidence: float = 0.95,
    interval: str = "auto",
    out: str | Path | None = None,
) -> Results[Difference]:
    """Compare two models, from two answers tables or from one that holds both.

    `using` names metrics; none means the usual ones, as in `score`, "all" every one that the tables allow. p-values are
    adjusted for the differences that are asked for, and for no others.
    `models` names the two where there are more. Only what both answered counts; a warning says what is left out.
    `columns` and `labels` map foreign columns and labels, as in `score`.

    >>> rows = {"bucket": ["a", "a", "b", "b"], "variant": [None, "a1", None, "b1"], "gold": ["yes"] * 4}
    >>> one = pl.DataFrame({**rows, "pred": ["yes", "yes", "yes", "no"]})
    >>> other = pl.DataFrame({**rows, "pred": ["yes", "no", "yes", "no"]})
    >>> [row] = compare(one, other, ["flip_rate"])
    >>> row.value, row.other_value, row.difference, row.n_units
    (0.5, 1.0, -0.5, 2)
    """
    tables.refuse_unwritable(out, answers, other)
    settings = IntervalSettings(seed, replicates, confidence, interval)
    of_task = get_task(task).labels if task else ()
    chosen, lenient = choose(using)
    settings.warn_few(chosen)
    second = None if other is None else frame_or_name(other, "the answers")
    both = two_models(
        frame_or_name(answers, "the answers"), second, models, Names(columns or {}, labels or {}, of_task)
    )
    names = [one.name for one in both]
    shared = _shared_roles([one.by_role(of_task) for one in both])  # a wrong row is an error before any is left out
    by_role = metrics_by_role(chosen, shared, lenient, " and ".join(names))
    grouped = {role: list(_shared_groups(pair, as_list(by))) for role, pair in shared.items() if by_role[role]}
    jobs = [(role, *group) for role, groups in grouped.items() for group in groups]
    current().start("compare", sum(len(by_role[role]) for role, *_ in jobs))
    rows: list[Difference] = []
    known: dict[Role, tuple[str, ...]] = dict.fromkeys(shared, of_task)
    if "controls" in shared and not of_task:  # which are compared one by one, and not as a whole
        known["controls"] = align([one.frame for one in shared["controls"]])[0].labels
    for role, group, frames in jobs:
        try:
            pair = align(frames, known[role], about=group)
            known[role] = known[role] or pair[0].labels  # as in the whole: a group has no label set of its own
            rows += differences(by_role[role], pair, names, group, settings, lenient, shared=True)
        except BadInput as error:
            if group is None:
                raise
            warnings.warn(f"{group}: not compared: {error}", stacklevel=caller_level())
    current().done()
    return _with_one_answer(_adjusted(rows, settings, out), both)


def _shared_roles(both: Sequence[dict[Role, ModelTable]]) -> dict[Role, list[ModelTable]]:
    """Rewordings, contrasts and controls, where both models have answers to them."""
    shared = {role: [one[role] for one in both] for role in ROLES if all(role in one for one in both)}
    for role in ROLES:
        if role in shared or not any(role in one for one in both):
            continue
        what = "problems outside contrast suites" if role == "rewordings" else role
        warnings.warn(f"only one of the models has answers to {what}", stacklevel=caller_level())
    return shared


def _shared_groups(both: Sequence[ModelTable], by: Sequence[str]) -> Iterator[tuple[str | None, list[pl.DataFrame]]]:
    columns = list(dict.fromkeys(name for one in both for name in columns_of(one.frame, by)))
    grouped = [dict(groups(one.frame, columns)) for one in both]
    for group in dict.fromkeys([*grouped[0], *grouped[1]]):
        if all(group in one for one in grouped):
            yield group, [one[group] for one in grouped]
        else:
            warnings.warn(f"only one of the models has answers in {group}", stacklevel=caller_level())


def compare_groups(
    answers: AnyTable | str | os.PathLike[str],
    column: str,
    using: str | Sequence[str] = (),
    *,
    matched: bool = False,
    task: str | Task = "",
    columns: Columns | None = None,
    labels: Mapping[str, str] | None = None,
    seed: int = 1,
    replicates: int = 10_000,
    confidence: float = 0.95,
    interval: str = "auto",
    out: str | Path | None = None,
) -> Results[Difference]:
    """Compare each two groups of a column, for each model of a table (MERGE, section 5.2).

    `matched` looks only at buckets that have variants in both groups, and pairs them; else the groups are taken as
    samples of different problems, as they mostly are. The model is the difference's `group`.
    """
    tables.refuse_unwritable(out, answers)
    settings = IntervalSettings(seed, replicates, confidence, interval)
    of_task = get_task(task).labels if task else ()
    chosen, lenient = choose(using)
    settings.warn_few(chosen)
    if lenient:  # metrics of originals are the same in matched groups, and about other problems in others
        chosen = [one for one in chosen if as_metric(one.function).uses != "originals"]
    rows: list[Difference] = []
    current().start("compare")
    models = load(frame_or_name(answers, "the answers"), names=Names(columns or {}, labels or {}, of_task))
    parts: list[_ModelPart] | None = [] if len(models) > 1 else None
    for model in models:
        roles = _grouped_by(column, model.by_role(of_task))
        by_role = metrics_by_role(chosen, ROLES if lenient else roles, lenient, model.name)
        for role, table in roles.items():
            known = table.read(of_task).labels
            pairs = list(two_groups(table.frame, column, known, matched)) if by_role[role] else []
            for first, second, pair in pairs:
                names = [first, second]
                _warn_sizes_differ(pair, names, role)
                _warn_shared_problems(pair, names, matched)
                try:
                    rows += differences(by_role[role], pair, names, model.name, settings, lenient, matched, parts)
                except BadInput as error:
                    if len(pairs) == 1:
                        raise
                    warnings.warn(f"{first} and {second}: not compared: {error}", stacklevel=caller_level())
    current().done()
    return _with_one_answer(_adjusted(rows + _over_models(parts or [], matched, settings), settings, out), models)


def _grouped_by(column: str, roles: dict[Role, ModelTable]) -> dict[Role, ModelTable]:
    """Rewordings, contrasts, controls: those that have groups of the column. A suite has its own columns."""
    if len(roles) < 2:
        return roles
    grouped = {role: table for role, table in roles.items() if _has_groups(table.frame, column)}
    return grouped or {"rewordings": roles["rewordings"]}


def _has_groups(answers: pl.DataFrame, column: str) -> bool:
    if column not in answers.columns:
        return True  # derived from other columns, or reported as missing
    return answers.filter(~is_original())[column].drop_nulls().n_unique() > 1


def _warn_sizes_differ(pair: Sequence[Answers], names: Sequence[str], role: Role) -> None:
    """P_C, pattern accuracy and fooling rates grow or shrink with the number of variants, whatever the model does."""
    sizes = [float(one.n_variants.mean()) for one in pair]
    if role != "controls" and max(sizes) > 1.05 * min(sizes):
        means = " and ".join(f"{size:.1f} in {name}" for size, name in zip(sizes, names, strict=True))
        consequence = "p_c, pa, r_r and r_s depend on that; p_c_distinct, pa(of=...), r_r_at and r_s_at do not"
        if role == "contrasts":
            consequence = "contrast_consistency depends on that; sensitivity and contrast_accuracy do not"
        warnings.warn(f"problems have {means} variants on average: {consequence}", stacklevel=caller_level())


def _warn_shared_problems(pair: Sequence[Answers], names: Sequence[str], matched: bool) -> None:
    buckets = [set(one.frame["bucket"].unique().to_list()) for one in pair]
    if not matched and (shared := len(buckets[0] & buckets[1])):
        message = f"{shared} problems with variants in {names[0]} and {names[1]} are treated as different problems"
        warnings.warn(f"{message}; use --matched (matched=True) to pair them", stacklevel=caller_level())


@dataclass(frozen=True)
class _ModelPart:
    """One model's difference and how much each cluster moves it: what the test across models needs.

    `influence` is empty for a metric that jumps, or that has rows from outside the clusters.
    """

    row: Difference
    clusters: Array
    influence: Array


def _over_models(parts: Sequence[_ModelPart], paired: bool, settings: IntervalSettings) -> list[Difference]:
    """The mean difference over models, for each two groups: the crossed test decides, MERGE's t test stands beside it.

    Both need two models. The t test is paired where the groups have the same problems, else not (MERGE, footnote 9).
    """
    together: dict[tuple[str, str, str], list[_ModelPart]] = {}
    for part in parts:
        if part.row.difference is not None:
            together.setdefault((part.row.metric, part.row.model, part.row.other), []).append(part)
    means = [_mean_difference(same, paired, settings) for same in together.values() if len(same) > 1]
    p = {place: row.p_crossed for place, row in enumerate(means) if row.p_crossed is not None}
    adjusted = {name: adjust(list(p.values()), way).tolist() if p else [] for name, way in ADJUSTED.items()}
    for i, place in enumerate(p):
        means[place] = replace(means[place], **{name: values[i] for name, values in adjusted.items()})
    return means


def _mean_difference(parts: Sequence[_ModelPart], paired: bool, settings: IntervalSettings) -> Difference:
    like, how = parts[0].row, "paired" if paired else "unpaired"
    one, other = (
        np.array([getattr(part.row, side) for part in parts], dtype=np.float64) for side in ("value", "other_value")
    )
    crossed = None
    if all(part.influence.size for part in parts):
        moved = side_by_side([(part.clusters, part.influence) for part in parts])
        crossed = crossed_test(one - other, moved, settings.confidence)
    tests = f"crossed(models x clusters, confidence={settings.confidence}), t({how}, over models)"
    return replace(
        like,
        signature=f"{like.signature.partition(' test=')[0]} test={tests} otherwords={__version__}",
        n_units=len(parts),
        n_answers=sum(part.row.n_answers for part in parts),
        group="(models)",
        value=float(one.mean()),
        other_value=float(other.mean()),
        difference=float((one - other).mean()),
        low=number(crossed.low) if crossed else None,
        high=number(crossed.high) if crossed else None,
        p_swap=None,
        p_bootstrap=None,
        p_crossed=number(crossed.p) if crossed else None,
        p_t=t_test(one, other, paired).p,
    )


# The difference of one pair, metric by metric


def differences(
    chosen: Sequence[Bound],
    pair: Sequence[Answers],
    names: Sequence[str],
    group: str | None,
    settings: IntervalSettings,
    lenient: bool,
    shared: bool,
    parts: list[_ModelPart] | None = None,
) -> list[Difference]:
    """Compare one pair with each metric; `shared` where both were asked the same buckets, which are then paired.

    `lenient` leaves out metrics that need what the tables lack, instead of raising, and warns which. Where `parts` is
    given, what the test across models needs is added to it.
    """

    def work(bound: Bound, metric: Metric) -> _Pair | None:
        skipped = lenient and (metric.across or not metric.compared)
        return None if skipped else _paired(bound, chosen, metric, pair, shared, clusters)

    clusters = None if parts is None else [clusters_of(one) for one in pair]
    pairs = collect_measurable(by_family(chosen), lenient, "not compared", work)
    drawn = bootstrap([one.sample for one in pairs], settings.replicates, settings.seed)
    rows = []
    for one, values in zip(pairs, drawn, strict=True):
        current().advance(1)
        own = _rows(one, values, pair[0], names, group, settings, shared)
        if parts is not None:
            known, moved = one.influences
            parts += [_ModelPart(row, known, moved[:, place]) for place, row in enumerate(own)]
        rows += own
    return rows


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
    influences: tuple[Array, Array]


def _paired(
    bound: Bound,
    chosen: Sequence[Bound],
    metric: Metric,
    pair: Sequence[Answers],
    shared: bool,
    clusters: Sequence[Array] | None,
) -> _Pair:
    if metric.across:
        raise Unmeasurable("it is computed over all models together", where=bound.plugin.name)
    rows = [metric.rows(one) for one in pair]
    outside = [metric.outside(one) for one in pair] if metric.outside else None
    if shared:
        sample = paired_sample(metric, rows, pair[0].cluster, bound.plugin.full_name, outside)
    elif outside is None:
        sample = unpaired_sample(metric, rows, [one.cluster for one in pair], bound.plugin.full_name)
    else:
        raise Unmeasurable("it uses data outside the shared buckets", where=bound.plugin.name)
    beyond = sample.n if sample.outside is None else int(sample.outside[1].sum())
    if (max if shared else min)(sample.n, beyond) < 2:
        raise Unmeasurable("needs at least two clusters with a value", where=bound.plugin.name)
    values = MetricDifference(metric).both(sample.totals())
    titles = [title(bound, chosen, part) for part in metric.part_names(pair[0])]
    counts = [evidence_of(metric, row, one.cluster, one, len(titles)) for row, one in zip(rows, pair, strict=True)]
    if outside is not None and not counts[0].any():
        items = len(np.intersect1d(outside[0].names, outside[1].names))
        counts = [np.full((3, len(titles)), items)] * 2
    units, answers = (np.minimum(*counts) if shared else np.add(*counts))[1:]
    moved = np.empty(0), np.empty((0, len(titles)))
    if clusters is not None and metric.smooth and outside is None:
        moved = difference_influences(metric, rows, [one.cluster for one in pair], clusters)
    return _Pair(bound, metric, titles, sample, values, np.minimum(*counts)[0], units, answers, moved)


def _rows(
    one: _Pair,
    drawn: Array,
    data: Answers,
    names: Sequence[str],
    group: str | None,
    settings: IntervalSettings,
    shared: bool,
) -> list[Difference]:
    test = swap_test if shared else exchange_test
    swapped = test(one.sample, settings.replicates, settings.seed, one.metric.smooth)
    corrected = settings.kind(one.metric) == "bca"
    low, high = bca(one.sample, drawn, settings.confidence) if corrected else percentile(drawn, settings.confidence)
    how = "swap" if shared else "exchange"
    signature = f"{one.bound.signature} test={how} {settings.signature(one.metric, data, 'difference')}"
    beyond = _beyond_zero(drawn)
    values = one.sample.value()
    alone = one.n_clusters < 2  # of the model that has fewer: how it would vary is unknown
    low, high, swapped, beyond = (np.where(alone, np.nan, each) for each in (low, high, swapped, beyond))
    rows = []
    for i, name in enumerate(one.titles):
        rows.append(
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
                family=family(one.bound),
            )
        )
    return rows


def _beyond_zero(drawn: Array) -> Array:
    """Twice the smaller share of bootstrap differences on one side of zero, zero itself on both, and never 0."""
    defined = (~np.isnan(drawn)).sum(axis=0)
    with np.errstate(invalid="ignore"):
        side = np.minimum((drawn <= 1e-12).sum(axis=0), (drawn >= -1e-12).sum(axis=0))  # zero but for rounding is zero
    return np.where(defined > 0, np.minimum(1.0, 2 * (1 + side) / (defined + 1)), np.nan)


def _adjusted(rows: list[Difference], settings: IntervalSettings, out: str | Path | None) -> Results[Difference]:
    """Adjust the p-values for all differences together, and write them."""
    tested = [place for place, row in enumerate(rows) if row.p_swap is not None]
    if not tested:
        raise BadInput("no answers to compare", fix="give answers to the same variants, in two or more clusters")
    if len(tested) / (settings.replicates + 1) > 1 - settings.confidence:
        enough = math.ceil(len(tested) / (1 - settings.confidence))
        message = f"{settings.replicates} replicates are too few for a small adjusted p of {len(tested)} differences"
        warnings.warn(f"{message}; use {enough} replicates, or fewer metrics and groups", stacklevel=caller_level())
    p = [rows[place].p_swap for place in tested]
    adjusted = {name: adjust(p, way).tolist() for name, way in ADJUSTED.items()}  # type: ignore[arg-type]
    for i, place in enumerate(tested):
        rows[place] = replace(rows[place], **{name: values[i] for name, values in adjusted.items()})
    if out:
        tables.write([Results(rows).to_polars()], out)
    return Results(rows)


def _with_one_answer(results: Results[Difference], models: Sequence[ModelTable]) -> Results[Difference]:
    """Note which of the models say the same to everything."""
    results.one_answer = {one.name: found for one in models for found in one_answer(one.frame).values()}
    return results
