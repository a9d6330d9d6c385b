"""Defeasible NLI: does an update strengthen or weaken the hypothesis (Rudinger et al. 2020)?"""

from collections.abc import Iterator
from pathlib import Path

from ..problem import NO_MAJORITY
from ..registry import datasets
from .records import Dataset, Record, json_lines, renamed

#: delta-SOCIAL has no premise (null or absent); the task allows that.
_NAMES = {"premise": "Premise", "hypothesis": "Hypothesis", "update": "Update", "label": "UpdateType"}
_SOURCES = {"SNLI": "snli", "ATOMIC": "atomic", "SOCIAL-CHEM-101": "social"}
#: The text where an annotator could not write an update: intake refuses empty texts. No model ever sees it.
_NO_UPDATE = "(no update: the annotator found it impossible)"


@datasets("delta_nli.v1")
def delta_nli(path: Path) -> Dataset:
    """Defeasible NLI as released: defeasible-{snli,atomic,social}/*.jsonl (Rudinger et al. 2020).

    Rows have no ids. They get those of ParaNLU, `<source>.<split>.<row number from 0>` with the file's stem as the
    split, so that `snli.test.3` is the same problem in both. Rows marked UpdateTypeImpossible have no update: as in the
    paper they are left out, and counted like problems without a majority label.
    """
    return Dataset(lambda: _updates(path), task="d-nli", files=(path,))


def _updates(path: Path) -> Iterator[Record]:
    for number, record in enumerate(renamed(json_lines(path), _NAMES)):
        if record.error:
            yield record
            continue
        row = dict(record.row)
        source = str(row.get("DataSource") or path.parent.name)
        row["id"] = f"{_SOURCES.get(source, source.lower())}.{path.stem}.{number}"
        # Only the authors' mark makes a row impossible: an empty update without it is reported as a bad row.
        if row.get("UpdateTypeImpossible") is True:
            row.update(update=_NO_UPDATE, label=NO_MAJORITY)
        yield record._replace(row=row)
