"""Monotonicity: MoNLI and MED, read as contrast suites of pairs that are asked in both directions.

MoNLI (Geiger et al. 2020) makes one noun of an SNLI sentence more general or more specific, with or without negation.
MED (Yanaka et al. 2019) was written by crowd workers and collected from linguistics papers.
"""

import csv
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..problem import label_key
from ..registry import datasets
from ..storage.files import digest
from .records import Dataset, Record, delimited, json_lines, renamed, table_rows

_NAMES = {"premise": "sentence1", "hypothesis": "sentence2", "label": "gold_label"}
#: MultiNLI's columns that MED has but leaves empty.
_EMPTY = frozenset(
    {f"sentence{n}_{kind}" for n in (1, 2) for kind in ("parse", "binary_parse")} | {f"label{n}" for n in range(1, 6)}
)


@datasets("monli.v1")
def monli(path: Path) -> Dataset:
    """MoNLI as released: pmonli.jsonl, nmonli_train.jsonl, nmonli_test.jsonl, or one Parquet table of them.

    A contrast suite: each pair occurs in both directions, entailment in one and neutral in the other. The first of the
    two is the original. Released rows have no ids; they get the file's name and the row's number.
    """
    return Dataset(lambda: reversals(_monli_pairs(path), "monli"), task="nli", files=(path,))


def _monli_pairs(path: Path) -> Iterator[Record]:
    read = table_rows if path.suffix.lower() == ".parquet" else json_lines
    for number, record in enumerate(renamed(read(path), _NAMES), 1):
        part = record.row.get("part") or (path.stem if path.stem.strip("-") else "monli")
        yield record if record.error else record._replace(row={"id": f"{part}-{number}", **record.row})


@datasets("med.v1")
def med(path: Path) -> Dataset:
    """MED as released: MED.tsv, or the same as Parquet.

    A contrast suite of the pairs that occur in both directions with different labels: 3,030 of 5,382 rows (56 %). The
    others have no partner that differs from them in one thing only (`promptID` is the row's own number, and rows that
    share a premise change different words of it), and are left out. The first of two is the original; ids are
    `med-<pairID>`, because other data sets use bare numbers, too.
    """
    return Dataset(lambda: reversals(_med_pairs(path), "med"), task="nli", files=(path,))


def _med_pairs(path: Path) -> Iterator[Record]:
    is_table = path.suffix.lower() == ".parquet"
    # As in MultiNLI's own files, cells are not quoted.
    records = table_rows(path) if is_table else delimited(path, "\t", csv.QUOTE_NONE)
    for record in renamed(records, _NAMES):
        row = {name: value for name, value in record.row.items() if name not in _EMPTY}
        if not record.error and row.get("pairID"):
            row["id"] = f"med-{row['pairID']}"
        yield record._replace(row=row)


def reversals(records: Iterable[Record], suite: str) -> Iterator[Record]:
    """Pair every problem with the first that swaps its premise and hypothesis and has another label.

    The first of the two is the original, the other its contrast. Problems without such a partner are left out, with a
    warning. Pairs that share a sentence, directly or through other pairs, are one cluster.

    >>> both = [("A man runs.", "A man moves.", "entailment"), ("A man moves.", "A man runs.", "neutral")]
    >>> rows = [dict(zip(("premise", "hypothesis", "label"), one), id=str(n)) for n, one in enumerate(both)]
    >>> [(r.row["id"], r.row.get("of"), r.row["contrast"]) for r in reversals((Record("", r) for r in rows), "some")]
    [('0', None, 'some'), ('1', '0', 'some')]
    """
    records = list(records)
    complete = [index for index, record in enumerate(records) if _is_complete(record)]
    partners = _partners(records, complete)
    clusters = _clusters([records[index].row for index in partners])
    for index, record in enumerate(records):
        if not _is_complete(record):
            yield record  # intake reports what is wrong with it
        elif index in partners:
            shared = {"contrast": suite, "cluster": clusters[record.row["premise"]]}
            other = records[partners[index]]
            yield record._replace(row={**record.row, **shared})
            yield other._replace(row={**other.row, **shared, "of": record.row["id"]})
    if left_out := len(complete) - 2 * len(partners):
        rows = f"{left_out:,} of {len(complete):,} rows"
        warnings.warn(f"{suite}: left out {rows}: no reversed pair with another label", stacklevel=2)


def _is_complete(record: Record) -> bool:
    values = (record.row.get(name) for name in ("id", "premise", "hypothesis", "label"))
    return not record.error and all(isinstance(value, str) and value.strip() for value in values)


def _partners(records: Sequence[Record], complete: Iterable[int]) -> dict[int, int]:
    """Map the index of each original to that of its contrast."""
    waiting: dict[tuple[str, str], list[int]] = {}
    partners = {}
    for index in complete:
        row = records[index].row
        reverse = waiting.get((row["hypothesis"], row["premise"]), [])
        label = label_key(row["label"])
        first = next((one for one in reverse if label_key(records[one].row["label"]) != label), None)
        if first is None:
            waiting.setdefault((row["premise"], row["hypothesis"]), []).append(index)
        else:
            reverse.remove(first)
            partners[first] = index
    return partners


def _clusters(originals: Sequence[dict[str, str]]) -> dict[str, str]:
    """Map each sentence to its cluster (union-find): a digest of the cluster's first sentence in the alphabet."""
    parent: dict[str, str] = {}

    def root(sentence: str) -> str:
        while parent.setdefault(sentence, sentence) != sentence:
            parent[sentence] = sentence = parent[parent[sentence]]  # path halving
        return sentence

    for row in originals:
        first, second = sorted((root(row["premise"]), root(row["hypothesis"])))
        parent[second] = first
    return {sentence: digest(root(sentence))[:16] for sentence in parent}
