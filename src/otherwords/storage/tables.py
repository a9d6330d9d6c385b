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
import warnings
from collections.abc import Iterable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import polars as pl

from ..errors import BadInput, convert_line, refuse_other_encoding, shorten
from .files import atomic, disk_errors, is_stream, refuse_overwriting
from .run_folder import DAMAGED, RunFolder

FORMATS = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
#: Names and labels: text even where they look like numbers, because 01 is not 1.
_NAMES = ("id", "model", "bucket", "variant", "gold", "pred", "cluster")
#: What is wrong with a row that Python's reader, told to be strict, does not read.
OPEN_MARK = (
    'a cell begins with a quotation mark (") and does not end with one; a mark within a cell is written twice ("")'
)
#: Set while .csv and .tsv files are written for spreadsheets (`--safe-csv`).
SAFE_CSV: ContextVar[bool] = ContextVar("SAFE_CSV", default=False)
#: With these, also in full width, a cell begins that a spreadsheet would compute instead of showing it.
_FORMULA = r"^[=+\-@\t\r\n＝＋－＠]"
#: The byte order mark that Windows puts before a text.
_BOM = b"\xef\xbb\xbf"
#: Bytes of a text that are looked at together.
_CHUNK = 1 << 24
#: What may be half a surrogate pair: a high one before no low one, or a low one after no high one.
_HALF = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F]"
)


def refuse_unwritable(target: str | Path | None, *inputs: Any) -> None:
    """Raise before any work is done if a target cannot be written; None means that nothing is written.

    One that is among the `inputs`, in any spelling, or a link is refused, too.
    """
    if str(target) == "-" and sys.stdout is None:  # closed by the caller, as >&- does
        raise BadInput("is closed", where="standard output", fix="name a file with -o")
    if not target or str(target) == "-":
        return
    path = Path(target)
    if path.is_dir():
        raise BadInput("is a folder", where=str(path), fix="name a file")
    refuse_overwriting(path, *inputs)
    if path.suffix not in FORMATS and not is_stream(path):
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
        table = without_formulas(table)
    if target.suffix in (".csv", ".tsv"):
        table = _without_nesting(table)
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


def _without_nesting(table: pl.LazyFrame) -> pl.LazyFrame:
    """The same table with lists and structs as JSON, which is how a CSV file can hold them."""

    def spelled(column: pl.Series) -> pl.Series:
        texts = [None if one is None else json.dumps(one, ensure_ascii=False, default=str) for one in column.to_list()]
        return pl.Series(column.name, texts, dtype=pl.String)

    nested = [name for name, kind in table.collect_schema().items() if kind.is_nested()]
    return table.with_columns(pl.col(nested).map_batches(spelled, return_dtype=pl.String)) if nested else table


