"""Partitions: disjoint parts of the data that share no premise-hypothesis pair, so that nothing leaks between them.

ParaNLU divides its training data into three (section 4.1): a tenth trains the model that embeds problems for AFLite,
5.5 per cent of the pairs are the pool that problems are drawn from, and the rest trains the analysed model.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from ..datasets.source import Name, files_of
from ..errors import BadInput, setting
from ..problem import Task
from ..storage import tables
from ..storage.in_memory import AnyTable
from .rows import add_column, in_random_order, linked_clusters, read_rows

#: The shares of the released code, and the least number of problems of the embedder's part.
PARANLU: dict[str, float | None] = {"embedder": 0.1, "pool": 0.055, "rest": None}
PARANLU_LEAST = {"embedder": 5_000}
#: The column that says in which part a row is.
PART = "part"


class PartSize(NamedTuple):
    """A part: its share of clusters as asked for (None: what is left), and the clusters, problems and rows it has."""

    name: str
    share: float | None
    clusters: int
    problems: int
    rows: int


class Partition(NamedTuple):
    """All rows that are in a part, with a column `part`; what each part has; how many rows are in none."""

    table: pl.DataFrame
    parts: tuple[PartSize, ...]
    left_out: int


def partition(
    data: AnyTable | Name | Sequence[Name],
    parts: Mapping[str, float | None] | None = None,
    *,
    at_least: Mapping[str, float] | None = None,
    seed: int = 1,
    task: str | Task | Mapping[str, Any] = "",
    columns: Mapping[str, str | int] | None = None,
    labels: Mapping[Any, str] | None = None,
    out: str | Path | None = None,
    rejected: str | Path | None = None,
) -> Partition:
    """Divide data into named parts, of which no two share a cluster; by default as ParaNLU did.

    `parts` gives each its share of the clusters; one may have None, and gets what is left. `at_least` gives parts a
    least number of problems, for which clusters are added. What belongs together (`rows.linked_clusters`) stays so. The
    draw depends on the seed and the texts alone. `out` is a file for all rows, or one for each part, with {part} in
    its name.

    >>> rows = [{"premise": f"P{n // 2}.", "hypothesis": f"H{n}.", "label": "neutral"} for n in range(20)]
    >>> [(one.name, one.clusters, one.rows) for one in partition(rows, {"pool": 0.2, "rest": None}).parts]
    [('pool', 2, 4), ('rest', 8, 16)]
    """
    least = dict(at_least or (PARANLU_LEAST if parts is None else {}))
    parts = PARANLU if parts is None else parts
    _refuse_wrong_parts(parts, least)
    outs = _outputs(out, list(parts), data)
    rows, chosen = read_rows(data, task, columns, labels, rejected)
    cluster = linked_clusters(rows, chosen)
    problems = rows.select(cluster, pl.col("of").is_null().alias("problem"))
    sizes = dict(problems.group_by("cluster").agg(pl.col("problem").sum()).rows())
    order = in_random_order(list(sizes), seed)
    counts = _counts(parts, least, [sizes[name] for name in order])
    names = [name for name, count in counts.items() for _ in range(count)]
    known = pl.Series(names, dtype=pl.String)
    part = cluster.replace_strict(order[: len(names)], known, default=None, return_dtype=pl.String).alias(PART)
    divided = add_column(rows, part).with_columns(cluster.alias("\0cluster")).filter(pl.col(PART).is_not_null())
    found = tuple(_describe(divided.filter(pl.col(PART) == name), name, share) for name, share in parts.items())
    divided = divided.drop("\0cluster")
    for path, name in outs.items():
        tables.write([divided if name is None else divided.filter(pl.col(PART) == name)], path)
    return Partition(divided, found, rows.height - divided.height)


def _describe(own: pl.DataFrame, name: str, share: float | None) -> PartSize:
    return PartSize(name, share, own["\0cluster"].n_unique(), own["of"].null_count(), own.height)


def _refuse_wrong_parts(parts: Mapping[str, float | None], least: Mapping[str, float]) -> None:
    option = setting("--part", "parts")
    if not parts:
        raise BadInput("no parts named", field=option, fix="give two or more: embedder=0.1, pool=0.055, rest")
    for name, share in parts.items():
        if not name.strip() or any(mark in name for mark in "/\\\0"):
            raise BadInput(f"found the name {name!r}", field=option, fix="use a name that a file may have")
        if share is not None and not 0 < share <= 1:
            fix = "give a share of the clusters above 0 and up to 1, or none for the rest"
            raise BadInput(f"found {share:g} for {name}", field=option, fix=fix)
    if len(open_ended := [name for name, share in parts.items() if share is None]) > 1:
        message = f"{' and '.join(open_ended)} have no share"
        raise BadInput(message, field=option, fix="leave out the share of one part: it gets the rest")
    total = math.fsum(share for share in parts.values() if share is not None)
    if total > 1 + 1e-9 or (open_ended and total > 1 - 1e-9):
        more = f", which leaves nothing for {open_ended[0]}" if open_ended else ""
        raise BadInput(f"the shares sum to {total:g}{more}", field=option, fix="give shares that sum to less")
    option = setting("--at-least", "at_least")
    for name, number in least.items():
        if name not in parts:
            raise BadInput(f"no part {name!r}", field=option, fix=f"name one of {', '.join(parts)}")
        if not (1 <= number < math.inf and number == int(number)):
            raise BadInput(f"found {number:g} for {name}", field=option, fix="give a number of problems")


def _outputs(out: str | Path | None, parts: Sequence[str], data: Any) -> dict[str, str | None]:
    """The files that are written, and the part that each is for; None for all."""
    if not out:
        return {}
    found: dict[str, str | None] = {str(out): None}
    if "{part}" in str(out):
        found = {str(out).replace("{part}", name): name for name in parts}
    for path in found:
        tables.refuse_unwritable(path, *files_of(data))
    return found


def _counts(parts: Mapping[str, float | None], least: Mapping[str, float], sizes: Sequence[int]) -> dict[str, int]:
    """How many clusters each part gets, one part after the other; `sizes` has the problems of each, in their order.

    Shares are rounded as they add up, so that those of all clusters use up all clusters.
    """
    counts, option = {}, setting("--part", "parts")
    total, before = len(sizes), np.concatenate([[0], np.cumsum(sizes)])
    last = next((name for name, share in parts.items() if share is None), "")
    begin, sum_of_shares = 0, 0.0
    for name, share in sorted(parts.items(), key=lambda one: one[0] == last):
        wanted = round((sum_of_shares + (share or 0)) * total) - round(sum_of_shares * total)
        sum_of_shares += share or 0
        enough = int(np.searchsorted(before, before[begin] + least.get(name, 0)))
        end = max(begin + wanted, enough) if share is not None else max(total, enough)
        if end > total:
            message = f"{name} has too few clusters: {total - begin:,} of {total:,} are left for it"
            message += f", with {before[-1] - before[begin]:,} problems"
            raise BadInput(message, field=option, fix="give smaller shares or least numbers, or more data")
        if end == begin:
            message = f"{name} is empty: {total:,} clusters cannot be divided so"
            raise BadInput(message, field=option, fix="give it a larger share, the others less, or more data")
        counts[name], begin = end - begin, end
    return counts
