"""What all selections share: the rows that are selected from, which of them belong together, and a seeded order."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..datasets.source import Name
from ..datasets.suite import Suite, open_source
from ..errors import BadInput
from ..problem import Task
from ..storage.files import digest
from ..storage.in_memory import AnyTable
from ..variants.resampling import draws

Array = npt.NDArray[Any]


def read_rows(
    data: AnyTable | Name | Sequence[Name],
    task: str | Task | Mapping[str, Any] = "",
    columns: Mapping[str, str | int] | None = None,
    labels: Mapping[Any, str] | None = None,
    rejected: str | Path | None = None,
) -> tuple[pl.DataFrame, Task]:
    """All rows of a table, or of files and data sets that are read as one, and their task.

    A row that cannot be used is an error; with a folder for `rejected`, it is written to rejected.jsonl there instead.
    """
    named = isinstance(data, list | tuple) and all(isinstance(one, str | Path) for one in data)
    names: Any = data if named else [data]
    source = open_source(names, task, columns, labels, rejected is not None, stage="problems")
    if rejected is None:
        return Suite(source.chosen, source.intake, source.pieces()).table(), source.chosen
    with source.rejected_to(Path(rejected)):
        rows = Suite(source.chosen, source.intake, source.pieces()).table()
    if source.intake.rejected:
        source.write_rejected(Path(rejected))
    return rows, source.chosen


def read_problems(
    data: AnyTable | Name | Sequence[Name],
    task: str | Task | Mapping[str, Any] = "",
    columns: Mapping[str, str | int] | None = None,
    labels: Mapping[Any, str] | None = None,
    rejected: str | Path | None = None,
) -> tuple[pl.DataFrame, Task]:
    """The same where all rows must be problems with a right answer."""
    rows, chosen = read_rows(data, task, columns, labels, rejected)
    refuse_rewordings(rows)
    refuse_unlabelled(rows)
    return rows, chosen


def refuse_rewordings(rows: pl.DataFrame) -> None:
    """Refuse rewordings among the rows, where only problems can be selected."""
    if rows["of"].null_count() < rows.height:
        name, of = rows.filter(pl.col("of").is_not_null()).select("id", "of").row(0)
        raise BadInput(f"{name!r} is a rewording of {of!r}, not a problem", field="of", fix="give the problems alone")


def refuse_unlabelled(rows: pl.DataFrame) -> None:
    """Refuse problems without a right answer."""
    if rows["label"].null_count():
        name = rows.filter(pl.col("label").is_null())["id"][0]
        fix = "give every problem its right answer, or name its column with --field label=COLUMN (columns=)"
        raise BadInput(f"{name!r} has no label", field="label", fix=fix)


def refuse_missing(rows: pl.DataFrame, names: Sequence[str], fix: str = "") -> None:
    """Refuse columns that the rows do not have, or have no value for."""
    for name in names:
        if name not in rows.columns:
            raise BadInput("no such column", field=name, fix=f"{fix or 'name one of'}: {', '.join(rows.columns)}")
        blank = rows[name].cast(pl.String).str.strip_chars().fill_null("") == ""
        if blank.any():
            row = rows.filter(blank)["id"][0]
            raise BadInput(f"{row!r} has no value", field=name, fix="fill the column, or leave such rows out")


def add_column(rows: pl.DataFrame, values: pl.Series) -> pl.DataFrame:
    """The rows with a column more; one that they have under that name is kept as `input_<name>`."""
    free = f"input_{values.name}"
    while free in rows.columns:
        free = f"input_{free}"
    return (rows.rename({values.name: free}) if values.name in rows.columns else rows).with_columns(values)


def linked_clusters(rows: pl.DataFrame, task: Task) -> pl.Series:
    """The cluster of each row: rows in different clusters share neither `cluster`, nor context, nor original.

    The context is what a task's problems share (the premise; premise and hypothesis in d-NLI; both observations in
    a-NLI), compared without case and spacing. Rows may be linked through others. A cluster is named by its content, so
    that the order of the rows does not matter.
    """
    from scipy.sparse import coo_array  # late: most commands need no scipy
    from scipy.sparse.csgraph import connected_components

    context = _contexts(rows, task)
    keys = [pl.concat_str(pl.lit("c "), pl.col("cluster")), pl.concat_str(pl.lit("t "), pl.lit(context))]
    keys += [pl.concat_str(pl.lit("i "), pl.coalesce("of", "id"))]
    places = [rows.select(key.alias("key")).to_series().drop_nulls() for key in keys]
    known = rows.select(*(key.is_not_null().alias(str(place)) for place, key in enumerate(keys)))
    numbers = pl.concat(places).rank("dense").to_numpy().astype(np.int64) - 1
    ends = np.concatenate([known[name].arg_true().to_numpy() for name in known.columns])
    size = rows.height + int(numbers.max()) + 1
    edges = coo_array((np.ones(len(ends), np.int8), (ends, rows.height + numbers)), shape=(size, size))
    found = pl.Series("cluster", connected_components(edges, directed=False)[1][: rows.height])
    named = pl.DataFrame({"cluster": found, "text": context.fill_null(rows["cluster"])})
    return named.select(pl.col("text").min().over("cluster")).to_series().alias("cluster")


def _contexts(rows: pl.DataFrame, task: Task) -> pl.Series:
    """A digest of the texts that problems share; null where they are empty."""
    plain = [pl.col(name).fill_null("").str.to_lowercase().str.replace_all(r"\s+", " ") for name in task.cluster]
    texts = rows.select(pl.concat_str([one.str.strip_chars() for one in plain], separator="\0")).to_series()
    empty = "\0" * (len(task.cluster) - 1)
    distinct = texts.unique()
    names = [None if text == empty else digest(text)[:16] for text in distinct]
    return texts.replace_strict(distinct, pl.Series(names, dtype=pl.String), return_dtype=pl.String)


def in_random_order(names: Sequence[str], seed: int) -> list[str]:
    """Distinct names in an order that the seed decides, whatever order they come in.

    >>> in_random_order(["a", "b", "c"], 1) == in_random_order(["c", "a", "b"], 1)
    True
    """
    return [name for _, name in sorted(zip(draws(names, seed).tolist(), names, strict=True))]