def without_formulas(table: pl.LazyFrame) -> pl.LazyFrame:
    """The same table with an apostrophe before names and texts that a spreadsheet would run as formulas.

    >>> without_formulas(pl.LazyFrame({"text": ["=1+1", "1+1", "- So?"], "n": [-1, 0, 1]})).collect()["text"].to_list()
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


def read(path: str | Path, texts: Iterable[str] = ()) -> pl.DataFrame:
    """Read a whole answers table from a file, standard input (`-`), a run folder or a folder of Parquet parts.

    `texts` names further columns of names and labels, which stay text even where they look like numbers.
    """
    where, path = str(path), Path(path)
    if not where:
        raise BadInput("the name of a file is empty", fix="name an answers table or a run folder")
    if where != "-" and not path.exists():
        raise BadInput("no such file", where=where)
    try:
        if path.is_dir():
            return _read_folder(path)
        if path.suffix == ".parquet":
            return pl.read_parquet(path, glob=False)
    except DAMAGED as error:
        raise BadInput(f"cannot be read as Parquet: {_first_line(error)}", where=where) from error
    if where != "-" and path.suffix not in FORMATS:
        raise BadInput("has an unknown format", where=where, fix=f"use one of {', '.join(FORMATS)}")
    return _read_text(sys.stdin.buffer.read() if where == "-" else path, path.suffix, where, (*_NAMES, *texts))


def _read_folder(path: Path) -> pl.DataFrame:
    inner = path / "answers"
    _refuse_unfinished(path, inner)
    parts = RunFolder(path).parts("answers") or sorted((inner if inner.is_dir() else path).rglob("*.parquet"))
    if not parts:
        raise BadInput("contains no Parquet files", where=str(path), fix="give a file, or the folder of a finished run")
    return pl.concat([pl.scan_parquet(part, glob=False) for part in parts], how="diagonal_relaxed").collect()


def _refuse_unfinished(run: Path, answers: Path) -> None:
    """Refuse a run folder without answers; warn where a model has answered some of its shards only."""
    if not (run / "problems").is_dir():
        return
    how = f"continue it: repeat its command, or otherwords run {run}"
    if not any(answers.rglob("*.parquet")):
        raise BadInput("has no answers yet: the run is not finished", where=str(run), fix=how)
    shards = len(list((run / "buckets").glob("part-*.parquet")))
    parts = {model.name: len(list(model.glob("part-*.parquet"))) for model in sorted(answers.iterdir())}
    if some := [f"{name} has answered {count} of {shards} shards" for name, count in parts.items() if count < shards]:
        warnings.warn(f"{run}: the run is not finished: {', '.join(some)}; {how}", stacklevel=2)


def _read_text(source: Path | bytes, suffix: str, where: str, texts: Iterable[str]) -> pl.DataFrame:
    separator = {".csv": ",", ".tsv": "\t"}.get(suffix)
    source = _without_bom(source)
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        refuse_other_encoding(file.read(1000), where)
        file.seek(0)
        if separator == ",":
            separator = separator_of(file.readline())
    try:
        if separator is None:
            table = pl.read_ndjson(source, infer_schema_length=None)
            _refuse_hidden_faults(source, table, where)
            return table
        options: dict[str, Any] = {"schema_overrides": dict.fromkeys(texts, pl.String), "infer_schema_length": None}
        if suffix == ".tsv":
            return _distinct(_unquoted(pl.read_csv(source, separator="\t", quote_char=None, **options)), where)
        return _distinct(pl.read_csv(source, separator=separator, **options), where)
    except (pl.exceptions.PolarsError, ValueError) as error:
        _refuse_undecodable(source, where)
        _raise_unreadable(source, separator, where, quoted=suffix != ".tsv")
        raise BadInput(f"cannot be read as a table: {_first_line(error)}", where=where) from error


def separator_of(header: bytes) -> str:
    """What separates the columns of a .csv file: commas or, where its first line has none, semicolons or tabs.

    Spreadsheets write semicolons where a comma stands in numbers.

    >>> separator_of(b"id;premise;label"), separator_of(b"id;no,text"), separator_of(b"text")
    (';', ',', ',')
    """
    return next((mark for mark in (",", ";", "\t") if mark.encode() in header), ",")


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


def _distinct(table: pl.DataFrame, where: str) -> pl.DataFrame:
    """Refuse a header that names a column twice; Polars would give the second another name."""
    for name in table.columns:
        first = re.sub(r"_duplicated_\d+$", "", name)
        if first != name and first in table.columns:
            raise BadInput("names this column twice", where=f"{where}, line 1", field=first, fix="rename one of them")
    return table


# Which line is wrong


def _raise_unreadable(source: Path | bytes, separator: str | None, where: str, quoted: bool = True) -> None:
    """Raise for the first bad line: of JSONL if there is no separator, else of CSV or TSV."""
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        lines = (line.decode("utf-8", "replace") for line in file)
        _check_json(lines, where) if separator is None else _check_cells(lines, separator, where, quoted)


def _refuse_undecodable(source: Path | bytes, where: str) -> None:
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError:
                fix = convert_line("WINDOWS-1252", where)
                raise BadInput("is not UTF-8 text", where=f"{where}, line {number}", fix=fix) from None


def _refuse_hidden_faults(source: Path | bytes, table: pl.DataFrame, where: str) -> None:
    """Polars reads the first of two equal keys, and half a surrogate pair as nothing: find the line, if there is one.

    Lines are parsed only where an escape looks wrong, or there are more keys with a value than values: of all columns
    together, then of some column. Quotation marks within texts, and nested objects, make the first count too high.
    """
    values = {name: table.height - table[name].null_count() for name in table.columns}
    (total,), halves = _count_keys(source, [b'"'])
    if not halves and total <= sum(values.values()):
        return
    found, _ = _count_keys(source, [json.dumps(name, ensure_ascii=False).encode() for name in values])
    if halves or any(count > filled for count, filled in zip(found, values.values(), strict=True)):
        _raise_unreadable(source, None, where)


def _count_keys(source: Path | bytes, ends: list[bytes]) -> tuple[list[int], bool]:
    """How often a key that ends so has a value other than null, and whether there may be half a surrogate pair."""
    counts, halves = [0] * len(ends), False
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        while chunk := file.read(_CHUNK) + file.readline():
            halves = halves or bool(b"\\u" in chunk and _HALF.search(chunk))
            for place, end in enumerate(ends):
                counts[place] += sum(chunk.count(end + mark) for mark in (b":", b" :"))
                counts[place] -= sum(chunk.count(end + mark) for mark in (b":null", b": null"))
    return counts, halves


def parse_json(line: str) -> Any:
    """Read a line of JSONL; whatever is wrong with it is a ValueError in plain words.

    >>> parse_json('{"id": 1, "id": 2}')
    Traceback (most recent call last):
    ValueError: it has 'id' twice
    """
    try:
        return _DECODER.decode(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"broken JSON at column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError as error:
        raise ValueError("a number has too many digits" if "digits" in str(error) else str(error)) from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"it has {next(name for name in names if names.count(name) > 1)!r} twice")
    return row


_DECODER = json.JSONDecoder(object_pairs_hook=_unique)


def _check_json(lines: Iterable[str], where: str) -> None:
    rows = 0
    for number, line in enumerate(lines, 1):
        place = f"{where}, line {number}"
        if not line.strip():
            continue
        try:
            row = parse_json(line)
        except ValueError as error:
            raise BadInput(str(error), where=place, fix="write one JSON object per line") from None
        if not isinstance(row, dict):
            raise BadInput(f"found {shorten(row)}", where=place, fix="write one JSON object per line")
        for name, value in row.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise BadInput(f"found {value}", where=place, field=name, fix="give a number, or null")
            if isinstance(value, str) and value != value.encode("utf-8", "replace").decode():
                fix = "write the surrogate pair, or the character itself"
                raise BadInput(f"found an unpaired surrogate in {shorten(value)}", where=place, field=name, fix=fix)
        rows += 1
    if not rows:
        raise BadInput("is empty", where=where, fix="give a table with at least one row")


def allow_long_cells() -> None:
    """Let Python's reader take cells of any length; more than 131,072 characters would be an error."""
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))


def _check_cells(lines: Iterable[str], separator: str, where: str, quoted: bool) -> None:
    allow_long_cells()
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    rows = csv.reader(lines, delimiter=separator, quoting=quoting, strict=True)  # type: ignore[arg-type]
    ended = 0  # the line in which the row before ended
    try:
        header = next((cells for cells in rows if cells), None)
        if header is None:
            raise BadInput("is empty", where=where, fix="give a header and at least one row")
        ended = rows.line_num
        for cells in rows:
            if len(cells) > len(header):
                message = f"found {len(cells)} cells under {len(header)} column names"
                raise BadInput(message, where=f"{where}, line {rows.line_num}", fix="repair the row")
            ended = rows.line_num
    except csv.Error as error:
        raise BadInput(OPEN_MARK, where=f"{where}, line {ended + 1}", fix="repair the row") from error


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0][:200]
