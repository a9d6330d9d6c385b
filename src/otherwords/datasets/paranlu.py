"""ParaNLU: abductive and defeasible problems with paraphrases of their targets (Srikanth et al. 2024)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..problem import TASKS
from ..registry import datasets
from .records import Dataset, Record
from .rewordings import read_json

#: The label column of each task; a-NLI counts hypotheses from 1 (`modeling_label`, not read, from 0).
_LABEL = {"a-nli": "label", "d-nli": "update_type"}
_LABELS = {"a-nli": (("1", "hyp1"), ("2", "hyp2")), "d-nli": ()}


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
    if _LABEL[task] in original:
        row["label"] = original[_LABEL[task]]
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
