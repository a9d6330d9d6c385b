"""MoNLI: SNLI sentences with one noun made more general or special, negated or not (Geiger et al. 2020)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..registry import datasets
from .records import Dataset, Record, json_lines, renamed, table_rows
from .reversals import reversals

_NAMES = {"premise": "sentence1", "hypothesis": "sentence2", "label": "gold_label"}


@datasets("monli.v1")
def monli(path: Path) -> Dataset:
    """MoNLI as released: pmonli.jsonl, nmonli_train.jsonl, nmonli_test.jsonl, or one Parquet table of them.

    A contrast suite: each pair stands there both ways round, entailment one way and neutral the other. The first of
    the two is the original. Rows have no ids as released, so these are the file's name and the row's number.
    """
    return Dataset(lambda: reversals(_pairs(path), "monli"), task="nli", files=(path,))


def _pairs(path: Path) -> Iterator[Record]:
    read = table_rows if path.suffix.lower() == ".parquet" else json_lines
    for number, record in enumerate(renamed(read(path), _NAMES), 1):
        part = record.row.get("part") or (path.stem if path.stem.strip("-") else "monli")
        yield record if record.error else record._replace(row={"id": f"{part}-{number}", **record.row})
