"""Do two models, or two groups of one model's variants, differ? A difference with interval and p-value per metric."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from .._version import __version__
from ..answers.alignment import Columns, ModelTable, Names, align, load, two_groups, two_models
from ..answers.groups import columns_of, groups, one_answer
from ..answers.looked_up import check_files, relatives
from ..answers.reading import cluster_names
from ..answers.roles import ROLES, Role
from ..answers.table import WHOLE_TABLE, Answers, codes, is_original
from ..errors import BadInput, caller_level, setting
from ..harnesses.samples import LogOptions
from ..metrics.metric import as_metric
from ..problem import Task, get_task
from ..progress import current
from ..registry import Bound
from ..significance.across_models import crossed_test, side_by_side, t_test
from ..significance.anytime import warn_stopped
from ..significance.multiple import adjust
from ..significance.pairs import Pairing
from ..storage import tables
from ..storage.in_memory import AnyTable, as_list, frame_or_name
from .difference import Compared, Difference, ModelPart, Sides, differences
from .measure import warn_few_clusters
from .results import Results
from .select import IntervalSettings, WarningsTogether, choose, metrics_by_role, number, warn_about

#: How p-values are adjusted for all differences of a call.
ADJUSTED = {"p_bonferroni": "bonferroni", "p_holm": "holm", "p_bh": "benjamini-hochberg"}


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
    logs: LogOptions = LogOptions(),  # noqa: B008 (frozen)
    seed: int = 1,
    replicates: int = 10_000,
    confidence: float = 0.95,
    interval: str = "auto",
    margin: float | None = None,
    out: str | Path | None = None,
) -> Results[Difference]:
    """Compare two models, from two answers tables or from one that holds both.

    `using` names metrics; none means the usual ones, as in `score`, "all" every one that the tables allow. p-values are
    adjusted for the differences that are asked for, and for no others.
    `models` names the two where there are more. Only what both answered counts; a warning says what is left out.
    `columns`, `labels` and `logs` are for foreign tables and logs, as in `score`. With a `margin`, such as 0.02, each
    metric is also tested for equivalence: whether the first is not lower, not higher, neither, by so much.

    >>> rows = {"bucket": ["a", "a", "b", "b"], "variant": [None, "a1", None, "b1"], "gold": ["yes"] * 4}
    >>> one = pl.DataFrame({**rows, "pred": ["yes", "yes", "yes", "no"]})
    >>> other = pl.DataFrame({**rows, "pred": ["yes", "no", "yes", "no"]})
    >>> [row] = compare(one, other, ["flip_rate"])
    >>> row.value, row.other_value, row.difference, row.n_units
    (0.5, 1.0, -0.5, 2)
    """
    tables.refuse_unwritable(out, answers, other)
    check_files(as_list(by))
    settings = IntervalSettings(seed, replicates, confidence, interval)
    plan = _Plan.of(using, settings, margin, Names(columns or {}, labels or {}, _labels_of(task), logs))
    second = None if other is None else frame_or_name(other, "the answers")
    both = two_models(frame_or_name(answers, "the answers"), second, models, plan.names)
    blocks = _pair_blocks(both, as_list(by), plan)
    current().done()
    return _with_one_answer(_adjusted(blocks, settings, out), both)


class _Plan(NamedTuple):
    """Which metrics are compared, and how; `lenient` leaves out those that some of the answers do not allow."""

    metrics: list[Bound]
    lenient: bool
    settings: IntervalSettings
    margin: float | None
    names: Names

    @classmethod
    def of(cls, using: str | Sequence[str], settings: IntervalSettings, margin: float | None, names: Names) -> _Plan:
        margin = checked_margin(margin)
        chosen, lenient = choose(using)
        settings.warn_few(chosen)
        return cls(list(chosen), lenient, settings, margin, names)

    def differences(self, metrics: Sequence[Bound], sides: Sides) -> list[Compared]:
        return differences(metrics, sides, self.settings, self.lenient, self.margin)


def _labels_of(task: str | Task) -> tuple[str, ...]:
    return get_task(task).labels if task else ()


def _pair_blocks(both: Sequence[ModelTable], by: Sequence[str], plan: _Plan) -> list[list[Difference]]:
    """The differences of two models, a block for each role and group."""
    names, of_task = [one.name for one in both], plan.names.known
    shared = _shared_roles([one.by_role(of_task) for one in both])  # a wrong row is an error before any is left out
    by_role = metrics_by_role(plan.metrics, shared, plan.lenient, " and ".join(names))
    grouped = {role: list(shared_groups(pair, by)) for role, pair in shared.items() if by_role[role]}
    jobs = [(role, *group) for role, groups in grouped.items() for group in groups]
    current().start("compare", sum(len(by_role[role]) for role, *_ in jobs))
    blocks: list[list[Difference]] = []
    known: dict[Role, tuple[str, ...]] = dict.fromkeys(shared, of_task)
    if "controls" in shared and not of_task:  # which are compared one by one, and not as a whole
        known["controls"] = align([one.frame for one in shared["controls"]])[0].labels
    with WarningsTogether():
        for role, group, frames in jobs:
            try:
                pair = align(frames, known[role], about=group)
                known[role] = known[role] or pair[0].labels  # as in the whole: a group has no label set of its own
                sides = Sides((names[0], names[1]), pair, Pairing((pair[0].cluster, pair[0].cluster)), group)
                blocks.append([row for one in plan.differences(by_role[role], sides) for row in one.rows])
            except BadInput as error:
                if group is None:
                    raise
                warn_about(group, f"not compared: {error}")
    return blocks


def compare_relatives(
    answers: AnyTable | str | os.PathLike[str],
    families: str,
    using: str | Sequence[str] = (),
    *,
    task: str | Task = "",
    columns: Columns | None = None,
    labels: Mapping[str, str] | None = None,
    logs: LogOptions = LogOptions(),  # noqa: B008 (frozen)
    seed: int = 1,
    replicates: int = 10_000,
    confidence: float = 0.95,
    interval: str = "auto",
    margin: float | None = None,
    out: str | Path | None = None,
) -> Results[Difference]:
    """Compare the models of a table that a family map relates: neighbours in size, and students with their teachers.

    `families` is `family:FILE.toml`, whose tables have `family` and `size`, or `distilled_from` another model. The
    difference's `group` says what the two are to each other (Arakelyan et al. 2024, section 5.1). p-values are adjusted
    for all pairs.
    """
    tables.refuse_unwritable(out, answers)
    settings = IntervalSettings(seed, replicates, confidence, interval)
    plan = _Plan.of(using, settings, margin, Names(columns or {}, labels or {}, _labels_of(task), logs))
    known = {one.name: one for one in load(frame_or_name(answers, "the answers"), names=plan.names)}
    blocks: list[list[Difference]] = []
    current().start("compare")
    for kind, first, second in relatives(families, known):
        pair = _pair_blocks([known[first], known[second]], [], plan)
        blocks += [[replace(row, group=kind) for row in block] for block in pair]
    current().done()
    return _with_one_answer(_adjusted(blocks, settings, out), list(known.values()))


def checked_margin(margin: float | None) -> float | None:
    """The margin of equivalence, refused unless it is above 0."""
    if margin is not None and not 0 < margin < math.inf:
        fix = "give how large a difference does not matter, such as 0.02 for two points"
        raise BadInput(f"found {margin}", field=setting("--margin", "margin"), fix=fix)
    return margin


def _shared_roles(both: Sequence[dict[Role, ModelTable]]) -> dict[Role, list[ModelTable]]:
    """Rewordings, contrasts and controls, where both models have answers to them."""
    shared = {role: [one[role] for one in both] for role in ROLES if all(role in one for one in both)}
    for role in ROLES:
        if role in shared or not any(role in one for one in both):
            continue
        what = "problems outside contrast suites" if role == "rewordings" else role
        warnings.warn(f"only one of the models has answers to {what}", stacklevel=caller_level())
    return shared


def shared_groups(models: Sequence[ModelTable], by: Sequence[str]) -> Iterator[tuple[str | None, list[pl.DataFrame]]]:
    """The groups in which all models have answers, each with a table per model; the others are named in a warning."""
    columns = list(dict.fromkeys(name for one in models for name in columns_of(one.frame, by)))
    grouped = [dict(groups(one.frame, columns)) for one in models]
    for group in dict.fromkeys(name for one in grouped for name in one):
        if (there := sum(group in one for one in grouped)) == len(models):
            yield group, [one[group] for one in grouped]
        else:
            some = "one of the models has" if there == 1 else f"{there} of {len(models)} models have"
            warnings.warn(f"only {some} answers in {group}", stacklevel=caller_level())


def compare_groups(
    answers: AnyTable | str | os.PathLike[str],
    column: str,
    using: str | Sequence[str] = (),
    *,
    matched: bool = False,
    task: str | Task = "",
    columns: Columns | None = None,
    labels: Mapping[str, str] | None = None,
    logs: LogOptions = LogOptions(),  # noqa: B008 (frozen)
    seed: int = 1,
    replicates: int = 10_000,
    confidence: float = 0.95,
    interval: str = "auto",
    margin: float | None = None,
    out: str | Path | None = None,
) -> Results[Difference]:
    """Compare every pair of groups of a column, for each model of a table (MERGE, section 5.2).

    `matched` looks only at buckets that have variants in both groups, and pairs them. Else all buckets count: groups
    with clusters (or buckets) in common are compared within these, others as samples of different problems. The model
    is the difference's `group`.
    """
    tables.refuse_unwritable(out, answers)
    settings = IntervalSettings(seed, replicates, confidence, interval)
    plan = _Plan.of(using, settings, margin, Names(columns or {}, labels or {}, _labels_of(task), logs))
    if plan.lenient:  # metrics of originals are the same in matched groups, and about other problems in others
        usable = [one for one in plan.metrics if as_metric(one.function).uses != "originals"]
        plan = plan._replace(metrics=usable)
    current().start("compare")
    models = load(frame_or_name(answers, "the answers"), names=plan.names)
    blocks: list[list[Difference]] = []
    parts: list[ModelPart] = []
    with WarningsTogether():
        for compared in (block for model in models for block in _group_blocks(model, column, matched, plan)):
            blocks.append([row for one in compared for row in one.rows])
            if len(models) > 1:
                parts += [part for one in compared for part in one.model_parts()]
    current().done()
    return _with_one_answer(_adjusted(blocks, settings, out, _over_models(parts, matched, settings)), models)


def _group_blocks(model: ModelTable, column: str, matched: bool, plan: _Plan) -> Iterator[list[Compared]]:
    """The differences of each two groups of one model's variants, a block for each role and pair."""
    of_task = plan.names.known
    roles = _grouped_by(column, model.by_role(of_task))
    by_role = metrics_by_role(plan.metrics, ROLES if plan.lenient else roles, plan.lenient, model.name)
    for role, table in roles.items():
        known = table.read(of_task).labels
        pairs = list(two_groups(table.frame, column, known, matched)) if by_role[role] else []
        for first, second, pair in pairs:
            names = first, second
            _warn_sizes_differ(pair, names, role)
            sides = Sides(names, pair, _within_clusters(pair, names, matched), model.name)
            try:
                yield plan.differences(by_role[role], sides)
            except BadInput as error:
                if len(pairs) == 1:
                    raise
                warn_about(f"{first} and {second}", f"not compared: {error}")


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
        warn_about("", f"problems have {means} variants on average: {consequence}")


