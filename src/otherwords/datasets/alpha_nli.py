"""Abductive NLI: which of two hypotheses explains what happened between two observations (Bhagavatula et al. 2020)?"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ..errors import BadInput, decode
from ..registry import datasets
from ..storage.files import fingerprint
from .records import Dataset, Record, json_lines

_LABELS = (("1", "hyp1"), ("2", "hyp2"))


@datasets("alpha_nli.v1")
def alpha_nli(path: Path, labels_path: Path = Path()) -> Dataset:
    """Abductive NLI as released: *.jsonl, labels in the rows or in *-labels.lst (Bhagavatula et al. 2020).

    Labels, 1 or 2 on each line, are read from `<stem>-labels.lst` next to the problems, or from `labels_path`.
    Several rows belong to one story, so the id is `<story_id>-<number within the story>`, and the story is the cluster.
    """
    default = path.parent / f"{path.stem}-labels.lst"
    answers = labels_path if labels_path != Path() else default if default.is_file() else None
    files = (path, answers) if answers else (path,)
    identity = fingerprint(answers)[:12] if answers and answers.is_file() else ""
    return Dataset(lambda: _stories(path, answers), task="a-nli", files=files, labels=_LABELS, identity=identity)


def _stories(path: Path, answers: Path | None) -> Iterator[Record]:
    labels = _labels(path, answers) if answers else None
    counts: Counter[str] = Counter()
    for position, record in enumerate(json_lines(path)):
        if record.error:  # counts as a row, so that the labels below it stay aligned
            yield record
            continue
        row = dict(record.row)
        if labels is not None:
            if str(row.get("label") or labels[position]) != labels[position]:
                error = f"label: found {row['label']!r}, but {answers} has {labels[position]!r}"
                yield record._replace(error=error)
                continue
            row["label"] = labels[position]
        elif "label" not in row:
            error = f"no label in the row, and no {path.stem}-labels.lst next to the file (or labels_path=...)"
            yield record._replace(error=error)
            continue
        story = str(row.get("story_id") or "").strip()
        if not story:
            yield record._replace(error="story_id: found nothing")
            continue
        counts[story] += 1
        yield record._replace(row={**row, "id": f"{story}-{counts[story]}", "cluster": story})


def _labels(path: Path, answers: Path) -> list[str]:
    """Read the labels, one for every problem: a single missing line would shift all that follow."""
    for file in (path, answers):
        if not file.is_file():
            raise BadInput("no such file", where=str(file))
    text = decode(answers.read_bytes(), str(answers))
    labels = [line.strip() for line in text.rstrip().split("\n")]
    with path.open("rb") as lines:
        problems = sum(1 for line in lines if line.strip())
    if len(labels) != problems:
        message = f"{len(labels)} labels for the {problems} problems in {path}"
        raise BadInput(message, where=str(answers), fix="write one label per line, in the order of the problems")
    return labels
