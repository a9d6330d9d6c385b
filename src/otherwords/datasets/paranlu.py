"""Abductive and defeasible NLI, and ParaNLU, which has paraphrases of both (Srikanth et al. 2024).

Abductive: which of two hypotheses explains what happened between two observations (Bhagavatula et al. 2020)?
Defeasible: does an update strengthen or weaken the hypothesis (Rudinger et al. 2020)?
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import BadInput, decode
from ..problem import NO_MAJORITY, TASKS
from ..registry import datasets
from ..storage.files import fingerprint
from .records import Dataset, Record, json_lines, renamed
from .rewordings import read_json

#: a-NLI counts hypotheses from 1 (ParaNLU's `modeling_label`, not read, from 0).
_LABELS = {"a-nli": (("1", "hyp1"), ("2", "hyp2")), "d-nli": ()}
#: ParaNLU's column of labels for each task.
_LABEL_COLUMN = {"a-nli": "label", "d-nli": "update_type"}
#: delta-SOCIAL has no premise (null or absent); the task allows that.
_NAMES = {"premise": "Premise", "hypothesis": "Hypothesis", "update": "Update", "label": "UpdateType"}
_SOURCES = {"SNLI": "snli", "ATOMIC": "atomic", "SOCIAL-CHEM-101": "social"}
#: The text where an annotator could not write an update: intake refuses empty texts. No model ever sees it.
_NO_UPDATE = "(no update: the annotator found it impossible)"


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
    return Dataset(
        lambda: _stories(path, answers), task="a-nli", files=files, labels=_LABELS["a-nli"], identity=identity
    )


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


@datasets("paranlu.v1")
def paranlu(path: Path) -> Dataset:
    """ParaNLU as released: annotated_data/**/*_paraphrases_*.json, whole buckets of a-NLI or d-NLI.

    The bucket's key is the original's id; paraphrases follow it in the file's order, also if a text equals the
    original's. The content decides which of the two tasks it is, so the file is read at once.
    """
    buckets = _load(path)
    task = _task(path, buckets)
    return Dataset(lambda: _records(path, buckets, task), task=task, files=(path,), labels=_LABELS[task])


def _load(path: Path) -> dict[str, Any]:
    buckets = read_json(path)
    if not isinstance(buckets, dict):
        raise BadInput(f"found {type(buckets).__name__}", where=str(path), fix="ParaNLU is {bucket id: [paraphrases]}")
    return dict(buckets)


def _task(path: Path, buckets: dict[str, Any]) -> str:
    for original in map(_original, buckets.values()):
        for task in ("a-nli", "d-nli"):
            if original and TASKS[task].targets[0] in original:
                return task
    fix = "an original_example has obs1, obs2, hyp1, hyp2 or premise, hypothesis, update"
    raise BadInput("has neither a-NLI nor d-NLI buckets", where=str(path), fix=fix)


def _original(paraphrases: Any) -> dict[str, Any] | None:
    """Find the original of a bucket: every paraphrase repeats it."""
    for paraphrase in paraphrases if isinstance(paraphrases, list) else ():
        if isinstance(paraphrase, dict) and isinstance(paraphrase.get("original_example"), dict):
            return dict(paraphrase["original_example"])
    return None


def _records(path: Path, buckets: dict[str, Any], task: str) -> Iterator[Record]:
    for bucket, paraphrases in buckets.items():
        where = f"{path}, bucket {bucket}"
        original = _original(paraphrases)
        if original is None:
            yield Record(where, {"bucket": paraphrases}, "found no paraphrase with an original_example")
            continue
        row = _row(original, task)
        yield Record(where, {**row, "id": bucket})
        for number, paraphrase in enumerate(paraphrases, 1):
            yield _variant(f"{where}, paraphrase {number}", {**row, "of": bucket}, paraphrase, task)


def _row(original: dict[str, Any], task: str) -> dict[str, Any]:
    row = {**(original.get("source_example_metadata") or {})}
    row |= {name: original[name] for name in (*TASKS[task].fields, "data_source") if name in original}
    if _LABEL_COLUMN[task] in original:
        row["label"] = original[_LABEL_COLUMN[task]]
    # The released ids of premise-hypothesis pairs are not quite unique (a counter in the authors' code lags behind: in
    # d-SOCIAL one id stands for two pairs); such pairs share a cluster here, which hardly widens an interval.
    if pair := original.get("premise_hypothesis_id"):
        row["cluster"] = str(pair)
    return row


def _variant(where: str, row: dict[str, Any], paraphrase: Any, task: str) -> Record:
    if not isinstance(paraphrase, dict):
        return Record(where, {"paraphrase": paraphrase}, f"found {type(paraphrase).__name__}, not a JSON object")
    if (original := _original([paraphrase])) and _row(original, task) != {k: v for k, v in row.items() if k != "of"}:
        return Record(where, paraphrase, "its original_example is not that of the bucket")
    # A field without a paraphrase is null.
    restated = {name: paraphrase.get(f"{name}_paraphrase") for name in TASKS[task].fields}
    changed = {name: text for name, text in restated.items() if text is not None}
    if not changed:
        return Record(where, paraphrase, "found no paraphrase of any field")
    how = "human" if paraphrase.get("automatic_system_metadata") is None else "automatic"
    known = {"id": paraphrase.get("paraphrase_id"), "how": how, "worker": paraphrase.get("worker_id")}
    return Record(where, {**row, **changed, **known})
