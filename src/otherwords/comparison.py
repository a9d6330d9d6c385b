"""Do two models differ, or two groups? Differences for every metric, on what both were asked."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from .differences import Difference, differences
from .errors import BadInput
from .metrics.pairing import Source, load, two_groups, two_models
from .metrics.splitting import aligned, groups
from .metrics.table import Answers
from .problem import Task, get_task
from .scoring import Settings, choose
from .significance.means import t_test
from .significance.multiple import adjust
from .storage import tables

Array = npt.NDArray[Any]


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
    _refuse(out)
    settings = Settings(seed, replicates, confidence, interval)
    labels = get_task(task).labels if task else ()
    chosen, lenient = choose(using)
    both = two_models(answers, other, models)
    names = [str(one["model"][0]) for one in both]
    found = []
    for group, part in groups(pl.concat(both, how="diagonal_relaxed"), by):
        pair = [part.filter(pl.col("model") == name) for name in names]
        if all(one.height for one in pair):
            found += differences(
                chosen, aligned(pair, labels, about=group), names, group, settings, lenient, shared=True
            )
        else:
            warnings.warn(f"only one of the models has answers in {group}", stacklevel=2)
    return _finished(found, out)


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
    _refuse(out)
    settings = Settings(seed, replicates, confidence, interval)
    labels = get_task(task).labels if task else ()
    chosen, lenient = choose(using)
    found = []
    for mine in load(answers).partition_by("model", maintain_order=True):
        for one, other, pair in two_groups(mine, column, labels, matched):
            names = [one, other]
            _say_if_sizes_differ(pair, names)
            _say_if_shared(pair, names, matched)
            found += differences(chosen, pair, names, str(mine["model"][0]), settings, lenient, shared=matched)
    return _finished(found + _over_models(found, matched), out)


def _say_if_sizes_differ(pair: Sequence[Answers], names: Sequence[str]) -> None:
    """P_C, pattern accuracy and fooling rates grow or shrink with the number of variants, whatever the model does."""
    sizes = [float(one.variants[1].mean()) for one in pair]
    if max(sizes) > 1.05 * min(sizes):
        told = " and ".join(f"{size:.1f} in {name}" for size, name in zip(sizes, names, strict=True))
        warnings.warn(
            f"problems have {told} variants on average: p_c, pa, r_r and r_s depend on that; p_c_distinct, pa(of=...), "
            "r_r_at and r_s_at do not",
            stacklevel=3,
        )


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
    return replace(
        like,
        signature=like.signature.partition(" difference=")[0]
        + f" test=t({'paired' if paired else 'unpaired'}, over models)",
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


def _refuse(out: str | Path | None) -> None:
    if out:
        tables.refuse_unwritable(out)


def _finished(found: list[Difference], out: str | Path | None) -> list[Difference]:
    """Adjust the p-values for all differences together, and write them."""
    told = [place for place, one in enumerate(found) if one.p_swap is not None]
    if not told:
        raise BadInput("nothing to compare", fix="give answers to the same originals and variants, in two clusters")
    ways = {"p_bonferroni": "bonferroni", "p_holm": "holm", "p_bh": "benjamini-hochberg"}
    p = [found[place].p_swap for place in told]
    adjusted = {name: adjust(p, way).tolist() for name, way in ways.items()}  # type: ignore[arg-type]
    for i, place in enumerate(told):
        found[place] = replace(found[place], **{name: values[i] for name, values in adjusted.items()})
    if out:
        tables.write([pl.DataFrame([asdict(one) for one in found], infer_schema_length=None)], out)
    return found
