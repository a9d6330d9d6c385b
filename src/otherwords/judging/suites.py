"""The suite of a circularity report: originals and rewordings, less what checks of another kind dropped before.

Verdicts of mutual entailment are what the report compares: were they to choose the variants, "no judge" would be one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from ..datasets.source import Source
from ..errors import BadInput
from ..frames import completed, is_unmarked, to_frame
from ..problem import Task, get_task
from ..registry import split_name
from ..storage.run import RunFolder
from .findings import Earlier

Suite = pl.DataFrame | str | Path
#: The check whose verdicts are given anew here.
CHECK = "mutual-entailment"


def read_suite(
    suite: Suite | Sequence[str | Path], task: str | Task | Mapping[str, Any]
) -> tuple[pl.DataFrame, Task, Earlier]:
    """The problems of a suite and their rewordings, and what earlier checks said of these.

    Columns of verdicts are left out, those of judges from an earlier report too: their names are this one's.
    """
    table, chosen, kinds = _read(suite, task)
    rewordings = table.filter(is_unmarked(table.columns, "contrast", "control"))
    names = [name.removeprefix("check:") for name in table.columns if re.fullmatch("check:[^:]+", name)]
    judged = [name for name in names if kinds.get(name, name) == CHECK or f"check:{name}:by" in table.columns]
    others = [name for name in names if name not in judged]
    left = rewordings.filter(~_dropped(others))
    earlier = Earlier(
        rewordings["of"].count(),
        rewordings["of"].count() - left["of"].count(),
        _counts(rewordings, others),
        _counts(left, judged),
    )
    _refuse_unfit(left, earlier)
    return left.drop("^check:.*$", "^accepted:.*$"), chosen, earlier


def _read(
    suite: Suite | Sequence[str | Path], task: str | Task | Mapping[str, Any]
) -> tuple[pl.DataFrame, Task, dict[str, str]]:
    """A suite as a table, its task, and of run folders which check each name stands for."""
    if isinstance(suite, pl.DataFrame):
        chosen = get_task(task or "nli")
        return completed(suite, chosen), chosen, {}
    names = [str(suite)] if isinstance(suite, (str, Path)) else list(map(str, suite))
    runs = {name: RunFolder(name).manifest for name in names if (Path(name) / "buckets").is_dir()}
    told = [manifest.get("task", "") for manifest in runs.values()]
    source = Source([f"{name}/buckets" if name in runs else name for name in names], task or next(iter(told), ""))
    kinds = [_kind(title) for manifest in runs.values() for title in manifest.get("signatures", {}).get("check", ())]
    return to_frame(list(source), source.chosen), source.chosen, dict(kinds)


def _kind(title: str) -> tuple[str, str]:
    """The name of a check, and the plug-in it is.

    >>> _kind("mutual-entailment.v1(threshold=0.0)#nli-small.v1()"), _kind("me=surface.v1(least=0.3)")
    (('mutual-entailment', 'mutual-entailment'), ('me', 'surface'))
    """
    name, signature = split_name(title)
    plugin = re.split(r"\.v\d|[(:#]", signature)[0]
    return (plugin if name == title else name), plugin


def _dropped(checks: Sequence[str]) -> pl.Expr:
    return pl.any_horizontal(pl.lit(False), *(~pl.col(f"check:{name}").fill_null(True) for name in checks))


def _counts(table: pl.DataFrame, checks: Sequence[str]) -> dict[str, int]:
    """How many variants each check dropped; one that dropped none is not told."""
    variants = table.filter(pl.col("of").is_not_null())
    counts = {name: variants.filter(_dropped([name])).height for name in checks}
    return {name: count for name, count in counts.items() if count}


def _refuse_unfit(left: pl.DataFrame, earlier: Earlier) -> None:
    if not left["of"].count():
        fix = "name originals and variants that are no controls: a file of vary --suite, two files, or a run folder"
        why = f": earlier checks dropped all {earlier.variants:,}" if earlier.dropped else ""
        raise BadInput(f"there are no variants to judge{why}", fix=fix)
    if unlabelled := left.filter(pl.col("label").is_null())["id"].to_list():
        raise BadInput(f"{unlabelled[0]} has no right answer", field="label", fix="give one for every problem")
