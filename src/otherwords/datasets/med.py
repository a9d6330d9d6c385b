"""MED: monotonicity reasoning, written by crowds and collected from linguistics papers (Yanaka et al. 2019)."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from ..registry import datasets
from .records import Dataset, Record, delimited, renamed, table_rows
from .reversals import reversals

_NAMES = {"premise": "sentence1", "hypothesis": "sentence2", "label": "gold_label"}
#: MultiNLI's columns that MED has but leaves empty.
_EMPTY = frozenset(
    {f"sentence{n}_{kind}" for n in (1, 2) for kind in ("parse", "binary_parse")} | {f"label{n}" for n in range(1, 6)}
)


@datasets("med.v1")
def med(path: Path) -> Dataset:
    """MED as released: MED.tsv, or the same as Parquet.

    A contrast suite of the pairs that stand there both ways round with another answer: 3,030 of 5,382 rows (56 %). The
    others have no partner that differs from them in one thing only (`promptID` is the row's own number, and rows that
    share a premise change different words of it), and are left out. The first of two is the original; ids are
    `med-<pairID>`, because bare numbers are what other data sets have, too.
    """
    return Dataset(lambda: reversals(_pairs(path), "med"), task="nli", files=(path,))


def _pairs(path: Path) -> Iterator[Record]:
    is_table = path.suffix.lower() == ".parquet"
    # As in MultiNLI's own files, cells are not quoted.
    records = table_rows(path) if is_table else delimited(path, "\t", csv.QUOTE_NONE)
    for record in renamed(records, _NAMES):
        row = {name: value for name, value in record.row.items() if name not in _EMPTY}
        if not record.error and row.get("pairID"):
            row["id"] = f"med-{row['pairID']}"
        yield record._replace(row=row)
