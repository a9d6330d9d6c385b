"""Do two groups of variants differ, for the same model? Matched on their problems, or as samples of different ones."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from .._version import __version__
from ..answers.alignment import Side, Source, aligned, load, two_groups, two_models
from ..answers.groups import columns_of, groups, is_original
from ..answers.roles import PARTS, Part
from ..answers.table import Answers
from ..errors import BadInput, Unmeasurable
from ..metrics.metric import Metric, as_metric
from ..problem import Task, get_task
from ..progress import current
from ..registry import Bound
from ..significance.bootstrap import Sample, bca, bootstrap, percentile
from ..significance.multiple import adjust
from ..significance.permutation import Minus, apart, beside, exchange_test, swap_test
from ..significance.t_test import t_test
from ..storage import tables
from .measure import evidence_of
from .select import Settings, choose, deal, gather, number, title

# MERGED from differences: The difference of one pair, metric by metric: both values, an interval from the bootstrap, a p-value by exchange.

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


# MERGED from comparison: Do two models differ? Differences for every metric, on what both were asked.


def compare(
    answers: Source,
    other: Source | None = None,
    using: Sequence[str] = ("all",),
    *,
    models: Sequence[str] = (),
    by: Sequence[str] = (),
    task: str | Task = "",
    seed: int = 1,
    replicates: int = 10_000,
    confidence: float = 0.95,
    interval: str = "percentile",
    out: str | Path | None = None,
) -> list[Difference]:
    """Compare two models, from two answers tables or from one that holds both, with each metric (default: all).

    `models` names the two where there are more. Only what both answered counts, and what is left out is said.

    >>> rows = {"bucket": ["a", "a", "b", "b"], "variant": [None, "a1", None, "b1"], "gold": ["yes"] * 4}
    >>> one = pl.DataFrame({**rows, "pred": ["yes", "yes", "yes", "no"]})
    >>> other = pl.DataFrame({**rows, "pred": ["yes", "no", "yes", "no"]})
    >>> [found] = compare(one, other, ["flip_rate"])
    >>> found.value, found.other_value, found.difference, found.n_units
    (0.5, 1.0, -0.5, 2)
    """
    tables.refuse_unwritable(out)
    settings = Settings(seed, replicates, confidence, interval)
    labels = get_task(task).labels if task else ()
    chosen, lenient = choose(using)
    both = two_models(answers, other, models)
    parted = _shared_parts([side.parts(labels) for side in both])  # a wrong row is told before any is left out
    dealt = deal(chosen, parted, lenient, " and ".join(side.name for side in both))
    jobs = [(part, *group) for part, sides in parted.items() if dealt[part] for group in _shared_groups(sides, by)]
    current().start("compare", sum(len(dealt[part]) for part, *_ in jobs))
    names = [side.name for side in both]
    found: list[Difference] = []
    known = dict.fromkeys(parted, labels)
    if "controls" in parted and not labels:  # which are told one by one, and not as a whole
        known["controls"] = aligned([side.frame for side in parted["controls"]])[0].labels
    for part, group, pair in jobs:
        try:
            asked = aligned(pair, known[part], about=group)
            known[part] = known[part] or asked[0].labels  # as in the whole: a group has no label set of its own
            found += differences(dealt[part], asked, names, group, settings, lenient, shared=True)
        except BadInput as error:
            if group is None:
                raise
            warnings.warn(f"{group}: not compared: {error}", stacklevel=2)
    current().done()
    return finished(found, settings, out)


def _shared_parts(parted: Sequence[dict[Part, Side]]) -> dict[Part, list[Side]]:
    """Rewordings, contrasts and controls, where both models have answers to them."""
    shared = {part: [one[part] for one in parted] for part in PARTS if all(part in one for one in parted)}
    for part in PARTS:
        if part in shared or not any(part in one for one in parted):
            continue
        what = "problems that are no contrasts" if part == "rewordings" else part
        warnings.warn(f"only one of the models has answers to {what}", stacklevel=3)
    return shared


def _shared_groups(both: Sequence[Side], by: Sequence[str]) -> Iterator[tuple[str | None, list[pl.DataFrame]]]:
    columns = list(dict.fromkeys(name for side in both for name in columns_of(side.frame, by)))
    parts = [dict(groups(side.frame, columns)) for side in both]
    for group in dict.fromkeys([*parts[0], *parts[1]]):
        if all(group in some for some in parts):
            yield group, [some[group] for some in parts]
        else:
            warnings.warn(f"only one of the models has answers in {group}", stacklevel=3)


def finished(found: list[Difference], settings: Settings, out: str | Path | None) -> list[Difference]:
    """Adjust the p-values for all differences together, and write them."""
    told = [place for place, one in enumerate(found) if one.p_swap is not None]
    if not told:
        raise BadInput("nothing to compare", fix="give answers to the same originals and variants, in two clusters")
    if len(told) / (settings.replicates + 1) > 1 - settings.confidence:
        enough = math.ceil(len(told) / (1 - settings.confidence))
        said = f"{len(told)} differences at {settings.replicates} replicates: no adjusted p-value can be small"
        warnings.warn(f"{said}; {enough} replicates or fewer metrics and groups would do", stacklevel=3)
    ways = {"p_bonferroni": "bonferroni", "p_holm": "holm", "p_bh": "benjamini-hochberg"}
    p = [found[place].p_swap for place in told]
    adjusted = {name: adjust(p, way).tolist() for name, way in ways.items()}  # type: ignore[arg-type]
    for i, place in enumerate(told):
        found[place] = replace(found[place], **{name: values[i] for name, values in adjusted.items()})
    if out:
        tables.write([pl.DataFrame([asdict(one) for one in found], infer_schema_length=None)], out)
    return found


# MERGED from between: Do two groups of variants differ, for the same model? Matched on their problems, or as samples of different ones.


def compare_groups(
    answers: Source,
    column: str,
    using: Sequence[str] = ("all",),
    *,
    matched: bool = False,
    task: str | Task = "",
    seed: int = 1,
    replicates: int = 10_000,
    confidence: float = 0.95,
    interval: str = "percentile",
    out: str | Path | None = None,
) -> list[Difference]:
    """Compare each two groups of a column, for each model of a table (MERGE, section 5.2).

    `matched` looks only at buckets that have variants in both groups, and pairs them; else the groups are taken as
    samples of different problems, as they mostly are. The model is the difference's `group`.
    """
    tables.refuse_unwritable(out)
    settings = Settings(seed, replicates, confidence, interval)
    labels = get_task(task).labels if task else ()
    chosen, lenient = choose(using)
    if lenient:  # what is said of the originals is the same in matched groups, and about other problems in others
        chosen = [one for one in chosen if as_metric(one.function).uses != "originals"]
    found = []
    current().start("compare")
    for side in load(answers):
        parted = _grouped_by(column, side.parts(labels))
        dealt = deal(chosen, PARTS if lenient else parted, lenient, side.name)
        for part, mine in parted.items():
            known = mine.read(labels).labels
            pairs = list(two_groups(mine.frame, column, known, matched)) if dealt[part] else []
            for one, other, pair in pairs:
                names = [one, other]
                _say_if_sizes_differ(pair, names, part)
                _say_if_shared(pair, names, matched)
                try:
                    found += differences(dealt[part], pair, names, side.name, settings, lenient, shared=matched)
                except BadInput as error:
                    if len(pairs) == 1:
                        raise
                    warnings.warn(f"{one} and {other}: not compared: {error}", stacklevel=2)
    current().done()
    return finished(found + _over_models(found, matched), settings, out)


def _grouped_by(column: str, parted: dict[Part, Side]) -> dict[Part, Side]:
    """Rewordings, contrasts, controls: what has groups of the column. A suite has columns of its own."""
    if len(parted) < 2:
        return parted
    told = {part: side for part, side in parted.items() if _has_groups(side.frame, column)}
    return told or {"rewordings": parted["rewordings"]}


def _has_groups(answers: pl.DataFrame, column: str) -> bool:
    if column not in answers.columns:
        return True  # told from the others, or told to be missing
    return answers.filter(~is_original())[column].drop_nulls().n_unique() > 1


def _say_if_sizes_differ(pair: Sequence[Answers], names: Sequence[str], part: Part) -> None:
    """P_C, pattern accuracy and fooling rates grow or shrink with the number of variants, whatever the model does."""
    sizes = [float(one.variants[1].mean()) for one in pair]
    if part != "controls" and max(sizes) > 1.05 * min(sizes):
        told = " and ".join(f"{size:.1f} in {name}" for size, name in zip(sizes, names, strict=True))
        said = "p_c, pa, r_r and r_s depend on that; p_c_distinct, pa(of=...), r_r_at and r_s_at do not"
        if part == "contrasts":
            said = "contrast_consistency depends on that; sensitivity and contrast_accuracy do not"
        warnings.warn(f"problems have {told} variants on average: {said}", stacklevel=3)


def _say_if_shared(pair: Sequence[Answers], names: Sequence[str], matched: bool) -> None:
    buckets = [set(one.frame["bucket"].unique().to_list()) for one in pair]
    if not matched and (shared := len(buckets[0] & buckets[1])):
        said = f"{shared} problems have variants in {names[0]} and in {names[1]}, but are treated as different ones"
        warnings.warn(f"{said}; --matched (matched=True) pairs them", stacklevel=3)


def _over_models(found: Sequence[Difference], paired: bool) -> list[Difference]:
    """A t test over the models' scores, for each two groups, as MERGE reports them; it needs two models.

    Paired where the groups have the same problems, else not (MERGE, footnote 9).
    """
    together: dict[tuple[str, str, str], list[Difference]] = {}
    for row in found:
        together.setdefault((row.metric, row.model, row.other), []).append(row)
    told = []
    for rows in together.values():
        values = [(row.value, row.other_value) for row in rows if row.value is not None and row.other_value is not None]
        if len(values) > 1:
            one, other = (np.array(side, dtype=np.float64) for side in zip(*values, strict=True))
            told.append(_mean_difference(rows[0], one, other, paired))
    return told


def _mean_difference(like: Difference, one: Array, other: Array, paired: bool) -> Difference:
    how = "paired" if paired else "unpaired"
    return replace(
        like,
        signature=f"{like.signature.partition(' test=')[0]} test=t({how}, over models) otherwords={__version__}",
        n_units=len(one),
        group="(models)",
        value=float(one.mean()),
        other_value=float(other.mean()),
        difference=float((one - other).mean()),
        low=None,
        high=None,
        p_swap=None,
        p_bootstrap=None,
        p_t=t_test(one, other, paired).p,
    )
