"""Sources: from what the user names (a file, `-`, `snli:FILE`, `everyday`) to one checked stream of rows."""

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import polars as pl

from ..errors import BadInput, UnknownName
from ..frames import to_frame
from ..problem import Task, get_task
from ..registry import Bound, datasets
from ..storage.files import write_text
from .intake import Intake, ProblemRow
from .records import Record

#: The reader for each file ending.
ENDINGS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet"}


def find(name: str) -> Bound:
    """Find the data set that a user names.

    An existing file or folder is read by its ending; anything else must be a registered data set with its options.
    """
    path = Path(name)
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


def plain_records(path: Path) -> Iterator[Record]:
    """Read the rows of a plain table in the format of its ending; a row that cannot be read raises."""
    kind = ENDINGS.get(path.suffix.lower())
    if kind is None:
        raise BadInput("has an unknown format", where=str(path), fix="use .jsonl, .csv, .tsv or .parquet")
    for record in datasets.make(f"{kind}:{path}").function():
        if record.error:
            raise BadInput(record.error, where=record.where, fix="repair the row, or leave it out")
        yield record


def load(
    *names: str,
    task: str | Task | Mapping[str, Any] = "",
    columns: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    skip_bad: bool = False,
) -> pl.DataFrame:
    """Read problems, or a suite of problems and variants, as a table that every stage takes.

    >>> load("everyday").columns
    ['id', 'of', 'how', 'premise', 'hypothesis', 'label', 'cluster', 'topic', 'split']
    """
    source = Source(names, task, columns or {}, labels or {}, skip_bad)
    rows = list(source)
    if rejected := source.intake.rejected:
        warnings.warn(f"left out {len(rejected)} rows, the first: {rejected[0]['reason']}", stacklevel=2)
    return to_frame(rows, source.chosen)


@dataclass
class Source:
    """One or more data sets read as one, with the user's names for columns and labels."""

    names: Sequence[str]
    task: str | Task | Mapping[str, Any] = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    skip_bad: bool = False
    gold: Literal["all or none", "all", "any"] = "all or none"

    def __post_init__(self) -> None:
        if not self.names:
            raise BadInput("no data named", fix="name a file or a data set (otherwords list datasets)")
        self.bound = [find(name) for name in self.names]
        tasks = {bound.function.task for bound in self.bound} - {""}
        if not self.task and len(tasks) > 1:
            message = f"the data sets have different tasks: {', '.join(sorted(tasks))}"
            raise BadInput(message, fix="read them separately")
        self.chosen = get_task(self.task or (tasks.pop() if tasks else "nli"))
        translations = dict(pair for bound in self.bound for pair in dict(bound.function.labels).items())
        self.intake = Intake(self.chosen, self.columns, {**translations, **self.labels}, self.skip_bad, self.gold)

    def __iter__(self) -> Iterator[ProblemRow]:
        return self.intake.rows(chain.from_iterable(bound.function() for bound in self.bound))

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
        return [[bound.signature for bound in self.bound], options, task]
