"""Sources: from what the user names (a file, `-`, `snli:FILE`, `everyday`) or a table to one checked stream of rows."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import polars as pl

from ..errors import BadInput, UnknownName
from ..frames import Piece
from ..problem import Task, get_task
from ..registry import Bound, Plugin, datasets
from ..storage.files import write_text
from ..storage.in_memory import AnyTable, as_rows, texts_by_text
from .columns import pieces
from .intake import Intake, ProblemRow, usual_options
from .records import BATCH, Dataset, Record, RecordBatch, frame_batches, in_batches

#: The column that says which of several data sets a row is from.
SOURCE = "source"
#: How the name of a table in memory begins.
MEMORY = "memory#"
#: The reader for each file ending.
ENDINGS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet"}
#: The name of a file, a folder or a data set; a Run stands for its folder.
Name = str | os.PathLike[str]


def find(name: Name | AnyTable) -> Bound:
    """Find the data set that a user names, or take the table that is given instead.

    An existing file or folder is read by its ending; any other name must be a registered data set with its options.
    """
    if not isinstance(name, str | os.PathLike):
        return _of_table(name)
    name = os.fspath(name)
    path = Path(name)
    if not name:  # a shell's variable that is not set; as a path, it would be the current folder
        raise BadInput("the name of a file is empty", fix="name a file or a data set")
    if name == "-":
        return datasets.make("jsonl:-")
    if path.suffix in ENDINGS and not datasets.has(name) and (path.exists() or ":" not in name):
        return datasets.make(f"{ENDINGS[path.suffix]}:{name}")
    if path.is_dir() and any(path.rglob("*.parquet")):
        return datasets.make(f"parquet:{name}")
    if datasets.has(name):
        return datasets.make(name)
    if path.exists():
        fix = f"use {', '.join(ENDINGS)}, or name a layout, as in snli:{name}"
        raise BadInput("has an unknown format", where=name, fix=fix)
    names = ", ".join(plugin.name for plugin in datasets)
    raise UnknownName(f"no file and no data set {name!r}; data sets: {names} (as in snli:FILE)")


def memory_name(table: pl.DataFrame | list[dict[str, Any]]) -> str:
    """What a table in memory is called: the same for the same columns and rows, everywhere.

    >>> memory_name(pl.DataFrame({"id": [1]}))
    'memory#72c77beb0e0e'
    """
    if isinstance(table, list):
        return f"{MEMORY}{hashlib.sha256(repr(table).encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"
    state = hashlib.sha256(json.dumps([[name, str(kind)] for name, kind in table.schema.items()]).encode())
    for some in table.iter_slices(10_000):
        state.update(some.write_ndjson().encode("utf-8", "surrogatepass"))
    return f"{MEMORY}{state.hexdigest()[:12]}"


def _of_table(table: AnyTable) -> Bound:
    """A table in memory as a data set, signed by its content."""
    kept = table if isinstance(table, pl.DataFrame) else list(as_rows(table))  # once: it may be an iterator

    def read() -> Iterator[Record]:
        return (Record(f"the table, row {number}", row) for number, row in enumerate(as_rows(kept), 1))

    def columns() -> Iterator[RecordBatch]:
        if isinstance(kept, pl.DataFrame):
            return frame_batches(kept.iter_slices(BATCH), "the table, row")
        return in_batches(read())

    return Bound(Plugin("memory", 1, lambda: None), memory_name(kept), Dataset(read, columns=columns))


def files_of(names: Any) -> list[str | Path]:
    """All files and folders behind what a user names as data: itself, and those that a data set reads."""
    several = names if isinstance(names, (list, tuple)) else [names]
    plain = [os.fspath(one) for one in several if isinstance(one, (str, os.PathLike))]
    return [*plain, *(file for one in plain for file in datasets.files(one))]


def plain_records(path: Path) -> Iterator[Record]:
    """Read the rows of a plain table in the format of its ending; a row that cannot be read raises."""
    kind = ENDINGS.get(path.suffix.lower())
    if kind is None:
        raise BadInput("has an unknown format", where=str(path), fix="use .jsonl, .csv, .tsv or .parquet")
    for record in datasets.make(f"{kind}:{path}").function():
        if record.error:
            raise BadInput(record.error, where=record.where, fix="repair the row, or leave it out")
        yield record


@dataclass
class Source:
    """One or more data sets read as one, with the user's names for columns and labels.

    Where several are `marked`, a column `source` says which of them a row is from, unless the row says so itself.
    """

    names: Sequence[Name | AnyTable]
    task: str | Task | Mapping[str, Any] = ""
    columns: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[Any, str] = field(default_factory=dict)
    skip_bad: bool = False
    gold: Literal["all or none", "all", "any"] = "all or none"
    options: Mapping[str, str] = field(default_factory=usual_options)
    marked: bool = False

    def __post_init__(self) -> None:
        if not self.names:
            raise BadInput("no data named", fix="name a file or a data set (otherwords list datasets)")
        self.columns, self.labels = texts_by_text(self.columns, "columns"), texts_by_text(self.labels, "labels")
        self.bound = [find(name) for name in self.names]
        tasks = {bound.function.task for bound in self.bound} - {""}
        if not self.task and len(tasks) > 1:
            message = f"the data sets have different tasks: {', '.join(sorted(tasks))}"
            raise BadInput(message, fix="read them separately")
        self.chosen = get_task(self.task or (tasks.pop() if tasks else "nli"))
        translations = dict(pair for bound in self.bound for pair in dict(bound.function.labels).items())
        known = {**translations, **self.labels}
        self.intake = Intake(self.chosen, self.columns, known, self.skip_bad, self.gold, options=self.options)

    def __iter__(self) -> Iterator[ProblemRow]:
        if self._several:
            return self.intake.rows(record for batch in self._batches() for record in batch.records())
        return self.intake.rows(chain.from_iterable(bound.function() for bound in self.bound))

    @property
    def _several(self) -> bool:
        return self.marked and len(self.bound) > 1

    def pieces(self) -> Iterator[Piece]:
        """The same rows as tables, checked in whole columns, or as lists where rows had to be looked at."""
        return pieces(self.intake, self._batches())

    def _batches(self) -> Iterator[RecordBatch]:
        if not self._several:
            return chain.from_iterable(bound.function.batches() for bound in self.bound)
        named = zip(source_names(self.names, self.bound), self.bound, strict=True)
        return (marked_batch(batch, name) for name, bound in named for batch in bound.function.batches())

    @contextmanager
    def rejected_to(self, folder: Path) -> Iterator[None]:
        """Write the rejected rows also when the block raises, such as when no row is left."""
        try:
            yield
        except BadInput:
            if self.intake.rejected:
                self.write_rejected(folder)
            raise

    def write_rejected(self, folder: Path) -> Path:
        """Write every rejected row with its reason to rejected.jsonl."""
        path = folder / "rejected.jsonl"
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in self.intake.rejected)
        write_text(path, text.encode("utf-8", "backslashreplace").decode())  # half a surrogate pair stays an escape
        return path

    @property
    def signature(self) -> list[Any]:
        """Everything that decides which rows come out, except the content of standard input."""
        options = [sorted(self.columns.items()), sorted(self.labels.items()), self.skip_bad]
        chosen = self.chosen
        task = [chosen.fields, chosen.labels, chosen.targets, chosen.optional, chosen.cluster]
        marks = [source_names(self.names, self.bound)] if self._several else []
        return [[bound.signature for bound in self.bound], options, task, *marks]


def source_names(names: Sequence[Any], bound: Sequence[Bound]) -> list[str]:
    """What data sets are called in the column `source`: after their file or folder, else their name; all different.

    >>> source_names(["a/dev.jsonl", "everyday"], [find("a/dev.jsonl"), find("everyday")])
    ['dev', 'everyday']
    """
    short = [_short_name(name, one, place) for place, (name, one) in enumerate(zip(names, bound, strict=True), 1)]
    shared = {name for name in short if short.count(name) > 1}
    found = [
        str(given) if name in shared and isinstance(given, str | os.PathLike) else name
        for name, given in zip(short, names, strict=True)
    ]
    return [f"{name} ({place})" if found.count(name) > 1 else name for place, name in enumerate(found, 1)]


def _short_name(name: Any, bound: Bound, place: int) -> str:
    if not isinstance(name, str | os.PathLike):
        return f"table {place}"
    if Path(name).is_dir():
        return Path(name).parent.name if Path(name).name in ("problems", "buckets") else Path(name).name
    files = bound.function.files
    return files[0].stem if len(files) == 1 and str(files[0]) != "-" else bound.plugin.name


def marked_batch(batch: RecordBatch, name: str) -> RecordBatch:
    """The records with the name of their data set in `source`, unless they have such a column themselves."""

    def records() -> Iterator[Record]:
        return (one._replace(row={**one.row, SOURCE: one.row.get(SOURCE, name)}) for one in batch.records())

    if batch.frame is None or SOURCE in batch.frame.columns:
        return RecordBatch(records) if batch.frame is None or batch.rows is not None else batch
    rows = None if batch.rows is None else [{**row, SOURCE: name} for row in batch.rows]
    return RecordBatch(records, batch.frame.with_columns(pl.lit(name).alias(SOURCE)), rows)
