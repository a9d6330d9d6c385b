"""Tables as files: JSONL, CSV, TSV and Parquet, written atomically, frame by frame in bounded memory."""

import csv
import io
import json
import math
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import polars as pl

from ..errors import BadInput, convert_line, refuse_other_encoding, shorten
from .files import atomic, disk_errors

FORMATS = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
#: Names and labels: text even where they look like numbers, because 01 is not 1.
_NAMES = ("id", "model", "bucket", "variant", "gold", "pred", "cluster")
#: Set while .csv and .tsv files are written for spreadsheets (`--safe-csv`).
SAFE_CSV: ContextVar[bool] = ContextVar("SAFE_CSV", default=False)
#: With these, also in full width, a cell begins that a spreadsheet would compute instead of showing it.
_FORMULA = r"^[=+\-@\t\r\n＝＋－＠]"
#: The byte order mark that Windows puts before a text.
_BOM = b"\xef\xbb\xbf"


def refuse_unwritable(target: str | Path | None) -> None:
    """Raise before any work is done if a target cannot be written; None means that nothing is written."""
    if not target or str(target) == "-":
        return
    path = Path(target)
    if path.is_dir():
        raise BadInput("is a folder", where=str(path), fix="name a file")
    if path.suffix not in FORMATS:
        raise BadInput(
            f"cannot write {path.name!r}",
            fix=f"end the name in {', '.join(FORMATS)}, or use - for standard output",
        )
    above = next(folder for folder in path.absolute().parents if folder.exists())
    if not above.is_dir():
        raise BadInput(f"cannot be written: {above} is not a folder", where=str(path))
    if not os.access(above, os.W_OK):
        raise BadInput(f"cannot be written: {above} is not writable", where=str(path), fix="choose another folder")


def write(frames: Iterable[pl.DataFrame], target: str | Path) -> int:
    """Write frames to a file in the format of its ending, or as JSONL to standard output (`-`); return the row count.

    Everything is assembled on disk first: frames may differ in columns, and the reader of a pipe must not see half a
    table. A column that a frame lacks is null there.
    """
    refuse_unwritable(target)
    with tempfile.TemporaryDirectory(prefix="otherwords-") as folder, disk_errors(Path(folder)):
        parts = []
        for number, frame in enumerate(frames):
            parts.append(Path(folder) / f"{number:06}.parquet")
            frame.write_parquet(parts[-1])
        whole = (
            pl.concat([pl.scan_parquet(part, glob=False) for part in parts], how="diagonal_relaxed")
            if parts
            else pl.LazyFrame()
        )
        if str(target) == "-":
            draft = Path(folder) / "out.jsonl"
            whole.sink_ndjson(draft)
            with draft.open("rb") as file, disk_errors(Path("standard output")):
                shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        else:
            with atomic(Path(target)) as draft:
                _sink(whole, draft, Path(target))
        return int(whole.select(pl.len()).collect().item()) if parts else 0


def _sink(table: pl.LazyFrame, draft: Path, target: Path) -> None:
    if SAFE_CSV.get() and target.suffix in (".csv", ".tsv"):
        table = _without_formulas(table)
    if target.suffix == ".parquet":
        table.sink_parquet(draft)
    elif target.suffix == ".csv":
        table.sink_csv(draft)
    elif target.suffix == ".tsv":
        _refuse_breaks(table, target)
        # Quotation marks are text, as in `read`.
        table.sink_csv(draft, separator="\t", quote_style="never")
    else:
        table.sink_ndjson(draft)


def _without_formulas(table: pl.LazyFrame) -> pl.LazyFrame:
    """The same table with an apostrophe before names and texts that a spreadsheet would run as formulas.

    >>> _without_formulas(pl.LazyFrame({"text": ["=1+1", "1+1", "- So?"], "n": [-1, 0, 1]})).collect()["text"].to_list()
    ["'=1+1", '1+1', "'- So?"]
    """
    shown = table.with_columns(pl.col(pl.String).str.replace(f"({_FORMULA})", "'${1}"))
    return shown.rename(lambda name: re.sub(f"({_FORMULA})", r"'\1", name))


def _refuse_breaks(table: pl.LazyFrame, target: Path) -> None:
    """TSV has no way to write a tab or a line break within a cell."""
    columns = [name for name, kind in table.collect_schema().items() if kind == pl.String]
    breaks = table.select(pl.col(columns).str.contains(r"[\t\r\n]").any()).collect() if columns else pl.DataFrame()
    for name in columns:
        if breaks[name][0]:
            raise BadInput(
                "a text contains a tab or a line break",
                where=str(target),
                field=name,
                fix="write .jsonl, .csv or .parquet instead",
            )


