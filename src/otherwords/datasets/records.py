"""Raw records with their place in the file, so that every error can name it, and readers for the common formats."""

import csv
import io
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import BadInput, convert_line, refuse_other_encoding
from ..storage.run_folder import DAMAGED
from ..storage.tables import parse_json, separator_of

#: Rows of a Parquet file that are in memory at once.
_SLICE = 10_000


class Record(NamedTuple):
    """One row as it stands in a file, or the reason why it cannot be read."""

    where: str
    row: dict[str, Any]
    error: str = ""


@dataclass(frozen=True)
class Dataset:
    """What a data set's factory returns: how to read its records, its task ("" for any), and the files it reads.

    A record that has `of` is a variant of the problem with that id; so a data set may be a suite of buckets.
    `labels` maps the labels as released to the task's; the user's own mapping overrides it. `identity` goes into the
    signature where the options do not identify the content: files next to the one that is named.
    """

    read: Callable[[], Iterator[Record]]
    task: str = ""
    files: tuple[Path, ...] = ()
    labels: Mapping[str, str] | tuple[tuple[str, str], ...] = ()
    identity: str = ""

    def __call__(self) -> Iterator[Record]:
        """Iterate over the records."""
        try:
            yield from self.read()
        except FileNotFoundError as error:
            raise BadInput("there is no such file", where=str(error.filename or "")) from error


def json_lines(path: Path) -> Iterator[Record]:
    """Read JSON Lines; a broken line becomes a record with an error, and reading goes on."""
    for number, line in _lines(path):
        where = f"{path}, line {number}"
        try:
            row = parse_json(line.decode("utf-8"))
        except ValueError as error:  # not UTF-8, not JSON, a number or a nesting beyond all limits, a key twice
            yield Record(where, {"line": line.decode("utf-8", "replace")}, _broken(error, str(path)))
            continue
        if isinstance(row, dict):
            yield Record(where, row)
        else:
            yield Record(where, {"line": row}, f"found {type(row).__name__}, not a JSON object")


def delimited(path: Path, separator: str, quoting: int = csv.QUOTE_MINIMAL) -> Iterator[Record]:
    """Read CSV or TSV with a header line; values stay text. CSV may have semicolons or tabs instead of commas."""
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    file = _open(path)
    if separator == "," and file.seekable():
        separator = separator_of(file.readline())
        file.seek(0)
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")
    with text:
        reader = csv.reader(text, delimiter=separator, quoting=quoting)  # type: ignore[arg-type]
        header = next(reader, None)
        if header is None:
            raise BadInput("is empty", where=str(path), fix="the first line must name the columns")
        if duplicates := [name for name in header if header.count(name) > 1]:
            where = f"{path}, line 1"
            raise BadInput("names this column twice", where=where, field=duplicates[0], fix="rename one of them")
        for cells in reader:
            where = f"{path}, line {reader.line_num}"
            row = dict(zip(header, cells, strict=False))
            if not cells:
                continue
            if any("\udc80" <= letter <= "\udcff" for cell in cells for letter in cell):
                shown = {name: cell.encode("utf-8", "replace").decode() for name, cell in row.items()}
                yield Record(where, shown, f"not UTF-8 text ({convert_line('WINDOWS-1252', str(path))})")
            elif len(cells) != len(header):
                yield Record(where, row, f"found {len(cells)} cells under {len(header)} column names")
            else:
                yield Record(where, row)


def table_rows(path: Path) -> Iterator[Record]:
    """Read a Parquet file, or a folder of them, slice by slice; files of a folder may differ in their columns."""
    import polars as pl

    parts = sorted(path.rglob("*.parquet")) if path.is_dir() else [path] if path.is_file() else []
    if not parts:
        raise BadInput("no such file", where=str(path / "*.parquet" if path.is_dir() else path))
    try:
        table = pl.concat([pl.scan_parquet(part, glob=False) for part in parts], how="diagonal_relaxed")
        height = table.select(pl.len()).collect().item()
        for start in range(0, height, _SLICE):
            for number, row in enumerate(table.slice(start, _SLICE).collect().iter_rows(named=True), start + 1):
                yield Record(f"{path}, row {number}", row)
    except (*DAMAGED, OSError) as error:
        message = f"cannot be read as Parquet: {str(error).partition(chr(10))[0][:200]}"
        raise BadInput(message, where=str(path)) from error


def renamed(records: Iterable[Record], names: dict[str, str]) -> Iterator[Record]:
    """Rename columns: `names` maps the names used here to those in the file; other columns keep theirs."""
    here = {column: name for name, column in names.items()}
    for record in records:
        if record.error:
            yield record
        else:
            yield record._replace(row={here.get(name, name): value for name, value in record.row.items()})


def _broken(error: Exception, path: str) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 text ({convert_line('WINDOWS-1252', path)})"
    return str(error)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with _open(path) as file:
        for number, line in enumerate(file, 1):
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            if line.strip():
                yield number, line


def _open(path: Path) -> Any:
    if str(path) == "-":
        pipe = io.BufferedReader(sys.stdin.buffer.raw) if hasattr(sys.stdin.buffer, "raw") else sys.stdin.buffer
        refuse_other_encoding(pipe.peek() if hasattr(pipe, "peek") else b"", "-")
        return pipe
    if not path.exists():
        raise BadInput("no such file", where=str(path))
    if not path.is_file():
        raise BadInput("cannot be read twice", where=str(path), fix="give a regular file, or pipe rows to -")
    with path.open("rb") as file:
        refuse_other_encoding(file.read(1000), str(path))
    return path.open("rb")
