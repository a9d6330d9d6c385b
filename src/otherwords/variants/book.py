"""A file of rewordings sorted by original, on disk, so that memory stays flat whatever its size."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..datasets.records import Record
from ..datasets.rewordings import Rewording, text_key, told
from ..datasets.source import ENDINGS
from ..errors import BadInput
from ..problem import Problem
from ..registry import datasets
from ..storage.scratch import Scratch
from .formats import NATIVE, READERS, recognised

Entry = tuple[str, str, str]
Found = tuple[str, dict[str, Any]]


class Book:
    """Rows by the original they reword: by its id where the file has it, else by its texts."""

    def __init__(self, path: Path, said: str = "") -> None:
        self.path, self.format = path, recognised(path, said)
        self._fields: set[tuple[str, ...]] = set()  # which texts originals are known by, in this file
        self._met: set[int] = set()
        self._rows = Scratch()
        self._rows.execute("create table recorded (original text, place text, row text)")
        self._rows.execute("begin")
        entries = map(_by_id, _records(path)) if self.format == NATIVE else self._by_text()
        self._rows.executemany("insert into recorded values (?, ?, ?)", entries)
        self._rows.execute("create index by_original on recorded (original)")

    def find(self, problem: Problem) -> Iterator[Found]:
        """The rows that reword a problem, each with its place in the file."""
        yield from self._look_up(f"id {problem.id}")
        for names in sorted(self._fields):
            if names == ("",):
                for target in problem.task.targets:
                    yield from self._look_up(_key({"": problem.text[target]}), target)
            elif set(names) <= set(problem.task.fields):
                yield from self._look_up(_key({name: problem.text[name] for name in names}))

    def unmatched(self) -> int | None:
        """How many rows of another tool's file reworded none of the problems asked for so far.

        None for tables: their rows name their originals, and may well be about other problems, too.
        """
        if self.format == NATIVE:
            return None
        return int(self._rows.execute("select count(*) from recorded").fetchone()[0]) - len(self._met)

    def _look_up(self, key: str, target: str = "") -> Iterator[Found]:
        query = "select rowid, place, row from recorded where original = ? order by rowid"
        for number, place, text in self._rows.execute(query, (key,)).fetchall():
            row = json.loads(text)
            if self.format != NATIVE:
                self._met.add(number)
            if target:
                row[target] = row.pop("")
            yield place, row

    def _by_text(self) -> Iterator[Entry]:
        for one in told(READERS[self.format](self.path), self.path):
            if one.error:
                raise BadInput(one.error, where=one.where, fix="repair the entry, or leave it out")
            if not one.reason:
                yield self._entry(one), one.where, json.dumps({**one.extra, **one.reworded}, default=str)

    def _entry(self, one: Rewording) -> str:
        if one.of:
            return f"id {one.of}"
        self._fields.add(tuple(sorted(one.original)))
        return _key(one.original)


def _key(texts: Mapping[str, str]) -> str:
    return f"text {text_key(texts)}"


def _by_id(record: Record) -> Entry:
    if record.error:
        raise BadInput(record.error, where=record.where, fix="repair the row, or leave it out")
    original = "" if record.row.get("of") is None else str(record.row["of"]).strip()
    if not original:
        raise BadInput("found nothing", where=record.where, field="of", fix="name the original's id")
    return f"id {original}", record.where, json.dumps(record.row, default=str)


def _records(path: Path) -> Iterable[Record]:
    kind = ENDINGS.get(path.suffix)
    if kind is None:
        raise BadInput("has a format unknown here", where=str(path), fix="use .jsonl, .csv, .tsv or .parquet")
    records: Iterator[Record] = datasets.make(f"{kind}:{path}").function()
    if kind not in ("csv", "tsv"):
        return records
    # There, an empty cell is how a row lacks a field.
    return (record._replace(row={k: v for k, v in record.row.items() if v != ""}) for record in records)
