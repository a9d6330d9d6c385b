"""SNLI and the two data sets released in its layout: MultiNLI and Breaking NLI."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..registry import datasets
from .records import Dataset, Record, delimited, json_lines, renamed

_NAMES = {"id": "pairID", "premise": "sentence1", "hypothesis": "sentence2", "label": "gold_label"}
#: Five times the size of the sentences they parse, and nothing here reads them.
_PARSES = frozenset(f"sentence{n}_{kind}" for n in (1, 2) for kind in ("parse", "binary_parse"))


@datasets("snli.v1")
def snli(path: Path) -> Dataset:
    """SNLI as released: snli_1.0_*.jsonl (Bowman et al. 2015)."""
    return Dataset(lambda: _pairs(json_lines(path)), task="nli", files=(path,))


@datasets("mnli.v1")
def mnli(path: Path) -> Dataset:
    """MultiNLI as released: multinli_1.0_*.jsonl or .txt, or GLUE's *.tsv (Williams et al. 2018)."""

    def read() -> Iterator[Record]:
        # Neither GLUE's TSV nor MultiNLI's .txt quotes its cells: a quotation mark is part of the sentence.
        is_table = path.suffix.lower() in (".tsv", ".txt")
        return _pairs(delimited(path, "\t", csv.QUOTE_NONE) if is_table else json_lines(path))

    return Dataset(read, task="nli", files=(path,))


@datasets("breaking_nli.v1")
def breaking_nli(path: Path) -> Dataset:
    """Breaking NLI as released: dataset.jsonl, one changed word a pair (Glockner et al. 2018)."""
    return Dataset(lambda: _pairs(json_lines(path)), task="nli", files=(path,))


def _pairs(records: Iterable[Record]) -> Iterator[Record]:
    for record in renamed(records, _NAMES):
        row = {name: value for name, value in record.row.items() if name not in _PARSES}
        if isinstance(row.get("id"), int):  # Breaking NLI numbers its pairs
            row["id"] = str(row["id"])
        yield record._replace(row=row)
