"""A suite of originals and variants, however the user names it: a table, a run folder, or files and data sets."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from ..errors import BadInput
from ..frames import to_frame
from ..problem import Task, get_task
from ..storage.run_folder import RunFolder
from .intake import Intake, ProblemRow
from .records import Record
from .source import Source

#: What a user may name: a table, a path, or several paths and data sets that are read as one.
SuiteName = pl.DataFrame | str | Path | Sequence[str | Path]


@dataclass(frozen=True)
class Suite:
    """A suite whose rows pass the intake when they are read.

    `names` is what the user named, `runs` the run folders among it. A table has neither, and no `source`.
    """

    task: Task
    intake: Intake
    rows: Iterable[ProblemRow]
    source: Source | None = None
    names: tuple[str, ...] = ()
    runs: tuple[RunFolder, ...] = ()

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return ", ".join(self.names) or "the suite"

    def table(self) -> pl.DataFrame:
        """All rows as one table."""
        rows = list(self.rows)
        if rejected := self.intake.rejected:
            warnings.warn(f"left out {len(rejected)} rows, the first: {rejected[0]['reason']}", stacklevel=2)
        return to_frame(rows, self.task)


def open_suite(
    suite: SuiteName,
    task: str | Task | Mapping[str, Any] = "",
    columns: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    skip_bad: bool = False,
) -> Suite:
    """Open a suite. A run folder stands for its buckets, and its manifest names the task unless `task` does."""
    if isinstance(suite, pl.DataFrame):
        intake = Intake(get_task(task or "nli"), columns or {}, labels or {}, skip_bad)
        records = (Record(f"the suite, row {i}", row) for i, row in enumerate(suite.iter_rows(named=True), 1))
        return Suite(intake.task, intake, intake.rows(records))
    names = [str(suite)] if isinstance(suite, (str, Path)) else list(map(str, suite))
    source = open_source(names, task, columns, labels, skip_bad)
    return Suite(source.chosen, source.intake, source, source, tuple(names), tuple(_runs(names).values()))


def open_source(
    names: Sequence[str | pl.DataFrame],
    task: str | Task | Mapping[str, Any] = "",
    columns: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    skip_bad: bool = False,
    *,
    stage: str = "buckets",
) -> Source:
    """Files and data sets read as one; a run folder stands for one of its stages, and its manifest names the task."""
    runs = _runs(names)
    for run in runs.values():
        if not run.parts(stage):
            fix = f"continue the run first: otherwords run {run.path}"
            raise BadInput(f"is a run folder without {stage}", where=str(run.path), fix=fix)
    tasks = [run.manifest["task"] for run in runs.values() if "task" in run.manifest]
    files = [f"{name}/{stage}" if isinstance(name, str) and name in runs else name for name in names]
    return Source(files, task or next(iter(tasks), ""), columns or {}, labels or {}, skip_bad)


def _runs(names: Sequence[str | pl.DataFrame]) -> dict[str, RunFolder]:
    """The run folders among what a user names; one whose manifest was lost is known by its buckets."""
    folders = {name: RunFolder(name) for name in names if isinstance(name, str) and Path(name).is_dir()}
    return {name: one for name, one in folders.items() if one.is_run() or (one.path / "buckets").is_dir()}