def _within_clusters(pair: Sequence[Answers], names: Sequence[str], matched: bool) -> Pairing:
    """Pair two groups by the clusters that they share, and warn of how many; without any they are kept apart."""
    if matched:
        return Pairing((pair[0].cluster, pair[0].cluster))
    named = [_cluster_names(one) for one in pair]
    numbers = codes(pl.concat(named), WHOLE_TABLE)[0]
    clusters = numbers[: len(named[0])], numbers[len(named[0]) :]
    shared = len(np.intersect1d(*clusters))
    if not shared:
        return Pairing((pair[0].cluster, pair[1].cluster), paired=False)
    buckets = [set(one.frame["bucket"].unique().to_list()) for one in pair]
    message = f"{names[0]} and {names[1]} share {shared} clusters, and are compared within them"
    if problems := len(buckets[0] & buckets[1]):
        message = f"{problems} problems with variants in {names[0]} and {names[1]} are compared within themselves"
        message += "; use --matched (matched=True) to leave out all others"
    warn_about("", message)
    return Pairing(clusters)


def _cluster_names(one: Answers) -> pl.Series:
    """The name of each bucket's cluster: its own where the table has none."""
    heads = one.originals if one.has_originals else np.unique(one.bucket, return_index=True)[1]
    if "cluster" in one.frame.columns:
        return cluster_names(one.frame.select("bucket", "cluster")[heads], "bucket").alias("cluster")
    return one.frame["bucket"][heads].cast(pl.String).alias("cluster")


