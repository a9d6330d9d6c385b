"""Plain tables: each row is a problem (or, if it has `of`, a variant), columns named as in the task.

So are the bundled problems about everyday situations, with which a first run needs no download.
"""

import csv
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from ..errors import BadInput
from ..registry import datasets
from .records import (
    Dataset,
    Record,
    delimited,
    delimited_batches,
    json_batches,
    json_lines,
    table_batches,
    table_rows,
)

_EVERYDAY = Path(__file__).parents[1] / "assets" / "everyday.jsonl"
_SPLITS = ("train", "test", "all")


@datasets("jsonl.v1")
def jsonl(path: Path) -> Dataset:
    """JSON Lines: one object per line, of any task."""
    return Dataset(lambda: json_lines(path), files=(path,), columns=lambda: json_batches(path))


@datasets("csv.v1")
def comma_separated(path: Path) -> Dataset:
    """CSV with a header line, of any task."""
    return Dataset(lambda: delimited(path, ","), files=(path,), columns=lambda: delimited_batches(path, ","))


@datasets("tsv.v1")
def tab_separated(path: Path, quoted: bool = False) -> Dataset:
    """TSV with a header line, of any task; `quoted` if cells are quoted as in CSV (pandas does that).

    By default a quotation mark is an ordinary character, as in most released TSV files: read as CSV, a sentence that
    begins with one would swallow the lines after it.
    """
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    columns = partial(delimited_batches, path, "\t", quoting)
    return Dataset(lambda: delimited(path, "\t", quoting), files=(path,), columns=columns)


@datasets("parquet.v1")
def parquet(path: Path) -> Dataset:
    """A Parquet file, or a folder of Parquet parts, of any task."""
    return Dataset(lambda: table_rows(path), files=(path,), columns=lambda: table_batches(path))


@datasets("everyday.v1")
def everyday(split: str = "test") -> Dataset:
    """Everyday problems that come with the package: split train, test or all."""
    if split not in _SPLITS:
        raise BadInput(f"found {split!r}", where="everyday.v1", field="split", fix=f"use {', '.join(_SPLITS)}")

    def read() -> Iterator[Record]:
        return (record for record in json_lines(_EVERYDAY) if split in ("all", record.row.get("split")))

    return Dataset(read, task="nli", files=(_EVERYDAY,))
