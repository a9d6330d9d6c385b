"""Variants that exist already, in a file: rewordings written by people, or by another tool."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..datasets.records import Record
from ..datasets.source import ENDINGS
from ..errors import BadInput
from ..problem import Problem, Variant, plain
from ..registry import datasets, generators
from ..storage.scratch import Scratch

#: The rewordings of the bundled problems.
EVERYDAY = Path(__file__).parents[1] / "assets" / "everyday_rewordings.jsonl"


@generators("recorded.v1")
def recorded(path: Path = EVERYDAY) -> Any:
    """Variants recorded in a file with `of` and the reworded fields (default: those of the bundled problems).

    Fields that a row lacks stay as in the original; other columns come along.
    """
    book = _index(path)

    def vary(problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant]:
        for problem in problems:
            found = book.execute("select place, row from recorded where original = ? order by rowid", (problem.id,))
            yield from (_variant(problem, place, json.loads(row)) for place, row in found.fetchall())

    return vary


def _index(path: Path) -> Scratch:
    """Sort the rows by original on disk (SQLite's private temporary file), so that memory stays flat."""
    book = Scratch()
    book.execute("create table recorded (original text, place text, row text)")
    book.execute("begin")
    book.executemany("insert into recorded values (?, ?, ?)", map(_entry, _records(path)))
    book.execute("create index by_original on recorded (original)")
    return book


def _entry(record: Record) -> tuple[str, str, str]:
    if record.error:
        raise BadInput(record.error, where=record.where, fix="repair the row, or leave it out")
    original = "" if record.row.get("of") is None else str(record.row["of"]).strip()
    if not original:
        raise BadInput("found nothing", where=record.where, field="of", fix="name the original's id")
    return original, record.where, json.dumps(record.row, default=str)


def _records(path: Path) -> Iterator[Record]:
    kind = ENDINGS.get(path.suffix)
    if kind is None:
        raise BadInput("has a format unknown here", where=str(path), fix="use .jsonl, .csv, .tsv or .parquet")
    records: Iterator[Record] = datasets.make(f"{kind}:{path}").function()
    if kind not in ("csv", "tsv"):
        return records
    # There, an empty cell is how a row lacks a field.
    return (record._replace(row={k: v for k, v in record.row.items() if v != ""}) for record in records)


def _variant(problem: Problem, where: str, row: dict[str, Any]) -> Variant:
    text = {name: row[name] for name in problem.task.fields if row.get(name) is not None}
    if not text:
        fix = f"name at least one of {', '.join(problem.task.fields)}"
        raise BadInput(f"rewords nothing: there are {', '.join(row)}", where=where, fix=fix)
    if wrong := [name for name, value in text.items() if not isinstance(value, str)]:
        raise BadInput("is not text", where=where, field=wrong[0])
    if row.get("label") is not None and plain(row["label"]) != plain(problem.label):
        found = f"found {row['label']!r} but the original {problem.id!r} says {problem.label!r}"
        raise BadInput(found, where=where, field="label", fix="a variant keeps the label of its original")
    known = {*problem.task.fields, "id", "of", "how", "label", "cluster"}
    extra = {**problem.extra, **{name: value for name, value in row.items() if name not in known}}
    variant = problem.restate(**text)
    return Variant(str(row.get("id") or ""), problem.task, variant.text, problem.label, extra, of=problem.id)
