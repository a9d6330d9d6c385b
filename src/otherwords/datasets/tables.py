"""Plain tables: each row is a problem (or, if it has `of`, a variant), columns named as in the task."""

import csv
from pathlib import Path

from ..registry import datasets
from .records import Dataset, delimited, json_lines, table_rows


@datasets("jsonl.v1")
def jsonl(path: Path) -> Dataset:
    """JSON Lines: one object per line, of any task."""
    return Dataset(lambda: json_lines(path), files=(path,))


@datasets("csv.v1")
def comma_separated(path: Path) -> Dataset:
    """CSV with a header line, of any task."""
    return Dataset(lambda: delimited(path, ","), files=(path,))


@datasets("tsv.v1")
def tab_separated(path: Path, quoted: bool = False) -> Dataset:
    """TSV with a header line, of any task; `quoted` if cells are quoted as in CSV (pandas does that).

    By default a quotation mark is an ordinary character, as in most released TSV files: read as CSV, a sentence that
    begins with one would swallow the lines after it.
    """
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    return Dataset(lambda: delimited(path, "\t", quoting), files=(path,))


@datasets("parquet.v1")
def parquet(path: Path) -> Dataset:
    """A Parquet file, or a folder of Parquet parts, of any task."""
    return Dataset(lambda: table_rows(path), files=(path,))
