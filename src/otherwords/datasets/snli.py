"""SNLI, data sets released in its layout (MultiNLI, Breaking NLI), and Adversarial NLI.

Abductive NLI, which is called aNLI as well, is in paranlu.py.
"""

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..registry import datasets
from ..storage.files import digest
from .records import Dataset, Record, delimited, json_lines, renamed, table_rows

_NAMES = {"id": "pairID", "premise": "sentence1", "hypothesis": "sentence2", "label": "gold_label"}
#: Parse trees: five times the size of the sentences, and not used here.
_PARSES = frozenset(f"sentence{n}_{kind}" for n in (1, 2) for kind in ("parse", "binary_parse"))
_ANLI_LABELS = (("e", "entailment"), ("n", "neutral"), ("c", "contradiction"))


@datasets("snli.v1")
def snli(path: Path) -> Dataset:
    """SNLI as released: snli_1.0_*.jsonl or .txt (Bowman et al. 2015)."""
    return Dataset(lambda: _released(path), task="nli", files=(path,))


@datasets("mnli.v1")
def mnli(path: Path) -> Dataset:
    """MultiNLI as released: multinli_1.0_*.jsonl or .txt, or GLUE's *.tsv (Williams et al. 2018)."""
    return Dataset(lambda: _released(path), task="nli", files=(path,))


@datasets("breaking_nli.v1")
def breaking_nli(path: Path) -> Dataset:
    """Breaking NLI as released: dataset.jsonl or Parquet, one changed word a pair (Glockner et al. 2018).

    A contrast suite: the released pairs are the contrasts, one bucket per premise. The original has the premise as its
    hypothesis, too, which is entailment by identity; it is added here and not in the release. Of 8,193 contrasts 7,211
    have another label; 982, mostly synonyms, keep it.
    """
    is_table = path.suffix.lower() == ".parquet"
    read = table_rows if is_table else json_lines
    return Dataset(
        lambda: _with_premise_as_original(_pairs(renamed(read(path), {"id": "pair_id"}))), task="nli", files=(path,)
    )


@datasets("anli.v1")
def anli(path: Path) -> Dataset:
    """Adversarial NLI as released: anli_v1.0/R1..R3/*.jsonl (Nie et al. 2020)."""
    names = {"id": "uid", "premise": "context"}
    return Dataset(lambda: renamed(json_lines(path), names), task="nli", files=(path,), labels=_ANLI_LABELS)


def _with_premise_as_original(records: Iterable[Record]) -> Iterator[Record]:
    suite, seen = {"contrast": "breaking_nli"}, set()
    for record in records:
        premise = record.row.get("premise")
        if record.error or not isinstance(premise, str) or not premise.strip():
            yield record  # intake reports what is wrong with it
            continue
        of = f"itself-{digest(premise)[:12]}"
        if of not in seen:
            seen.add(of)
            original = {"id": of, "premise": premise, "hypothesis": premise, "label": "entailment"}
            yield record._replace(row={**original, **suite})
        # Pairs have numbers as ids, and so may other data read together with them.
        named = {} if record.row.get("id") is None else {"id": f"breaking_nli-{record.row['id']}"}
        yield record._replace(row={**record.row, **named, "of": of, **suite})


def _released(path: Path) -> Iterator[Record]:
    # Neither GLUE's TSV nor the .txt of SNLI and MultiNLI quotes its cells: a quotation mark is part of the sentence.
    is_table = path.suffix.lower() in (".tsv", ".txt")
    return _pairs(delimited(path, "\t", csv.QUOTE_NONE) if is_table else json_lines(path))


def _pairs(records: Iterable[Record]) -> Iterator[Record]:
    for record in renamed(records, _NAMES):
        row = {name: value for name, value in record.row.items() if name not in _PARSES}
        yield record._replace(row=row)
