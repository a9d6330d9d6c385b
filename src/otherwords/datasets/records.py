"""Raw records with their place in the file, so that every error can name it, and readers for the common formats.

Each reader has two forms: record by record, which is the definition, and in batches of whole columns, which is fast. A
batch has its columns only where they hold what its records hold, value by value.
"""

import csv
import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import polars as pl

from ..errors import BadInput, convert_line, refuse_other_encoding
from ..frames import KINDS
from ..storage.run_folder import DAMAGED
from ..storage.tables import OPEN_MARK, allow_long_cells, parse_json, separator_of

#: Rows of a table that are in memory at once.
BATCH = 20_000
#: Bytes of a text file that are read together.
_CHUNK = 1 << 22
#: The byte order mark that Windows puts before a text.
_BOM = b"\xef\xbb\xbf"
#: Lines of one cell after which no end of it is looked for.
_MOST_LINES = 1_000


Item = TypeVar("Item")


class Record(NamedTuple):
    """One row as it stands in a file, or the reason why it cannot be read."""

    where: str
    row: dict[str, Any]
    error: str = ""


@dataclass(frozen=True)
class RecordBatch:
    """Records that are checked together: `frame` has their values as columns, `records()` gives them one by one.

    Without a frame they can only be had one by one. `rows` are their rows where these differ in their keys: a key that
    a row does not have is null in the frame.
    """

    records: Callable[[], Iterable[Record]]
    frame: pl.DataFrame | None = None
    rows: Sequence[dict[str, Any]] | None = None


@dataclass(frozen=True)
class Dataset:
    """What a data set's factory returns: how to read its records, its task ("" for any), and the files it reads.

    A record that has `of` is a variant of the problem with that id; so a data set may be a suite of buckets.
    `labels` maps the labels as released to the task's; the user's own mapping overrides it. `identity` goes into the
    signature where the options do not identify the content: files next to the one that is named. `columns` reads the
    same records in batches, where the format has a faster way to do so.
    """

    read: Callable[[], Iterator[Record]]
    task: str = ""
    files: tuple[Path, ...] = ()
    labels: Mapping[str, str] | tuple[tuple[str, str], ...] = ()
    identity: str = ""
    columns: Callable[[], Iterator[RecordBatch]] | None = None

    def __call__(self) -> Iterator[Record]:
        """Iterate over the records."""
        return _naming_absent_files(self.read)

    def batches(self) -> Iterator[RecordBatch]:
        """Iterate over the records in batches."""
        return _naming_absent_files(self.columns or (lambda: in_batches(self.read())))


def _naming_absent_files(read: Callable[[], Iterator[Item]]) -> Iterator[Item]:
    try:
        yield from read()
    except FileNotFoundError as error:
        raise BadInput("no such file", where=str(error.filename or "")) from error


def in_batches(records: Iterable[Record]) -> Iterator[RecordBatch]:
    """Records of any origin in batches, with their columns."""
    return map(_batch, in_chunks(records))


