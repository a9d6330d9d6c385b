"""Do two groups of variants differ, for the same model? Matched on their problems, or as samples of different ones."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ._version import __version__
from .choices import Settings, choose, deal
from .comparison import finished
from .differences import Difference, differences
from .errors import BadInput
from .metrics.metric import as_metric
from .metrics.pairing import Side, Source, load, two_groups
from .metrics.parting import PARTS, Part
from .metrics.splitting import is_original
from .metrics.table import Answers
from .problem import Task, get_task
from .progress import current
from .significance.means import t_test
from .storage import tables

Array = npt.NDArray[Any]


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