def read(path: str | Path) -> pl.DataFrame:
    """Read a whole answers table from a file, standard input (`-`), a run folder or a folder of Parquet parts."""
    where, path = str(path), Path(path)
    if where != "-" and not path.exists():
        raise BadInput("no such file", where=where)
    try:
        if path.is_dir():
            return _read_folder(path)
        if path.suffix == ".parquet":
            return pl.read_parquet(path, glob=False)
    except pl.exceptions.PolarsError as error:
        raise BadInput(f"cannot be read as Parquet: {_first_line(error)}", where=where) from error
    if where != "-" and path.suffix not in FORMATS:
        raise BadInput("has an unknown format", where=where, fix=f"use one of {', '.join(FORMATS)}")
    return _read_text(sys.stdin.buffer.read() if where == "-" else path, path.suffix, where)


def _read_folder(path: Path) -> pl.DataFrame:
    inner = path / "answers"
    parts = sorted((inner if inner.is_dir() else path).rglob("*.parquet"))
    if not parts:
        raise BadInput("contains no Parquet files", where=str(path), fix="give a file, or the folder of a finished run")
    return pl.concat([pl.scan_parquet(part, glob=False) for part in parts], how="diagonal_relaxed").collect()


def _read_text(source: Path | bytes, suffix: str, where: str) -> pl.DataFrame:
    separator = {".csv": ",", ".tsv": "\t"}.get(suffix)
    source = _without_bom(source)
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        refuse_other_encoding(file.read(1000), where)
    try:
        if separator is None:
            return pl.read_ndjson(source, infer_schema_length=None)
        options: dict[str, Any] = {"schema_overrides": dict.fromkeys(_NAMES, pl.String), "infer_schema_length": None}
        if separator == "\t":
            return _unquoted(pl.read_csv(source, separator="\t", quote_char=None, **options))
        return pl.read_csv(source, **options)
    except (pl.exceptions.PolarsError, ValueError) as error:
        _refuse_undecodable(source, where)
        _raise_unreadable(source, separator, where)
        raise BadInput(f"cannot be read as a table: {_first_line(error)}", where=where) from error


def _without_bom(source: Path | bytes) -> Path | bytes:
    """Return a source without a byte order mark.

    A name like `answers[1].jsonl` is opened here, too: Polars would read it as a glob pattern.
    """
    if isinstance(source, bytes):
        return source.removeprefix(_BOM)
    with source.open("rb") as file:
        if set("*?[") & set(str(source)):
            return file.read().removeprefix(_BOM)
        return file.read() if file.read(len(_BOM)) == _BOM else source


def _unquoted(table: pl.DataFrame) -> pl.DataFrame:
    """Remove the quotation marks that R and pandas put around the cells of a TSV file; those within stay."""
    marks = r'^"(.*)"$'
    bare = table.with_columns(pl.col(pl.String).str.replace(marks, "$1"))
    return bare.rename(lambda name: re.sub(marks, r"\1", name))


# Which line is wrong


def _raise_unreadable(source: Path | bytes, separator: str | None, where: str) -> None:
    """Raise for the first bad line: of JSONL if there is no separator, else of CSV or TSV."""
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        lines = (line.decode("utf-8", "replace") for line in file)
        _check_json(lines, where) if separator is None else _check_cells(lines, separator, where)


def _refuse_undecodable(source: Path | bytes, where: str) -> None:
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError:
                fix = convert_line("WINDOWS-1252", where)
                raise BadInput("is not UTF-8 text", where=f"{where}, line {number}", fix=fix) from None


def _check_json(lines: Iterable[str], where: str) -> None:
    rows = 0
    for number, line in enumerate(lines, 1):
        place = f"{where}, line {number}"
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            message = f"broken JSON at column {error.colno}: {error.msg}"
            raise BadInput(message, where=place, fix="write one JSON object per line") from None
        if not isinstance(row, dict):
            raise BadInput(f"found {shorten(row)}", where=place, fix="write one JSON object per line")
        for name, value in row.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise BadInput(f"found {value}", where=place, field=name, fix="give a number, or null")
        rows += 1
    if not rows:
        raise BadInput("is empty", where=where, fix="give a table with at least one row")


def _check_cells(lines: Iterable[str], separator: str, where: str) -> None:
    quoting = csv.QUOTE_NONE if separator == "\t" else csv.QUOTE_MINIMAL
    rows = csv.reader(lines, delimiter=separator, quoting=quoting)  # type: ignore[arg-type]
    header = next((cells for cells in rows if cells), None)
    if header is None:
        raise BadInput("is empty", where=where, fix="give a header and at least one row")
    for cells in rows:
        if len(cells) > len(header):
            message = f"found {len(cells)} cells under {len(header)} column names"
            raise BadInput(message, where=f"{where}, line {rows.line_num}", fix="repair the row")


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