def in_chunks(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Lists of `BATCH` items, the last one shorter. The items before an error are given before it is raised."""
    chunk: list[Item] = []
    try:
        for item in items:
            chunk.append(item)
            if len(chunk) >= BATCH:
                yield chunk
                chunk = []
    except BadInput:
        if chunk:
            yield chunk
        raise
    if chunk:
        yield chunk


def _batch(records: list[Record]) -> RecordBatch:
    rows = [] if any(record.error for record in records) else [record.row for record in records]
    return RecordBatch(lambda: records, *_columns(rows))


def _columns(rows: list[dict[str, Any]]) -> tuple[pl.DataFrame | None, list[dict[str, Any]] | None]:
    """The columns of rows, and the rows themselves if they differ in their keys. None for what no column can hold."""
    same = len(set(map(tuple, rows))) == 1
    names = list(rows[0] if same else dict.fromkeys(chain.from_iterable(rows)))
    try:
        frame = pl.DataFrame(
            {
                name: _column(name, [*map(itemgetter(name), rows)] if same else [row.get(name) for row in rows])
                for name in names
            }
        )
    except (ValueError, TypeError, OverflowError, pl.exceptions.PolarsError):  # half a surrogate pair, a huge number
        return None, None
    return (frame, None if same else rows) if frame.width else (None, None)


def _column(name: Any, values: Sequence[Any]) -> pl.Series:
    """Values of one kind as Polars keeps them; values of several kinds, or of others, as they are."""
    if not isinstance(name, str):
        raise TypeError(f"found the column name {name!r}")
    kinds = set(map(type, values)) - {type(None)}
    if not kinds:
        return pl.Series(name, values, dtype=pl.Null)
    if any(issubclass(kind, Enum) for kind in kinds):
        raise TypeError("Polars takes an Enum for its value")
    (kind, *others) = kinds
    return pl.Series(name, values, dtype=pl.Object if others or kind not in KINDS else KINDS[kind])


def json_lines(path: Path) -> Iterator[Record]:
    """Read JSON Lines; a broken line becomes a record with an error, and reading goes on."""
    with _open(path) as file:
        for number, line in enumerate(file, 1):
            yield from _json_record(path, number, line)


def json_batches(path: Path) -> Iterator[RecordBatch]:
    """Read JSON Lines in batches. Python's reader, many lines at a time: Polars' reads 1 beside "a" as "1"."""
    with _open(path) as file:
        before = 0
        while lines := file.readlines(_CHUNK):
            if (batch := _flat_objects(path, before, lines)) is None:
                numbered = enumerate(lines, before + 1)
                batch = _batch([record for number, line in numbered for record in _json_record(path, number, line)])
            yield batch
            before += len(lines)


def _json_record(path: Path, number: int, line: bytes) -> Iterator[Record]:
    where = f"{path}, line {number}"
    line = line.removeprefix(_BOM) if number == 1 else line
    if not line.strip():
        return
    try:
        row = parse_json(line.decode("utf-8"))
    except ValueError as error:  # not UTF-8, not JSON, a number or a nesting beyond all limits, a key twice
        yield Record(where, {"line": line.decode("utf-8", "replace")}, _broken(error, str(path)))
        return
    if isinstance(row, dict):
        yield Record(where, row)
    else:
        yield Record(where, {"line": row}, f"found {type(row).__name__}, not a JSON object")


def _flat_objects(path: Path, before: int, lines: list[bytes]) -> RecordBatch | None:
    """Lines that hold an object each, without inner ones; None if some line is broken, or not so simple.

    Neither a string nor such an object can go on over what separates the lines here, so that as many objects as lines
    are one in each line. A key that an object has twice leaves quotation marks that belong to nothing.
    """
    try:
        text = b",".join(lines).removeprefix(b"" if before else _BOM).decode("utf-8")
        ends = text.count("}\n,{") + (text.count("}\r\n,{") if "\r" in text else 0)
        if ends < len(lines) - 1 or '\\\\"' in text:
            return None
        rows = json.loads(f"[{text}]")
    except (ValueError, RecursionError):
        return None
    if len(rows) != len(lines) or set(map(type, rows)) != {dict}:
        return None
    frame, different = _columns(rows)
    if frame is None:
        return None
    strings = 0
    for column in frame:
        if column.dtype == pl.Object:
            kinds = [type(value) for value in column.to_list()]
            if dict in kinds or list in kinds:
                return None
            strings += kinds.count(str)
        elif column.dtype == pl.String:
            strings += len(column) - column.null_count()
    keys = frame.height * frame.width if different is None else sum(map(len, rows))
    if text.count('"') - text.count('\\"') != 2 * (keys + strings):
        return None
    return RecordBatch(
        partial(_numbered, f"{path}, line", range(before + 1, before + 1 + len(lines)), rows), frame, different
    )


def _numbered(what: str, numbers: Iterable[int], rows: Iterable[dict[str, Any]]) -> Iterator[Record]:
    return (Record(f"{what} {number}", row) for number, row in zip(numbers, rows, strict=True))


def delimited(path: Path, separator: str, quoting: int = csv.QUOTE_MINIMAL) -> Iterator[Record]:
    """Read CSV or TSV with a header line; values stay text. CSV may have semicolons or tabs instead of commas."""
    file = _open(path)
    if separator == "," and file.seekable():
        separator = separator_of(file.readline())
        file.seek(0)
    yield from _Cells(path, separator, quoting).records(file)


def delimited_batches(path: Path, separator: str, quoting: int = csv.QUOTE_MINIMAL) -> Iterator[RecordBatch]:
    """Read CSV or TSV in batches: with Polars as far as it can be trusted, and from there on with Python's reader.

    Polars fills up short lines, and has another idea of stray quotation marks. So what it reads counts only where
    writing it gives the same bytes again: then there is nothing in them that can be read in two ways.
    """
    with _open(path) as file:
        if not file.seekable():
            yield from in_batches(_Cells(path, separator, quoting).records(file))
            return
        line = file.readline()
        cells = _Cells(path, separator_of(line) if separator == "," else separator, quoting)
        header, lines = cells.plain_header(line), 1
        while header:
            begin = file.tell()
            if not (chunk := cells.some_rows(file)):
                return
            if (frame := cells.frame(chunk, header, line)) is None:
                break
            yield RecordBatch(partial(cells.as_records, frame, lines), frame)
            lines += chunk.count(b"\n")
        file.seek(begin if header else 0)
        yield from in_batches(cells.records(file, header, lines if header else 0))


class _Cells(NamedTuple):
    """The cells of a CSV or TSV file, as Python reads them and, where it reads the same, as Polars does."""

    path: Path
    separator: str
    quoting: int

    def records(self, file: Any, header: list[str] | None = None, lines: int = 0) -> Iterator[Record]:
        """Read on from where a file is open: after its header and so many lines, or from the beginning."""
        allow_long_cells()
        encoding = "utf-8" if header else "utf-8-sig"
        with io.TextIOWrapper(file, encoding=encoding, errors="surrogateescape", newline="") as text:
            rows = self._rows(text, lines)
            header = header or self._header(rows)
            for number, cells in rows:
                if isinstance(cells, str):
                    yield Record(f"{self.path}, line {number}", {"line": cells}, OPEN_MARK)
                elif cells:
                    yield self._record(header, cells, f"{self.path}, line {number}")

    def _rows(self, text: Iterable[str], lines: int) -> Iterator[tuple[int, list[str] | str]]:
        """The cells of each row, with the number of its last line; a line as it stands where a quotation mark is wrong.

        A mark that is not closed would make one cell of all that follows: so after such a line, the next one is read
        as a row again.
        """
        source, again, taken = iter(text), list[str](), list[str]()

        def feed() -> Iterator[str]:
            while (line := again.pop() if again else next(source, None)) is not None:
                taken.append(line)
                yield line

        while True:
            reader = csv.reader(feed(), delimiter=self.separator, quoting=self.quoting, strict=True)  # type: ignore[arg-type]
            try:
                for cells in reader:
                    lines += len(taken)
                    taken.clear()
                    yield lines, cells
                return
            except csv.Error:
                first, *rest = taken
                taken.clear()
                again += reversed(rest)
                lines += 1
                yield lines, first.rstrip("\r\n")

    def _header(self, rows: Iterator[tuple[int, list[str] | str]]) -> list[str]:
        number, header = next(rows, (1, None))
        if header is None:
            raise BadInput("is empty", where=str(self.path), fix="the first line must name the columns")
        if isinstance(header, str):
            raise BadInput(OPEN_MARK, where=f"{self.path}, line {number}", fix="repair the line")
        if header[:1] and header[0].startswith("sep="):
            fix = "remove the line: it is for spreadsheets"
            raise BadInput("names no columns: found 'sep='", where=f"{self.path}, line 1", fix=fix)
        if duplicates := [name for name in header if header.count(name) > 1]:
            where = f"{self.path}, line 1"
            raise BadInput("names this column twice", where=where, field=duplicates[0], fix="rename one of them")
        return header

    def _record(self, header: list[str], cells: list[str], where: str) -> Record:
        row = dict(zip(header, cells, strict=False))
        if not all(map(str.isascii, cells)) and any("\udc80" <= letter <= "\udcff" for letter in chain(*cells)):
            shown = {name: cell.encode("utf-8", "replace").decode() for name, cell in row.items()}
            return Record(where, shown, f"not UTF-8 text ({convert_line('WINDOWS-1252', str(self.path))})")
        if len(cells) != len(header):
            return Record(where, row, f"found {len(cells)} cells under {len(header)} column names")
        return Record(where, row)

    def plain_header(self, line: bytes) -> list[str]:
        """The names in the first line, if it is the whole header of more than one column, each another."""
        text = line.removeprefix(_BOM).decode("utf-8", "replace")
        inner = line.removesuffix(b"\n").removesuffix(b"\r")
        whole = line.endswith(b"\n") and b"\r" not in inner and not line.count(b'"') % 2
        if not whole or "\ufffd" in text:
            return []
        header = next(csv.reader([text], delimiter=self.separator, quoting=self.quoting), [])  # type: ignore[arg-type]
        plain = len(set(header)) == len(header) > 1  # an empty line of one column is no row
        return header if plain and not text.startswith("sep=") else []

    def some_rows(self, file: Any) -> bytes:
        """The next bytes of a file, up to the end of a row: where no quotation mark is open."""
        lines = [file.read(_CHUNK), file.readline()]
        marks = sum(line.count(b'"') for line in lines)
        while self.quoting != csv.QUOTE_NONE and marks % 2 and len(lines) < _MOST_LINES:
            lines.append(file.readline())
            marks += lines[-1].count(b'"')
        return b"".join(lines)

    def frame(self, chunk: bytes, header: list[str], line: bytes) -> pl.DataFrame | None:
        """What Polars reads, if writing it gives the same bytes again, with the line end of the header."""
        if chunk.count(b"\r") != chunk.count(b"\r\n"):  # a line end to one reader, and to the other none
            return None
        end = "\r\n" if line.endswith(b"\r\n") else "\n"
        plain = self.quoting == csv.QUOTE_NONE
        options: dict[str, Any] = {"has_header": False, "schema": dict.fromkeys(header, pl.String)}
        try:
            frame = pl.read_csv(chunk, separator=self.separator, quote_char=None if plain else '"', **options)
        except (*DAMAGED, ValueError):
            return None
        whole = chunk if chunk.endswith(b"\n") else chunk + end.encode()
        styles: tuple[Literal["never", "necessary", "always"], ...] = ("never",) if plain else ("necessary", "always")
        for style in styles:
            written = io.BytesIO()
            frame.write_csv(
                written, include_header=False, separator=self.separator, line_terminator=end, quote_style=style
            )
            if written.getbuffer() == whole:
                return frame.fill_null("")
        return None

    def as_records(self, frame: pl.DataFrame, lines: int) -> Iterator[Record]:
        """The rows that Polars read, each with its last line: cells may have line ends."""
        ends = frame.select(1 + pl.sum_horizontal(pl.all().str.count_matches("\n", literal=True))).to_series()
        return _numbered(f"{self.path}, line", (ends.cum_sum() + lines).to_list(), frame.iter_rows(named=True))


def table_rows(path: Path) -> Iterator[Record]:
    """Read a Parquet file, or a folder of them, slice by slice; files of a folder may differ in their columns."""
    for batch in table_batches(path):
        yield from batch.records()


def table_batches(path: Path) -> Iterator[RecordBatch]:
    """Read a Parquet file, or a folder of them, in batches."""
    parts = sorted(path.rglob("*.parquet")) if path.is_dir() else [path] if path.is_file() else []
    if not parts:
        raise BadInput("no such file", where=str(path / "*.parquet" if path.is_dir() else path))
    try:
        table = pl.concat([pl.scan_parquet(part, glob=False) for part in parts], how="diagonal_relaxed")
        height = table.select(pl.len()).collect().item()
        slices = (table.slice(start, BATCH).collect() for start in range(0, height, BATCH))
        yield from frame_batches(slices, f"{path}, row")
    except (*DAMAGED, OSError) as error:
        message = f"cannot be read as Parquet: {str(error).partition(chr(10))[0][:200]}"
        raise BadInput(message, where=str(path)) from error


def frame_batches(frames: Iterable[pl.DataFrame], what: str) -> Iterator[RecordBatch]:
    """Frames as batches; `what` and a number name a row."""
    before = 0
    for frame in frames:
        numbers = range(before + 1, before + 1 + frame.height)
        yield RecordBatch(partial(_frame_records, what, numbers, frame), frame)
        before += frame.height


def _frame_records(what: str, numbers: range, frame: pl.DataFrame) -> Iterator[Record]:
    return _numbered(what, numbers, frame.iter_rows(named=True))


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


def _open(path: Path) -> Any:
    if str(path) == "-":
        pipe = io.BufferedReader(sys.stdin.buffer.raw) if hasattr(sys.stdin.buffer, "raw") else sys.stdin.buffer
        refuse_other_encoding(pipe.peek() if hasattr(pipe, "peek") else b"", "-")
        return pipe
    if not path.exists():
        raise BadInput("no such file", where=str(path))
    if path.is_dir():
        raise BadInput("is a folder", where=str(path), fix="name a file")
    if not path.is_file():
        raise BadInput("cannot be read twice", where=str(path), fix="give a regular file, or pipe rows to -")
    with path.open("rb") as file:
        refuse_other_encoding(file.read(1000), str(path))
    return path.open("rb")