def _over_models(parts: Sequence[ModelPart], paired: bool, settings: IntervalSettings) -> list[Difference]:
    """The mean difference over models, for each two groups: the crossed test decides, MERGE's t test stands beside it.

    Both need two models. The t test is paired where the groups have the same problems, else not (MERGE, footnote 9).
    """
    together: dict[tuple[str, str, str], list[ModelPart]] = {}
    for part in parts:
        if part.row.difference is not None:
            together.setdefault((part.row.metric, part.row.model, part.row.other), []).append(part)
    means = [_mean_difference(same, paired, settings) for same in together.values() if len(same) > 1]
    _adjust(means, [place for place, row in enumerate(means) if row.p_crossed is not None])
    return means


def _mean_difference(parts: Sequence[ModelPart], paired: bool, settings: IntervalSettings) -> Difference:
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
        low=number(max(crossed.low, -1) if like.unit == "share" else crossed.low) if crossed else None,
        high=number(min(crossed.high, 1) if like.unit == "share" else crossed.high) if crossed else None,
        interval="crossed" if crossed else "",
        confidence=settings.confidence if crossed else None,
        n_clusters=moved.shape[1] if crossed else 0,
        n_effective=None,
        note="" if crossed else "no test across models for this metric",
        p=number(crossed.p) if crossed else None,
        p_swap=None,
        p_interval=None,
        p_maxt=None,
        margin=None,
        p_not_lower=None,
        p_not_higher=None,
        p_equivalent=None,
        p_crossed=number(crossed.p) if crossed else None,
        p_t=t_test(one, other, paired).p,
    )


