"""Between tables and nouns: rows to frames, frames to Problems and Buckets, and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from .problem import Bucket, Problem, Task, Variant


def to_frame(rows: Sequence[dict[str, Any]], task: Task) -> pl.DataFrame:
    """Make a table `id, of, how, <fields>, label, cluster, <extras>`; an extra of mixed kinds becomes text."""
    main = ["id", "of", "how", *task.fields, "label", "cluster"]
    extras = list(dict.fromkeys(name for row in rows for name in row if name not in main))
    columns = {name: pl.Series(name, [row.get(name) for row in rows], dtype=pl.String) for name in main}
    for name in extras:
        columns[name] = _column(name, [row.get(name) for row in rows])
    return pl.DataFrame(columns)


def _column(name: str, values: list[Any]) -> pl.Series:
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} and kinds != {int}:
        values = [None if value is None else float(value) for value in values]
    elif len(kinds) > 1:
        values = [None if value is None else str(value) for value in values]
    return pl.Series(name, values, dtype=None if kinds else pl.String)


def problems(frame: pl.DataFrame, task: Task) -> list[Problem]:
    """Turn rows into Problems, and rows that have `of` into Variants."""
    known = {"id", "of", "how", "label", "cluster", *task.fields}
    extras = [name for name in frame.columns if name not in known and not name.startswith("check:")]
    return [_problem(row, task, extras) for row in frame.iter_rows(named=True)]


def _problem(row: dict[str, Any], task: Task, extras: list[str]) -> Problem:
    text = {name: row[name] for name in task.fields}
    extra = {name: row[name] for name in extras}
    if row.get("of") is None:
        return Problem(row["id"], task, text, row["label"], extra)
    return Variant(row["id"], task, text, row["label"], extra, of=row["of"], how=row["how"] or "")


def variant_rows(variants: Iterable[Variant], clusters: dict[str, str]) -> list[dict[str, Any]]:
    """Turn Variants into rows; they share their original's cluster."""
    return [
        {
            "id": v.id,
            "of": v.of,
            "how": v.how,
            **v.text,
            "label": v.label,
            "cluster": clusters[v.of],
            **v.extra,
        }
        for v in variants
    ]


def buckets(suite: pl.DataFrame, task: Task) -> list[Bucket]:
    """Gather a suite's rows into buckets, in the order of their originals."""
    found: dict[str, tuple[Problem, list[Variant]]] = {}
    rows = problems(suite, task)
    for row in rows:
        if not isinstance(row, Variant):
            found[row.id] = (row, [])
    for row in rows:
        if isinstance(row, Variant):
            found[row.of][1].append(row)
    return [Bucket(problem, tuple(variants)) for problem, variants in found.values()]


def kept(suite: pl.LazyFrame) -> pl.LazyFrame:
    """Rows that no check dropped. Verdicts are `check:<name>`; their reasons and scores have a second colon."""
    return suite.filter(pl.all_horizontal(pl.lit(True), pl.col("^check:[^:]+$").fill_null(True)))
