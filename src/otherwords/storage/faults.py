"""What is wrong with a table that cannot be read: which line, which field, what was found, what would work."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable
from pathlib import Path

from ..errors import BadInput, shorten

_MARK = b"\xef\xbb\xbf"


def without_mark(source: Path | bytes) -> Path | bytes:
    """Give a text without the byte order mark that Windows puts before it.

    A name like `answers[1].jsonl` is opened here, too: Polars would take it for a pattern.
    """
    if isinstance(source, bytes):
        return source.removeprefix(_MARK)
    with source.open("rb") as file:
        if set("*?[") & set(str(source)):
            return file.read().removeprefix(_MARK)
        return file.read() if file.read(len(_MARK)) == _MARK else source


def tell(source: Path | bytes, separator: str | None, where: str) -> None:
    """Raise for the first line that is wrong: of JSONL without a separator, else of CSV or TSV."""
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        lines = (line.decode("utf-8", "replace") for line in file)
        _tell_json(lines, where) if separator is None else _tell_cells(lines, separator, where)


def _tell_json(lines: Iterable[str], where: str) -> None:
    rows = 0
    for number, line in enumerate(lines, 1):
        place = f"{where}, line {number}"
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            found = f"broken JSON at column {error.colno}: {error.msg}"
            raise BadInput(found, where=place, fix="write one JSON object a line") from None
        if not isinstance(row, dict):
            raise BadInput(f"found {shorten(row)}", where=place, fix="write one JSON object a line")
        for name, value in row.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise BadInput(f"found {value}", where=place, field=name, fix="give a number, or null")
        rows += 1
    if not rows:
        raise BadInput("is empty", where=where, fix="give a table with at least one row")


def _tell_cells(lines: Iterable[str], separator: str, where: str) -> None:
    quoting = csv.QUOTE_NONE if separator == "\t" else csv.QUOTE_MINIMAL
    rows = csv.reader(lines, delimiter=separator, quoting=quoting)  # type: ignore[arg-type]
    header = next((cells for cells in rows if cells), None)
    if header is None:
        raise BadInput("is empty", where=where, fix="give a header and at least one row")
    for cells in rows:
        if len(cells) > len(header):
            found = f"found {len(cells)} cells under {len(header)} column names"
            raise BadInput(found, where=f"{where}, line {rows.line_num}", fix="repair the row")