def _adjusted(
    blocks: Sequence[list[Difference]],
    settings: IntervalSettings,
    out: str | Path | None,
    more: Sequence[Difference] = (),
) -> Results[Difference]:
    """Adjust the p-values for all differences together, and write them.

    maxT holds within a block, whose metrics share their swaps; over several blocks (groups), p is multiplied by their
    number.
    """
    rows = [row for block in blocks for row in block]
    tested = [place for place, row in enumerate(rows) if row.p_swap is not None]
    if not tested:
        raise BadInput("no answers to compare", fix="give answers to the same variants, in two or more clusters")
    if len(tested) / (settings.replicates + 1) > 1 - settings.confidence:
        enough = math.ceil(len(tested) / (1 - settings.confidence))
        message = f"{settings.replicates} replicates are too few for a small adjusted p of {len(tested)} differences"
        warnings.warn(f"{message}; use {enough} replicates, or fewer metrics and groups", stacklevel=caller_level())
    times = sum(any(row.p_maxt is not None for row in block) for block in blocks)
    for place in tested:
        p_maxt = min(1.0, times * max(rows[place].p_maxt, rows[place].p))  # type: ignore[operator, type-var]
        rows[place] = replace(rows[place], p_maxt=p_maxt)
    _adjust(rows, tested)
    _warn_thin(rows)
    rows += more
    if out:
        tables.write([Results(rows).to_polars()], out)
    return Results(rows)


def _adjust(rows: list[Difference], places: Sequence[int]) -> None:
    """Adjust the p-values of the rows at some places for all of them."""
    p = [rows[place].p for place in places]
    columns = {name: adjust(p, way).tolist() if p else [] for name, way in ADJUSTED.items()}  # type: ignore[arg-type]
    for i, place in enumerate(places):
        rows[place] = replace(rows[place], **{name: values[i] for name, values in columns.items()})


def _warn_thin(rows: Sequence[Difference]) -> None:
    """Warn where intervals rest on few clusters: of the side that has fewer."""
    clusters: dict[tuple[str, str, str | None], int] = {}
    for row in rows:
        if row.low is not None:
            place = row.model, row.other, row.group
            clusters[place] = max(clusters.get(place, 0), row.n_clusters)
    who = f"{rows[0].model} and {rows[0].other}" if len(clusters) == 1 else ""
    warn_few_clusters(who, list(clusters.values()), groups=len(clusters) > 1)


def _with_one_answer(results: Results[Difference], models: Sequence[ModelTable]) -> Results[Difference]:
    """Note which of the models say the same to everything, and warn of those that were asked until a rule held."""
    results.one_answer = {one.name: found for one in models for found in one_answer(one.frame).values()}
    for one in models:
        warn_stopped(one.name, one.frame, (row.metric for row in results if row.low is not None))
    return results
