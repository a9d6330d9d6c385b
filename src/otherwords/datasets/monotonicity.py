"""MED: monotonicity reasoning, written by crowds and collected from linguistics papers (Yanaka et al. 2019)."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..problem import plain
from ..registry import datasets
from ..storage.files import digest
from .records import Dataset, Record, delimited, json_lines, renamed, table_rows

# MERGED from datasets.reversals: Pairs asked both ways round: (P, H) and (H, P) with another answer are an original and its contrast.


def reversals(records: Iterable[Record], suite: str) -> Iterator[Record]:
    """Pair every problem with the first that asks it the other way round and has another answer.

    The one that comes first is the original. What has no such partner is left out, and how many that are is said.
    Pairs that share a sentence, or are linked by others that do, are one cluster.

    >>> ways = [("A man runs.", "A man moves.", "entailment"), ("A man moves.", "A man runs.", "neutral")]
    >>> rows = [dict(zip(("premise", "hypothesis", "label"), way), id=str(n)) for n, way in enumerate(ways)]
    >>> [(r.row["id"], r.row.get("of"), r.row["contrast"]) for r in reversals((Record("", r) for r in rows), "some")]
    [('0', None, 'some'), ('1', '0', 'some')]
    """
    found = list(records)
    asked = [place for place, record in enumerate(found) if _is_whole(record)]
    partner = _partners(found, asked)
    clusters = _clusters([found[place].row for place in partner])
    for place, record in enumerate(found):
        if not _is_whole(record):
            yield record  # the door says what is wrong with it
        elif place in partner:
            shared = {"contrast": suite, "cluster": clusters[record.row["premise"]]}
            other = found[partner[place]]
            yield record._replace(row={**record.row, **shared})
            yield other._replace(row={**other.row, **shared, "of": record.row["id"]})
    if left_out := len(asked) - 2 * len(partner):
        said = f"{left_out:,} of {len(asked):,} rows have no reverse with another answer, and are left out"
        warnings.warn(f"{suite}: {said}", stacklevel=2)


def _is_whole(record: Record) -> bool:
    named = (record.row.get(name) for name in ("id", "premise", "hypothesis", "label"))
    return not record.error and all(isinstance(value, str) and value.strip() for value in named)


def _partners(records: Sequence[Record], asked: Iterable[int]) -> dict[int, int]:
    """The place of each original, and that of its contrast."""
    waiting: dict[tuple[str, str], list[int]] = {}
    partner = {}
    for place in asked:
        row = records[place].row
        reverse = waiting.get((row["hypothesis"], row["premise"]), [])
        first = next((one for one in reverse if plain(records[one].row["label"]) != plain(row["label"])), None)
        if first is None:
            waiting.setdefault((row["premise"], row["hypothesis"]), []).append(place)
        else:
            reverse.remove(first)
            partner[first] = place
    return partner


def _clusters(originals: Sequence[dict[str, str]]) -> dict[str, str]:
    """The cluster of each sentence, named after the first of them in the alphabet."""
    leader: dict[str, str] = {}

    def lead(sentence: str) -> str:
        while leader.setdefault(sentence, sentence) != sentence:
            leader[sentence] = sentence = leader[leader[sentence]]  # halve the way for the next
        return sentence

    for row in originals:
        one, other = sorted((lead(row["premise"]), lead(row["hypothesis"])))
        leader[other] = one
    return {sentence: digest(lead(sentence))[:16] for sentence in leader}


# MERGED from datasets.monli: MoNLI: SNLI sentences with one noun made more general or special, negated or not (Geiger et al. 2020).

_NAMES = {"premise": "sentence1", "hypothesis": "sentence2", "label": "gold_label"}


@datasets("monli.v1")
def monli(path: Path) -> Dataset:
    """MoNLI as released: pmonli.jsonl, nmonli_train.jsonl, nmonli_test.jsonl, or one Parquet table of them.

    A contrast suite: each pair stands there both ways round, entailment one way and neutral the other. The first of
    the two is the original. Rows have no ids as released, so these are the file's name and the row's number.
    """
    return Dataset(lambda: reversals(_monli_pairs(path), "monli"), task="nli", files=(path,))


def _monli_pairs(path: Path) -> Iterator[Record]:
    read = table_rows if path.suffix.lower() == ".parquet" else json_lines
    for number, record in enumerate(renamed(read(path), _NAMES), 1):
        part = record.row.get("part") or (path.stem if path.stem.strip("-") else "monli")
        yield record if record.error else record._replace(row={"id": f"{part}-{number}", **record.row})


# MERGED from datasets.med: MED: monotonicity reasoning, written by crowds and collected from linguistics papers (Yanaka et al. 2019).

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
