"""A file of rewordings sorted by original, on disk, so that memory stays flat whatever its size."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ..datasets.records import Record
from ..datasets.rewordings import Rewording, text_key, told
from ..datasets.source import plain_records
from ..errors import BadInput, shorten
from ..problem import Problem
from ..storage.files import fingerprint
from ..storage.scratch import Scratch
from .formats import NATIVE, READERS, recognised

Entry = tuple[str, str, str]
#: Columns that say that a variant is no rewording, which a recorded one is.
_MARKS = ("contrast", "control")


class Found(NamedTuple):
    """A row that rewords some problem: its number among the variants of the file, its place there, what it says."""

    number: int
    place: str
    row: dict[str, Any]


def opened(path: Path, said: str = "") -> Book:
    """The book of a file. A run makes its generators more than once: the same content is sorted, and told of, once."""
    return _opened(path, said, fingerprint(path) if path.is_file() or path.is_dir() else "")


class Book:
    """Rows by the original they reword: by its id where the file has it, else by its texts."""

    def __init__(self, path: Path, said: str = "") -> None:
        self.path, self.format = path, recognised(path, said)
        self._fields: set[tuple[str, ...]] = set()  # which texts originals are known by, in this file
        self._rows = Scratch()
        self._rows.execute("create table recorded (original text, place text, row text)")
        self._rows.execute("begin")
        entries = map(_by_id, _rows(path)) if self.format == NATIVE else self._by_text()
        self._rows.executemany("insert into recorded values (?, ?, ?)", entries)
        self._rows.execute("create index by_original on recorded (original)")

    def find(self, problem: Problem) -> Iterator[Found]:
        """The rows that reword a problem."""
        yield from self._look_up(f"id {problem.id}")
        for names in sorted(self._fields):
            if names == ("",):
                for target in problem.task.targets:
                    yield from self._look_up(_key({"": problem.text[target]}), target)
            elif set(names) <= set(problem.task.fields):
                yield from self._look_up(_key({name: problem.text[name] for name in names}))

    def __len__(self) -> int:
        return int(self._rows.execute("select count(*) from recorded").fetchone()[0])

    def _look_up(self, key: str, target: str = "") -> Iterator[Found]:
        query = "select rowid, place, row from recorded where original = ? order by rowid"
        for number, place, text in self._rows.execute(query, (key,)).fetchall():
            row = json.loads(text)
            if target:
                row[target] = row.pop("")
            yield Found(number, place, row)

    def _by_text(self) -> Iterator[Entry]:
        for one in told(READERS[self.format](self.path), self.path):
            if one.error:
                raise BadInput(one.error, where=one.where, fix="repair the entry, or leave it out")
            if not one.reason:
                label = {} if one.label is None else {"label": one.label}
                row = _unmarked({**one.extra, **one.reworded, **label}, one.where)
                yield self._entry(one), one.where, json.dumps(row, default=str)

    def _entry(self, one: Rewording) -> str:
        if one.of:
            return f"id {one.of}"
        self._fields.add(tuple(sorted(one.original)))
        return _key(one.original)


@lru_cache(maxsize=4)
def _opened(path: Path, said: str, content: str) -> Book:
    return Book(path, said)


def _key(texts: Mapping[str, str]) -> str:
    return f"text {text_key(texts)}"


def _rows(path: Path) -> Iterator[Record]:
    """The rows of a table of our own; between commas and tabs, nothing is how a row lacks a field."""
    lacks_nothing = path.suffix.lower() not in (".csv", ".tsv")
    for record in plain_records(path):
        row = record.row if lacks_nothing else {name: value for name, value in record.row.items() if value != ""}
        yield record._replace(row=row)


def _by_id(record: Record) -> Entry:
    original = "" if record.row.get("of") is None else str(record.row["of"]).strip()
    if not original:
        raise BadInput("found nothing", where=record.where, field="of", fix="name the original's id")
    return f"id {original}", record.where, json.dumps(_unmarked(record.row, record.where), default=str)


def _unmarked(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A row without the marks of contrasts and controls, which must be empty."""
    for name in _MARKS:
        if row.get(name) is not None and str(row[name]).strip():
            fix = "a recorded row is a rewording: contrasts come with their originals, as data (--data), controls too"
            raise BadInput(f"found {shorten(row[name])}", where=where, field=name, fix=f"{fix}; else rename the column")
    return {name: value for name, value in row.items() if name not in _MARKS}
