"""A suite of originals and variants, however the user names it: a table, a run folder, or files and data sets."""

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from ..errors import BadInput, caller_level
from ..frames import Piece, join_pieces
from ..problem import Task
from ..storage.in_memory import AnyTable, as_rows
from ..storage.run_folder import RunFolder
from .intake import Intake, name_text, warn_no_majority
from .source import Name, Source

#: What a user may give: a table, a path or the name of a data set, or several names that are read as one.
SuiteName = AnyTable | Name | Sequence[Name]


@dataclass(frozen=True)
class Suite:
    """A suite whose rows pass the intake when its pieces are read.

    `names` is what the user named, `runs` the run folders among it. A table has neither, and no `source`.
    """

    task: Task
    intake: Intake
    pieces: Iterable[Piece]
    source: Source | None = None
    names: tuple[str, ...] = ()
    runs: tuple[RunFolder, ...] = ()

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return ", ".join(self.names) or "the suite"

    def table(self) -> pl.DataFrame:
        """All rows as one table."""
        whole = join_pieces(list(self.pieces), self.task)
        if rejected := self.intake.rejected:
            warnings.warn(
                f"left out {len(rejected)} rows, the first: {rejected[0]['reason']}", stacklevel=caller_level()
            )
        warn_no_majority(self.intake.no_majority)
        return whole


def open_suite(
    suite: SuiteName,
    task: str | Task | Mapping[str, Any] = "",
    columns: Mapping[str, str | int] | None = None,
    labels: Mapping[Any, str] | None = None,
    skip_bad: bool = False,
) -> Suite:
    """Open a suite. A run folder stands for its buckets, and its manifest names the task unless `task` does."""
    named = isinstance(suite, list | tuple) and all(isinstance(name, str | os.PathLike) for name in suite)
    return _open(suite if named else [suite], task, columns or {}, labels or {}, skip_bad)  # type: ignore[arg-type, list-item]


def load(
    *data: Name | AnyTable,
    task: str | Task | Mapping[str, Any] = "",
    columns: Mapping[str, str | int] | None = None,
    labels: Mapping[Any, str] | None = None,
    skip_bad: bool = False,
) -> pl.DataFrame:
    """Read problems, or a suite of problems and variants, as a table that every stage accepts.

    `data` names files, data sets or run folders, or is a table: pandas, Polars or Arrow, a list of dicts, a dict of
    columns. Several are read as one. `columns` maps the names used here to the table's, `labels` its labels to the
    task's. Rows without an id are numbered. With `skip_bad`, rows that cannot be used are left out.

    >>> load("everyday").columns
    ['id', 'of', 'how', 'premise', 'hypothesis', 'label', 'cluster', 'topic', 'split']
    >>> rows = [{"text": "It rains.", "claim": "It is wet.", "gold_label": 0}]
    >>> names = {"premise": "text", "hypothesis": "claim", "label": "gold_label"}
    >>> load(rows, columns=names, labels={0: "entailment"}).row(0)[:6]
    ('1', None, None, 'It rains.', 'It is wet.', 'entailment')
    """
    return _open(data, task, columns or {}, labels or {}, skip_bad).table()


def _open(
    data: Sequence[Name | AnyTable],
    task: str | Task | Mapping[str, Any],
    columns: Mapping[str, str | int],
    labels: Mapping[Any, str],
    skip_bad: bool,
) -> Suite:
    source = open_source(data, task, columns, labels, skip_bad)
    names = tuple(os.fspath(one) for one in data if isinstance(one, str | os.PathLike))
    if len(data) == 1 and not names:
        return Suite(source.chosen, source.intake, _in_order(source))
    return Suite(source.chosen, source.intake, source.pieces(), source, names, tuple(_runs(names).values()))


def open_source(
    data: Sequence[Name | AnyTable],
    task: str | Task | Mapping[str, Any] = "",
    columns: Mapping[str, str | int] | None = None,
    labels: Mapping[Any, str] | None = None,
    skip_bad: bool = False,
    *,
    stage: str = "buckets",
    marked: bool = False,
) -> Source:
    """Files and data sets read as one; a run folder stands for one of its stages, and its manifest names the task.

    Where several are `marked`, a column `source` says which of them a row is from.
    """
    names = [os.fspath(one) if isinstance(one, str | os.PathLike) else one for one in data]
    if sum(isinstance(name, str) and name == "-" for name in names) > 1:
        raise BadInput("is given twice", where="-", fix="name standard input once: it can be read but once")
    runs = _runs(names)
    for run in runs.values():
        if not run.parts(stage):
            fix = f"continue the run first: otherwords run {run.path}"
            raise BadInput(f"is a run folder without {stage}", where=str(run.path), fix=fix)
    tasks = [run.manifest["task"] for run in runs.values() if "task" in run.manifest]
    files = [f"{name}/{stage}" if isinstance(name, str) and name in runs else name for name in names]
    columns = {} if columns is None else columns
    return Source(files, task or next(iter(tasks), ""), columns, labels or {}, skip_bad, marked=marked)


def _runs(names: Sequence[Any]) -> dict[str, RunFolder]:
    """The run folders among what a user names; one whose manifest was lost is known by its buckets."""
    folders = {name: RunFolder(name) for name in names if isinstance(name, str) and Path(name).is_dir()}
    return {name: one for name, one in folders.items() if one.is_run() or (one.path / "buckets").is_dir()}


def _in_order(source: Source) -> Iterator[Piece]:
    """The checked rows of a table in the table's own order, so that what is set beside it stays beside it."""
    pieces = list(source.pieces())
    if source.intake.reordered:
        name = source.columns.get("id", "id")
        records = enumerate(source.bound[0].function(), 1)
        places = {name_text(record.row.get(name, number)): number for number, record in records}
        rows = [row for piece in pieces for row in as_rows(piece)]
        pieces = [sorted(rows, key=lambda row: places[row["id"]])]
    yield from pieces
